"""The ledger of forgetting: ids, offsets and hashes, so that a restored backup can be made to forget again.

It is a table of the database and, since a restore replaces that, also a file of the data directory, which a job keeps
up to date. A `Receipt` counts what a forgetting removed; it is the response to every request to forget.
"""

import asyncio
import base64
import json
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from psycopg.types.json import Jsonb

from mnemon.clock import format_time, parse_time
from mnemon.custody.tables import SQL
from mnemon.custody.traces import TextSpan
from mnemon.db.rows import from_row
from mnemon.db.tx import Row, Tx
from mnemon.jobs.kind import Attempt, JobKind
from mnemon.jobs.store import enqueue_work
from mnemon.scope import Scope
from mnemon.services import Services

UNCHANGEABLE_REASON = "The result of a run that succeeded stands as it was made; deleting its agent removes it."
COMMON_NAME_REASON = (
    "The person's name is an ordinary word there and may mean somebody else; look at these rows yourself: `keptIds` "
    "names them."
)
MAX_KEPT_IDS = 100
"""Ids of kept rows that a receipt names, per table."""


@dataclass(frozen=True, kw_only=True)
class Receipt:
    """What one forgetting did, in numbers."""

    id: str
    at: datetime
    removed: dict[str, int] = field(default_factory=dict)
    """Deleted rows, per table; every table that was searched is listed, with 0 where there was nothing."""
    redacted: dict[str, int] = field(default_factory=dict)
    """Rows in which words were covered, per table."""
    kept: dict[str, int] = field(default_factory=dict)
    """Rows that were left as they were, per table or `table.column`; `reasons` says why."""
    kept_ids: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """The first of those rows: the columns of a row's key, without its organization, joined by `/`."""

    @property
    def total(self) -> int:
        """Return how many rows the forgetting removed."""
        return sum(self.removed.values())

    @property
    def reasons(self) -> dict[str, str]:
        """Return, for each table or column in the receipt's `kept`, why its rows were kept."""
        return {name: UNCHANGEABLE_REASON if "." in name else COMMON_NAME_REASON for name in self.kept}

    def stored_counts(self) -> dict[str, Any]:
        """Return the receipt's counts as JSON for the ledger, without any text."""
        return {"removed": self.removed, "redacted": self.redacted, "kept": self.kept}


class ForgetTally:
    """Counts while a forgetting runs."""

    def __init__(self) -> None:
        """Start all counts at zero."""
        self.removed: Counter[str] = Counter()
        self.redacted: Counter[str] = Counter()
        self.kept: Counter[str] = Counter()
        self._kept_ids: dict[str, list[str]] = {}

    def count_kept(self, place: str, key: Sequence[object]) -> None:
        """Count a row that is left as it is, and remember its key for the receipt."""
        self.kept[place] += 1
        named = self._kept_ids.setdefault(place, [])
        if len(named) < MAX_KEPT_IDS:
            named.append("/".join(map(str, key)))

    def make_receipt(self, entry_id: str, at: datetime) -> Receipt:
        """Return the receipt of the forgetting with the counts so far."""
        return Receipt(
            id=entry_id,
            at=at,
            removed=dict(sorted(self.removed.items())),
            redacted={table: n for table, n in sorted(self.redacted.items()) if n},
            kept={table: n for table, n in sorted(self.kept.items()) if n},
            kept_ids={place: tuple(ids) for place, ids in sorted(self._kept_ids.items())},
        )


# Two places, and a restore takes the union: each covers the loss of the other (decision 9).
LEDGER_FILE = "forgotten.ndjson"
_PAGE_ENTRIES = 1000


# Offsets find the words in a message that is older than the memory; keyed hashes keep the memory from coming back.
@dataclass(frozen=True, kw_only=True)
class LedgerEntry:
    """One forgetting, without a word of what was forgotten."""

    org_id: str
    id: str
    kind: Literal["person", "memory"]
    subject: str
    """The person's internal id."""
    at: datetime
    memory_ids: tuple[str, ...] = ()
    spans: tuple[TextSpan, ...] = ()
    stones: tuple[bytes, ...] = ()

    @property
    def scope(self) -> Scope:
        """Return the scope of the person whom the forgetting concerned."""
        return Scope(org_id=self.org_id, user_id=self.subject)


