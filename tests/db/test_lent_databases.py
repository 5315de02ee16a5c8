"""A database that a test gets is as the template is, whatever the test before it did to the one it had."""

from collections.abc import Iterator

import psycopg
import pytest

from support.databases import Databases, name_of

ORGANIZATION = "insert into organizations (org_id, created_at) values ('acme', now())"


def state(url: str) -> tuple[object, ...]:
    """How many rows each table has, and where its sequences stand."""
    with psycopg.connect(url) as connection:
        tables = connection.execute("select tablename from pg_tables where schemaname = 'public' order by 1").fetchall()
        rows = [connection.execute(f'select count(*) from "{table}"').fetchall() for (table,) in tables]
        numbers = connection.execute("select sequencename, last_value from pg_sequences order by 1").fetchall()
    return rows, numbers


def number(url: str) -> object:
    """What stays the same when a database gets another name."""
    with psycopg.connect(url) as connection:
        return connection.execute("select oid from pg_database where datname = current_database()").fetchone()


@pytest.fixture
def lent(cluster_url: str, template: str) -> Iterator[Databases]:
    databases = Databases(cluster_url, template)
    yield databases
    databases.close()


def test_rows_and_numbers_do_not_outlive_a_test(lent: Databases) -> None:
    with lent.lend() as url:
        before, first = state(url), number(url)
        with psycopg.connect(url) as connection:
            connection.execute(ORGANIZATION)
            connection.execute("select nextval('runs_seq_seq')")
    with lent.lend() as again:
        assert number(again) == first
        assert state(again) == before


@pytest.mark.parametrize(
    "change",
    [
        "alter table users add column shoe_size int",
        "create table shoes (size int)",
        "drop index agent_messages_order",
        "drop policy own_organization on users",
        "revoke insert on users from mnemon_app",
        "grant select (number) on schema_migrations to public",
        "alter table users disable trigger all",
        "alter table users disable row level security",
        "create function size() returns int language sql as 'select 1'",
        "delete from schema_migrations",
        "analyze organizations",
        "do $$ begin execute format('alter database %I set work_mem = ''1MB''', current_database()); end $$",
        "do $$ begin execute format('alter database %I connection limit 3', current_database()); end $$",
        "do $$ begin execute format('revoke connect on database %I from public', current_database()); end $$",
    ],
)
def test_a_database_in_which_more_than_rows_changed_is_not_lent_again(lent: Databases, change: str) -> None:
    with lent.lend() as url, psycopg.connect(url, autocommit=True) as connection:
        first = number(url)
        connection.execute(ORGANIZATION)
        connection.execute(change)
    with lent.lend() as again:
        assert number(again) != first


def test_what_a_test_left_open_is_cut_and_does_not_reach_the_next_one(lent: Databases) -> None:
    with lent.lend() as url:
        left = psycopg.connect(url)
        left.execute(ORGANIZATION)
    with lent.lend() as again:
        assert state(again)
        with pytest.raises(psycopg.OperationalError):
            left.execute("select 1")
        with pytest.raises(psycopg.OperationalError, match="does not exist"):
            psycopg.connect(url)
        assert name_of(again) != name_of(url)
    left.close()


def test_two_at_once_are_two(lent: Databases) -> None:
    with lent.lend() as one, lent.lend() as other:
        assert number(one) != number(other)
