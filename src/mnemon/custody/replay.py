"""Forgetting again what the ledger lists: after a restore, and when an old export is imported.

`LedgerCarryover` carries the ledger from the database that a restore replaces, and from the file in the data directory,
to the restored one.
"""

import asyncio
from collections import Counter
from collections.abc import Collection, Iterable
from datetime import datetime

from psycopg.rows import dict_row

from mnemon.custody import ledger
from mnemon.custody.forget_memory import clear_traces, forget_memories
from mnemon.custody.forget_person import forget_person
from mnemon.custody.ledger import ForgetTally, LedgerEntry, entry_from_row
from mnemon.custody.tables import SQL
from mnemon.custody.traces import ForgottenTraces
from mnemon.db.backup import delete_gap, load_gap, read_gap, record_gap
from mnemon.db.connect import open_connection
from mnemon.db.database import Database
from mnemon.db.tx import Tx
from mnemon.errors import NotFound
from mnemon.services import Services


async def replay_entries(db: Database, entries: Iterable[LedgerEntry]) -> int:
    """Forget again what the ledger entries list; return how many of them the database did not have."""
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

    def __init__(self) -> None:
        """Start with no entries; `read_from` loads them, `apply_to` replays them."""
        self._entries: dict[str, LedgerEntry] = {}
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

    async def apply_to(self, services: Services) -> str:
        """Forget again what the replaced database's ledger and the file list; return a summary for the operator."""
        path = services.settings.data_dir / ledger.LEDGER_FILE
        there = path.exists()
        kept = await asyncio.to_thread(ledger.load_file, path)
        gap = self._gap if self._found else await _load_backup_gap(services)
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


async def _load_backup_gap(services: Services) -> datetime | None:
    """Return since when the restored database itself lacks the ledger, as its backup says; None if it does not."""
    async with services.db.tx(None) as tx:
        return await load_gap(tx, "forgettings")


def _summary_text(again: int, *, warning: str) -> str:
    """Return the sentence that tells how many forgettings were repeated, then the warning if there is one."""
    if again:
        done = "1 forgetting since the backup was" if again == 1 else f"{again} forgettings since the backup were"
        return " ".join(filter(None, (f"{done} carried out again.", warning)))
    return warning or "Nothing had been forgotten since the backup."
