"""The pool: whatever is cancelled whenever, no connection is missing afterwards and nobody waits beside an idle one."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemon.clock import SystemClock
from mnemon.db.database import Database
from mnemon.db.pipeline import PipelinedConnection
from mnemon.db.pool import DOWN_AFTER_S, DOWN_WAIT_S, MAX_IDLE_S, MAX_LIFETIME_S, ConnectionPool, NoConnection
from support.bounds import HANGS_S
from support.virtual_time import run_in_virtual_time

SOON_S = HANGS_S


class Door:
    """Makes real connections, or refuses to."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.refuses = False
        self.tried = 0

    async def make(self) -> PipelinedConnection:
        self.tried += 1
        if self.refuses:
            raise psycopg.OperationalError("as told")
        return await PipelinedConnection.connect(self.url, autocommit=True)


class Status:
    transaction_status = psycopg.pq.TransactionStatus.IDLE

    def finish(self) -> None:
        self.transaction_status = psycopg.pq.TransactionStatus.UNKNOWN


class Paper:
    """What the pool sees of a connection."""

    def __init__(self) -> None:
        self.pgconn = Status()


class PaperDoor(Door):
    """Makes connections to nothing."""

    def __init__(self) -> None:
        super().__init__("")

    async def make(self) -> PipelinedConnection:
        self.tried += 1
        await asyncio.sleep(0)
        if self.refuses:
            raise psycopg.OperationalError("as told")
        return Paper()  # type: ignore[return-value]


@pytest.fixture
def door(database_url: str) -> Door:
    return Door(database_url)


@pytest.fixture
async def pool(door: Door) -> AsyncIterator[ConnectionPool]:
    pool = ConnectionPool(door.make, size=2)
    pool.open()
    yield pool
    await pool.close()


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(SOON_S):
        while not holds():
            await asyncio.sleep(0.001)


async def test_a_connection_comes_back_to_whoever_asked_first(pool: ConnectionPool) -> None:
    held = [await pool.borrow_connection(SOON_S), await pool.borrow_connection(SOON_S)]
    served: list[int] = []

    async def ask(number: int) -> PipelinedConnection:
        wire = await pool.borrow_connection(SOON_S)
        served.append(number)
        return wire

    asking = [asyncio.create_task(ask(number)) for number in range(4)]
    await until(lambda: pool.waiting_count == 4)
    for wire in held:
        pool.return_connection(wire)
    for task in asking:
        pool.return_connection(await task)
    assert served == [0, 1, 2, 3]
    assert (pool.open_count, pool.idle_count, pool.waiting_count) == (2, 2, 0)


async def test_whoever_is_cancelled_as_it_is_served_passes_the_connection_on(pool: ConnectionPool) -> None:
    held = [await pool.borrow_connection(SOON_S), await pool.borrow_connection(SOON_S)]
    first, second = (asyncio.create_task(pool.borrow_connection(SOON_S)) for _ in range(2))
    await until(lambda: pool.waiting_count == 2)
    pool.return_connection(held[0])
    first.cancel()  # in the same turn of the loop
    with pytest.raises(asyncio.CancelledError):
        await first
    assert await second is held[0]
    for wire in held:
        pool.return_connection(wire)
    assert (pool.open_count, pool.idle_count) == (2, 2)


async def test_nobody_waits_longer_than_asked(pool: ConnectionPool) -> None:
    held = [await pool.borrow_connection(SOON_S), await pool.borrow_connection(SOON_S)]
    with pytest.raises(NoConnection):
        await pool.borrow_connection(0.01)
    assert pool.waiting_count == 0
    for wire in held:
        pool.return_connection(wire)


async def test_a_connection_that_broke_or_is_in_a_transaction_is_replaced(pool: ConnectionPool) -> None:
    broken, busy = await pool.borrow_connection(SOON_S), await pool.borrow_connection(SOON_S)
    asking = asyncio.create_task(pool.borrow_connection(SOON_S))
    await until(lambda: pool.waiting_count == 1)
    await broken.close()
    pool.return_connection(broken)
    fresh = await asking
    assert fresh is not broken
    await busy.execute("begin")
    pool.return_connection(busy)
    assert busy.closed
    pool.return_connection(fresh)
    assert (pool.open_count, pool.idle_count) == (1, 1)
    await fresh.close()  # the server ends it while nobody has it
    other = await pool.borrow_connection(SOON_S)
    assert other is not fresh
    pool.return_connection(other)


def test_an_old_connection_is_not_lent_again() -> None:
    async def grow_old() -> None:
        pool = ConnectionPool(PaperDoor().make, size=1)
        pool.open()
        first = await pool.borrow_connection(SOON_S)
        pool.return_connection(first)
        await asyncio.sleep(MAX_LIFETIME_S - 1)
        assert await pool.borrow_connection(SOON_S) is first
        await asyncio.sleep(2)
        pool.return_connection(first)
        assert await pool.borrow_connection(SOON_S) is not first
        assert pool.open_count == 1

    run_in_virtual_time(grow_old())


def test_what_is_not_needed_is_closed_but_for_the_last() -> None:
    async def be_idle() -> None:
        pool = ConnectionPool(PaperDoor().make, size=3)
        pool.open()
        held = [await pool.borrow_connection(SOON_S) for _ in range(3)]
        for wire in held:
            pool.return_connection(wire)
            await asyncio.sleep(MAX_IDLE_S / 10)
        await asyncio.sleep(MAX_IDLE_S / 2)
        assert pool.open_count == 3
        await asyncio.sleep(2 * MAX_IDLE_S)
        assert (pool.open_count, pool.idle_count) == (1, 1)
        assert await pool.borrow_connection(SOON_S) is held[-1]
        await pool.close()

    run_in_virtual_time(be_idle())


