"""Recalled memories do not breed: our own tools are known by every name they are handed on under."""

from datetime import UTC, datetime
from typing import Any

import pytest

from mnemon.evidence.quote_gate import OWN_TOOLS, find_quote, is_own_tool, quotable_passages
from mnemon.scope import Scope
from mnemon.tools.registry import all_tools
from mnemon.tools.server_memory import server_memory_tools
from mnemon.turn import Role, ToolOutcome, Turn, TurnMessage

AT = datetime(2026, 4, 12, tzinfo=UTC)
OURS = (
    "search_nodes", "read_graph", "open_nodes", "mnemon_recall", "Recall", "recall", "RECALL", "mnemon-recall",
    "mcp__mnemon__recall", "mcp__mnemon__search_nodes", "mcp__memory__read_graph", "orchestrator.get_context",
    "mnemon/recall", "memory:open_nodes", "mcp_mnemon_recall", "memory_search_nodes", "SearchNodes", "getContext",
    "mnemonRecall", "memory",
)  # fmt: skip
THEIRS = ("product_recall", "recall_notices", "search", "graph", "open", "crm_lookup", "web_search", "mnemon", "", " ")


async def _unused(*_: Any) -> Any:
    raise AssertionError


def test_every_tool_that_we_serve_is_known_as_ours() -> None:
    served = {*all_tools(context=_unused, forget=_unused, cards={}), *server_memory_tools(_unused)}
    assert len(served) == 19
    assert served | {"memory"} == OWN_TOOLS


@pytest.mark.parametrize("name", OURS)
def test_what_our_tools_give_back_is_no_source_under_any_of_their_names(name: str) -> None:
    said = TurnMessage(message_id="msg_2", role=Role.TOOL, content="Lives in Austin", name=name, at=AT)
    result = ToolOutcome(id="r", action=name, output={"memories": ["Lives in Austin"]})
    turn = Turn(
        id="trn_1", session_id="ses_1", seq=1, scope=Scope(org_id="acme"), user_name="ann", at=AT,
        messages=(said,), tool_results=(result,),
    )  # fmt: skip
    assert find_quote("Lives in Austin", quotable_passages(turn)) is None


@pytest.mark.parametrize("name", THEIRS)
def test_other_peoples_tools_are_sources(name: str) -> None:
    assert not is_own_tool(name)
