"""What of custody outlives a restore: the ledger, taken along from the old database and applied to the restored one."""

import asyncio

from psycopg.rows import dict_row

from mnemon.basement import Basement
from mnemon.custody import ledger
from mnemon.custody.ledger import Entry, entry_of
from mnemon.custody.replay import replay
from mnemon.db.connecting import connect


class LedgerSurvivor:
    """Carries the ledger over a restore, so that what was forgotten since the backup stays forgotten."""

    def __init__(self) -> None:
        self._entries: dict[str, Entry] = {}
        self._found = False

    async def take(self, url: str) -> None:
        """The entries of the database that is about to be replaced are remembered."""
        async with await connect(url) as connection, connection.cursor(row_factory=dict_row) as cursor:
            there = await (await cursor.execute("select to_regclass('forgotten') as name")).fetchone()
            if there is None or there["name"] is None:
                return
            self._found = True
            # Every organization's: the operator restores all of them at once.
            async for row in await cursor.execute("select * from forgotten order by org_id, id"):
                entry = entry_of(row)
                self._entries[entry.id] = entry

    async def give(self, basement: Basement) -> str:
        """What was forgotten since the backup is forgotten again; those entries and the file's."""
        path = basement.settings.data_dir / ledger.FILE
        found = self._found or path.exists()
        kept = await asyncio.to_thread(ledger.from_file, path)
        entries = {**{entry.id: entry for entry in kept}, **self._entries}
        again = await replay(basement.db, entries.values())
        await asyncio.to_thread(ledger.keep_in_file, path, entries.values())
        if not found:
            return (
                f"No ledger of forgettings was found, neither a database that this one replaces nor {ledger.FILE} in "
                "the data directory: what was forgotten since the backup may be back. If the old data directory still "
                "exists, copy the file from it and restore again with --force."
            )
        if not again:
            return "Nothing had been forgotten since the backup."
        return f"{again} forgettings since the backup were carried out again."
