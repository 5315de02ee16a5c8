"""Events of a run or a chat turn: store them while it goes on, and follow them from any process."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing

from mnemon.db.database import Database
from mnemon.db.notifications import Notifier, wait_for_any
from mnemon.db.tx import Tx
from mnemon.runs import agent_store, store
from mnemon.runs.adapter import RunEvent, RunEventType
from mnemon.runs.run import FINAL_STATUSES, RunStatus
from mnemon.runs.store import RecordedEvent
from mnemon.scope import Scope

DELTA_FLUSH_S = 0.15
"""Pieces of text are collected for this long and stored as one event."""
KEEP_ALIVE_S = 15.0
"""Seconds without an event after which a watcher gets None, to keep its connection open."""
UNATTENDED_LIMIT_S = 8.0
"""Seconds that a queued chat turn is watched while no worker is busy with its agent."""
IsOver = Callable[[Tx], Awaitable[bool]]


class RunNotifier(Notifier):
    """Sets an event when a run or a chat turn of an agent has a new event or another status."""

    channel = "mnemon_run"


class EventRecorder:
    """Stores events in order, each in its own transaction, so that watchers see them at once."""

    def __init__(self, db: Database, scope: Scope, run_id: str, agent_id: str) -> None:
        """Make a recorder for the events of this run or chat turn."""
        self._db = db
        self._scope = scope
        self._run_id = run_id
        self._agent_id = agent_id
        self._pieces: list[str] = []
        self._since = 0.0
        # Specialists are asked concurrently; the lock keeps their events in one order.
        self._turn = asyncio.Lock()

    async def __call__(self, event: RunEvent) -> None:
        """Store an event of the run; pieces of text are collected and stored together every 0.15 seconds."""
        if event.type is not RunEventType.DELTA:
            async with self._turn:
                await self._flush_pieces()
                await self._store_event(event)
            return
        if not self._pieces:
            self._since = time.monotonic()
        self._pieces.append(str(event.data["text"]))
        if time.monotonic() - self._since >= DELTA_FLUSH_S:
            await self.flush()

    async def flush(self) -> None:
        """Store the pieces of the run's text that were collected so far, without waiting for more."""
        async with self._turn:
            await self._flush_pieces()

    async def _flush_pieces(self) -> None:
        """Store the collected pieces of text as one event, if there are any; the caller holds the lock."""
        if self._pieces:
            text = "".join(self._pieces)
            self._pieces.clear()
            await self._store_event(RunEvent(type=RunEventType.DELTA, data={"text": text}))

    async def _store_event(self, event: RunEvent) -> None:
        """Append the event to the run in a transaction of its own."""
        async with self._db.tx(self._scope.org_id) as tx:
            await store.append_event(tx, self._scope, self._run_id, self._agent_id, event)


async def watch_run(
    db: Database, scope: Scope, run_id: str, *, after: int = 0, until: asyncio.Event | None = None
) -> AsyncIterator[RecordedEvent | None]:
    """Yield the run's events after a sequence number, until it is over, deleted, or `until` is set.

    Yields None every `KEEP_ALIVE_S` seconds in which nothing happens.
    """

    async def is_over(tx: Tx) -> bool:
        """Say whether the run has ended or was deleted."""
        run = await store.find_run(tx, scope, run_id)
        return run is None or run.status in FINAL_STATUSES

    async with aclosing(_watch_events(db, scope, run_id, after, is_over, until or asyncio.Event())) as events:
        async for event in events:
            yield event


async def watch_chat(
    db: Database, scope: Scope, turn_id: str, *, until: asyncio.Event | None = None
) -> AsyncIterator[RecordedEvent | None]:
    """Yield the chat turn's events until it is answered, has failed or was deleted, or no worker takes it.

    Yields None every `KEEP_ALIVE_S` seconds in which nothing happens.
    """
    loop = asyncio.get_running_loop()
    attended = loop.time()

    async def is_over(tx: Tx) -> bool:
        """Say whether the chat turn has ended, was deleted, or has waited 8 seconds while nothing ran."""
        nonlocal attended
        exchange = await agent_store.find_exchange(tx, scope, turn_id)
        if exchange is None or exchange.status in FINAL_STATUSES:
            return True
        # Behind another run or chat of the agent the turn waits as long as that takes. If nothing is running, there may
        # be no worker at all, so the watcher gives up after a while.
        idle = exchange.status is RunStatus.QUEUED and not await store.is_working(tx, scope, exchange.agent_id)
        if not idle:
            attended = loop.time()
        return loop.time() - attended > UNATTENDED_LIMIT_S

    async with aclosing(_watch_events(db, scope, turn_id, 0, is_over, until or asyncio.Event())) as events:
        async for event in events:
            yield event


async def _watch_events(
    db: Database, scope: Scope, run_id: str, after: int, over: IsOver, until: asyncio.Event
) -> AsyncGenerator[RecordedEvent | None]:
    """Yield stored events until `over` says that no more will come and all were yielded, or `until` is set."""
    loop = asyncio.get_running_loop()
    heard = loop.time()
    with db.attached.get_or_create(RunNotifier).subscribe(db, run_id) as changed:
        while not until.is_set():
            # Before the read: a notification that comes during it sets the event again, so that nothing is missed.
            changed.clear()
            async with db.tx(scope.org_id) as tx:
                # Read before the events, so that everything that was stored before the end is among them.
                ended = await over(tx)
                found = await store.list_events(tx, scope, run_id, after=after)
            for event in found:
                after = event.seq
                yield event
            if found:
                heard = loop.time()
                continue
            if ended:
                return
            await wait_for_any(changed, until)
            if loop.time() - heard >= KEEP_ALIVE_S:
                heard = loop.time()
                yield None
