"""Mnemon behind a PgBouncer in transaction mode, where each transaction may get another connection."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import httpx2
import psycopg
import pytest
from structlog.testing import capture_logs

from mnemon.access.audit import record_write, verify_log
from mnemon.access.keys import create_key
from mnemon.access.organizations import create_organization
from mnemon.cli.checkup.pooler import check_named_statements
from mnemon.clock import SystemClock
from mnemon.db import connect
from mnemon.db.database import Database
from mnemon.db.migrate import check_role, migrate_database, pending_migrations, shipped_migrations
from mnemon.errors import DatabaseDown
from mnemon.scope import Scope
from support.databases import name_of, new_database
from support.pgbouncer import behind_pooler, cluster_for_pooler, pooler, through

pytestmark = pytest.mark.conformance

NOW = datetime(2026, 4, 12, 15, 22, tzinfo=UTC)
CONNECTIONS = 3
ROUNDS = 3
FACTS = 40


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    with cluster_for_pooler() as url:
        yield url


@pytest.fixture(scope="module")
def bouncer(cluster: str) -> Iterator[str]:
    with pooler(cluster, connections=CONNECTIONS) as url:
        yield url


@pytest.fixture(scope="module")
def migrated(cluster: str) -> Iterator[str]:
    """A migrated database that others are copied from."""
    with new_database(cluster) as url:
        asyncio.run(migrate_database(url, NOW))
        yield name_of(url)


@pytest.fixture
def direct(cluster: str, migrated: str) -> Iterator[str]:
    """The URL of a database, past the pooler."""
    with new_database(cluster, migrated) as url:
        yield url


@pytest.fixture
async def db(bouncer: str, direct: str) -> AsyncIterator[Database]:
    """The same database, through the pooler."""
    database = Database(through(bouncer, direct), SystemClock(), prepared=False, listen_url=direct)
    await database.open()
    yield database
    await database.close()


def pooled_connections(direct: str) -> int:
    with psycopg.connect(direct) as connection:
        row = connection.execute(
            "select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() "
            "and backend_type = 'client backend' and query not like 'LISTEN%'"
        ).fetchone()
    assert row is not None
    return int(row[0])


def facts(org: str, user: str, number: int) -> list[dict[str, str]]:
    return [
        {
            "userId": user,
            "type": "PROFILE",
            "content": f"{org} fact {number}-{place}",
            "attribute": f"f{number}x{place}",
        }
        for place in range(FACTS)
    ]


def use(client: httpx2.Client, org: str, user: str) -> None:
    """Turns, their reflections and batches of memories."""
    turns = []
    for number in range(ROUNDS):
        said = {"userId": user, "message": f"My name is {org.capitalize()}.", "stream": False}
        answered = client.post("/api/chat", json=said)
        assert answered.status_code == 200, answered.text
        turns.append(answered.json()["data"]["turnId"])
        stored = client.post("/api/memories/batch", json=facts(org, user, number))
        assert stored.status_code == 200, stored.text
    for _ in range(600):
        reflections = [client.get(f"/api/turns/{turn}").json()["data"]["reflection"] for turn in turns]
        if {one["status"] for one in reflections} == {"done"}:
            return
        time.sleep(0.2)
    raise AssertionError(f"not all turns are reflected: {reflections}")


async def new_key(url: str, org: str) -> str:
    """A key of the organization, made past the pooler."""
    db = Database(url, SystemClock(), pool_size=1)
    await db.open()
    try:
        async with db.tx(org) as tx:
            await create_organization(tx)
            return (await create_key(tx, Scope(org_id=org), name="test"))[1]
    finally:
        await db.close()


def test_processes_share_few_connections_and_organizations_stay_apart(
    cluster: str, bouncer: str, tmp_path: Path
) -> None:
    with ExitStack() as stack:
        direct = stack.enter_context(new_database(cluster))
        url = through(bouncer, direct)
        servers = [
            stack.enter_context(behind_pooler("serve", url, tmp_path / "a")),
            stack.enter_context(behind_pooler("serve", url, tmp_path / "b", MNEMON_LISTEN_URL=direct)),
        ]
        stack.enter_context(behind_pooler("worker", url, tmp_path / "c"))
        users = [
            (org, f"{org}{place}", stack.enter_context(httpx2.Client(base_url=server, headers=headers, timeout=60)))
            for org in ("acme", "globex")
            for headers in [{"Authorization": f"Bearer {asyncio.run(new_key(direct, org))}"}]
            for place, server in enumerate(servers)
        ]
        with ThreadPoolExecutor(len(users)) as threads:
            for used in [threads.submit(use, client, org, user) for org, user, client in users]:
                used.result()
        assert pooled_connections(direct) <= CONNECTIONS
        for org, user, client in users:
            assert_only_its_own(client, org, user, [other for _, other, _ in users if not other.startswith(org)])
    for log in ("a", "b", "c"):
        words = (tmp_path / log / "log").read_text()
        assert ("notifications_off" in words) is (log != "b")
        assert "work_failed" not in words
        assert "Traceback" not in words


def assert_only_its_own(client: httpx2.Client, org: str, user: str, others: list[str]) -> None:
    """Everything that was stored is there, and nothing of another organization."""
    found = client.get("/api/memories", params={"userId": user, "limit": 200}).json()["data"]
    told = [memory["content"] for memory in found if " fact " in memory["content"]]
    assert len(told) == ROUNDS * FACTS
    assert {content.split()[0] for content in told} == {org}
    assert [memory for memory in found if memory["source"] == "shadow_extraction"], "reflected"
    for other in others:
        assert client.get("/api/memories", params={"userId": other}).json()["data"] == []
    exported = client.get(f"/api/users/{user}/export")
    assert exported.status_code == 200
    assert exported.text.count(" fact ") >= ROUNDS * FACTS


async def test_row_level_security_binds_every_transaction_whatever_connection_it_gets(db: Database) -> None:
    async def look(number: int) -> None:
        org = f"org{number % 5}"
        async with db.tx(org) as tx:
            await check_role(tx)
            await tx.execute(
                "insert into organizations (org_id, created_at) values (%(org)s, %(at)s) on conflict do nothing",
                org=org,
                at=NOW,
            )
            assert await tx.fetch_all("select org_id from organizations") == [{"org_id": org}]
        assert await db.read_once(org, "select org_id from organizations") == [{"org_id": org}]
        async with db.tx(None) as tx:
            assert await tx.fetch_all("select org_id from organizations") == []

    await asyncio.gather(*(look(number) for number in range(60)))


async def test_the_audit_log_holds_whatever_connection_each_entry_was_written_by(db: Database) -> None:
    async def write(number: int) -> None:
        async with db.tx("acme") as tx:
            record_write(tx, Scope(org_id="acme"), actor=f"key_{number}", action="x")
            record_write(tx, Scope(org_id="acme"), actor=f"key_{number}", action="y")

    async with db.tx("acme") as tx:
        await create_organization(tx)
    await asyncio.gather(*(write(number) for number in range(60)))
    async with db.tx("acme") as tx:
        reached, broken = await verify_log(tx, Scope(org_id="acme"))
        torn = await tx.fetch_all("select actor from audit group by actor having count(distinct lane) > 1")
    assert (reached.entry_count, broken, torn) == (121, None, [])


async def test_nothing_of_a_transaction_stays_on_a_connection(db: Database) -> None:
    async def session() -> tuple[str, ...]:
        async with db.owner_tx() as tx:
            named = await tx.fetch_all("select name from pg_prepared_statements")
            await tx.execute_many("select %(n)s::int", [{"n": number} for number in range(20)])
            row = await tx.fetch_one("select current_user::text as who, current_setting('mnemon.org', true) as org")
        assert named == []
        return row["who"], row["org"] or ""

    async def write(number: int) -> None:
        async with db.tx("acme") as tx:
            connection = await tx.raw_connection()
            for _ in range(7):  # after five times the driver would prepare it
                await connection.execute("select 1")

    owners = {await session()}
    for _ in range(5):
        await asyncio.gather(*(write(number) for number in range(10)))
        owners |= set(await asyncio.gather(*(session() for _ in range(10))))
    assert len(owners) == 1
    assert {org for _, org in owners} == {""}


async def test_who_is_cancelled_stops_its_statement_on_the_server(db: Database, direct: str) -> None:
    async def sleep() -> None:
        async with db.tx("acme") as tx:
            await tx.fetch_one("select pg_sleep(60)")

    sleeping = asyncio.create_task(sleep())
    running = "select count(*) from pg_stat_activity where state = 'active' and query like '%pg_sleep(60)%'"
    running += " and pid <> pg_backend_pid()"
    with psycopg.connect(direct, autocommit=True) as other:
        for _ in range(200):
            if other.execute(running).fetchone() == (1,):
                break
            await asyncio.sleep(0.05)
        sleeping.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sleeping
        assert other.execute(running).fetchone() == (0,)
    await asyncio.gather(*(db.read_once("acme", "select 1") for _ in range(10)))


async def test_a_statement_has_its_timeout(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(connect.SESSION_SETTINGS, "statement_timeout", "50ms")
    with pytest.raises(DatabaseDown) as caught:
        await db.read_once("acme", "select pg_sleep(20)")
    assert caught.value.code == "statement_timeout"


async def test_notifications_are_heard_past_the_pooler(db: Database) -> None:
    async with db.listen("mnemon_test") as listener:
        async with db.tx("acme") as tx:
            await tx.execute("select pg_notify('mnemon_test', 'heard')")
        async for notice in listener.notifies(timeout=20, stop_after=1):
            assert notice.payload == "heard"
            return
    pytest.fail("nothing was heard")


async def test_without_a_url_past_the_pooler_who_listens_is_told_once_that_notifications_are_off(
    bouncer: str, direct: str
) -> None:
    deaf = Database(through(bouncer, direct), SystemClock(), pool_size=1, prepared=False)
    with capture_logs() as logs:
        await deaf.open()
        try:
            await ask(deaf, 1)
            assert logs == []
            for _ in range(2):
                async with deaf.listen("mnemon_test") as listener:
                    assert [notice async for notice in listener.notifies(timeout=0.05)] == []
            assert [line["event"] for line in logs] == ["notifications_off"]
        finally:
            await deaf.close()


async def test_migrations_go_through_it_and_leave_no_lock(cluster: str, bouncer: str) -> None:
    with new_database(cluster) as url:
        done = await asyncio.gather(*(migrate_database(through(bouncer, url), NOW) for _ in range(2)))
        assert sum(map(len, done)) == len(shipped_migrations())
        assert await pending_migrations(through(bouncer, url)) == []
        with psycopg.connect(url) as connection:
            assert connection.execute("select count(*) from pg_locks where locktype = 'advisory'").fetchone() == (0,)


@pytest.mark.parametrize("ignored", ["extra_float_digits", "extra_float_digits,options"])
async def test_prepared_statements_are_refused_with_the_setting_that_helps(
    cluster: str, direct: str, ignored: str
) -> None:
    with pooler(cluster, connections=CONNECTIONS, ignore_startup_parameters=ignored) as url:
        db = Database(through(url, direct), SystemClock(), pool_size=5)
        await db.open()
        caught = await asyncio.gather(*(ask(db, number) for number in range(30)), return_exceptions=True)
        await db.close()
    failures = [one for one in caught if one is not None]
    assert {one.code for one in failures if isinstance(one, DatabaseDown)} == {"prepared_statements_refused"}
    assert all("MNEMON_PREPARED_STATEMENTS=false" in str(one) for one in failures)


@pytest.mark.parametrize("connections", [1, 3])
async def test_the_doctor_tells_a_pooler_that_loses_prepared_statements_every_time(
    cluster: str, direct: str, connections: int
) -> None:
    ignored = "extra_float_digits,options"
    with pooler(cluster, connections=connections, ignore_startup_parameters=ignored) as url:
        for _ in range(5):
            found = await check_named_statements(through(url, direct))
            assert found is not None
            assert found.state == "fail"
            assert "MNEMON_PREPARED_STATEMENTS=false" in (found.fix or "")


@pytest.mark.parametrize("connections", [1, 5])
async def test_the_doctor_takes_no_other_way_in_for_such_a_pooler(cluster: str, direct: str, connections: int) -> None:
    assert await check_named_statements(direct) is None
    ignored = "extra_float_digits,options"
    with pooler(cluster, connections=connections, pool_mode="session", ignore_startup_parameters=ignored) as url:
        assert await check_named_statements(through(url, direct)) is None


async def test_in_session_mode_statements_may_be_prepared(cluster: str, direct: str) -> None:
    ignored = "extra_float_digits,options"
    with pooler(cluster, connections=5, pool_mode="session", ignore_startup_parameters=ignored) as url:
        db = Database(through(url, direct), SystemClock(), pool_size=5)
        await db.open()
        await asyncio.gather(*(ask(db, number) for number in range(30)))
        await db.close()


async def ask(db: Database, number: int) -> None:
    async with db.tx("acme", within_s=3) as tx:
        for place in range(4):
            assert (await tx.fetch_one(f"select {place + number % 7} as n"))["n"] == place + number % 7
