"""The tables that have an owner, read from the database itself, so that a new one is covered without being named."""

from dataclasses import dataclass
from functools import cached_property
from graphlib import TopologicalSorter

from mnemon.db.statements import statements
from mnemon.db.tx import Row, Tx

SQL = statements("mnemon.custody")
OWNER = ("org_id", "user_id")

DERIVED = frozenset({"embeddings"})
"""Made from other rows and made again after an import: not exported."""
OPERATIONS = frozenset({"entity_merges", "tombstones", "withdrawals"})
"""Records of what was done here; they mean nothing elsewhere: not exported."""
PERSON = "users"
UNTOUCHED = frozenset(
    {"organizations", "keys", "sign_ins", "personas", "agents", "work", "forgotten", "prices", "replies"}
    | {"audit", "audit_heads"}
)
"""Organization's tables in which no person's words are looked for: configuration, ids, or (replies) looked at apart.

The audit log holds ids only (`access/audit.py`), and its hash chain would show a redaction as tampering.
"""


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table with an owner."""

    name: str
    columns: tuple[str, ...]
    types: tuple[str, ...]
    identities: tuple[str, ...]
    """Columns that only the database fills."""
    key: tuple[str, ...]
    """The columns of its primary key."""
    refers_to: tuple[str, ...]

    @property
    def of_person(self) -> bool:
        """Whether its rows belong to one person."""
        return set(OWNER) <= set(self.columns)

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The columns that may hold a person's words."""
        wordy = {"text", "jsonb", "json", "text[]", "character varying"}
        return tuple(c for c, t in zip(self.columns, self.types, strict=True) if t in wordy and c not in self.key)

    def is_json(self, column: str) -> bool:
        return self.types[self.columns.index(column)] in {"jsonb", "json"}

    @cached_property
    def carried(self) -> tuple[str, ...]:
        """The columns an export carries: all but the owner and the revision, which a person has anew."""
        return tuple(c for c in self.columns if c not in OWNER and c != "revision" and c not in self.identities)


async def tables(tx: Tx) -> tuple[Table, ...]:
    """Every table with an owner; whatever another one refers to comes before it."""
    known = {row["name"]: _table(row) for row in await tx.all(SQL["tables"])}
    needs = {name: {other for other in table.refers_to if other in known} for name, table in sorted(known.items())}
    return tuple(known[name] for name in TopologicalSorter(needs).static_order())


def _table(row: Row) -> Table:
    return Table(
        name=row["name"],
        columns=tuple(row["columns"]),
        types=tuple(row["types"]),
        identities=tuple(row["identities"]),
        key=tuple(row["key"]),
        refers_to=tuple(row["refers_to"]),
    )


async def persons_tables(tx: Tx) -> tuple[Table, ...]:
    """The tables whose rows belong to a person, apart from the person's own row."""
    return tuple(table for table in await tables(tx) if table.of_person and table.name != PERSON)


def exported(table: Table) -> bool:
    """Whether an export carries the table."""
    return table.name not in DERIVED and table.name not in OPERATIONS
