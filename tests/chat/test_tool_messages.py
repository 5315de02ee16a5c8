"""A tool's message as a result: what its JSON says, which of them are new, and what the model is told came of them."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemon.agentstate.state import AgentState, Assumption, ExpectationStatus, StateExpectation
from mnemon.chat.tool_messages import add_verdict_lines, new_messages, read_tool_message, tool_outcomes, verdict_lines
from mnemon.llm.protocol import LlmMessage
from mnemon.scope import person_scope
from mnemon.sessions.messages import NewMessage
from mnemon.turn import DependencyPatch, EntityPatch, Role, ToolOutcome, Turn, TurnMessage

NOW = datetime(2026, 4, 12, tzinfo=UTC)


def tool(content: str, call: str | None = "c1", name: str = "make") -> NewMessage:
    return NewMessage(role=Role.TOOL, content=content, name=name, tool_id=call)


def turn(*said: tuple[Role, str], answered: tuple[str, ...] = ()) -> Turn:
    messages = tuple(
        TurnMessage(message_id=f"msg_{place}", role=role, content=text, name=None, at=NOW)
        for place, (role, text) in enumerate(said)
    )
    results = tuple(ToolOutcome(id=one, action="make") for one in answered)
    scope = person_scope("acme", "ana")
    return Turn(
        id="trn_1",
        session_id="ses_1",
        seq=1,
        scope=scope,
        user_name="ana",
        at=NOW,
        messages=messages,
        tool_results=results,
    )


@pytest.mark.parametrize(
    ("given_", "fields"),
    [
        ({"ids": ["a"], "types": ["task"], "count": 1}, {"ids": ("a",), "types": ("task",), "count": 1}),
        ({"ids": [7, "b"]}, {"ids": ("7", "b")}),
        ({"ids": [7, None]}, {"ids": None}),
        ({"count": True}, {"count": None}),
        ({"count": -1}, {"count": None}),
        ({"error": "quota exceeded"}, {"error": "quota exceeded"}),
        ({"error": {"message": "no such list", "code": 404}}, {"error": "no such list"}),
        ({"error": {"code": 404}}, {"error": '{"code": 404}'}),
        ({"error": None, "ok": True}, {"error": None}),
        ({"success": False, "message": "nothing was made"}, {"error": "nothing was made"}),
        ({"isError": True}, {"error": "error"}),
        ({"entities": [{"id": "t1", "kind": "task", "name": "Pay"}, {"id": 2, "type": "task"}, {"id": "x"}, 3]},
         {"entities": (EntityPatch(id="t1", kind="task", name="Pay"), EntityPatch(id="2", kind="task"))}),
        ({"dependencies": [{"from": "t1", "to": "p", "rel": "part_of"}, {"from": "t1"}]},
         {"dependencies": (DependencyPatch(source="t1", target="p", rel="part_of"),)}),
        ([{"id": "t1", "kind": "task"}, {"id": "t2", "kind": "task"}],
         {"count": 2, "entities": (EntityPatch(id="t1", kind="task"), EntityPatch(id="t2", kind="task"))}),
        ([], {"count": 0, "entities": ()}),
        ("done", {"count": None, "ids": None, "error": None, "entities": ()}),
    ],
)  # fmt: skip
def test_json_is_read_as_a_result(given_: Any, fields: dict[str, Any]) -> None:
    read = read_tool_message(json.dumps(given_))
    assert {name: getattr(read, name) for name in fields} == fields


@given(st.text())
def test_any_text_of_a_tool_is_a_result(text: str) -> None:
    [outcome] = tool_outcomes([tool(text)], turn())
    assert (outcome.id, outcome.action, outcome.tool_call_id) == ("c1", "make", "c1")


def test_results_of_one_turn_never_share_a_key() -> None:
    first = tool_outcomes([tool("{}"), tool("[]", "c2")], turn())
    later = tool_outcomes([tool("{}")], turn(answered=("c1", "c2")))
    assert [one.key for one in (*first, *later)] == ["trn_1/0/c1", "trn_1/1/c2", "trn_1/2/c1"]


def test_a_retry_adds_nothing_and_a_second_call_with_the_same_result_does() -> None:
    known = turn((Role.USER, "Make two."), (Role.TOOL, "ok"), answered=("c1",))
    sent = [NewMessage(role=Role.USER, content="Make two."), tool("ok"), tool("ok", "c2"), tool("no"), tool("ok", None)]
    assert new_messages(known, sent) == [tool("ok", "c2"), tool("no")]


def expectation(status: ExpectationStatus, by: str) -> StateExpectation:
    return StateExpectation(id="exp_1", action="make", expected_outcome="two tasks", status=status, settled_by=by)


def test_the_model_reads_beneath_a_result_what_came_of_it() -> None:
    state = AgentState(
        session_id="ses_1",
        expectations=(expectation(ExpectationStatus.FAILED, "trn_1/0/c1"),),
        assumptions=(Assumption(id="a", hypothesis='Expected "two tasks" but got "count 1"', confidence=0.7),),
    )
    lines = verdict_lines(state, "trn_1")
    conversation = (
        LlmMessage(role="user", content="Earlier."),
        LlmMessage(role="tool", content="old", tool_id="c1"),
        LlmMessage(role="user", content="Make two."),
        LlmMessage(role="tool", content="new", tool_id="c1"),
    )
    told = add_verdict_lines(conversation, lines)
    assert [one.content for one in told[:3]] == ["Earlier.", "old", "Make two."]
    assert told[3].content == (
        "new\n\n[Checked: your expectation exp_1 of make FAILED. "
        'Expected "two tasks" but got "count 1". Go by what happened.]'
    )


def test_only_this_turns_results_are_told() -> None:
    for by, told in (("trn_1/0/c1", {"c1"}), ("trn_2/0/c1", set()), ("res_9", set())):
        state = AgentState(session_id="ses_1", expectations=(expectation(ExpectationStatus.CONFIRMED, by),))
        assert set(verdict_lines(state, "trn_1")) == told
