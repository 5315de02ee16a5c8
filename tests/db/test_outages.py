"""What the database cannot do now is told with its cause, as a 503, and costs no connection."""

import asyncio
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg
import pytest

from mnemon.api.problems import status_of
from mnemon.clock import SystemClock
from mnemon.db.database import Database
from mnemon.db.outages import OUTAGES
from mnemon.errors import Contended, DatabaseDown, Invalid, Unavailable

PID = "select pg_backend_pid() as pid"
CODES = [
    ("40P01", Contended, "contended"),
    ("40001", Contended, "contended"),
    ("55P03", Contended, "contended"),
    ("25006", DatabaseDown, "database_read_only"),
    ("53100", DatabaseDown, "database_full"),
    ("53200", DatabaseDown, "database_out_of_memory"),
    ("53300", DatabaseDown, "too_many_connections"),
    ("42501", DatabaseDown, "database_forbidden"),
    ("57014", DatabaseDown, "statement_timeout"),
    ("25P03", DatabaseDown, "transaction_timeout"),
    ("25P04", DatabaseDown, "transaction_timeout"),
    ("57P01", DatabaseDown, "database_restarting"),
    ("57P02", DatabaseDown, "database_restarting"),
    ("57P03", DatabaseDown, "database_restarting"),
    ("42P05", DatabaseDown, "prepared_statements_refused"),
    ("08006", DatabaseDown, "database_unavailable"),
    ("58030", DatabaseDown, "database_unavailable"),
]


def raising(state: str) -> str:
    return f"DO $$ BEGIN RAISE EXCEPTION 'as told' USING ERRCODE = '{state}'; END $$"


async def pid_of(db: Database) -> int:
    async with db.tx("acme") as tx:
        return int((await tx.fetch_one(PID))["pid"])


def test_every_outage_that_is_known_is_raised_below() -> None:
    raised = {state for state, *_ in CODES} | {"26000"}  # closes the connection: see test_pipeline.py
    assert {state for one in OUTAGES for state in one.states} <= raised


@pytest.mark.parametrize(("state", "kind", "code"), CODES)
async def test_each_has_its_code_and_leaves_a_clean_connection(
    single: Database, state: str, kind: type[Unavailable], code: str
) -> None:
    before = await pid_of(single)
    for first in (True, False, True):
        with pytest.raises(kind) as caught:
            await fail(single, raising(state), first=first)
        assert (caught.value.code, status_of(caught.value)) == (code, 503)
        assert "ry again" in caught.value.detail or "MNEMON_" in caught.value.detail or "mnemon" in caught.value.detail
    assert await pid_of(single) == before, "the connection is the same and works"
    assert (single._pool.open_count, single._pool.idle_count) == (1, 1)


async def fail(db: Database, sql: str, *, first: bool) -> None:
    async with db.tx("acme") as tx:
        if not first:
            await tx.fetch_one("select 1 as one")
        await tx.execute(sql)


@pytest.mark.parametrize("state", ["54000", "54001", "54023"])
async def test_a_value_beyond_a_limit_is_the_callers_and_no_lost_connection(single: Database, state: str) -> None:
    before = await pid_of(single)
    with pytest.raises(Invalid) as caught:
        await fail(single, raising(state), first=True)
    assert (caught.value.code, status_of(caught.value)) == ("beyond_database_limit", 422)
    assert await pid_of(single) == before


@pytest.mark.parametrize("state", ["23505", "22012", "42P01", "P0001"])
async def test_a_mistake_of_ours_stays_the_drivers_error(single: Database, state: str) -> None:
    with pytest.raises(psycopg.Error) as caught:
        await fail(single, raising(state), first=True)
    assert caught.value.sqlstate == state


