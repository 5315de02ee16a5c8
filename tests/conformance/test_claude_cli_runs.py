"""Whole runs with the real Claude CLI: shared sessions, a council, a re-examination, the agent's own decisions."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mnemon.clock import ManualClock
from mnemon.db.database import Database
from mnemon.llm.scripted.script import Script, ScriptedReply, ScriptedRequest, tool_call_reply
from mnemon.runs.agent import Adapter, AgentRole
from mnemon.runs.run import Run, RunStatus
from support.claude import claude_binary, needs_claude
from support.orchestrator import Orchestrator, orchestrator
from support.scripted_anthropic import ScriptedAnthropicServer
from support.working import Working

pytestmark = [pytest.mark.conformance, needs_claude]
TRADE = {
    "symbol": "BTC-USD",
    "action": "LONG",
    "summary": "breakout above the range",
    "entry": 64250,
    "take_profit": 71900,
    "stop_loss": 61480,
    "confidence": 0.72,
}
HOLD = {"conviction_score": 80, "notes": "Momentum is intact.", "suggested_action": "HOLD"}
REVIEW = "mcp__orchestrator__get_my_decisions"


def acting(asked: ScriptedRequest) -> ScriptedReply | str:
    """Plays every part: specialists report, the lead looks at its decisions first and then fills its card."""
    if "StructuredOutput" not in asked.tools:
        return f"A fresh read by {asked.system.rsplit('SKILL-', 1)[1][:5]}."
    begun = max(place for place, said in enumerate(asked.messages) if "Analyse BTC." in said.content)
    if REVIEW in asked.tools and not any(said.role == "tool" for said in asked.messages[begun:]):
        return tool_call_reply(REVIEW)
    again = "re-examination" in asked.messages[begun].content
    return tool_call_reply("StructuredOutput", **(HOLD if again else TRADE))


@pytest.fixture
def script() -> Script:
    return Script(fallback=acting)


@pytest.fixture
def decisions() -> Iterator[Orchestrator]:
    with orchestrator("2d ago · WAIT · range unresolved") as server:
        yield server


@pytest.fixture
def room(
    db: Database, org: str, clock: ManualClock, tmp_path: Path, script: Script, decisions: Orchestrator
) -> Iterator[Working]:
    with ScriptedAnthropicServer(script) as api:
        settings = {
            "claude_cli": claude_binary(),
            "claude_api_key": "test-key",
            "claude_base_url": api.root_url,
            "mcp_url": decisions.url,
        }
        yield Working(db=db, org=org, clock=clock, folder=tmp_path, script=script, settings=settings)


async def done(room: Working, run: Run) -> Run:
    await room.runner().drain()
    after = await room.read(run)
    assert after.status is RunStatus.SUCCEEDED, after.error
    return after


async def council(room: Working) -> Any:
    on = {"memoryEnabled": True, "reviewDecisions": True}
    seats = [
        await room.agent(
            name=name,
            skill=f"SKILL-{name}",
            default_prompt=f"Report {name}.",
            adapter=Adapter.CLAUDE_CLI,
            role=AgentRole.SPECIALIST,
            config=on,
        )
        for name in ("Macro", "Chart")
    ]
    return await room.agent(
        name="Lead",
        skill="SKILL-Lead",
        default_prompt="Analyse BTC.",
        adapter=Adapter.CLAUDE_CLI,
        role=AgentRole.LEAD,
        team=tuple(seat.id for seat in seats),
        card_type="trade-decision",
        config=on,
    )


async def test_a_lead_with_two_specialists_re_examines_an_open_trade(
    room: Working, script: Script, decisions: Orchestrator
) -> None:
    lead = await council(room)
    parent = await done(room, await room.ask(lead))
    assert parent.result == TRADE
    assert parent.session_id_before is None
    assert parent.session_id_after is not None
    assert decisions.calls == 1
    script.asked.clear()

    again = await done(room, await room.re_examine(parent))
    assert again.result == HOLD
    assert again.parent_run_id == parent.id
    assert (await room.read(parent)).result == TRADE
    assert again.session_id_before == parent.session_id_after
    assert again.usage.cost_usd is not None
    assert decisions.calls == 2
    tokens = {bearer for bearer in decisions.bearers if bearer}
    assert len(tokens) == 2

    blind = [asked for asked in script.asked if "SKILL-Lead" not in asked.system]
    assert len(blind) == 2
    for asked in blind:
        said = json.dumps(asked.body)
        assert asked.tools == ()
        assert "BTC-USD" in said
        for secret in ("64250", "71900", "61480", "LONG", "breakout", "0.72", "range unresolved"):
            assert secret not in said, secret

    led = [asked for asked in script.asked if asked not in blind]
    assert REVIEW in led[0].tools
    assert "A fresh read by Macro." in led[0].prompt
    assert "A fresh read by Chart." in led[0].prompt
    for told in ("64250", "71900", "61480", "HOLD, CLOSE, SCALE"):
        assert told in led[0].prompt
    assert any("Analyse BTC." in message.content for message in led[0].messages[:-1])
    steps = [kind for kind, _ in await room.events(again)]
    assert steps.count("consultation") == 4
    assert ("tool_call", REVIEW) in [(kind, data.get("name")) for kind, data in await room.events(again)]


async def test_a_failed_run_leaves_the_session_it_found(room: Working, script: Script) -> None:
    agent = await room.agent(
        name="Solo",
        skill="SKILL-Solo.",
        adapter=Adapter.CLAUDE_CLI,
        card_type="trade-decision",
        config={"memoryEnabled": True},
    )
    first = await done(room, await room.ask(agent))
    script.add_fault("error", times=None)
    failed = await room.ask(agent)
    await room.runner().drain()
    failed = await room.read(failed)
    assert (failed.status, failed.session_id_after) == (RunStatus.FAILED, None)
    script.clear_faults()
    third = await done(room, await room.ask(agent))
    assert third.session_id_before == first.session_id_after


async def test_a_run_over_time_is_stopped_with_its_program(room: Working, script: Script) -> None:
    agent = await room.agent(adapter=Adapter.CLAUDE_CLI, config={"timeoutSeconds": 2})
    script.add_fault("hang", times=None, after=0)
    run = await room.ask(agent)
    await room.runner().drain()
    after = await room.read(run)
    assert after.status is RunStatus.FAILED
    assert "longer than 2 s" in (after.error or "")
