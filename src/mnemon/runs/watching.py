"""Following a run or a chat turn while it goes on, from any process."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress

from mnemon.db.database import Database
from mnemon.db.tx import Tx
from mnemon.runs import agent_store, store
from mnemon.runs.run import OVER, RunStatus
from mnemon.runs.store import Recorded
from mnemon.scope import Scope

LOOK_S = 0.15
QUIET_S = 15.0
UNATTENDED_S = 8.0

Over = Callable[[Tx], Awaitable[bool]]


async def watch_run(
    db: Database, scope: Scope, run_id: str, *, after: int = 0, until: asyncio.Event | None = None
) -> AsyncIterator[Recorded | None]:
    """The run's events after a place, until it is over or gone; None now and then while nothing happens."""

    async def over(tx: Tx) -> bool:
        run = await store.run(scope, tx, run_id)
        return run is None or run.status in OVER

    async for event in _watch(db, scope, run_id, after, over, until or asyncio.Event()):
        yield event


async def watch_chat(
    db: Database, scope: Scope, turn_id: str, *, until: asyncio.Event | None = None
) -> AsyncIterator[Recorded | None]:
    """The chat turn's events, until it has its reply, none will come, or no worker takes it up."""
    waited = 0

    async def over(tx: Tx) -> bool:
        nonlocal waited
        exchange = await agent_store.exchange(scope, tx, turn_id)
        if exchange is None or exchange.status in OVER:
            return True
        # Behind another run or chat of the agent it waits as long as that takes; with nobody at work, not for ever.
        idle = exchange.status is RunStatus.QUEUED and not await store.at_work(scope, tx, exchange.agent_id)
        waited = waited + 1 if idle else 0
        return waited * LOOK_S > UNATTENDED_S

    async for event in _watch(db, scope, turn_id, 0, over, until or asyncio.Event()):
        yield event


async def _watch(
    db: Database, scope: Scope, run_id: str, after: int, over: Over, until: asyncio.Event
) -> AsyncIterator[Recorded | None]:
    quiet = 0.0
    while not until.is_set():
        async with db.tx(scope.org_id) as tx:
            # Asked before the events are read, so that whatever came before the end is among them.
            ended = await over(tx)
            found = await store.events(scope, tx, run_id, after=after)
        for event in found:
            after = event.seq
            yield event
        if found:
            quiet = 0.0
            continue
        if ended:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(LOOK_S):
                await until.wait()
        quiet += LOOK_S
        if quiet >= QUIET_S:
            quiet = 0.0
            yield None
