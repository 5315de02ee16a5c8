"""Statements over any table with an owner, built from the database's own catalog.

A new table is thus covered by export, import and forgetting without being named here. Every statement names the owner
columns, so that it touches one organization's or one person's rows only.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from graphlib import TopologicalSorter
from typing import Any

from psycopg import sql
from psycopg.types.json import Jsonb

from mnemon.db.rows import from_row
from mnemon.db.statements import load_statements
from mnemon.db.tx import Row, Tx
from mnemon.scope import Scope

SQL = load_statements("mnemon.custody")
OWNER_COLUMNS = ("org_id", "user_id")

DERIVED_TABLES = frozenset({"embeddings"})
"""Tables made from other rows, and made again after an import: not exported."""
OPERATION_TABLES = frozenset({"entity_merges", "tombstones", "withdrawals"})
"""Records of operations in this database, meaningless in another: not exported."""
PERSON_TABLE = "users"
UNREDACTED_TABLES = frozenset(
    {
        "organizations",
        "keys",
        "signins",
        "organization_settings",
        "personas",
        "agents",
        "work",
        "forgotten",
        "prices",
        "replies",
    }
    | {"audit", "audit_heads"}
)
"""Tables of the organization that are not searched like the others: configuration, ids, or (replies and the errors of
work) searched separately.

The audit log holds ids only (`access/audit.py`), and its hash chain would show a redaction as tampering.
"""


@dataclass(frozen=True, kw_only=True)
class OwnedTable:
    """A table whose rows belong to an organization, and perhaps to a person."""

    name: str
    columns: tuple[str, ...]
    types: tuple[str, ...]
    identities: tuple[str, ...]
    """Columns that only the database fills."""
    key: tuple[str, ...]
    """The columns of its primary key."""
    refers_to: tuple[str, ...]

    @property
    def is_personal(self) -> bool:
        """Say whether the table's rows belong to one person, not only to the organization."""
        return set(OWNER_COLUMNS) <= set(self.columns)

    @cached_property
    def text_columns(self) -> tuple[str, ...]:
        """Return the table's columns that may hold a person's words."""
        wordy = {"text", "jsonb", "json", "text[]", "character varying"}
        return tuple(c for c, t in zip(self.columns, self.types, strict=True) if t in wordy and c not in self.key)

    def is_json(self, column: str) -> bool:
        """Say whether this column of the table holds JSON."""
        return self.types[self.columns.index(column)] in {"jsonb", "json"}

    @cached_property
    def export_columns(self) -> tuple[str, ...]:
        """Return the columns of an export: all but owner and revision, which an import sets anew."""
        return tuple(c for c in self.columns if c not in OWNER_COLUMNS and c != "revision" and c not in self.identities)


async def owned_tables(tx: Tx) -> tuple[OwnedTable, ...]:
    """Return every table that has an owner, from the catalog; each after the tables that it refers to."""
    known = {row["name"]: _table_from_row(row) for row in await tx.fetch_all(SQL["tables"])}
    needs = {name: {other for other in table.refers_to if other in known} for name, table in sorted(known.items())}
    return tuple(known[name] for name in TopologicalSorter(needs).static_order())


def _table_from_row(row: Row) -> OwnedTable:
    """Return the table that a row of the catalog query describes."""
    return from_row(OwnedTable, row)


async def personal_tables(tx: Tx) -> tuple[OwnedTable, ...]:
    """Return the tables whose rows belong to a person, without the table of people itself."""
    return tuple(table for table in await owned_tables(tx) if table.is_personal and table.name != PERSON_TABLE)


def is_exported(table: OwnedTable) -> bool:
    """Say whether a person's export contains the rows of this table."""
    return table.name not in DERIVED_TABLES and table.name not in OPERATION_TABLES


_CURSOR_PAGE_ROWS = 500
_MENTIONS_PAGE_ROWS = 50
_MOST_HINTS = 600
"""Words in one pattern; more would make PostgreSQL's matcher slow."""


async def delete_person_rows(tx: Tx, scope: Scope, table: OwnedTable) -> int:
    """Delete every row of the person from this table; return how many."""
    statement = sql.SQL("delete from {} where org_id = %(org_id)s and user_id = %(user_id)s").format(_table_name(table))
    return await tx.execute(statement.as_string(), org_id=scope.org_id, user_id=scope.user)


