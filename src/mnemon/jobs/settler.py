"""Settles finished work in groups: what finishes while one group commits goes with the next."""

import asyncio

from mnemon.db.database import Database
from mnemon.errors import DatabaseDown
from mnemon.jobs import store
from mnemon.jobs.work import Item


class Settler:
    """One commit for many items."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._waiting: list[tuple[Item, asyncio.Future[None]]] = []
        self._task: asyncio.Task[None] | None = None

    async def settle(self, item: Item) -> None:
        """The item is settled, committed; raises DatabaseDown when it could not be."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, done))
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._settle_groups())
        await done

    async def _settle_groups(self) -> None:
        while self._waiting:
            group, self._waiting = self._waiting, []
            try:
                async with self._db.tx(None) as tx:
                    await store.settle_many(tx, [item for item, _ in group])
            except DatabaseDown as error:
                _tell(group, error)
            else:
                _tell(group, None)


def _tell(group: list[tuple[Item, asyncio.Future[None]]], error: DatabaseDown | None) -> None:
    for _, done in group:
        if done.done():
            continue
        if error is None:
            done.set_result(None)
        else:
            done.set_exception(error)
