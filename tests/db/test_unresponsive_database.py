"""A database that stopped without a word: nobody waits for ever, and a connection that does not answer is given up."""

import asyncio
import os
import signal
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

import psycopg
import pytest

from mnemon.clock import SystemClock
from mnemon.db import database
from mnemon.db.connect import connection_options
from mnemon.db.database import Database
from mnemon.errors import DatabaseDown
from support.bounds import HANGS_S
from support.rounds import watch_rounds

PID = "select pg_backend_pid() as pid"
SOON_S = 0.2


@contextmanager
def stopped(*pids: int) -> Iterator[None]:
    """The server's processes stand still."""
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


async def pid_of(db: Database) -> int:
    return int((await db.read_once("acme", PID))[0]["pid"])


async def ask(db: Database, *, within_s: float | None = None) -> None:
    async with db.tx("acme", within_s=within_s) as tx:
        await tx.fetch_one("select 1 as one")


async def test_a_round_that_is_not_answered_ends_and_so_does_its_connection(
    single: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    pid = await pid_of(single)
    with stopped(pid):
        monkeypatch.setattr(database, "ROUND_LIMIT_S", SOON_S)
        with pytest.raises(DatabaseDown, match=r"did not answer in 0\.2 s") as caught:
            await ask(single)
        assert caught.value.code == "database_unavailable"
        monkeypatch.undo()
        assert await pid_of(single) != pid, "the pool has made another"


async def test_who_cannot_wait_says_how_long(single: Database) -> None:
    with stopped(await pid_of(single)), pytest.raises(DatabaseDown, match=r"did not answer in 0\.2 s"):
        await ask(single, within_s=SOON_S)
    with stopped(await pid_of(single)), pytest.raises(DatabaseDown, match=r"did not answer in 0\.2 s"):
        await single.read_once("acme", "select 1", within_s=SOON_S)
    async with single.tx("acme") as tx:
        await tx.fetch_one("select pg_sleep(0.4)")  # the next one may take its time again


async def test_a_busy_pool_is_waited_for_as_long_as_is_said(single: Database) -> None:
    async with single.tx("acme") as tx:
        await tx.fetch_one("select 1 as one")
        with pytest.raises(DatabaseDown, match="did not give a connection in time"):
            await ask(single, within_s=SOON_S)


async def test_while_the_server_answers_a_busy_pool_is_waited_for(
    single: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "DOWN_WAIT_S", 0.01)
    async with single.tx("acme") as tx:
        await tx.fetch_one("select 1 as one")
        waiting = asyncio.create_task(ask(single))
        await asyncio.wait({waiting}, timeout=0.1)
    await waiting


async def test_while_the_server_does_not_answer_nobody_waits_for_long(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "DOWN_WAIT_S", 0.01)
    patient = Database(database_url, SystemClock(), pool_size=1, timeout_s=1000)
    await patient.open()
    try:
        async with patient.tx("acme") as tx:
            await tx.fetch_one("select 1 as one")
            patient._pool.down = True
            with pytest.raises(DatabaseDown):
                await asyncio.wait_for(ask(patient), HANGS_S)
        await ask(patient)
        assert not patient._pool.down, "a commit says that the server is back"
    finally:
        await patient.close()


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A port that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


async def test_a_server_that_never_greets_is_not_waited_for(silent_port: int) -> None:
    silent = Database(f"postgresql://nobody@127.0.0.1:{silent_port}/none", SystemClock())
    await silent.open()
    try:
        with pytest.raises(DatabaseDown):
            await ask(silent, within_s=SOON_S)
    finally:
        await silent.close()


async def test_who_waits_for_a_connection_when_none_can_be_made_does_not_wait_to_the_end() -> None:
    nowhere = Database("postgresql://nobody@127.0.0.1:1/none", SystemClock(), timeout_s=1000)
    await nowhere.open()
    try:
        with pytest.raises(DatabaseDown):
            await asyncio.wait_for(ask(nowhere), 60)
    finally:
        await nowhere.close()


@pytest.fixture
async def three(database_url: str) -> AsyncIterator[Database]:
    database = Database(database_url, SystemClock(), pool_size=3)
    await database.open()
    yield database
    await database.close()


async def test_a_round_that_was_not_answered_is_not_sent_to_the_next_connection(
    three: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    entered: list[int] = []
    all_in = asyncio.Event()

    async def hold() -> None:
        async with three.tx("acme") as tx:
            entered.append((await tx.fetch_one(PID))["pid"])
            if len(entered) == 3:
                all_in.set()
            await all_in.wait()

    await asyncio.gather(hold(), hold(), hold())
    rounds = watch_rounds(monkeypatch)
    with stopped(*entered), pytest.raises(DatabaseDown):
        await ask(three, within_s=SOON_S)
    assert len(rounds) == 1


async def test_whoever_is_cancelled_while_it_rolls_back_is_cancelled(single: Database) -> None:
    pid = await pid_of(single)
    rolling_back = asyncio.Event()

    async def give_up() -> None:
        async with single.tx("acme") as tx:
            await tx.fetch_one("select 1 as one")
            os.kill(pid, signal.SIGSTOP)
            asyncio.get_running_loop().call_later(SOON_S, rolling_back.set)
            raise LookupError

    giving_up = asyncio.create_task(give_up())
    try:
        await rolling_back.wait()
        giving_up.cancel()
        with pytest.raises(asyncio.CancelledError):
            await giving_up
    finally:
        os.kill(pid, signal.SIGCONT)
    assert await pid_of(single) != pid


def test_what_the_url_says_itself_stands() -> None:
    plain = connection_options("postgresql://u@h/d", connect_timeout_s=5, session=True)
    assert (plain["connect_timeout"], plain["keepalives"]) == (5, 1)
    assert "-c statement_timeout=30s" in plain["options"]
    url = "postgresql://u@h/d?connect_timeout=9&tcp_user_timeout=7&options=-c%20search_path%3Dours"
    own = connection_options(url, connect_timeout_s=5, session=True)
    assert "connect_timeout" not in own
    assert "tcp_user_timeout" not in own
    assert own["options"].endswith("-c search_path=ours")
    assert "options" not in connection_options(url, connect_timeout_s=5, session=False)


async def test_every_transaction_runs_under_its_limits_in_either_mode(database_url: str) -> None:
    name = psycopg.conninfo.conninfo_to_dict(database_url)["dbname"]
    with psycopg.connect(database_url, autocommit=True) as other:
        other.execute(f"alter database \"{name}\" set timezone = 'Asia/Tokyo'")
    for prepared in (True, False):
        db = Database(database_url, SystemClock(), pool_size=1, prepared=prepared, listen_url=database_url)
        await db.open()
        try:
            # The zone is the session's again when the answers to a glance are read.
            (glanced,) = await db.read_once("acme", "select %(at)s::timestamptz as at", at="2026-04-12T15:22:00Z")
            assert glanced["at"].isoformat() == "2026-04-12T15:22:00+00:00"
            for begin in (db.tx("acme"), db.owner_tx()):
                async with begin as tx:
                    row = await tx.fetch_one(
                        "select current_setting('statement_timeout') as a, current_setting('timezone') as b,"
                        " current_setting('idle_in_transaction_session_timeout') as c, %(at)s::timestamptz as at",
                        at="2026-04-12T15:22:00Z",
                    )
                    named = await tx.fetch_unprepared("select 1 from pg_prepared_statements")
                assert (row["a"], row["b"], row["c"]) == ("30s", "UTC", "1min")
                assert row["at"].isoformat() == "2026-04-12T15:22:00+00:00"
                assert bool(named) is prepared
        finally:
            await db.close()
