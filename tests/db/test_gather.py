"""Readers of one transaction that ask together: the same answers in fewer round trips."""

from collections.abc import Callable

import psycopg
import pytest

from mnemon.db.database import Database
from mnemon.db.tx import Tx
from support.rounds import watch_rounds


@pytest.fixture
def round_trips(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """How many rounds were sent since it was asked last."""
    sent = watch_rounds(monkeypatch)

    def since() -> int:
        number = len(sent)
        sent.clear()
        return number

    return since


async def number(tx: Tx, given: int) -> int:
    return int((await tx.fetch_one("select %(given)s::int as number", given=given))["number"])


async def chain(tx: Tx, *given: int) -> list[int]:
    return [await number(tx, one) for one in given]


async def test_each_reader_gets_its_own_answer_in_one_round_trip(
    db: Database, org: str, round_trips: Callable[[], int]
) -> None:
    async with db.tx(org) as tx:
        assert round_trips() == 0  # begin, role and organization leave with the first statement
        assert await tx.gather(number(tx, 1), number(tx, 2), number(tx, 3)) == (1, 2, 3)
        assert round_trips() == 1
    assert round_trips() == 1  # commit


async def test_there_are_as_many_rounds_as_the_longest_reader_has_questions(
    db: Database, org: str, round_trips: Callable[[], int]
) -> None:
    async def both(tx: Tx) -> list[list[int]]:
        return list(await tx.gather(chain(tx, 4), chain(tx, 5, 6)))

    async with db.tx(org) as tx:
        round_trips()
        made = await tx.gather(chain(tx, 1, 2, 3), both(tx), chain(tx))
        assert made == ([1, 2, 3], [[4], [5, 6]], [])
        assert round_trips() == 3
        assert await number(tx, 7) == 7


async def test_a_statement_that_fails_fails_the_whole_and_the_connection_goes_on(db: Database, org: str) -> None:
    async def broken(tx: Tx) -> int:
        await number(tx, 1)
        return int((await tx.fetch_one("select 1 / 0 as number"))["number"])

    with pytest.raises(psycopg.errors.DivisionByZero):
        async with db.tx(org) as tx:
            await tx.gather(broken(tx), chain(tx, 1, 2, 3))
    async with db.tx(org) as tx:
        assert await number(tx, 2) == 2


async def test_a_reader_that_gives_up_ends_the_others(db: Database, org: str) -> None:
    async def picky(tx: Tx) -> None:
        await number(tx, 1)
        raise LookupError("not what I wanted")

    with pytest.raises(LookupError, match="not what I wanted"):
        async with db.tx(org) as tx:
            await tx.gather(picky(tx), chain(tx, 1, 2, 3))
    async with db.tx(org) as tx:
        assert await number(tx, 2) == 2


async def test_statements_are_run_in_the_order_of_the_readers(db: Database, org: str) -> None:
    async def write(tx: Tx) -> int:
        return await tx.execute("create temporary table written on commit drop as select 1 as one")

    async def read(tx: Tx) -> int:
        return len(await tx.fetch_all("select * from written"))

    async with db.tx(org) as tx:
        assert (await tx.gather(write(tx), read(tx)))[1] == 1
