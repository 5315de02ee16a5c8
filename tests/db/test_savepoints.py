"""What fails inside a savepoint is undone alone, and setting one costs no round trip."""

from collections.abc import AsyncIterator

import psycopg
import pytest

from mnemon.db.database import Database
from mnemon.db.tx import Tx
from support.rounds import watch_rounds


@pytest.fixture
async def tx(db: Database, org: str) -> AsyncIterator[Tx]:
    """A transaction with an empty table `kept` of its own."""
    async with db.tx(org) as tx:
        await tx.execute("create temporary table kept (id int primary key) on commit drop")
        yield tx


async def keep(tx: Tx, *ids: int) -> None:
    for one in ids:
        await tx.execute("insert into kept values (%(id)s)", id=one)


async def kept(tx: Tx) -> list[int]:
    return [row["id"] for row in await tx.fetch_all("select id from kept order by id")]


async def fails(tx: Tx) -> None:
    async with tx.savepoint():
        await keep(tx, 7, 7)


async def test_what_fails_is_undone_alone(tx: Tx) -> None:
    await keep(tx, 1)
    with pytest.raises(psycopg.errors.UniqueViolation):
        await fails(tx)
    async with tx.savepoint():
        await keep(tx, 2)
    await keep(tx, 3)
    assert await kept(tx) == [1, 2, 3]


async def test_any_exception_undoes_it(tx: Tx) -> None:
    async def gives_up() -> None:
        async with tx.savepoint():
            await keep(tx, 1)
            raise LookupError

    with pytest.raises(LookupError):
        await gives_up()
    assert await kept(tx) == []


async def test_one_in_another(tx: Tx) -> None:
    async with tx.savepoint():
        await keep(tx, 1)
        with pytest.raises(psycopg.errors.UniqueViolation):
            await fails(tx)
        async with tx.savepoint():
            await keep(tx, 2)
    assert await kept(tx) == [1, 2]

    async def outer_fails() -> None:
        async with tx.savepoint():
            async with tx.savepoint():
                await keep(tx, 3)
            raise LookupError

    with pytest.raises(LookupError):
        await outer_fails()
    assert await kept(tx) == [1, 2]


async def test_a_value_without_a_form_undoes_it_too(tx: Tx) -> None:
    async def unfit() -> None:
        async with tx.savepoint():
            await tx.execute("insert into kept values (%(id)s)", id=object())

    await keep(tx, 1)
    with pytest.raises(psycopg.ProgrammingError):
        await unfit()

    async def unfit_later() -> None:
        async with tx.savepoint():
            await keep(tx, 2)
            await unfit()

    with pytest.raises(psycopg.ProgrammingError):
        await unfit_later()
    assert await kept(tx) == [1]


async def test_setting_and_releasing_is_no_round_trip_of_its_own(tx: Tx, monkeypatch: pytest.MonkeyPatch) -> None:
    rounds = watch_rounds(monkeypatch)
    async with tx.savepoint():
        pass
    async with tx.savepoint():
        await keep(tx, 1)
    async with tx.savepoint():
        await keep(tx, 2)
    assert await kept(tx) == [1, 2]
    assert rounds == [["savepoint", "insert"], ["release", "savepoint", "insert"], ["release", "select"]]
