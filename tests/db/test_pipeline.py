"""Rounds of statements on one connection: what each gave, and what is left of the connection when something fails."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import UTC, datetime

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg.types.json import Jsonb

from mnemon.db.pipeline import PipelinedConnection, Statement, StatementLost, plain_statement
from mnemon.db.statements import PreparedStatements, is_read_only, positional_query
from support.bounds import HANGS_S

PREPARED = "select count(*)::int as number from pg_prepared_statements where statement like %(like)s"


@pytest.fixture
async def wire(database_url: str) -> AsyncIterator[PipelinedConnection]:
    connection = await PipelinedConnection.connect(database_url, autocommit=True)
    yield connection
    await connection.close()


async def value(wire: PipelinedConnection, sql: str, **params: object) -> object:
    asked = Statement(sql, params)
    await wire.run_round(asked)
    return next(iter(asked.rows[0].values()))


async def test_each_statement_holds_what_it_gave(wire: PipelinedConnection) -> None:
    made = Statement("create temporary table kept (id int, word text)", {})
    assert (made.count, made.rows) == (0, [])
    put = Statement("insert into kept select n, 'w' || n from generate_series(1, %(most)s) n", {"most": 3})
    rows = Statement("select id, word from kept where id > %(least)s order by id", {"least": 1})
    none = Statement("select id from kept where word = %(word)s", {"word": "%"})
    await wire.run_round(made, put, rows, none)
    assert (put.count, put.rows) == (3, [])
    assert rows.rows == [{"id": 2, "word": "w2"}, {"id": 3, "word": "w3"}]
    assert (none.count, none.rows) == (0, [])


async def test_values_of_every_kind_come_back_as_they_went(wire: PipelinedConnection) -> None:
    at = datetime(2026, 4, 12, 15, 22, tzinfo=UTC)
    params = {"none": None, "text": "ä%s\\'", "big": 2**40, "list": ["a", "b"], "at": at, "json": Jsonb({"a": [1]})}
    asked = Statement(
        "select %(none)s::text as none, %(text)s::text as text, %(big)s::bigint as big, %(list)s::text[] as list,"
        " %(at)s::timestamptz as at, %(json)s as json",
        params,
    )
    await wire.run_round(asked)
    assert asked.rows == [{**params, "json": {"a": [1]}}]
    binary = Statement("select %(at)s::timestamptz, '\\x00ff'::bytea, 7", {"at": at}, tuples=True)
    await wire.run_round(binary)
    assert binary.rows == [(at, b"\x00\xff", 7)]


async def test_a_statement_is_prepared_once_for_each_kind_of_values(wire: PipelinedConnection) -> None:
    sql = "select %(once)s::text as once"
    for _ in range(3):
        assert await value(wire, sql, once="a") == "a"
    await wire.run_round(*(Statement(sql, {"once": str(number)}) for number in range(3)))
    assert await value(wire, PREPARED, like="%as once") == 1
    assert await value(wire, sql, once=7) == "7"
    assert await value(wire, PREPARED, like="%as once") == 2
    await wire.run_round(Statement("select %(never)s::text as never", {"never": "a"}, prepare=False))
    assert await value(wire, PREPARED, like="%as never") == 0


async def test_one_new_statement_twice_in_a_round(wire: PipelinedConnection) -> None:
    twice = [Statement("select %(n)s::int as n", {"n": number}) for number in range(2)]
    await wire.run_round(*twice)
    assert [one.rows for one in twice] == [[{"n": 0}], [{"n": 1}]]


async def test_what_was_longest_unused_makes_room(wire: PipelinedConnection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "_own_prepared", PreparedStatements(most=3))
    for number in (1, 2, 3, 1, 4, 5):
        assert await value(wire, f"select {number} as few") == number
    asked = Statement("select statement from pg_prepared_statements where statement like '%few'", {}, prepare=False)
    await wire.run_round(asked)
    assert {row["statement"] for row in asked.rows} == {f"select {number} as few" for number in (1, 4, 5)}


async def test_where_one_fails_none_after_it_is_run_and_the_connection_goes_on(wire: PipelinedConnection) -> None:
    await wire.run_round(Statement("create temporary table kept (id int)", {}))
    with pytest.raises(psycopg.errors.DivisionByZero):
        await wire.run_round(
            Statement("begin", {}, prepare=False),
            Statement("insert into kept values (1)", {}),
            Statement("select 1 / %(by)s::int", {"by": 0}),
            Statement("select 'never prepared'", {}),
        )
    await wire.run_round(Statement("rollback", {}, prepare=False))
    assert await value(wire, "select count(*)::int from kept") == 0
    assert await value(wire, "select 'never prepared'") == "never prepared"


async def test_a_value_without_a_form_is_refused_before_anything_is_sent(wire: PipelinedConnection) -> None:
    for bad in (object(), "a\0b"):
        with pytest.raises(psycopg.Error):
            await wire.run_round(
                Statement("create temporary table made (id int)", {}), Statement("select %(x)s", {"x": bad})
            )
    assert await value(wire, "select to_regclass('made')::text") is None


async def test_more_than_the_sockets_hold_in_both_directions(wire: PipelinedConnection) -> None:
    large = ["x" * 3_000_000 + str(number) for number in range(6)]
    asked = [Statement("select %(large)s::text as large", {"large": one}) for one in large]
    await asyncio.wait_for(wire.run_round(*asked), HANGS_S)
    assert [one.rows[0]["large"] for one in asked] == large


AT_WORK = "select count(*)::int from pg_stat_activity where pid = %(pid)s and state = 'active'"


async def asleep(wire: PipelinedConnection, other: PipelinedConnection, pid: object) -> asyncio.Task[None]:
    """A statement that takes ten minutes, when the server is at it."""
    waiting = asyncio.create_task(wire.run_round(Statement("select pg_sleep(600)", {})))
    while await value(other, AT_WORK, pid=pid) == 0:
        await asyncio.sleep(0.01)
    return waiting


async def test_nobody_waits_any_more_and_the_statement_is_stopped(wire: PipelinedConnection, database_url: str) -> None:
    pid = await value(wire, "select pg_backend_pid()")
    other = await PipelinedConnection.connect(database_url, autocommit=True)
    waiting = await asleep(wire, other, pid)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert await value(other, AT_WORK, pid=pid) == 0
    await other.close()
    assert await value(wire, "select 'goes on'") == "goes on"


async def test_a_server_that_hangs_up_is_noticed(wire: PipelinedConnection, database_url: str) -> None:
    pid = await value(wire, "select pg_backend_pid()")
    other = await PipelinedConnection.connect(database_url, autocommit=True)
    waiting = await asleep(wire, other, pid)
    await value(other, "select pg_terminate_backend(%(pid)s)", pid=pid)
    with pytest.raises(psycopg.OperationalError):
        await asyncio.wait_for(waiting, HANGS_S)
    assert wire.closed
    with pytest.raises(psycopg.OperationalError):
        await wire.run_round(Statement("select 1", {}))
    await other.close()


async def test_tables_that_change_underneath_end_the_connection_and_may_be_tried_again(
    wire: PipelinedConnection, database_url: str
) -> None:
    await wire.run_round(Statement("create table shape (id int)", {}))
    for _ in range(3):
        await wire.run_round(Statement("select * from shape", {}))
    other = await PipelinedConnection.connect(database_url, autocommit=True)
    await other.run_round(Statement("alter table shape add column more text", {}))
    with pytest.raises(psycopg.OperationalError, match="tables were changed"):
        await wire.run_round(Statement("select * from shape", {}))
    assert wire.closed
    await other.run_round(Statement("select * from shape", {}))
    await other.close()


async def test_a_statement_that_the_server_lost_ends_the_connection_and_may_be_tried_again(
    wire: PipelinedConnection,
) -> None:
    await wire.run_round(Statement("select 1 as one", {}))
    await wire.run_round(plain_statement("DEALLOCATE ALL"))
    with pytest.raises(StatementLost):
        await wire.run_round(Statement("select 1 as one", {}))
    assert wire.closed


async def test_a_server_that_hangs_up_is_quoted(wire: PipelinedConnection) -> None:
    with pytest.raises(psycopg.errors.AdminShutdown):
        await wire.run_round(Statement("select pg_terminate_backend(pg_backend_pid())", {}))
    assert wire.closed


async def test_two_at_once_take_turns(wire: PipelinedConnection) -> None:
    assert await asyncio.gather(*(value(wire, "select %(n)s::int", n=number) for number in range(20))) == [*range(20)]


NAMES = st.from_regex(r"[a-z_][a-z0-9_]{0,8}", fullmatch=True)
WORDS = st.text(st.characters(exclude_characters="%$", exclude_categories=["Cs"]), max_size=12)


@given(st.lists(st.tuples(WORDS, NAMES)), WORDS)
def test_every_placeholder_has_the_place_of_its_name(pieces: list[tuple[str, str]], rest: str) -> None:
    sql = "".join(f"{words}%({name})s%%" for words, name in pieces) + rest
    query, names = positional_query(sql)
    assert len(set(names)) == len(names)
    expected = "".join(f"{words}${names.index(name) + 1}%" for words, name in pieces) + rest
    assert query.decode() == expected


@pytest.mark.parametrize(
    ("sql", "reads"),
    [
        ("-- update nothing\nselect * from memories", True),
        ("select 1 from turns where id = %(id)s for update", False),
        ("select forgettings from users FOR  NO KEY UPDATE", False),
        ("with gone as (delete from work returning 1) select * from gone", False),
        ("select pg_notify('a', '')", False),
        ("select pg_advisory_xact_lock(1, 2)", False),
        ("set local enable_seqscan = off", False),
        ("select updated_at, set_by from offsets", True),
    ],
)
def test_a_statement_that_may_write_or_lock_is_known_by_its_words(sql: str, reads: bool) -> None:
    assert is_read_only(sql) is reads


@pytest.mark.parametrize("rows", [0, 1, 10_000, 25_000])
async def test_others_run_while_many_rows_are_made_of_an_answer(wire: PipelinedConnection, rows: int) -> None:
    asked = Statement("", {})
    filling = wire._store_rows(asked, wire.pgconn.exec_(f"select n from generate_series(1, {rows}) n".encode()))
    pauses = 0
    with suppress(StopIteration):
        while True:
            filling.send(None)
            pauses += 1
    assert [row["n"] for row in asked.rows] == list(range(1, rows + 1))
    assert pauses == max(0, (rows - 1) // 10_000)
