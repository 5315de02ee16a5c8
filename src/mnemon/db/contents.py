"""What a database holds, counted: for those who are about to replace or judge it."""

from dataclasses import dataclass

import psycopg
from psycopg import sql

from mnemon.db.connecting import connect
from mnemon.db.explain import explain
from mnemon.errors import DatabaseDown

_TABLES = (
    "SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') "
    "AND c.relname <> 'schema_migrations' ORDER BY 1"
)
_OTHERS = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() "
    "AND backend_type = 'client backend'"
)


@dataclass(frozen=True, kw_only=True)
class Contents:
    """A database in three figures."""

    tables: int
    """Tables with at least one row, the list of migrations aside."""
    rows: int
    """All their rows."""
    others: int
    """Connections of other processes."""


async def contents(url: str) -> Contents:
    """The figures of this moment, as the owner sees them."""
    try:
        async with await connect(url) as connection:
            others = await _number(connection, sql.SQL(_OTHERS))
            names = [row[0] for row in await (await connection.execute(_TABLES)).fetchall()]
            rows = [
                await _number(connection, sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier("public", name)))
                for name in names
            ]
    except psycopg.Error as error:
        raise DatabaseDown(explain(error, url)) from error
    return Contents(tables=sum(count > 0 for count in rows), rows=sum(rows), others=others)


async def _number(connection: psycopg.AsyncConnection, query: sql.SQL | sql.Composed) -> int:
    row = await (await connection.execute(query)).fetchone()
    return int(row[0]) if row else 0
