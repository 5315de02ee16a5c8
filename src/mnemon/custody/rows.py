"""Statements over any table with an owner, put together from the catalog. Each one names its owner columns."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from psycopg import sql
from psycopg.types.json import Jsonb

from mnemon.custody.catalog import Table
from mnemon.db.tx import Row, Tx
from mnemon.scope import Scope

_PAGE = 500


async def count_and_delete(tx: Tx, scope: Scope, table: Table) -> int:
    """Every row of the person is gone from the table; how many there were."""
    statement = sql.SQL("delete from {} where org_id = %(org_id)s and user_id = %(user_id)s").format(_name(table))
    return await tx.run(statement.as_string(), org_id=scope.org_id, user_id=scope.user)


async def as_json(tx: Tx, scope: Scope, table: Table) -> AsyncIterator[dict[str, Any]]:
    """The person's rows in the order of their key, each as the database writes JSON, owner and revision left out."""
    left_out = [column for column in table.columns if column not in table.carried]
    cursor = sql.Identifier(f"export_{table.name}")
    statement = sql.SQL(
        "declare {} no scroll cursor for select (to_jsonb(t) - %(left_out)s::text[])::text as row from {} t "
        "where org_id = %(org_id)s and user_id = %(user_id)s order by {}"
    ).format(cursor, _name(table), sql.SQL(", ").join(map(_bytewise(table), table.key)))
    await tx.afresh(statement.as_string(), left_out=left_out, org_id=scope.org_id, user_id=scope.user)
    fetch = sql.SQL("fetch {} from {}").format(sql.Literal(_PAGE), cursor).as_string()
    while page := await tx.afresh(fetch):
        for row in page:
            yield row
    await tx.afresh(sql.SQL("close {}").format(cursor).as_string())


def _bytewise(table: Table) -> Any:
    """Texts sort by their bytes, so that the order does not depend on where the database runs."""

    def column(name: str) -> sql.Composable:
        kind = table.types[table.columns.index(name)]
        plain: sql.Composable = sql.Identifier(name)
        return plain + sql.SQL(' collate "C"') if kind == "text" else plain

    return column


async def add(tx: Tx, scope: Scope, table: Table, found: Sequence[Mapping[str, Any]], *, revision: int) -> int:
    """How many of the rows were new; those that are there already stay as they are."""
    columns = [*table.carried, *(c for c in ("org_id", "user_id", "revision") if c in table.columns)]
    names = sql.SQL(", ").join(map(sql.Identifier, columns))
    statement = sql.SQL(
        "insert into {table} ({names}) select {names} from jsonb_populate_recordset(null::{table}, %(rows)s) "
        "where org_id = %(org_id)s and user_id = %(user_id)s on conflict do nothing"
    ).format(table=_name(table), names=names)
    owned = [{**row, "org_id": scope.org_id, "user_id": scope.user, "revision": revision} for row in found]
    return await tx.run(statement.as_string(), rows=Jsonb(owned), org_id=scope.org_id, user_id=scope.user)


async def taken_ids(tx: Tx, scope: Scope, table: Table, ids: Sequence[str]) -> list[str]:
    """Which of the ids another person of the organization has in this table."""
    statement = sql.SQL(
        "select id from {} where org_id = %(org_id)s and user_id <> %(user_id)s and id = any(%(ids)s) limit 1"
    ).format(_name(table))
    rows = await tx.all(statement.as_string(), org_id=scope.org_id, user_id=scope.user, ids=list(ids))
    return [str(row["id"]) for row in rows]


async def mentioning(
    tx: Tx, scope: Scope, table: Table, hints: Sequence[str], *, extra: Sequence[str] = ()
) -> list[Row]:
    """Rows in whose text one of the hints stands: key, texts and the extra columns."""
    wanted = sql.SQL(", ").join(map(sql.Identifier, dict.fromkeys((*table.key, *table.texts, *extra))))
    statement = sql.SQL("select {} from {} where {} and ({}) ~* %(hints)s").format(
        wanted, _name(table), _owned(table), _text(table)
    )
    either = "|".join(hints)
    user = scope.user_id if table.of_person else None
    return await tx.all(statement.as_string(), org_id=scope.org_id, user_id=user, hints=either)


async def naming(tx: Tx, scope: Scope, table: Table, word: str) -> list[Row]:
    """Rows of the organization in whose text the word stands by itself: their key."""
    statement = sql.SQL("select {} from {} where {} and ({}) ~* %(pattern)s").format(
        sql.SQL(", ").join(map(sql.Identifier, table.key)), _name(table), _owned(table), _text(table)
    )
    pattern = rf"(^|[^[:alnum:]_]){_literal(word)}($|[^[:alnum:]_])"
    return await tx.all(statement.as_string(), org_id=scope.org_id, user_id=None, pattern=pattern)


def _text(table: Table) -> sql.Composable:
    """All of a row's words as one text."""
    texts = (sql.SQL("coalesce({}::text, '')").format(sql.Identifier(column)) for column in table.texts)
    return sql.SQL(" || ' ' || ").join(texts)


def _literal(word: str) -> str:
    """The word in a pattern of PostgreSQL's, each character standing for itself."""
    return "".join(one if one.isalnum() else f"\\{one}" for one in word)


async def rewrite(tx: Tx, scope: Scope, table: Table, row: Row, changed: Mapping[str, Any]) -> None:
    """The row, found by its key, has these values."""
    sets = sql.SQL(", ").join(
        sql.SQL("{} = {}").format(sql.Identifier(c), sql.Placeholder(f"new_{c}")) for c in changed
    )
    rest = [column for column in table.key if column not in ("org_id", "user_id")]
    same = [sql.SQL(" and {} = {}").format(sql.Identifier(c), sql.Placeholder(f"key_{c}")) for c in rest]
    statement = sql.SQL("update {} set {} where {}").format(_name(table), sets, _owned(table)) + sql.SQL("").join(same)
    values = {f"new_{c}": Jsonb(v) if table.is_json(c) and v is not None else v for c, v in changed.items()}
    keys = {f"key_{c}": row[c] for c in rest}
    user = scope.user_id if table.of_person else None
    await tx.run(statement.as_string(), org_id=scope.org_id, user_id=user, **values, **keys)


def _owned(table: Table) -> sql.Composable:
    if table.of_person:
        return sql.SQL("org_id = %(org_id)s and user_id = %(user_id)s")
    return sql.SQL("org_id = %(org_id)s and (%(user_id)s::text is null)")


def _name(table: Table) -> sql.Identifier:
    return sql.Identifier("public", table.name)
