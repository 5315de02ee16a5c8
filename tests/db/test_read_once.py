"""A transaction of one statement in one round trip: as bound and as safe as any other."""

import psycopg
import pytest

from mnemon.access.organizations import create_organization
from mnemon.clock import SystemClock
from mnemon.db import connect
from mnemon.db.database import Database
from mnemon.errors import DatabaseDown
from support.rounds import watch_rounds


async def test_it_sees_its_own_organization_only(db: Database, org: str) -> None:
    async with db.tx("another") as tx:
        await create_organization(tx)
    assert len(await db.read_once(org, "select org_id from organizations")) == 1
    assert await db.read_once(org, "select 1 from organizations where org_id = %(other)s", other="another") == []


async def test_what_is_asked_is_data_whatever_it_says(db: Database, org: str) -> None:
    said = "'; COMMIT; DROP TABLE keys; -- \\ \" %"
    assert await db.read_once(org, "select %(said)s::text as said;", said=said) == [{"said": said}]


async def test_a_statement_that_fails_leaves_a_connection_that_works_and_is_bound(db: Database, org: str) -> None:
    for _ in range(12):
        with pytest.raises(psycopg.errors.DivisionByZero):
            await db.read_once(org, "select 1 / 0")
    assert await db.read_once(org, "select current_user::text as name") == [{"name": "mnemon_app"}]
    async with db.tx("another") as tx:
        assert await tx.fetch_all("select 1 from organizations") == []


async def test_connections_that_a_restart_left_dead_are_passed_over(db: Database, org: str, database_url: str) -> None:
    await db.read_once(org, "select 1")
    with psycopg.connect(database_url, autocommit=True) as other:
        other.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity "
            "where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'"
        )
    assert await db.read_once(org, "select 1 as one") == [{"one": 1}]


async def test_a_statement_that_takes_too_long_is_told_as_such(
    db: Database, org: str, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(connect.SESSION_SETTINGS, "statement_timeout", "2s")
    hasty = Database(database_url, SystemClock())
    await hasty.open()
    with pytest.raises(DatabaseDown):
        await hasty.read_once(org, "select pg_sleep(600)")
    assert await hasty.read_once(org, "select 1 as one") == [{"one": 1}]
    await hasty.close()


async def test_it_is_one_round(db: Database, org: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rounds = watch_rounds(monkeypatch)
    await db.read_once(org, "select 1")
    assert rounds == [["begin", "set", "set", "select", "commit"]]


async def test_it_does_not_write(db: Database, org: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rounds = watch_rounds(monkeypatch)
    with pytest.raises(ValueError, match="only reads"):
        await db.read_once(org, "update organizations set created_at = created_at returning org_id")
    assert rounds == []


async def test_the_server_keeps_it_from_writing_where_its_words_do_not_tell(db: Database, org: str) -> None:
    async with db.owner_tx() as tx:
        await tx.execute("create table kept (id int)")
        await tx.execute("grant all on kept to mnemon_app")
        await tx.execute(
            "create function hidden() returns int language sql as $$ insert into kept values (1); select 1 $$"
        )
    with pytest.raises(DatabaseDown) as caught:
        await db.read_once(org, "select hidden()")
    assert caught.value.code == "database_read_only"
    async with db.owner_tx() as tx:
        assert await tx.fetch_all("select * from kept") == []
