"""Forgetting again what the ledger lists: after a restore, and when an old export is imported.

`LedgerCarryover` carries the ledger from the database that a restore replaces, and from the file in the data directory,
to the restored one.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Collection, Iterable
from datetime import datetime
from pathlib import Path

from psycopg.rows import dict_row

from mnemon.clock import format_time
from mnemon.custody import ledger
from mnemon.custody.forget_memory import clear_traces, forget_memories
from mnemon.custody.forget_person import forget_person
from mnemon.custody.ledger import ForgetTally, LedgerEntry, entry_from_json, entry_from_row, entry_to_json
from mnemon.custody.tables import SQL
from mnemon.custody.traces import ForgottenTraces
from mnemon.db.backup import GapSubject, delete_gap, load_gap, read_gap, record_gap
from mnemon.db.connect import open_connection
from mnemon.db.database import Database
from mnemon.db.pending_restore import CarriedRecords
from mnemon.db.tx import Tx
from mnemon.errors import NotFound
from mnemon.services import Services


async def replay_entries(db: Database, entries: Iterable[LedgerEntry]) -> int:
    """Forget again in this database what the ledger entries list; return how many of them it did not have."""
    done = 0
    for entry in sorted(entries, key=lambda one: (one.org_id, one.id)):
        async with db.tx(entry.org_id) as tx:
            known = {one.id for one in await ledger.list_entries(tx, entry.org_id, subject=entry.subject)}
            if entry.id in known:
                continue
            await forget_again(tx, entry)
            done += 1
    return done


async def forget_again(tx: Tx, entry: LedgerEntry) -> Counter[str]:
    """Forget in this database what the entry lists, and add the entry to its ledger; return the rows by table."""
    if entry.kind == "person":
        try:
            return Counter((await forget_person(tx, entry.scope, entry_id=entry.id)).removed)
        except NotFound:
            await ledger.add_entry(tx, entry, ForgetTally().make_receipt(entry.id, tx.now))
            return Counter()
    tally = ForgetTally()
    if await tx.fetch_one_or_none(SQL["lock_person"], org_id=entry.org_id, user_id=entry.subject) is not None:
        receipt = await forget_memories(tx, entry.scope, entry.memory_ids, entry_id=entry.id, at=entry.at)
        tally.removed.update({} if receipt is None else receipt.removed)
        # The backup may hold the message without the memory that was made from it later. The entry's offsets find the
        # words even then, and its tombstones keep a reflection from making the memory again.
        await clear_traces(tx, entry.scope, ForgottenTraces(phrases=()), entry, tally)
    await ledger.add_entry(tx, entry, ForgetTally().make_receipt(entry.id, tx.now))
    return tally.removed


_COPY_HINT = (
    "If the old data directory still exists, copy the file from it and restore again with --force: what the file lists "
    "is then forgotten again."
)


class LedgerCarryover:
    """Carries the ledger over a restore, so that what was forgotten since the backup stays forgotten."""

    subject: GapSubject = "forgettings"

    def __init__(self) -> None:
        """Start with no entries; `read_from` loads them, `apply_to` replays them."""
        self._entries: dict[str, LedgerEntry] = {}
        self._from_file: dict[str, LedgerEntry] | None = None
        """The entries of the ledger file where the restore began; None where there was no file."""
        self._found = False
        self._gap: datetime | None = None

    async def read_from(self, url: str) -> None:
        """Read the forgetting ledger of the database that is about to be replaced."""
        async with await open_connection(url) as connection, connection.cursor(row_factory=dict_row) as cursor:
            # A database that was never migrated has no table, and nothing to carry over.
            there = await (await cursor.execute("select to_regclass('forgotten') as name")).fetchone()
            if there is None or there["name"] is None:
                return
            self._found = True
            self._gap = await read_gap(connection, "forgettings")
            # Entries of all organizations, since a restore replaces all of them at once.
            async for row in await cursor.execute("select * from forgotten order by org_id, id"):
                entry = entry_from_row(row)
                self._entries[entry.id] = entry

    def carried_records(self, data_dir: Path, at: datetime) -> CarriedRecords:
        """Return the ledger, with the file's entries, as records that a restore keeps until they are applied."""
        # The file's entries too: another machine, without this file, may finish the restore.
        self._add_file(data_dir / ledger.LEDGER_FILE)
        rows = [_ledger_row(one, file=False) for one in self._entries.values()]
        if self._from_file is not None:
            # A row without an entry says that there was a file, which may be empty.
            rows += [_ledger_row(one, file=True) for one in (None, *self._from_file.values())]
        return CarriedRecords(subject=self.subject, at=at, found=self._found, gap=self._gap, rows=tuple(rows))

    def take_over(self, records: CarriedRecords) -> None:
        """Add the entries that an unfinished restore kept, and keep what it knew of missing records."""
        for plain in map(json.loads, records.rows):
            if plain["file"]:
                self._from_file = target = self._from_file or {}
            else:
                target = self._entries
            if plain["entry"] is not None:
                entry = entry_from_json(plain["entry"])
                target[entry.id] = entry
        # A database that was loaded from a backup with nothing to replace is no source for what came after it.
        if records.found or not self._found:
            self._gap = records.gap
        self._found = records.found

    def _add_file(self, path: Path) -> None:
        """Add the entries of the ledger file, if there is one."""
        if path.exists():
            self._from_file = {**(self._from_file or {}), **{entry.id: entry for entry in ledger.load_file(path)}}

    async def apply_to(self, services: Services) -> str:
        """Forget again what the replaced database's ledger and the file list; return a summary for the operator."""
        path = services.settings.data_dir / ledger.LEDGER_FILE
        await asyncio.to_thread(self._add_file, path)
        there, kept = self._from_file is not None, list((self._from_file or {}).values())
        gap = self._gap if self._found else self._gap or await _load_backup_gap(services)
        known = (self._found or there) if gap is None else await self._file_fills_gap(services, kept, gap)
        # The union of both places: each covers the loss of the other (decision 9).
        entries = {**{entry.id: entry for entry in kept}, **self._entries}
        again = await replay_entries(services.db, entries.values())
        await asyncio.to_thread(ledger.append_to_file, path, entries.values())
        async with services.db.tx(None) as tx:
            if known:
                await delete_gap(tx, "forgettings")
            else:
                await record_gap(tx, "forgettings", gap or tx.now)
        if known and (gap is not None or not self._found):
            return _file_summary_text(again, last=max((entry.at for entry in kept), default=None))
        return _summary_text(again, warning="" if known else self._warning_text())

    async def _file_fills_gap(self, services: Services, kept: Collection[LedgerEntry], gap: datetime) -> bool:
        """Say whether the ledger file covers the time for which the replaced database lacked a ledger.

        Such a database lists only what it forgot since. A file with older entries, which neither it nor the backup has,
        was copied from where they were made.
        """
        for entry in kept:
            if entry.id not in self._entries and entry.at < gap:
                async with services.db.tx(entry.org_id) as tx:
                    in_backup = await ledger.list_entries(tx, entry.org_id, subject=entry.subject)
                if entry.id not in {one.id for one in in_backup}:
                    return True
        return False

    def _warning_text(self) -> str:
        """Return the warning for a restore without a complete ledger, with the next step."""
        if self._found:
            return (
                "The database that this one replaces had itself been restored without the ledger of forgettings: what "
                f"was forgotten before that may be back, and {ledger.LEDGER_FILE} in the data directory does not list "
                "it. "
                f"{_COPY_HINT}"
            )
        return (
            "No ledger of forgettings was found, neither a database that this one replaces nor "
            f"{ledger.LEDGER_FILE} in "
            f"the data directory: what was forgotten since the backup may be back. {_COPY_HINT}"
        )


