"""Following a run or a chat turn while it goes on, from any process.

Keeps what can be seen of a run or chat turn while it goes on; pieces of text are gathered before they are kept.

The line that a run, and a reply in an agent's chat, leaves in the log: whose, how it ended, what it cost.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress

import structlog

from mnemon.db.database import Database
from mnemon.db.tx import Tx
from mnemon.runs import agent_store, store
from mnemon.runs.adapter import RunEvent, RunEventType
from mnemon.runs.run import FINAL_STATUSES, Run, RunStatus, RunUsage
from mnemon.runs.store import RecordedEvent
from mnemon.scope import Scope

DELTA_FLUSH_S = 0.15


class EventRecorder:
    """Takes events in order and writes each in a transaction of its own, so that watchers see them at once."""

    def __init__(self, db: Database, scope: Scope, run_id: str, agent_id: str) -> None:
        self._db = db
        self._scope = scope
        self._run_id = run_id
        self._agent_id = agent_id
        self._pieces: list[str] = []
        self._since = 0.0
        # Specialists are asked side by side; their events still stand one after the other.
        self._turn = asyncio.Lock()

    async def __call__(self, event: RunEvent) -> None:
        """The event is kept, or gathered with the pieces around it."""
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
        """Nothing is held back."""
        async with self._turn:
            await self._flush_pieces()

    async def _flush_pieces(self) -> None:
        if self._pieces:
            text = "".join(self._pieces)
            self._pieces.clear()
            await self._store_event(RunEvent(type=RunEventType.DELTA, data={"text": text}))

    async def _store_event(self, event: RunEvent) -> None:
        async with self._db.tx(self._scope.org_id) as tx:
            await store.append_event(tx, self._scope, self._run_id, self._agent_id, event)


POLL_INTERVAL_S = 0.15
KEEP_ALIVE_S = 15.0
UNATTENDED_LIMIT_S = 8.0

IsOver = Callable[[Tx], Awaitable[bool]]


async def watch_run(
    db: Database, scope: Scope, run_id: str, *, after: int = 0, until: asyncio.Event | None = None
) -> AsyncIterator[RecordedEvent | None]:
    """The run's events after a place, until it is over or gone; None now and then while nothing happens."""

    async def is_over(tx: Tx) -> bool:
        run = await store.find_run(tx, scope, run_id)
        return run is None or run.status in FINAL_STATUSES

    async for event in _watch_events(db, scope, run_id, after, is_over, until or asyncio.Event()):
        yield event


async def watch_chat(
    db: Database, scope: Scope, turn_id: str, *, until: asyncio.Event | None = None
) -> AsyncIterator[RecordedEvent | None]:
    """The chat turn's events, until it has its reply, none will come, or no worker takes it up."""
    waited = 0

    async def is_over(tx: Tx) -> bool:
        nonlocal waited
        exchange = await agent_store.find_exchange(tx, scope, turn_id)
        if exchange is None or exchange.status in FINAL_STATUSES:
            return True
        # Behind another run or chat of the agent it waits as long as that takes; with nobody at work, not for ever.
        idle = exchange.status is RunStatus.QUEUED and not await store.is_working(tx, scope, exchange.agent_id)
        waited = waited + 1 if idle else 0
        return waited * POLL_INTERVAL_S > UNATTENDED_LIMIT_S

    async for event in _watch_events(db, scope, turn_id, 0, is_over, until or asyncio.Event()):
        yield event


async def _watch_events(
    db: Database, scope: Scope, run_id: str, after: int, over: IsOver, until: asyncio.Event
) -> AsyncIterator[RecordedEvent | None]:
    quiet = 0.0
    while not until.is_set():
        async with db.tx(scope.org_id) as tx:
            # Asked before the events are read, so that whatever came before the end is among them.
            ended = await over(tx)
            found = await store.list_events(tx, scope, run_id, after=after)
        for event in found:
            after = event.seq
            yield event
        if found:
            quiet = 0.0
            continue
        if ended:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(POLL_INTERVAL_S):
                await until.wait()
        quiet += POLL_INTERVAL_S
        if quiet >= KEEP_ALIVE_S:
            quiet = 0.0
            yield None


log = structlog.get_logger(__name__)


def log_run(run: Run, status: RunStatus, usage: RunUsage, code: str | None) -> None:
    """Log a run that is over; the code says why one failed, its words may quote the agent."""
    log.log(
        logging.INFO if status is RunStatus.SUCCEEDED else logging.WARNING,
        "run_finished",
        run=run.id,
        agent=run.agent_id,
        kind=str(run.kind),
        status=str(status),
        code=code,
        calls=usage.calls,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cost_usd=usage.cost_usd,
        ms=round(usage.latency_ms, 1),
    )


def log_agent_reply(turn_id: str, agent_id: str, status: RunStatus, usage: RunUsage, code: str | None) -> None:
    """Log a message in an agent's chat that was answered, or could not be."""
    log.log(
        logging.INFO if status is RunStatus.SUCCEEDED else logging.WARNING,
        "agent_replied",
        turn=turn_id,
        agent=agent_id,
        status=str(status),
        code=code,
        calls=usage.calls,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        ms=round(usage.latency_ms, 1),
    )
