"""What an organization's tables hold, written so that two runs of one scenario can be compared."""

import json
import re
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import psycopg

Contents = Counter[str]
"""Rows as text, each with its table's name and how often it is there."""

_ID = re.compile(r"\b([a-z]{2,4})_[0-9A-HJKMNP-TV-Z]{26}\b")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d(:?\d\d)?)?")
_HEX = re.compile(r"\b[0-9a-f]{32,}\b")
_FOLD = re.compile(r"\bfold([ _])[0-9a-f]{16}\b")
"""The attribute of a fold and its slug, a hash over ids."""
_LEFT_OUT: dict[str, frozenset[str]] = {
    "work": frozenset({"attempts", "token", "error"}),
    "reflections": frozenset({"attempts"}),
    "keys": frozenset({"used_at"}),
    "notes": frozenset({"place"}),
    "agent_messages": frozenset({"seq"}),
    "runs": frozenset({"seq"}),
    "audit": frozenset({"lane", "seq", "hash", "linked_lane", "linked_seq", "linked_hash"}),
}
"""Columns that count tries or say when a key was seen, numbers of a sequence, which a rollback uses up, and the place
of an audit entry, which depends on the connection."""
_LEFT_OUT_TABLES = frozenset({"run_events", "recall_days", "audit_heads"})
"""What could be seen of every try; how often anything was recalled, which a process counts and writes at times; and
where the lanes of the audit log end."""

_COSTS = frozenset({"usage", "tokens", "created"})
"""What a model was given depends on when it was asked; `created` is a time as a number."""

_TABLES = """
select c.relname from pg_class c join pg_attribute a on a.attrelid = c.oid
where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace and a.attname = 'org_id' and not a.attisdropped
order by 1
"""


class Table:
    """All tables whose rows belong to an organization, read as one."""

    def __init__(self, connection: "psycopg.AsyncConnection[Any]", names: Sequence[str]) -> None:
        self._connection = connection
        parts = [f"select '{name}', to_jsonb(t) from \"{name}\" t where org_id = %(org)s" for name in names]
        self._query = " union all ".join(parts).encode()

    @classmethod
    async def of(cls, connection: "psycopg.AsyncConnection[Any]") -> "Table":
        """The tables that the database has."""
        found = await (await connection.execute(_TABLES)).fetchall()
        return cls(connection, [name for (name,) in found if name not in _LEFT_OUT_TABLES])

    async def read(self, org: str) -> Contents:
        """Every row of the organization, without ids, times and secrets."""
        cursor = await self._connection.execute(self._query, {"org": org}, prepare=True)
        return Counter(_line(table, row, org) for table, row in await cursor.fetchall())


def comparable(value: Any, org: str) -> Any:
    """The value without what differs from run to run."""
    if isinstance(value, dict):
        return {comparable(name, org): comparable(one, org) for name, one in value.items() if name not in _COSTS}
    if isinstance(value, list):
        return [comparable(one, org) for one in value]
    return _comparable_text(value, org) if isinstance(value, str) else value


def difference(found: Contents, wanted: Contents) -> str:
    """What is there and should not be, and the other way round; empty when they are equal."""
    lines = [f"+{number} {row}" for row, number in (found - wanted).items()]
    lines += [f"-{number} {row}" for row, number in (wanted - found).items()]
    return "\n".join(line[:400] for line in lines[:12])


def _line(table: str, row: dict[str, Any], org: str) -> str:
    kept = {name: value for name, value in row.items() if name not in _LEFT_OUT.get(table, ())}
    return f"{table} {json.dumps(comparable(kept, org), sort_keys=True, ensure_ascii=False)}"


def _comparable_text(text: str, org: str) -> str:
    if text.startswith("\\x"):
        try:
            text = bytes.fromhex(text[2:]).decode()
        except ValueError:
            return "<bytes>"
        with suppress(json.JSONDecodeError):
            return json.dumps(comparable(json.loads(text), org), sort_keys=True)
    text = _FOLD.sub(r"fold\1*", _ID.sub(r"\1_*", text.replace(org, "<org>")))
    return _HEX.sub("<hex>", _TIME.sub("<time>", text))
