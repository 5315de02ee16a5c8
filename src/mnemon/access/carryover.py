"""The revocations of keys, carried over a restore."""

import json
from datetime import datetime
from pathlib import Path

from mnemon.access import store
from mnemon.clock import parse_time
from mnemon.db.backup import GapSubject, delete_gap, read_gap, record_gap
from mnemon.db.connect import open_connection
from mnemon.db.pending_restore import CarriedRecords
from mnemon.scope import Scope
from mnemon.services import Services

_REVIEW_HINT = "check `mnemon keys list`, and revoke the keys that should be."


class RevocationCarryover:
    """Carries revocations over a restore, so that a backup does not make a revoked key valid again."""

    subject: GapSubject = "revocations"

    def __init__(self) -> None:
        """Start with no revocations; `read_from` loads them, `apply_to` writes them."""
        self._revoked: list[tuple[str, str, datetime]] = []
        self._found = False
        self._gap: datetime | None = None

    async def read_from(self, url: str) -> None:
        """Load, for `apply_to`, the revoked keys of every organization from the database to be replaced."""
        async with await open_connection(url) as connection:
            # A database that was never migrated has no table, and nothing to carry over.
            there = await (await connection.execute("select to_regclass('keys')")).fetchone()
            if there is None or there[0] is None:
                return
            self._found = True
            self._gap = await read_gap(connection, "revocations")
            revoked = "select org_id, key_id, revoked_at from keys where revoked_at is not null order by org_id, key_id"
            self._revoked = await (await connection.execute(revoked)).fetchall()

    def carried_records(self, data_dir: Path, at: datetime) -> CarriedRecords:
        """Return the revocations as records that a restore keeps until they are applied."""
        rows = tuple(json.dumps([org_id, key_id, when.isoformat()]) for org_id, key_id, when in self._revoked)
        return CarriedRecords(subject=self.subject, at=at, found=self._found, gap=self._gap, rows=rows)

    def take_over(self, records: CarriedRecords) -> None:
        """Add the revocations that an unfinished restore kept, and keep what it knew of missing records."""
        for row in records.rows:
            org_id, key_id, at = json.loads(row)
            self._revoked.append((org_id, key_id, parse_time(at)))
        if self._found and not records.found:
            # Loaded from a backup with nothing to replace: the database to replace now lacks what came after it.
            self._gap = self._gap or records.at
        else:
            self._found, self._gap = records.found, records.gap

    async def apply_to(self, services: Services) -> str:
        """Revoke in the restored database the keys that the replaced one had revoked; return a summary text."""
        summary = _summary_text(await self._revoke_again(services))
        # A database that was itself restored without revocations knows as little as none (`restore_gaps`).
        known = self._found and self._gap is None
        async with services.db.tx(None) as tx:
            if known:
                await delete_gap(tx, "revocations")
            else:
                await record_gap(tx, "revocations", self._gap or tx.now)
        if known:
            return summary or "No key of this backup had been revoked since."
        if self._found:
            warning = (
                "The database that this one replaces had itself been restored without knowing which keys had been "
                f"revoked, so some may be valid again: {_REVIEW_HINT}"
            )
            return f"{summary} {warning}" if summary else warning
        return (
            "This restore replaces no database, so keys that were revoked since the backup are valid again: "
            f"{_REVIEW_HINT}"
        )

    async def _revoke_again(self, services: Services) -> int:
        """Revoke the keys that are valid in the restored database but had been revoked; return how many."""
        again = 0
        for org_id, key_id, at in self._revoked:
            # One transaction per key, since row-level security shows it only to its own organization.
            async with services.db.tx(org_id) as tx:
                scope = Scope(org_id=org_id)
                if await store.revoke_key_at(tx, scope, key_id, at):
                    await store.end_signins_of_key(tx, scope, key_id)
                    again += 1
        return again


def _summary_text(again: int) -> str:
    """Return a sentence on how many keys were revoked again; empty for none."""
    if not again:
        return ""
    if again == 1:
        return "1 key that was revoked since the backup is revoked again."
    return f"{again} keys that were revoked since the backup are revoked again."
