"""Compare the ledger file of the data directory with the ledger of forgettings in the database."""

import asyncio
from pathlib import Path

from mnemon.access.organizations import list_organizations
from mnemon.cli.checkup.check import Check, ok, warn
from mnemon.custody.ledger import LEDGER_FILE, list_entries, load_file
from mnemon.db.database import Database


async def check_ledger_file(db: Database, data_dir: Path) -> Check | None:
    """Check that the ledger file lists every forgetting; None where nothing was forgotten. Needs the owner's login.

    A restore into an empty database has only this file to know what was forgotten since the backup.
    """
    async with db.owner_tx() as tx:
        names = [one.name for one in await list_organizations(tx)]
        wanted = {entry.id for name in names for entry in await list_entries(tx, name)}
    if not wanted:
        return None
    path = data_dir / LEDGER_FILE
    listed = {entry.id for entry in await asyncio.to_thread(load_file, path)}
    lacking = len(wanted - listed)
    if not lacking:
        return ok("ledger file", f"{LEDGER_FILE} lists every forgetting ({len(wanted)}).")
    words = (
        f"{path} lacks {lacking} of {len(wanted)} forgettings. A restore that has only this file would not repeat them."
    )
    return warn("ledger file", words, "mnemon worker  # writes it; or copy the file from the worker's data directory")