async def add_entry(tx: Tx, entry: LedgerEntry, receipt: Receipt) -> None:
    """Insert the ledger entry with its receipt into `forgotten`; do nothing if it is there already."""
    await tx.execute(
        SQL["add_entry"],
        org_id=entry.org_id,
        id=entry.id,
        kind=entry.kind,
        subject=entry.subject,
        memory_ids=list(entry.memory_ids),
        # The names of TextSpan's fields are thereby part of the stored JSON.
        spans=Jsonb([vars(span) for span in entry.spans]),
        stones=list(entry.stones),
        receipt=Jsonb(receipt.stored_counts()),
        at=entry.at,
    )


async def list_entries(tx: Tx, org_id: str, *, after: str = "", subject: str | None = None) -> list[LedgerEntry]:
    """Return the organization's ledger entries after an id, in order; with `subject`, those of one person."""
    found: list[LedgerEntry] = []
    while True:
        rows = await tx.fetch_all(SQL["entries"], org_id=org_id, after=after, subject=subject, most=_PAGE_ENTRIES)
        found += [entry_from_row(row) for row in rows]
        if len(rows) < _PAGE_ENTRIES:
            return found
        after = rows[-1]["id"]


def entry_from_row(row: Row) -> LedgerEntry:
    """Return the ledger entry that a row of `forgotten` holds."""
    spans = tuple(TextSpan(**span) for span in row["spans"])
    return from_row(LedgerEntry, row, spans=spans, stones=tuple(bytes(stone) for stone in row["stones"]))


def append_to_file(path: Path, wanted: Iterable[LedgerEntry]) -> int:
    """Append the ledger entries that the file lacks; return how many those were."""
    known = {entry.id for entry in load_file(path)}
    new = [entry for entry in wanted if entry.id not in known]
    if new:
        path.parent.mkdir(parents=True, exist_ok=True)
        # It names people's internal ids, and a worker's data directory may be open to others.
        with open(path, "a", encoding="utf-8", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            file.writelines(json.dumps(entry_to_json(entry)) + "\n" for entry in new)
    return len(new)


def load_file(path: Path) -> list[LedgerEntry]:
    """Return the ledger entries of the file; skip a last line that a crash cut short."""
    if not path.exists():
        return []
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            found.append(entry_from_json(json.loads(line)))
        # A crash cut the line short; its entry is in the table and is appended again by the next copy.
        except (ValueError, KeyError, TypeError):
            continue
    return found


def entry_to_json(entry: LedgerEntry) -> dict[str, Any]:
    """Return the ledger entry as a JSON object as a line of the file `forgotten.ndjson` holds it."""
    return {
        "org": entry.org_id,
        "id": entry.id,
        "kind": entry.kind,
        "subject": entry.subject,
        "at": format_time(entry.at),
        "memories": list(entry.memory_ids),
        "spans": [[span.message_id, span.start, span.end] for span in entry.spans],
        "stones": [base64.b64encode(stone).decode() for stone in entry.stones],
    }


def entry_from_json(plain: dict[str, Any]) -> LedgerEntry:
    """Return the ledger entry from the JSON object of a line of the file `forgotten.ndjson`."""
    return LedgerEntry(
        org_id=plain["org"],
        id=plain["id"],
        kind=plain["kind"],
        subject=plain["subject"],
        at=parse_time(plain["at"]),
        memory_ids=tuple(plain["memories"]),
        spans=tuple(TextSpan(message_id=name, start=start, end=end) for name, start, end in plain["spans"]),
        stones=tuple(base64.b64decode(stone) for stone in plain["stones"]),
    )


KEEP_LEDGER = "keep_ledger"


async def enqueue_ledger_copy(tx: Tx, scope: Scope) -> None:
    """Queue the job that copies the organization's ledger to the file `forgotten.ndjson`."""
    await enqueue_work(tx, scope, KEEP_LEDGER, scope.org_id)


def job_kinds(services: Services) -> tuple[JobKind, ...]:
    """Return the job kind that copies the ledger to the file `forgotten.ndjson`."""

    async def copy_ledger(attempt: Attempt) -> None:
        """Append the organization's ledger entries that the file lacks."""
        async with services.db.tx(attempt.scope.org_id) as tx:
            entries = await list_entries(tx, attempt.scope.org_id)
        await asyncio.to_thread(append_to_file, services.settings.data_dir / LEDGER_FILE, entries)

    return (JobKind(name=KEEP_LEDGER, run=copy_ledger),)
