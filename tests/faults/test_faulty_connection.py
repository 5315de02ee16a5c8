"""The double of the statement layer: it fails the chosen statement, and PostgreSQL itself raises the error."""

import asyncio
from collections.abc import AsyncIterator
from itertools import product

import psycopg
import pytest

from mnemon.clock import ManualClock
from mnemon.db.database import Database
from mnemon.errors import Contended, DatabaseDown, Unavailable
from support.faulty_connection import SQLSTATES, Fault, FaultClass, Faults, faulty_class

WRITES = ("BEGIN", "SET LOCAL ROLE mnemon_app", "SET LOCAL mnemon.org = 'acme'", "insert", "insert", "COMMIT")
COMMIT = 6
CONTENDED = (FaultClass.DEADLOCK, FaultClass.SERIALIZATION, FaultClass.LOCK_TIMEOUT)


@pytest.fixture
def faults() -> Faults:
    return Faults()


@pytest.fixture
async def faulty(database_url: str, clock: ManualClock, org: str, faults: Faults) -> AsyncIterator[Database]:
    """The test's database through connections that fail."""
    database = Database(database_url, clock, pool_size=2, connection_class=faulty_class(faults))
    await database.open()
    yield database
    await database.close()


async def write_two(db: Database) -> None:
    """Two rows, the first of which is put off."""
    async with db.tx("acme") as tx:
        insert = "insert into recall_days (org_id, day, number) values ('acme', %(day)s::date, 1)"
        tx.defer(insert, day="2026-04-12")
        await tx.execute(insert, day="2026-04-13")


async def read_in_savepoint(db: Database) -> None:
    """Four statements, then the savepoint's, which leaves with a reading one."""
    async with db.tx("acme") as tx:
        await tx.fetch_all("select 1")
        async with tx.savepoint():
            await tx.fetch_all("select 2")


def stop(task: "asyncio.Future[None]") -> None:
    task.cancel()


async def rows(db: Database) -> int:
    async with db.tx("acme") as tx:
        return int(
            (await tx.fetch_one("select count(*)::int as number from recall_days where org_id = 'acme'"))["number"]
        )


async def test_every_statement_is_counted_also_what_was_put_off(faulty: Database, faults: Faults) -> None:
    faults.arm()
    await write_two(faulty)
    assert [one.split(" into")[0] for one in faults.take_statements()] == list(WRITES)


async def test_postgresql_raises_the_error_and_nothing_is_stored(faulty: Database, faults: Faults) -> None:
    for at, (kind, sqlstate) in product(range(1, COMMIT + 1), SQLSTATES.items()):
        faults.arm(Fault(at=at, kind=kind))
        with pytest.raises(Unavailable) as raised:
            await write_two(faulty)
        faults.heal()
        cause = raised.value.__cause__
        assert isinstance(cause, psycopg.Error), (at, kind)
        assert cause.sqlstate == sqlstate, (at, kind)
        assert isinstance(raised.value, Contended) == (kind in CONTENDED), (at, kind)
        assert await rows(faulty) == 0, (at, kind)


@pytest.mark.parametrize(
    ("kind", "stored"),
    [
        (FaultClass.TERMINATED, 0),
        (FaultClass.LOST_BEFORE, 0),
        (FaultClass.AWAY, 0),
        (FaultClass.LOST_AFTER, 2),
    ],
)
async def test_a_commit_that_is_lost_is_told_and_took_effect_or_not(
    faulty: Database, faults: Faults, kind: FaultClass, stored: int
) -> None:
    faults.arm(Fault(at=COMMIT, kind=kind))
    with pytest.raises(DatabaseDown):
        await write_two(faulty)
    faults.heal()
    assert await rows(faulty) == stored


@pytest.mark.parametrize("kind", [FaultClass.TERMINATED, FaultClass.LOST_BEFORE, FaultClass.LOST_AFTER])
async def test_what_is_lost_before_anything_is_committed_is_said_again_to_another_connection(
    faulty: Database, faults: Faults, kind: FaultClass
) -> None:
    faults.arm(Fault(at=4, kind=kind))
    await write_two(faulty)
    assert faults.struck is not None
    faults.heal()
    assert await rows(faulty) == 2


async def test_whoever_waits_is_cancelled_while_the_statement_runs(faulty: Database, faults: Faults) -> None:
    writing = asyncio.ensure_future(write_two(faulty))
    faults.arm(Fault(at=5, kind=FaultClass.CANCELLED), cancel=lambda: stop(writing))
    with pytest.raises(asyncio.CancelledError):
        await writing
    faults.heal()
    assert await rows(faulty) == 0


async def test_a_savepoint_that_was_never_set_does_not_hide_a_cancellation(faulty: Database, faults: Faults) -> None:
    writing = asyncio.ensure_future(read_in_savepoint(faulty))
    faults.arm(Fault(at=5, kind=FaultClass.CANCELLED), cancel=lambda: stop(writing))
    with pytest.raises(asyncio.CancelledError):
        await writing
    assert faults.struck == "SAVEPOINT savepoint_1"


async def test_a_savepoint_that_was_never_set_does_not_hide_the_first_error(faulty: Database, faults: Faults) -> None:
    faults.arm(Fault(at=5, kind=FaultClass.DEADLOCK))
    with pytest.raises(Contended):
        await read_in_savepoint(faulty)
    assert faults.struck == "SAVEPOINT savepoint_1"
