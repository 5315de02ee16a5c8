"""Two transactions brought into a race by hand: the second is seen to wait for the first before that commits."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from mnemon.db.database import Database
from mnemon.db.tx import Tx
from support.bounds import HANGS_S

R = TypeVar("R")
_WAITING = "select count(*)::int as number from pg_stat_activity where %(pid)s = any(pg_blocking_pids(pid))"


async def run_behind(
    db: Database,
    org: str,
    first: Callable[[Tx], Awaitable[object]],
    late: Callable[[Tx], Awaitable[R]],
    *,
    then: Callable[[Tx], Awaitable[object]] | None = None,
) -> R:
    """Run `late` while the transaction of `first` is open, and commit that once `late` waits for it or has ended.

    With `then`, the first transaction goes on with it while `late` waits. Gives or raises what `late` does.
    """

    async def run_late() -> R:
        async with db.tx(org) as tx:
            return await late(tx)

    async with asyncio.timeout(HANGS_S):
        async with db.tx(org) as tx:
            await first(tx)
            pid = (await tx.fetch_one("select pg_backend_pid() as pid"))["pid"]
            racing = asyncio.create_task(run_late())
            while not racing.done() and not await _number_waiting(db, org, pid):
                await asyncio.sleep(0.005)
            if then is not None:
                await then(tx)
        return await racing


async def _number_waiting(db: Database, org: str, pid: int) -> int:
    async with db.tx(org) as tx:
        return int((await tx.fetch_one(_WAITING, pid=pid))["number"])
