"""The heartbeat over a real database: each slot once, however many workers; busy slots joined; one catch-up."""

import asyncio
from datetime import UTC, datetime, timedelta

from mnemon.llm.offline import OfflineLlm
from mnemon.runs import agents
from mnemon.runs.agents import draft_from
from mnemon.runs.calibration import load_track_record
from mnemon.runs.decisions import list_agent_decisions
from mnemon.runs.run import RunKind, RunStatus
from support.bounds import HANGS_S
from support.working import Working

HOUR = timedelta(hours=1)
FIRST = datetime(2026, 4, 12, 16, tzinfo=UTC)


async def test_a_week_of_an_hourly_agent_with_three_workers_fires_each_slot_once(working: Working) -> None:
    agent = await working.agent(schedule="0 * * * *")
    workers = [working.runner() for _ in range(3)]
    for _ in range(24 * 7):
        working.clock.advance(HOUR)
        await asyncio.gather(*(worker.drain() for worker in workers))
    runs = await working.runs(agent)
    assert [run.slot for run in runs] == [FIRST + number * HOUR for number in range(24 * 7)]
    assert {run.status for run in runs} == {RunStatus.SUCCEEDED}
    assert {run.kind for run in runs} == {RunKind.HEARTBEAT}
    assert all(run.started_at is not None and run.slot is not None and run.started_at >= run.slot for run in runs)


async def test_the_schedule_survives_a_restart(working: Working) -> None:
    agent = await working.agent(schedule="0 * * * *")
    working.clock.advance(HOUR)
    await working.runner().drain()
    working.clock.advance(HOUR)
    await working.runner().drain()
    assert [run.slot for run in await working.runs(agent)] == [FIRST, FIRST + HOUR]


async def test_missed_slots_are_caught_up_once_and_the_run_says_how_many(working: Working) -> None:
    agent = await working.agent(schedule="0 * * * *")
    working.clock.advance(6 * HOUR)
    await asyncio.gather(*(working.runner().drain() for _ in range(3)))
    (run,) = await working.runs(agent)
    assert run.slot == FIRST + 5 * HOUR
    assert [data["slots"] for kind, data in await working.events(run) if kind == "skipped"] == [5]
    working.clock.advance(HOUR)
    await working.runner().drain()
    assert [one.slot for one in await working.runs(agent)] == [FIRST + 5 * HOUR, FIRST + 6 * HOUR]


async def test_a_slot_that_finds_the_agent_busy_is_joined_to_the_next(working: Working) -> None:
    agent = await working.agent(schedule="0 * * * *")
    working.script.add_fault("slow", on="chat", seconds=HANGS_S)
    await working.ask(agent, "something long")
    worker = working.runner()
    busy = asyncio.create_task(worker.drain())
    while not working.script.asked:
        await asyncio.sleep(0.01)
    working.clock.advance(timedelta(minutes=38))
    other = working.runner()
    await other.claim_and_start()
    await asyncio.gather(*other._running)
    assert [run.kind for run in await working.runs(agent)] == [RunKind.MANUAL]
    working.script.clear_faults()
    await busy
    working.clock.advance(HOUR)
    await asyncio.gather(worker.drain(), other.drain())
    manual, heartbeat = await working.runs(agent)
    assert (manual.kind, heartbeat.kind, heartbeat.slot) == (RunKind.MANUAL, RunKind.HEARTBEAT, FIRST + HOUR)
    assert [data["slots"] for kind, data in await working.events(heartbeat) if kind == "skipped"] == [1]


async def test_a_changed_schedule_counts_from_now_and_none_stops_it(working: Working) -> None:
    agent = await working.agent(schedule="0 * * * *")
    for schedule in ("30 * * * *", None):
        async with working.db.tx(working.org) as tx:
            draft = draft_from(await agents.get_agent(tx, working.scope, agent.id))
            changed = type(draft)(**{**draft.__dict__, "schedule": schedule})
            await agents.edit_agent(tx, working.scope, agent.id, changed, working.cards)
        working.clock.advance(HOUR)
        await working.runner().drain()
    assert [run.slot for run in await working.runs(agent)] == [FIRST - HOUR / 2]


async def test_editing_something_else_leaves_the_slot_alone(working: Working) -> None:
    agent = await working.agent(schedule="0 * * * *")
    working.clock.advance(timedelta(minutes=37))
    async with working.db.tx(working.org) as tx:
        draft = draft_from(await agents.get_agent(tx, working.scope, agent.id))
        await agents.edit_agent(tx, working.scope, agent.id, draft, working.cards)
    working.clock.advance(timedelta(minutes=1))
    await working.runner().drain()
    assert [run.slot for run in await working.runs(agent)] == [FIRST]


async def test_a_deleted_agent_is_woken_no_more(working: Working) -> None:
    agent = await working.agent(schedule="0 * * * *")
    async with working.db.tx(working.org) as tx:
        await agents.delete_agent(tx, working.scope, agent.id)
    await working.runner().drain()
    working.clock.advance(HOUR)
    assert await working.runner().drain() == 0


async def test_without_a_model_a_slots_run_fails_once_and_decides_nothing(working: Working) -> None:
    agent = await working.agent(schedule="0 * * * *")
    working.llm = OfflineLlm()
    working.clock.advance(HOUR)
    for _ in range(3):
        await working.runner().drain()
        working.clock.advance(timedelta(minutes=15))
    (run,) = await working.runs(agent)
    assert (run.status, run.slot, run.result, run.resolution_status) == (RunStatus.FAILED, FIRST, None, None)
    assert "MNEMON_MODEL" in (run.error or "")
    assert (await working.events(run))[-1][1]["code"] == "model_required"
    async with working.db.tx(working.org) as tx:
        assert await list_agent_decisions(tx, working.scope, agent.id, working.cards) == ()
        record = await load_track_record(tx, working.scope, working.cards, None)
        assert record.overall.resolved == 0
        waiting = await tx.fetch_all("select kind from work where org_id = %(org)s and kind = 'run'", org=working.org)
    assert not waiting