async def stream_json_rows(tx: Tx, scope: Scope, table: OwnedTable) -> AsyncIterator[dict[str, Any]]:
    """Yield the person's rows of this table in key order, as JSON by PostgreSQL, without owner and revision."""
    left_out = [column for column in table.columns if column not in table.export_columns]
    # A cursor of the server, so that a large export is never in memory as a whole.
    cursor = sql.Identifier(f"export_{table.name}")
    statement = sql.SQL(
        "declare {} no scroll cursor for select (to_jsonb(t) - %(left_out)s::text[])::text as row from {} t "
        "where org_id = %(org_id)s and user_id = %(user_id)s order by {}"
    ).format(cursor, _table_name(table), sql.SQL(", ").join(map(_bytewise_order(table), table.key)))
    await tx.fetch_unprepared(statement.as_string(), left_out=left_out, org_id=scope.org_id, user_id=scope.user)
    fetch = sql.SQL("fetch {} from {}").format(sql.Literal(_CURSOR_PAGE_ROWS), cursor).as_string()
    while page := await tx.fetch_unprepared(fetch):
        for row in page:
            yield row
    await tx.fetch_unprepared(sql.SQL("close {}").format(cursor).as_string())


def _bytewise_order(table: OwnedTable) -> Any:
    """Return a function that makes an `order by` term of a column, texts by bytes: the same on every server."""

    def order_column(name: str) -> sql.Composable:
        """Return the column, with `collate "C"` where it is a text."""
        kind = table.types[table.columns.index(name)]
        plain: sql.Composable = sql.Identifier(name)
        return plain + sql.SQL(' collate "C"') if kind == "text" else plain

    return order_column


async def insert_rows(
    tx: Tx, scope: Scope, table: OwnedTable, found: Sequence[Mapping[str, Any]], *, revision: int
) -> list[Row]:
    """Insert the imported rows for this person; return the new ones as stored. Existing rows are left as they are."""
    columns = [*table.export_columns, *(c for c in ("org_id", "user_id", "revision") if c in table.columns)]
    names = sql.SQL(", ").join(map(sql.Identifier, columns))
    statement = sql.SQL(
        "insert into {table} ({names}) select {names} from jsonb_populate_recordset(null::{table}, %(rows)s) "
        "where org_id = %(org_id)s and user_id = %(user_id)s on conflict do nothing returning *"
    ).format(table=_table_name(table), names=names)
    # The owner last, so that a row cannot name another one; existing rows win over imported ones.
    owned = [{**row, "org_id": scope.org_id, "user_id": scope.user, "revision": revision} for row in found]
    return await tx.fetch_all(statement.as_string(), rows=Jsonb(owned), org_id=scope.org_id, user_id=scope.user)


async def has_rows(tx: Tx, scope: Scope, table: OwnedTable) -> bool:
    """Say whether the person has any row in this table."""
    statement = sql.SQL("select 1 as one from {} where org_id = %(org_id)s and user_id = %(user_id)s limit 1").format(
        _table_name(table)
    )
    rows = await tx.fetch_all(statement.as_string(), org_id=scope.org_id, user_id=scope.user)
    return bool(rows)


async def stored_keys(
    tx: Tx, scope: Scope, table: OwnedTable, columns: Sequence[str], keys: Sequence[Sequence[Any]]
) -> list[Row]:
    """Return those of the keys, given as values of these columns, under which the person has a row in this table."""
    names = sql.SQL(", ").join(map(sql.Identifier, columns))
    statement = sql.SQL(
        "select {names} from {table} where org_id = %(org_id)s and user_id = %(user_id)s "
        "and ({names}) in (select {names} from jsonb_populate_recordset(null::{table}, %(rows)s))"
    ).format(table=_table_name(table), names=names)
    rows = [dict(zip(columns, key, strict=True)) for key in keys]
    return await tx.fetch_all(statement.as_string(), rows=Jsonb(rows), org_id=scope.org_id, user_id=scope.user)


async def ids_of_others(tx: Tx, scope: Scope, table: OwnedTable, ids: Sequence[str]) -> list[str]:
    """Return one of these ids that belongs to another person of the organization; empty if none does."""
    statement = sql.SQL(
        "select id from {} where org_id = %(org_id)s and user_id <> %(user_id)s and id = any(%(ids)s) limit 1"
    ).format(_table_name(table))
    rows = await tx.fetch_all(statement.as_string(), org_id=scope.org_id, user_id=scope.user, ids=list(ids))
    return [str(row["id"]) for row in rows]