async def test_a_missing_right_a_read_only_database_and_a_held_lock_for_real(single: Database) -> None:
    async with single.owner_tx() as tx:
        await tx.execute("create table kept (id int primary key)")
    with pytest.raises(DatabaseDown) as caught:
        await fail(single, "insert into kept values (1)", first=True)
    assert caught.value.code == "database_forbidden"
    async with single.owner_tx() as tx:
        await tx.execute("grant all on kept to mnemon_app")
    async with single.tx("acme") as tx:
        await tx.execute("insert into kept values (1)")

    async def write_read_only() -> None:
        async with single.tx("acme") as tx:
            await tx.execute("set transaction read only")
            await tx.execute("insert into kept values (2)")

    with pytest.raises(DatabaseDown) as caught:
        await write_read_only()
    assert caught.value.code == "database_read_only"

    async def wait_for_a_lock() -> None:
        async with single.tx("acme") as tx:
            await tx.execute("set local lock_timeout = '20ms'")
            await tx.execute("update kept set id = 3")

    with psycopg.connect(single.url) as other:
        other.execute("update kept set id = 4")
        with pytest.raises(Contended):
            await wait_for_a_lock()


async def test_a_row_of_another_organization_is_a_mistake_of_ours(single: Database) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        await fail(single, "insert into organizations (org_id, created_at) values ('globex', now())", first=True)


DIES_AT_COMMIT = """
create function die() returns trigger language plpgsql security definer as
$$ begin perform pg_terminate_backend(pg_backend_pid()); return null; end $$;
"""


async def test_a_connection_that_is_lost_at_commit_leaves_the_outcome_open(single: Database) -> None:
    async with single.owner_tx() as tx:
        await tx.execute("create table kept (id int primary key)")
        await tx.execute("grant all on kept to mnemon_app")
        await tx.execute(DIES_AT_COMMIT)
        await tx.execute(
            "create constraint trigger dies after insert on kept deferrable initially deferred "
            "for each row execute function die()"
        )
    with pytest.raises(DatabaseDown) as caught:
        await fail(single, "insert into kept values (1)", first=True)
    assert caught.value.code == "outcome_unknown"
    assert "may or may not have been stored" in caught.value.detail
    assert "Idempotency-Key" in caught.value.detail
    assert await pid_of(single)


async def test_where_nothing_was_written_a_lost_commit_loses_nothing(single: Database) -> None:
    async def read_and_lose() -> None:
        async with single.tx("acme") as tx:
            pid = (await tx.fetch_one(PID))["pid"]
            with psycopg.connect(single.url, autocommit=True) as other:
                other.execute("select pg_terminate_backend(%s, 5000)", (pid,))

    with pytest.raises(DatabaseDown) as caught:
        await read_and_lose()
    assert caught.value.code == "database_restarting"


async def test_a_failure_that_was_swallowed_is_no_commit(single: Database) -> None:
    async def go_on() -> None:
        async with single.tx("acme") as tx:
            with pytest.raises(psycopg.errors.DivisionByZero):
                await tx.execute("select 1 / 0")

    with pytest.raises(psycopg.errors.InFailedSqlTransaction):
        await go_on()
    assert await pid_of(single)


@asynccontextmanager
async def refusing(words: str) -> AsyncIterator[str]:
    """The URL of a server that refuses every connection in these words, as PostgreSQL and PgBouncer do."""
    fields = b"SFATAL\0C08P01\0M" + words.encode() + b"\0\0"

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        (length,) = struct.unpack("!I", await reader.readexactly(4))
        await reader.readexactly(length - 4)
        writer.write(b"E" + struct.pack("!I", len(fields) + 4) + fields)
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        yield f"postgresql://nobody@127.0.0.1:{port}/none?sslmode=disable&gssencmode=disable"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("sorry, too many clients already", "too_many_connections"),
        ("remaining connection slots are reserved for roles with the SUPERUSER attribute", "too_many_connections"),
        ("no more connections allowed (max_client_conn)", "too_many_connections"),
        ("the database system is starting up", "database_restarting"),
        ("unsupported startup parameter: options", "prepared_statements_refused"),
        ("password authentication failed for user nobody", "database_unavailable"),
    ],
)
async def test_why_no_connection_could_be_made_is_told(words: str, code: str) -> None:
    async with refusing(words) as url:
        db = Database(url, SystemClock(), pool_size=1)
        await db.open()
        try:
            with pytest.raises(DatabaseDown) as caught:
                await db.read_once("acme", "select 1", within_s=1)
        finally:
            await db.close()
    assert caught.value.code == code
