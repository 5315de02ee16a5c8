"""Databases for tests: copies of one that was migrated once, used again where a test left nothing behind but rows."""

import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import sql
from psycopg.rows import tuple_row

from support.bounds import HANGS_S

_OTHERS = """
select count(pg_terminate_backend(pid)) from pg_stat_activity
where datname = current_database() and pid <> pg_backend_pid()
"""
_CATALOGS = (
    "pg_attrdef", "pg_attribute", "pg_cast", "pg_constraint", "pg_default_acl", "pg_enum", "pg_event_trigger",
    "pg_extension", "pg_index", "pg_inherits", "pg_namespace", "pg_operator", "pg_policy", "pg_proc", "pg_publication",
    "pg_rewrite", "pg_sequence", "pg_statistic", "pg_statistic_ext", "pg_trigger", "pg_type",
)  # fmt: skip
"""What a change of the schema writes to, beside pg_class. ANALYZE writes to pg_statistic."""
_SHAPE = " union all ".join(
    (
        *(f"select '{name}', count(*), max(xmin::text::bigint)::text from {name}" for name in _CATALOGS),
        # Not by xmin: truncating a table writes where its rows are now.
        (
            "select 'pg_class', count(*), md5(string_agg(concat_ws(' ', oid, relname, relnamespace, relowner, relkind, "
            "relpersistence, relrowsecurity, relforcerowsecurity, relacl, reloptions), ',' order by oid)) from pg_class"
        ),
        (
            "select 'pg_db_role_setting', count(*), string_agg(s::text, ',') from pg_db_role_setting s "
            "join pg_database d on d.oid = s.setdatabase where d.datname = current_database()"
        ),
        (
            "select 'pg_database', datconnlimit, concat_ws(' ', datdba, datacl) from pg_database "
            "where datname = current_database()"
        ),
    )
)
_TABLES = """
select relname from pg_class
where relkind = 'r' and relnamespace = 'public'::regnamespace and pg_relation_size(oid) > 0 order by relname
"""
_SEQUENCES = "select sequencename from pg_sequences where schemaname = 'public' and last_value is not null"


class Databases:
    """The databases that the tests of one process are lent, one after the other or several at once.

    One that comes back is emptied and lent again, which takes a small part of the time of copying one. Where
    a test changed more than rows (the schema, a privilege, a setting, the planner's statistics) it is dropped. Each has
    a new name every time, so that nothing which a test left running can reach it again.
    """

    def __init__(self, cluster_url: str, template: str) -> None:
        self._cluster_url, self._template = cluster_url, template
        self._free: list[str] = []
        self._shape: list[tuple[object, ...]] = []
        self._kept: dict[str, object] = {}
        """The tables in which the template has rows, and what is in them."""

    @contextmanager
    def lend(self) -> Iterator[str]:
        """The URL of a migrated database without anything in it."""
        name = _new_name()
        if self._free:
            _admin(self._cluster_url, f'ALTER DATABASE "{self._free.pop()}" RENAME TO "{name}"')
        else:
            _copy(self._cluster_url, name, self._template)
        url = psycopg.conninfo.make_conninfo(self._cluster_url, dbname=name)
        if not self._shape:
            self._learn(url)
        try:
            yield url
        finally:
            if self._emptied(url):
                self._free.append(name)
            else:
                _drop(self._cluster_url, name)

    def close(self) -> None:
        while self._free:
            _drop(self._cluster_url, self._free.pop())

    def _learn(self, url: str) -> None:
        """See in an untouched copy what an emptied database has to look like."""
        with psycopg.connect(url, autocommit=True, row_factory=tuple_row) as connection:
            self._shape = connection.execute(_SHAPE).fetchall()
            self._kept = {table: _content(connection, table) for (table,) in connection.execute(_TABLES).fetchall()}

    def _emptied(self, url: str) -> bool:
        """Take every row out again; whether the database is then as it was."""
        try:
            with psycopg.connect(url, autocommit=True, row_factory=tuple_row) as connection:
                _end_others(connection)
                if not self._is_unchanged(connection):
                    return False
                self._empty(connection)
                return True
        except psycopg.Error:  # it admits nobody, is read-only or gone: what a test may do to a database of its own
            return False

    def _is_unchanged(self, connection: psycopg.Connection[tuple[object, ...]]) -> bool:
        """Whether nothing but rows of ours has changed."""
        return connection.execute(_SHAPE).fetchall() == self._shape and all(
            _content(connection, table) == content for table, content in self._kept.items()
        )

    def _empty(self, connection: psycopg.Connection[tuple[object, ...]]) -> None:
        touched = [str(table) for (table,) in connection.execute(_TABLES).fetchall() if table not in self._kept]
        if touched:
            names = sql.SQL(", ").join(map(sql.Identifier, touched))
            connection.execute(sql.SQL("TRUNCATE {} RESTART IDENTITY CASCADE").format(names))
        for (sequence,) in connection.execute(_SEQUENCES).fetchall():
            connection.execute(sql.SQL("ALTER SEQUENCE {} RESTART").format(sql.Identifier(str(sequence))))


@contextmanager
def new_database(cluster_url: str, template: str | None = None) -> Iterator[str]:
    """The URL of a database that is dropped afterwards: a copy of the template, or empty."""
    name = _new_name()
    _copy(cluster_url, name, template)
    try:
        yield psycopg.conninfo.make_conninfo(cluster_url, dbname=name)
    finally:
        _drop(cluster_url, name)


def name_of(url: str) -> str:
    """The database that the URL names."""
    return str(psycopg.conninfo.conninfo_to_dict(url)["dbname"])


def _new_name() -> str:
    return f"mnemon_{uuid.uuid4().hex[:16]}"


def _copy(cluster_url: str, name: str, template: str | None) -> None:
    # Copying files takes a third of the time of logging each block, and nothing of it has to survive a crash.
    copied = f' TEMPLATE "{template}" STRATEGY file_copy' if template else ""
    _admin(cluster_url, f'CREATE DATABASE "{name}"{copied}')


def _drop(cluster_url: str, name: str) -> None:
    _admin(cluster_url, f'DROP DATABASE "{name}" WITH (FORCE)')


def _end_others(connection: psycopg.Connection[tuple[object, ...]]) -> None:
    end = time.monotonic() + HANGS_S
    while connection.execute(_OTHERS).fetchone() != (0,):
        assert time.monotonic() < end, "a connection to a test's database does not end"
        time.sleep(0.002)


def _content(connection: psycopg.Connection[tuple[object, ...]], table: str) -> object:
    rows = sql.SQL("select md5(string_agg(t::text, ',' order by t::text)) from {} t").format(sql.Identifier(table))
    return connection.execute(rows).fetchone()


def _admin(url: str, statement: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statement)
