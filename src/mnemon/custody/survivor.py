"""What of custody outlives a restore: the ledger, taken along from the old database and applied to the restored one."""

import asyncio
from collections.abc import Collection
from datetime import datetime

from psycopg.rows import dict_row

from mnemon.basement import Basement
from mnemon.custody import ledger
from mnemon.custody.ledger import Entry, entry_of
from mnemon.custody.replay import replay
from mnemon.db.connecting import connect
from mnemon.db.restore_gaps import close_gap, gap_since, keep_gap, restored_gap

_COPY = (
    "If the old data directory still exists, copy the file from it and restore again with --force: what the file lists "
    "is then forgotten again."
)


class LedgerSurvivor:
    """Carries the ledger over a restore, so that what was forgotten since the backup stays forgotten."""

    def __init__(self) -> None:
        self._entries: dict[str, Entry] = {}
        self._found = False
        self._gap: datetime | None = None

    async def take(self, url: str) -> None:
        """The entries of the database that is about to be replaced are remembered."""
        async with await connect(url) as connection, connection.cursor(row_factory=dict_row) as cursor:
            there = await (await cursor.execute("select to_regclass('forgotten') as name")).fetchone()
            if there is None or there["name"] is None:
                return
            self._found = True
            self._gap = await gap_since(connection, "forgettings")
            # Every organization's: the operator restores all of them at once.
            async for row in await cursor.execute("select * from forgotten order by org_id, id"):
                entry = entry_of(row)
                self._entries[entry.id] = entry

    async def give(self, basement: Basement) -> str:
        """What was forgotten since the backup is forgotten again; those entries and the file's."""
        path = basement.settings.data_dir / ledger.FILE
        there = path.exists()
        kept = await asyncio.to_thread(ledger.from_file, path)
        gap = self._gap if self._found else await _gap_of_backup(basement)
        known = (self._found or there) if gap is None else await self._tells_of_before(basement, kept, gap)
        entries = {**{entry.id: entry for entry in kept}, **self._entries}
        again = await replay(basement.db, entries.values())
        await asyncio.to_thread(ledger.keep_in_file, path, entries.values())
        async with basement.db.tx(None) as tx:
            if known:
                await close_gap(tx, "forgettings")
            else:
                await keep_gap(tx, "forgettings", gap or tx.now)
        return _words(again, warning="" if known else self._warning())

    async def _tells_of_before(self, basement: Basement, kept: Collection[Entry], gap: datetime) -> bool:
        """Whether the file has what a database lacks that was itself restored without a ledger.

        Such a database knows only what it forgot since. A file with older entries, which neither it nor the backup has,
        was copied from where they were made.
        """
        for entry in kept:
            if entry.id not in self._entries and entry.at < gap:
                async with basement.db.tx(entry.org_id) as tx:
                    in_backup = await ledger.entries(tx, entry.org_id, subject=entry.subject)
                if entry.id not in {one.id for one in in_backup}:
                    return True
        return False

    def _warning(self) -> str:
        if self._found:
            return (
                "The database that this one replaces had itself been restored without the ledger of forgettings: what "
                f"was forgotten before that may be back, and {ledger.FILE} in the data directory does not list it. "
                f"{_COPY}"
            )
        return (
            f"No ledger of forgettings was found, neither a database that this one replaces nor {ledger.FILE} in "
            f"the data directory: what was forgotten since the backup may be back. {_COPY}"
        )


async def _gap_of_backup(basement: Basement) -> datetime | None:
    """Since when the restored database itself lacks the ledger, because its backup was made of one that did."""
    async with basement.db.tx(None) as tx:
        return await restored_gap(tx, "forgettings")


def _words(again: int, *, warning: str) -> str:
    if again:
        done = "1 forgetting since the backup was" if again == 1 else f"{again} forgettings since the backup were"
        return " ".join(filter(None, (f"{done} carried out again.", warning)))
    return warning or "Nothing had been forgotten since the backup."
