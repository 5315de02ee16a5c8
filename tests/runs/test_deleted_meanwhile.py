"""An agent that is deleted or held while something is asked of it: not found in the end, and never a deadlock."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest

from mnemon.db.tx import Tx
from mnemon.errors import NotFound
from mnemon.jobs.work import WorkItem
from mnemon.runs import agents, run_requests, store
from mnemon.runs.adapter import RunEvent, RunEventType
from mnemon.runs.agent import Agent, AgentRole
from mnemon.runs.decision_outcomes import push_prices, resolve_manually
from mnemon.runs.resolution import Price
from mnemon.runs.run import Run, RunStatus
from mnemon.runs.task_job import AgentTaskJob
from mnemon.runs.task_kinds import RunTasks
from support.racing import run_behind
from support.working import Working

LONG = {
    "symbol": "BTC-USD",
    "action": "LONG",
    "summary": "trend",
    "entry": 100,
    "take_profit": 110,
    "stop_loss": 95,
    "confidence": 0.6,
}
Act = Callable[[Working, Tx, Agent, Run], Awaitable[Any]]
ASKED: dict[str, Act] = {
    "a run": lambda w, tx, agent, run: run_requests.request_run(tx, w.scope, agent.id, None, w.llm),
    "a chat": lambda w, tx, agent, run: run_requests.request_chat_reply(tx, w.scope, agent.id, "Hello."),
    "a re-examination": lambda w, tx, agent, run: run_requests.request_re_examination(
        tx, w.scope, run.id, w.cards, w.llm
    ),
    "a cancellation": lambda w, tx, agent, run: run_requests.cancel_run(tx, w.scope, run.id),
    "a resolution": lambda w, tx, agent, run: resolve_manually(tx, w.scope, run.id, "won", None, w.cards),
    "a reset": lambda w, tx, agent, run: agents.reset_memory(tx, w.scope, agent.id),
}


@pytest.mark.parametrize("asked", ASKED)
async def test_what_is_asked_of_an_agent_that_is_being_deleted_is_not_found(working: Working, asked: str) -> None:
    agent = await working.agent()
    run = await working.ask(agent)
    await working.runner().drain()
    with pytest.raises(NotFound):
        await run_behind(
            working.db,
            working.org,
            lambda tx: agents.delete_agent(tx, working.scope, agent.id),
            lambda tx: ASKED[asked](working, tx, agent, run),
        )


async def test_prices_pass_by_the_positions_of_an_agent_that_is_being_deleted(working: Working) -> None:
    working.script.set_default_answer("Card", LONG)
    gone, kept = [await working.agent(card_type="trade-decision") for _ in range(2)]
    for agent in (gone, kept):
        await working.ask(agent)
    await working.runner().drain()
    reached = Price(symbol="BTC-USD", at=working.clock.now() + timedelta(minutes=1), price=111.0)
    pushed = await run_behind(
        working.db,
        working.org,
        lambda tx: agents.delete_agent(tx, working.scope, gone.id),
        lambda tx: push_prices(tx, working.scope, [reached], working.cards),
    )
    assert [run.agent_id for run in pushed.resolved] == [kept.id]


async def test_an_event_of_an_agent_that_is_being_deleted_is_dropped(working: Working) -> None:
    agent = await working.agent()
    run = await working.ask(agent)
    event = RunEvent(type=RunEventType.DELTA, data={"text": "So"})
    await run_behind(
        working.db,
        working.org,
        lambda tx: agents.delete_agent(tx, working.scope, agent.id),
        lambda tx: store.append_event(tx, working.scope, run.id, agent.id, event),
    )
    assert await working.events(run) == []


async def test_an_agent_deleted_after_it_was_read_is_shown_without_memory(working: Working) -> None:
    agent = await working.agent(config={"memoryEnabled": True})
    async with working.db.tx(working.org) as tx:
        await agents.delete_agent(tx, working.scope, agent.id)
        shown = await agents.list_memory_panels(tx, working.scope, [agent])
    assert shown[agent.id].runs_since_reset == 0


async def give_up(working: Working, tx: Tx, run: Run) -> None:
    execution = AgentTaskJob(services := working.services(), RunTasks(services))
    item = WorkItem(org_id=working.org, kind=run_requests.RUN_KIND, key=run.id, job_id="job", attempts=3, token=1)
    await execution.fail_task(tx, item, "no model")


CHANGED: dict[str, Callable[[Working, Tx, Run], Awaitable[object]]] = {
    "cancelled": lambda w, tx, run: run_requests.cancel_run(tx, w.scope, run.id),
    "given up": give_up,
}


@pytest.mark.parametrize("changed", CHANGED)
async def test_whoever_changes_a_run_waits_for_its_agent_before_locking_it(working: Working, changed: str) -> None:
    agent = await working.agent()
    run = await working.ask(agent)
    await run_behind(
        working.db,
        working.org,
        lambda tx: agents.get_agent(tx, working.scope, agent.id, locked=True),
        lambda tx: CHANGED[changed](working, tx, run),
        then=lambda tx: store.find_run(tx, working.scope, run.id, locked=True),
    )
    assert (await working.read(run)).status in (RunStatus.CANCELLED, RunStatus.FAILED)


async def test_a_deletion_locks_the_leads_it_leaves_in_the_order_of_their_ids(working: Working) -> None:
    ann, bob = await working.agent(name="Ann"), await working.agent(name="Bob")
    team = (ann.id, bob.id)
    made = [await working.agent(name=name, role=AgentRole.LEAD, team=team) for name in ("North", "South")]
    leads = sorted(made, key=lambda lead: lead.id)
    async with working.db.tx(working.org) as tx:
        # Now the last lead's row stands before the first one's, and is locked first unless an order is asked for.
        await tx.execute("update agents set name = 'N' where org_id = 'acme' and agent_id = %(id)s", id=leads[0].id)

    async def delete_reading_in_place(tx: Tx) -> None:
        await tx.execute("set local enable_indexscan = off")
        await tx.execute("set local enable_bitmapscan = off")
        await agents.delete_agent(tx, working.scope, ann.id)

    await run_behind(
        working.db,
        working.org,
        lambda tx: agents.get_agent(tx, working.scope, leads[0].id, locked=True),
        delete_reading_in_place,
        then=lambda tx: agents.get_agent(tx, working.scope, leads[1].id, locked=True),
    )
    async with working.db.tx(working.org) as tx:
        assert (await agents.get_agent(tx, working.scope, leads[1].id)).team == (bob.id,)
