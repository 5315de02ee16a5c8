"""What a connection takes for prepared is what the server has prepared, whatever became of a round."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemon.db.database import Database
from mnemon.db.pipeline import PipelinedConnection, Statement, plain_statement
from mnemon.db.statements import PreparedStatements, StatementChange, statement_name

MOST = 3
HAS = plain_statement("select name, statement from pg_prepared_statements where not name = '' order by name")


@pytest.fixture
async def wire(database_url: str) -> AsyncIterator[PipelinedConnection]:
    connection = await PipelinedConnection.connect(database_url, autocommit=True, prepare_threshold=None)
    yield connection
    await connection.close()


async def on_server(wire: PipelinedConnection) -> dict[bytes, str]:
    """Name and text of every statement that the server has prepared for this connection."""
    asked = plain_statement(HAS.sql)
    await wire.run_round(asked)
    return {row["name"].encode(): row["statement"] for row in asked.rows}


def believed(wire: PipelinedConnection) -> dict[bytes, str]:
    """The same as the connection believes it."""
    return {name: query.decode() for (query, _), name in wire._own_prepared._names.items()}


@dataclass
class Mirror:
    """A server's prepared statements, which does at most so many steps of a round."""

    held: dict[bytes, bytes] = field(default_factory=dict)

    def play(self, prepared: PreparedStatements, keys: Sequence[int], done: int) -> None:
        """Plan a round, carry out its first steps, and take the rest back."""
        steps: list[StatementChange | bytes] = []
        for number in keys:
            name, changes = prepared.plan_use((b"%d" % number, ()))
            steps.extend([*changes, name])
        for step in steps[:done]:
            if isinstance(step, bytes):
                assert step in self.held, "used before it was prepared"
            elif step.dropped:
                del self.held[step.name]
            else:
                assert step.name not in self.held, "prepared twice"
                self.held[step.name] = step.key[0]
        prepared.undo_changes(step for step in reversed(steps[done:]) if not isinstance(step, bytes))


ROUND = st.tuples(st.lists(st.integers(0, 7), max_size=12), st.integers(0, 40))


@given(st.lists(ROUND, max_size=12), st.integers(1, 5))
def test_the_plan_is_what_a_server_does_that_may_stop_at_any_step(
    rounds: list[tuple[list[int], int]], most: int
) -> None:
    prepared, mirror = PreparedStatements(most=most), Mirror()
    for keys, done in rounds:
        mirror.play(prepared, keys, done)
        assert {name: query for (query, _), name in prepared._names.items()} == mirror.held
        assert len(prepared) <= most


STATEMENT = st.integers(0, 5).map(lambda number: f"select {number} as few, %(n)s::int as n")
FAILS = st.sampled_from(["select 1 / %(n)s::int as few", "select nothing as few, %(n)s::int as n"])
"""One fails when it is run, the other when it is prepared."""
SENT = st.lists(st.one_of(STATEMENT, STATEMENT, FAILS), min_size=1, max_size=6)
BETWEEN = st.sampled_from(["", "BEGIN", "ROLLBACK", "COMMIT", "SAVEPOINT a"])


@given(st.lists(st.tuples(BETWEEN, SENT), min_size=1, max_size=6))
def test_after_every_round_the_server_has_what_the_connection_believes(
    cluster_url: str, rounds: list[tuple[str, list[str]]]
) -> None:
    async def play() -> None:
        wire = await PipelinedConnection.connect(cluster_url, autocommit=True, prepare_threshold=None)
        wire._own_prepared = PreparedStatements(most=MOST)
        try:
            for between, statements in rounds:
                ahead = [plain_statement(between)] if between else []
                try:
                    await wire.run_round(*ahead, *(Statement(sql, {"n": 0}) for sql in statements))
                except psycopg.Error:
                    failed = True
                else:
                    failed = False
                status = wire.info.transaction_status
                if status == psycopg.pq.TransactionStatus.INERROR:  # else it could not be asked
                    await wire.run_round(plain_statement("ROLLBACK"))
                assert not wire.closed
                held = believed(wire)
                assert held == await on_server(wire)
                assert len(held) <= MOST
                assert failed or set(statements[-1:]) <= {text.replace("$1", "%(n)s") for text in held.values()}
        finally:
            await wire.close()

    asyncio.run(play())


async def test_a_thousand_rows_of_one_statement_leave_one_statement(db: Database) -> None:
    async with db.owner_tx() as tx:
        await tx.execute("create temporary table kept (id int) on commit drop")
        assert (
            await tx.execute_many("insert into kept values (%(id)s)", [{"id": number} for number in range(1000)])
            == 1000
        )
        rows = await tx.fetch_unprepared(
            "select name from pg_prepared_statements where statement like 'insert into kept%%'"
        )
        assert len(rows) == 1


async def test_a_statement_that_was_dropped_for_room_is_prepared_again_in_the_same_round(
    wire: PipelinedConnection,
) -> None:
    wire._own_prepared = PreparedStatements(most=2)
    numbers = [1, 2, 3, 1, 3, 2, 1]
    asked = [Statement(f"select {number} as n", {}) for number in numbers]
    await wire.run_round(*asked)
    assert [one.rows[0]["n"] for one in asked] == numbers
    assert believed(wire) == await on_server(wire)
    assert len(believed(wire)) == 2


async def test_a_cancelled_round_leaves_what_the_server_has(wire: PipelinedConnection) -> None:
    wire._own_prepared = PreparedStatements(most=2)
    await wire.run_round(Statement("select 1 as n", {}), Statement("select 2 as n", {}))
    # The third drops the first; the sleep is cut off; the fourth would have dropped the second.
    round_ = [Statement("select 3 as n", {}), plain_statement("select pg_sleep(60)"), Statement("select 4 as n", {})]
    waiting = asyncio.create_task(wire.run_round(*round_))
    await asyncio.sleep(0.1)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert not wire.closed
    assert believed(wire) == await on_server(wire)
    assert set(believed(wire).values()) == {"select 2 as n", "select 3 as n"}


async def test_rollbacks_leave_our_statements_alone(single: Database) -> None:
    """The driver prepares what it has seen five times, and drops every statement of the connection at a rollback."""
    sql = "select 'kept over rollbacks' as words"
    pid = "select pg_backend_pid() as pid"

    async def give_up() -> None:
        async with single.tx("acme") as tx:
            await tx.fetch_one(sql)
            pids.add((await tx.fetch_one(pid))["pid"])
            connection = await tx.raw_connection()
            for _ in range(7):
                await connection.execute("select 1")
            raise LookupError

    pids: set[int] = set()
    for _ in range(4):
        with pytest.raises(LookupError):
            await give_up()
    assert len(pids) == 1, "the connection was given up"


def test_a_name_stands_for_one_text_with_one_choice_of_types() -> None:
    names = {statement_name(key) for key in [(b"select $1", (23,)), (b"select $1", (25,)), (b"select $2", (23,))]}
    assert len(names) == 3
    assert statement_name((b"select $1", (23,))) in names
    assert all(len(name) < 64 for name in names)
