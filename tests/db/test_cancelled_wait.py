"""A task that is cancelled while it waits for a connection stops, also when the connection comes at the same moment."""

import asyncio
from typing import Any

import pytest
from psycopg_pool.pool_async import WaitingClient

from mnemon.clock import SystemClock
from mnemon.db.database import Database


async def test_a_cancellation_that_comes_with_the_connection_is_not_lost(
    database_url: str, org: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    db = Database(database_url, SystemClock(), pool_size=1)
    await db.open()
    going_on: list[str] = []

    async def wait_for_one() -> None:
        async with db.tx(org) as tx:
            await tx.all("select 1 as one")
        going_on.append("it runs on")

    hand_over = WaitingClient.set

    async def hand_over_and_cancel(client: WaitingClient[Any], connection: Any) -> bool:
        """Cancel the waiter in the same turn of the loop in which the pool gives it its connection."""
        given = await hand_over(client, connection)
        waiting.cancel()
        return given

    async with db.tx(org) as tx:
        await tx.all("select 1 as one")
        waiting = asyncio.create_task(wait_for_one())
        while not db._pool._waiting:
            await asyncio.sleep(0)
        monkeypatch.setattr(WaitingClient, "set", hand_over_and_cancel)
    with pytest.raises(asyncio.CancelledError):
        await waiting
    monkeypatch.undo()
    assert going_on == []
    async with db.tx(org) as tx:  # and the connection is there for the next one
        assert await tx.all("select 2 as two") == [{"two": 2}]
    await db.close()