async def stream_mentions(
    tx: Tx, scope: Scope, table: OwnedTable, hints: Sequence[str], *, extra: Sequence[str] = ()
) -> AsyncIterator[list[Row]]:
    """Yield pages of this table's rows whose text contains one of the hints: their key, texts and the extra columns.

    With many hints every row is given: the caller looks for all of them at once, PostgreSQL for one after the other.
    """
    wanted = sql.SQL(", ").join(map(sql.Identifier, dict.fromkeys((*table.key, *table.text_columns, *extra))))
    # Hints are words of letters and digits, so nothing in them has to be escaped.
    either = "|".join(hints) if len(hints) <= _MOST_HINTS else ""
    cursor = sql.Identifier(f"mentions_{table.name}")
    statement = sql.SQL("declare {} no scroll cursor for select {} from {} where {} and ({}) ~* %(hints)s").format(
        cursor, wanted, _table_name(table), _owner_filter(table), _row_text(table)
    )
    user = scope.user_id if table.is_personal else None
    await tx.fetch_unprepared(statement.as_string(), org_id=scope.org_id, user_id=user, hints=either)
    # A cursor sees the rows as they were, whatever the caller writes meanwhile.
    fetch = sql.SQL("fetch {} from {}").format(sql.Literal(_MENTIONS_PAGE_ROWS), cursor).as_string()
    while page := await tx.fetch_unprepared(fetch):
        yield page
    await tx.fetch_unprepared(sql.SQL("close {}").format(cursor).as_string())


async def rows_naming(tx: Tx, scope: Scope, table: OwnedTable, word: str) -> list[Row]:
    """Return the keys of the organization's rows in this table whose text contains the word as a whole word."""
    statement = sql.SQL("select {} from {} where {} and ({}) ~* %(pattern)s").format(
        sql.SQL(", ").join(map(sql.Identifier, table.key)), _table_name(table), _owner_filter(table), _row_text(table)
    )
    pattern = rf"(^|[^[:alnum:]_]){_escape_pattern(word)}($|[^[:alnum:]_])"
    return await tx.fetch_all(statement.as_string(), org_id=scope.org_id, user_id=None, pattern=pattern)


def _row_text(table: OwnedTable) -> sql.Composable:
    """Return an SQL expression that joins all text columns of a row to one text."""
    texts = (sql.SQL("coalesce({}::text, '')").format(sql.Identifier(column)) for column in table.text_columns)
    return sql.SQL(" || ' ' || ").join(texts)


def _escape_pattern(word: str) -> str:
    """Return the word as a PostgreSQL regular expression in which each character stands for itself."""
    return "".join(one if one.isalnum() else f"\\{one}" for one in word)


async def update_row(tx: Tx, scope: Scope, table: OwnedTable, row: Row, changed: Mapping[str, Any]) -> None:
    """Update these columns in the row of this table that has the same key."""
    sets = sql.SQL(", ").join(
        sql.SQL("{} = {}").format(sql.Identifier(c), sql.Placeholder(f"new_{c}")) for c in changed
    )
    rest = [column for column in table.key if column not in ("org_id", "user_id")]
    same = [sql.SQL(" and {} = {}").format(sql.Identifier(c), sql.Placeholder(f"key_{c}")) for c in rest]
    statement = sql.SQL("update {} set {} where {}").format(_table_name(table), sets, _owner_filter(table)) + sql.SQL(
        ""
    ).join(same)
    values = {f"new_{c}": Jsonb(v) if table.is_json(c) and v is not None else v for c, v in changed.items()}
    keys = {f"key_{c}": row[c] for c in rest}
    user = scope.user_id if table.is_personal else None
    await tx.execute(statement.as_string(), org_id=scope.org_id, user_id=user, **values, **keys)


def _owner_filter(table: OwnedTable) -> sql.Composable:
    """Return the SQL condition for the scope's rows of the table; a person's scope has none of a shared table."""
    if table.is_personal:
        return sql.SQL("org_id = %(org_id)s and user_id = %(user_id)s")
    # Names both parameters, so that callers bind the same two for either kind of table.
    return sql.SQL("org_id = %(org_id)s and (%(user_id)s::text is null)")


def _table_name(table: OwnedTable) -> sql.Identifier:
    """Return the table's name in the schema `public`, quoted."""
    return sql.Identifier("public", table.name)
