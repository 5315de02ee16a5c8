"""Migrations: applied once, in order, by one process at a time; a fresh schema equals a migrated one."""

import asyncio
import re
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest

from mnemon.db.migrate import Migration, check_role, migrate_database, pending_migrations, shipped_migrations
from mnemon.errors import Misconfigured
from write_schema import dumped

ROOT = Path(__file__).parents[2]
NOW = datetime(2026, 4, 12, tzinfo=UTC)


@pytest.fixture
def empty_url(cluster_url: str) -> Iterator[str]:
    """A database with nothing in it."""
    name = f"mnemon_empty_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(cluster_url, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    yield psycopg.conninfo.make_conninfo(cluster_url, dbname=name)
    with psycopg.connect(cluster_url, autocommit=True) as connection:
        connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


async def test_a_fresh_schema_equals_a_migrated_one(empty_url: str, database_url: str) -> None:
    schema = (ROOT / "docs" / "schema.sql").read_text()
    with psycopg.connect(empty_url, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION vector")
        connection.execute(schema)
    migrated = dumped(database_url)
    with psycopg.connect(database_url) as connection:
        if connection.info.server_version >= 180000:  # older servers dump the same in other words
            assert migrated == schema, "run scripts/write_schema.py"
    assert dumped(empty_url) == migrated


async def test_the_second_run_applies_nothing(database_url: str) -> None:
    assert await pending_migrations(database_url) == []
    assert await migrate_database(database_url, NOW) == []


async def test_many_at_once_apply_each_step_once(empty_url: str) -> None:
    done = await asyncio.gather(*(migrate_database(empty_url, NOW) for _ in range(4)))
    assert sorted(step.number for applied in done for step in applied) == [step.number for step in shipped_migrations()]


async def test_a_step_that_fails_leaves_nothing_behind(empty_url: str) -> None:
    steps = (
        Migration(number=1, name="good", sql="create table good (org_id text primary key)"),
        Migration(number=2, name="bad", sql="create table half (org_id text primary key); select 1/0"),
    )
    with pytest.raises(psycopg.errors.DivisionByZero):
        await migrate_database(empty_url, NOW, steps=steps)
    with psycopg.connect(empty_url) as connection:
        tables = {
            row[0]
            for row in connection.execute(
                "select relname from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace"
            )
        }
    assert tables == {"good", "schema_migrations"}


async def test_an_upgrade_keeps_rows_and_secures_new_tables(empty_url: str) -> None:
    first = Migration(number=1, name="first", sql="create table notes (org_id text primary key, text text)")
    second = Migration(
        number=2,
        name="second",
        sql="alter table notes add column at timestamptz; create table more (org_id text primary key)",
    )
    await migrate_database(empty_url, NOW, steps=(first,))
    with psycopg.connect(empty_url, autocommit=True) as connection:
        connection.execute("insert into notes (org_id, text) values ('acme', 'kept')")
    assert [step.number for step in await migrate_database(empty_url, NOW, steps=(first, second))] == [2]
    with psycopg.connect(empty_url, autocommit=True) as connection:
        assert connection.execute("select text, at from notes").fetchall() == [("kept", None)]
        secured = connection.execute("select relname from pg_class where relrowsecurity order by 1").fetchall()
        assert secured == [("more",), ("notes",)]
        connection.execute("set role mnemon_app")
        assert connection.execute("select count(*) from notes").fetchone() == (0,)


async def test_a_changed_or_unknown_step_is_refused(empty_url: str) -> None:
    first = Migration(number=1, name="first", sql="select 1")
    await migrate_database(empty_url, NOW, steps=(first,))
    with pytest.raises(Misconfigured, match="other contents"):
        await migrate_database(empty_url, NOW, steps=(Migration(number=1, name="first", sql="select 2"),))
    with pytest.raises(Misconfigured, match="newer version"):
        await migrate_database(empty_url, NOW, steps=())


def test_numbers_are_used_once_and_files_are_named_for_what_they_do() -> None:
    numbers = [step.number for step in shipped_migrations()]
    assert numbers == sorted(set(numbers))
    assert all(re.fullmatch(r"[a-z][a-z0-9_]+", step.name) for step in shipped_migrations())


async def test_the_servers_role_is_bound_by_row_level_security(db, org) -> None:  # type: ignore[no-untyped-def]
    async with db.tx(org) as tx:
        await check_role(tx)
        assert (await tx.fetch_one("select current_user as name"))["name"] == "mnemon_app"
        assert (await tx.fetch_all("select org_id from organizations")) == [{"org_id": org}]
    async with db.tx(None) as tx:
        assert await tx.fetch_all("select org_id from organizations") == []
    async with db.owner_tx() as tx:
        with pytest.raises(Misconfigured, match="not bound"):
            await check_role(tx)


LINK = """
insert into signins (org_id, digest, kind, actor, grants, created_at, expires_at)
values ('acme', %(digest)s, 'link', 'x', '{}', %(at)s, %(at)s)
"""


async def test_a_pooled_connection_never_carries_an_organization_over(db, org) -> None:  # type: ignore[no-untyped-def]
    async with db.tx(org) as tx:
        await tx.execute(LINK, digest=b"a", at=NOW)
    for other in ("globex", None, "globex"):
        async with db.tx(other) as tx:
            assert await tx.fetch_all("select * from signins") == []
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        async with db.tx("globex") as tx:
            await tx.execute(LINK, digest=b"b", at=NOW)


async def test_keys_of_earlier_versions_go_on_working(empty_url: str) -> None:
    before = [step for step in shipped_migrations() if step.number < 94]
    await migrate_database(empty_url, NOW, steps=before)
    old = ["admin", "agents:read", "agents:write", "chat", "jobs", "memory:read", "memory:write"]
    with psycopg.connect(empty_url, autocommit=True) as connection:
        connection.execute("insert into organizations values ('acme', now())")
        for key_id, bound, grants in (("all", None, old), ("few", None, ["chat", "jobs"]), ("ann", "ann", old)):
            connection.execute(
                "insert into keys (org_id, key_id, name, secret, grants, bound_user, created_at) "
                "values ('acme', %s, 'old', %s, %s, %s, now())",
                (key_id, key_id.encode(), grants, bound),
            )
    await migrate_database(empty_url, NOW)
    with psycopg.connect(empty_url) as connection:
        held: dict[str, list[str]] = dict(connection.execute("select key_id, grants from keys").fetchall())
    assert set(held["all"]) == {*old, "personas:write", "prices:write", "jobs:write"}
    assert set(held["few"]) == {"chat", "jobs", "jobs:write"}
    assert set(held["ann"]) == {"chat", "memory:read", "memory:write"}


async def test_fragments_of_folds_that_were_replaced_become_active_again(empty_url: str) -> None:
    await migrate_database(empty_url, NOW, steps=[step for step in shipped_migrations() if step.number < 106])
    rows = [
        ("mem_fold", "curated_fold", None, None, ["mem_c"]),
        ("mem_a", "api", "folded", "folded into mem_fold", []),
        ("mem_c", "api", "folded", "folded into mem_fold", []),
        ("mem_d", "api", "wrong", "folded into mem_fold", []),
    ]
    with psycopg.connect(empty_url, autocommit=True) as connection:
        connection.execute("insert into organizations values ('acme', now())")
        connection.execute(
            "insert into users (org_id, user_id, external_id, created_at) values ('acme', 'usr', 'ann', now())"
        )
        for memory_id, source, reason, note, sources in rows:
            connection.execute(
                "insert into memories (org_id, user_id, id, type, content, entity_type, fact_type, importance,"
                " memory_key, source, trust, confidence, valid_from, stated_at, revision, created_at, updated_at,"
                " recorded_at, status, archive_reason, archived_at, note, sources)"
                " values ('acme', 'usr', %s, 'PEOPLE', %s, 'person', 'fact', 1, %s,"
                " %s, 'person', 1, now(), now(), 1, now(), now(), now(), %s, %s, %s, %s, %s)",
                (memory_id, memory_id, memory_id, source, "ARCHIVED" if reason else "ACTIVE", reason,
                 NOW if reason else None, note, sources),
            )  # fmt: skip
    await migrate_database(empty_url, NOW)
    with psycopg.connect(empty_url) as connection:
        held = connection.execute("select id, status, sources from memories order by id").fetchall()
    assert held == [
        ("mem_a", "ACTIVE", []),
        ("mem_c", "ARCHIVED", []),
        ("mem_d", "ARCHIVED", []),
        ("mem_fold", "ACTIVE", ["mem_c", "mem_a"]),
    ]
