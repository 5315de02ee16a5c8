"""How many work items a second one runner takes, runs and settles: `python -m bench.work`."""

import asyncio
import sys
import time
from datetime import UTC, datetime

from mnemon.access.organizations import create_organization
from mnemon.clock import SystemClock
from mnemon.db.database import Database
from mnemon.db.migrate import migrate_database
from mnemon.jobs import store
from mnemon.jobs.kind import Attempt, JobKind
from mnemon.jobs.runner import Runner
from mnemon.scope import Scope

ITEMS = 5000


async def measure(url: str, concurrency: int) -> float:
    """Items a second over 5,000 items that do nothing."""
    await migrate_database(url, datetime.now(UTC))
    db = Database(url, SystemClock(), pool_size=concurrency + 4)
    await db.open()
    scope = Scope(org_id="bench")
    async with db.tx(scope.org_id) as tx:
        await create_organization(tx)
    for start in range(0, ITEMS, 500):
        async with db.tx(scope.org_id) as tx:
            for number in range(start, start + 500):
                await store.enqueue_work(tx, scope, "bench", str(number))

    async def nothing(attempt: Attempt) -> None: ...

    runner = Runner(db, SystemClock(), {"bench": JobKind(name="bench", run=nothing)}, concurrency=concurrency)
    began = time.perf_counter()
    done = await runner.drain()
    took = time.perf_counter() - began
    await db.close()
    return done / took


if __name__ == "__main__":
    for concurrency in (8, 16, 32):
        rate = asyncio.run(measure(sys.argv[1], concurrency))
        print(f"{concurrency:>3} at a time: {rate:,.0f} items/s")
