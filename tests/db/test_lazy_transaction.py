"""A transaction begins with its first statement, and what nobody looks at leaves with the next."""

import psycopg
import pytest

from mnemon.clock import SystemClock
from mnemon.db.database import Database
from mnemon.db.tx import Tx
from mnemon.errors import DatabaseDown
from support.rounds import Rounds, watch_rounds

PUT = "insert into kept values (%(id)s)"


@pytest.fixture
def rounds(monkeypatch: pytest.MonkeyPatch) -> Rounds:
    return watch_rounds(monkeypatch)


@pytest.fixture
async def table(db: Database) -> None:
    async with db.owner_tx() as tx:
        await tx.execute("create table kept (id int primary key)")
        await tx.execute("grant all on kept to mnemon_app")


async def kept(db: Database) -> list[int]:
    async with db.owner_tx() as tx:
        return [row["id"] for row in await tx.fetch_all("select id from kept order by id")]


async def end_all_connections(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as other:
        other.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity "
            "where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'"
        )


async def test_where_nothing_is_asked_nothing_is_sent(rounds: Rounds) -> None:
    nowhere = Database("postgresql://nobody@127.0.0.1:1/none", SystemClock())
    async with nowhere.tx("acme"):
        pass
    assert rounds == []


async def test_it_begins_with_the_first_statement_and_ends_with_what_was_put_off(
    db: Database, table: None, rounds: Rounds
) -> None:
    rounds.clear()
    async with db.tx("acme") as tx:
        assert await tx.fetch_all("select id from kept") == []
        tx.defer(PUT, id=1)
        tx.defer(PUT, id=2)
    assert rounds == [["begin", "set", "set", "select"], ["insert", "insert", "commit"]]
    assert await kept(db) == [1, 2]


async def test_what_was_put_off_is_there_for_the_next_statement(db: Database, table: None) -> None:
    async with db.tx("acme") as tx:
        tx.defer(PUT, id=1)
        assert await tx.fetch_all("select id from kept") == [{"id": 1}]


async def test_a_commit_is_never_in_the_first_round_which_may_be_sent_again(
    db: Database, table: None, rounds: Rounds
) -> None:
    rounds.clear()
    async with db.tx("acme") as tx:
        tx.defer(PUT, id=1)
    assert rounds == [["begin", "set", "set", "insert"], ["commit"]]
    assert await kept(db) == [1]


async def twice(db: Database) -> None:
    async with db.tx("acme") as tx:
        await tx.execute(PUT, id=1)
        tx.defer(PUT, id=1)


async def test_what_was_put_off_fails_with_the_commit_and_nothing_is_kept(db: Database, table: None) -> None:
    with pytest.raises(psycopg.errors.UniqueViolation):
        await twice(db)
    assert await kept(db) == []


async def test_what_was_put_off_inside_a_savepoint_fails_inside(db: Database, table: None) -> None:
    async def inside(tx: Tx) -> None:
        async with tx.savepoint():
            tx.defer(PUT, id=1)

    async with db.tx("acme") as tx:
        await tx.execute(PUT, id=1)
        with pytest.raises(psycopg.errors.UniqueViolation):
            await inside(tx)
        await tx.execute(PUT, id=2)
    assert await kept(db) == [1, 2]


async def test_an_exception_undoes_what_was_sent_and_forgets_what_was_not(db: Database, table: None) -> None:
    async def gives_up(first: bool) -> None:
        async with db.tx("acme") as tx:
            if first:
                await tx.execute(PUT, id=1)
            tx.defer(PUT, id=2)
            raise LookupError

    for first in (True, False):
        with pytest.raises(LookupError):
            await gives_up(first)
    assert await kept(db) == []


async def test_a_connection_that_is_dead_is_passed_over_before_anything_was_done(
    db: Database, table: None, database_url: str
) -> None:
    for number in range(3):
        await end_all_connections(database_url)
        async with db.tx("acme") as tx:
            await tx.execute(PUT, id=number)
    assert await kept(db) == [0, 1, 2]


DIES_ONCE = """
create function dies_once() returns int language plpgsql security definer as $$
begin if nextval('times') = 1 then perform pg_terminate_backend(pg_backend_pid()); end if; return 1; end $$
"""


async def test_a_write_that_is_sent_again_because_its_connection_died_is_done_once(
    db: Database, table: None, rounds: Rounds
) -> None:
    async with db.owner_tx() as tx:
        await tx.execute("create sequence times")
        await tx.execute(DIES_ONCE)
    rounds.clear()
    async with db.tx("acme") as tx:
        await tx.execute("with put as (insert into kept values (1) returning id) select id + dies_once() from put")
    assert rounds == [["begin", "set", "set", "with"], ["begin", "set", "set", "with"], ["commit"]]
    assert await kept(db) == [1]


async def cut_off(db: Database, url: str) -> None:
    async with db.tx("acme") as tx:
        await tx.execute(PUT, id=1)
        await end_all_connections(url)
        await tx.execute(PUT, id=2)


async def test_one_that_dies_later_takes_its_transaction_with_it(db: Database, table: None, database_url: str) -> None:
    with pytest.raises(DatabaseDown):
        await cut_off(db, database_url)
    assert await kept(db) == []


async def test_what_the_driver_does_itself_is_inside_too(db: Database, table: None) -> None:
    async with db.tx("acme") as tx:
        tx.defer(PUT, id=1)
        connection = await tx.raw_connection()
        row = await (
            await connection.execute("select current_user::text as who, count(*) as number from kept")
        ).fetchone()
    assert row == {"who": "mnemon_app", "number": 1}