async def test_while_connecting_fails_one_task_tries_and_then_everybody_is_served(door: Door) -> None:
    pool = ConnectionPool(door.make, size=4)
    door.refuses = True
    pool.open()
    asking = [asyncio.create_task(pool.borrow_connection(SOON_S)) for _ in range(4)]
    await until(lambda: door.tried >= 6)
    asking += [asyncio.create_task(pool.borrow_connection(SOON_S)) for _ in range(4)]
    await asyncio.sleep(0)
    assert len(pool._connecting) == 1
    door.refuses = False
    wires = [await task for task in asking[:4]]
    assert pool.open_count == 4
    for wire in wires:
        pool.return_connection(wire)
    for task in asking[4:]:
        pool.return_connection(await task)
    await pool.close()


def test_whoever_waits_for_a_server_that_is_down_is_told_soon() -> None:
    async def wait_for_it() -> None:
        door = PaperDoor()
        pool = ConnectionPool(door.make, size=2)
        door.refuses = True
        pool.open()
        with pytest.raises(NoConnection):
            await pool.borrow_connection(60)
        assert pool.down
        took = asyncio.get_running_loop().time()
        assert DOWN_AFTER_S <= took <= DOWN_AFTER_S + DOWN_WAIT_S + 1
        await asyncio.sleep(5)
        tried = door.tried
        await asyncio.sleep(60)
        assert door.tried == tried  # nobody waits, so nobody tries
        door.refuses = False
        pool.return_connection(await pool.borrow_connection(SOON_S))
        assert not pool.down

    run_in_virtual_time(wait_for_it())


async def test_closing_tells_whoever_waits_and_closes_what_comes_back(door: Door) -> None:
    pool = ConnectionPool(door.make, size=1)
    pool.open()
    wire = await pool.borrow_connection(SOON_S)
    asking = asyncio.create_task(pool.borrow_connection(60))
    await until(lambda: pool.waiting_count == 1)
    await pool.close()
    with pytest.raises(NoConnection):
        await asking
    with pytest.raises(NoConnection):
        await pool.borrow_connection(60)
    pool.return_connection(wire)
    assert wire.closed
    assert pool.open_count == 0


@pytest.mark.parametrize("seed", range(3))
async def test_transactions_cancelled_at_any_moment_leave_every_connection_and_nobody_waiting(
    database_url: str, org: str, seed: int
) -> None:
    db = Database(database_url, SystemClock(), pool_size=2, timeout_s=SOON_S)
    await db.open()
    draw = random.Random(seed)

    async def use() -> None:
        async with db.tx(org) as tx:
            await tx.fetch_all("select 1 as one")

    under_way: list[asyncio.Task[None]] = []
    for _ in range(500):
        under_way.append(asyncio.create_task(use()))
        for _ in range(draw.randrange(4)):
            await asyncio.sleep(0)
        if len(under_way) > 4:
            under_way.pop(draw.randrange(len(under_way))).cancel()
        if draw.random() < 0.1:
            await asyncio.sleep(0.0005)
    await asyncio.gather(*under_way)  # none of these was cancelled, so each was served in time
    await until(lambda: db._pool.idle_count == db._pool.open_count)
    assert db._pool.waiting_count == 0
    await db.close()


steps = st.lists(
    st.tuples(st.sampled_from(["ask", "cancel", "give", "break", "refuse", "accept", "turn"]), st.integers(0, 9)),
    max_size=60,
)


@given(size=st.integers(1, 3), steps=steps)
def test_any_order_of_asking_cancelling_giving_and_breaking_serves_everybody(
    size: int, steps: list[tuple[str, int]]
) -> None:
    run_in_virtual_time(_go_through(size, steps))


async def _go_through(size: int, steps: list[tuple[str, int]]) -> None:
    door = PaperDoor()
    pool = ConnectionPool(door.make, size=size)
    pool.open()
    asking: list[asyncio.Task[PipelinedConnection]] = []
    held: list[PipelinedConnection] = []
    for step, number in steps:
        if step == "ask":
            asking.append(asyncio.create_task(pool.borrow_connection(1e6)))
        elif step == "cancel" and asking:
            asking.pop(number % len(asking)).cancel()
        elif step in ("give", "break") and held:
            wire = held.pop(number % len(held))
            if step == "break":
                wire.pgconn.finish()
            pool.return_connection(wire)
        elif step in ("refuse", "accept"):
            door.refuses = step == "refuse"
        else:
            for _ in range(number):
                await asyncio.sleep(0)
        asking, held = _served(asking, held)
        assert len(held) <= pool.open_count <= size
    door.refuses = False
    while asking or held:
        while held:
            pool.return_connection(held.pop())
        if asking:
            done, _ = await asyncio.wait(asking, timeout=10, return_when=asyncio.FIRST_COMPLETED)
            assert done, "somebody waits and nobody serves"
        asking, held = _served(asking, held)
    await asyncio.sleep(1)
    assert (pool.idle_count, pool.waiting_count) == (pool.open_count, 0)
    await pool.close()


def _served(
    asking: list[asyncio.Task[PipelinedConnection]], held: list[PipelinedConnection]
) -> tuple[list[asyncio.Task[PipelinedConnection]], list[PipelinedConnection]]:
    """Who still waits, and what those hold who were served."""
    return [one for one in asking if not one.done()], held + [one.result() for one in asking if one.done()]
