"""Keeps what can be seen of a run or chat turn while it goes on; pieces of text are gathered before they are kept."""

import asyncio
import time

from mnemon.db.database import Database
from mnemon.runs import store
from mnemon.runs.adapter import Event, EventType
from mnemon.scope import Scope

GATHERED_S = 0.15


class Recorder:
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

    async def __call__(self, event: Event) -> None:
        """The event is kept, or gathered with the pieces around it."""
        if event.type is not EventType.DELTA:
            async with self._turn:
                await self._let_go()
                await self._write(event)
            return
        if not self._pieces:
            self._since = time.monotonic()
        self._pieces.append(str(event.data["text"]))
        if time.monotonic() - self._since >= GATHERED_S:
            await self.flush()

    async def flush(self) -> None:
        """Nothing is held back."""
        async with self._turn:
            await self._let_go()

    async def _let_go(self) -> None:
        if self._pieces:
            text = "".join(self._pieces)
            self._pieces.clear()
            await self._write(Event(type=EventType.DELTA, data={"text": text}))

    async def _write(self, event: Event) -> None:
        async with self._db.tx(self._scope.org_id) as tx:
            await store.add_event(self._scope, tx, self._run_id, self._agent_id, event)