def _ledger_row(entry: LedgerEntry | None, *, file: bool) -> str:
    """Return the JSON of a carried record: an entry, and whether the file or the replaced database had it."""
    # The line of the file is exact to the millisecond only, and gaps are compared with entries to the microsecond.
    plain = None if entry is None else {**entry_to_json(entry), "at": entry.at.isoformat()}
    return json.dumps({"file": file, "entry": plain})


async def _load_backup_gap(services: Services) -> datetime | None:
    """Return since when the restored database lacks ledger entries, as its backup recorded; None if it lacks none."""
    async with services.db.tx(None) as tx:
        return await load_gap(tx, "forgettings")


def _summary_text(again: int, *, warning: str) -> str:
    """Return the sentence that tells how many forgettings were repeated, then the warning if there is one."""
    if again:
        return " ".join(filter(None, (_repeated_text(again), warning)))
    return warning or "Nothing had been forgotten since the backup."


def _repeated_text(again: int) -> str:
    """Return the sentence that tells how many forgettings were repeated."""
    done = "1 forgetting since the backup was" if again == 1 else f"{again} forgettings since the backup were"
    return f"{done} carried out again."


def _file_summary_text(again: int, *, last: datetime | None) -> str:
    """Return the summary of a restore that knew the ledger's file alone, whose last entry is of `last`, if it has any.

    The file is written by the worker that runs the job, so another worker's, or a later one, may list more.
    """
    age = "which is empty" if last is None else f"whose last entry is of {format_time(last)}"
    done = (
        _repeated_text(again) if again else f"{ledger.LEDGER_FILE} lists nothing that was forgotten since the backup."
    )
    return (
        f"{done} This rests on {ledger.LEDGER_FILE} alone, {age}: what was forgotten after that, or is listed in "
        "the file of another worker, may be back. Append such a file to this one and restore again with --force."
    )
