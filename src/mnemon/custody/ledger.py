"""The ledger of forgetting: ids, offsets and hashes, so that a restored backup can be brought up to it.

It stands in the database and, since a restore replaces that, in a file of the data directory as well.
"""

import base64
import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from psycopg.types.json import Jsonb

from mnemon.clock import iso, parse_time
from mnemon.custody.catalog import SQL
from mnemon.custody.receipt import Receipt
from mnemon.custody.traces import Span
from mnemon.db.tx import Row, Tx
from mnemon.scope import Scope

FILE = "forgotten.ndjson"
_PAGE = 1000


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One forgetting, without a word of what was forgotten."""

    org_id: str
    id: str
    kind: Literal["person", "memory"]
    subject: str
    """The person's internal id."""
    at: datetime
    memory_ids: tuple[str, ...] = ()
    spans: tuple[Span, ...] = ()
    stones: tuple[bytes, ...] = ()

    @property
    def scope(self) -> Scope:
        return Scope(org_id=self.org_id, user_id=self.subject)


async def add(tx: Tx, entry: Entry, receipt: Receipt) -> None:
    """The forgetting is on record; once more changes nothing."""
    await tx.run(
        SQL["add_entry"],
        org_id=entry.org_id,
        id=entry.id,
        kind=entry.kind,
        subject=entry.subject,
        memory_ids=list(entry.memory_ids),
        spans=Jsonb([vars(span) for span in entry.spans]),
        stones=list(entry.stones),
        receipt=Jsonb(receipt.plain()),
        at=entry.at,
    )


async def entries(tx: Tx, org_id: str, *, after: str = "", subject: str | None = None) -> list[Entry]:
    """The organization's entries in their order, after an id."""
    found: list[Entry] = []
    while True:
        rows = await tx.all(SQL["entries"], org_id=org_id, after=after, subject=subject, most=_PAGE)
        found += [entry_of(row) for row in rows]
        if len(rows) < _PAGE:
            return found
        after = rows[-1]["id"]


def entry_of(row: Row) -> Entry:
    """The entry that a row of `forgotten` stands for."""
    return Entry(
        org_id=row["org_id"],
        id=row["id"],
        kind=row["kind"],
        subject=row["subject"],
        at=row["at"],
        memory_ids=tuple(row["memory_ids"]),
        spans=tuple(Span(**span) for span in row["spans"]),
        stones=tuple(bytes(stone) for stone in row["stones"]),
    )


def keep_in_file(path: Path, wanted: Iterable[Entry]) -> int:
    """The file has every entry; gives how many were new to it. Entries are only ever appended."""
    known = {entry.id for entry in from_file(path)}
    new = [entry for entry in wanted if entry.id not in known]
    if new:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(_plain(entry)) + "\n" for entry in new)
    return len(new)


def from_file(path: Path) -> list[Entry]:
    """The entries of the file; a last line that a crash cut short is passed over."""
    if not path.exists():
        return []
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            found.append(_entry(json.loads(line)))
        except (ValueError, KeyError, TypeError):
            continue
    return found


def _plain(entry: Entry) -> dict[str, Any]:
    return {
        "org": entry.org_id,
        "id": entry.id,
        "kind": entry.kind,
        "subject": entry.subject,
        "at": iso(entry.at),
        "memories": list(entry.memory_ids),
        "spans": [[span.message_id, span.start, span.end] for span in entry.spans],
        "stones": [base64.b64encode(stone).decode() for stone in entry.stones],
    }


def _entry(plain: dict[str, Any]) -> Entry:
    return Entry(
        org_id=plain["org"],
        id=plain["id"],
        kind=plain["kind"],
        subject=plain["subject"],
        at=parse_time(plain["at"]),
        memory_ids=tuple(plain["memories"]),
        spans=tuple(Span(message_id=name, start=start, end=end) for name, start, end in plain["spans"]),
        stones=tuple(base64.b64decode(stone) for stone in plain["stones"]),
    )
