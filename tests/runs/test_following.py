"""Followers of a run are woken by the database, in whichever process it runs."""

import asyncio

import pytest

from mnemon.db import notifications
from mnemon.runs.run_events import RunNotifier, watch_run
from support.bounds import HANGS_S
from support.working import Working


async def test_a_follower_is_woken_by_each_event_and_by_the_end(
    working: Working, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notifications, "POLL_INTERVAL_S", 10 * HANGS_S)  # only a notification is soon enough
    run = await working.ask(await working.agent())
    seen: list[str] = []

    async def follow() -> None:
        seen.extend([one.type async for one in watch_run(working.db, working.scope, run.id) if one is not None])

    following = asyncio.create_task(follow())
    notifier = working.db.attached.get_or_create(RunNotifier)
    while not notifier._waiting:
        await asyncio.sleep(0.01)
    await working.runner().drain()
    await asyncio.wait_for(following, HANGS_S)
    assert seen
    assert notifier._listener is None, "the connection for LISTEN goes with the last follower"


async def test_two_followers_of_two_runs_share_one_connection(working: Working) -> None:
    notifier = RunNotifier()
    with notifier.subscribe(working.db, "run_a") as first:
        listener = notifier._listener
        with notifier.subscribe(working.db, "run_b") as second:
            assert notifier._listener is listener
            await asyncio.wait_for(first.wait(), HANGS_S)  # LISTEN stands: everybody reads once
            await asyncio.wait_for(second.wait(), HANGS_S)
            first.clear()
            second.clear()
            async with working.db.tx(working.org) as tx:
                await tx.execute("select pg_notify('mnemon_run', 'run_b')")
            await asyncio.wait_for(second.wait(), HANGS_S)
            assert not first.is_set()
        assert notifier._listener is listener
