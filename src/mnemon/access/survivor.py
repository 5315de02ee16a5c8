"""What of access outlives a restore: that a key was revoked."""

from datetime import datetime

from mnemon.access import store
from mnemon.basement import Basement
from mnemon.db.connecting import connect
from mnemon.db.restore_gaps import close_gap, gap_since, keep_gap
from mnemon.scope import Scope

_LOOK = "look at `mnemon keys list`, and revoke what should be."


class RevocationSurvivor:
    """Carries revocations over a restore, so that a backup does not make a revoked key open again."""

    def __init__(self) -> None:
        self._revoked: list[tuple[str, str, datetime]] = []
        self._found = False
        self._gap: datetime | None = None

    async def take(self, url: str) -> None:
        """Remember the revoked keys of every organization in the database that is about to be replaced."""
        async with await connect(url) as connection:
            there = await (await connection.execute("select to_regclass('keys')")).fetchone()
            if there is None or there[0] is None:
                return
            self._found = True
            self._gap = await gap_since(connection, "revocations")
            revoked = "select org_id, key_id, revoked_at from keys where revoked_at is not null order by org_id, key_id"
            self._revoked = await (await connection.execute(revoked)).fetchall()

    async def give(self, basement: Basement) -> str:
        """Revoke them again, and end the sessions that they had opened."""
        said = _words(await self._revoke_again(basement))
        known = self._found and self._gap is None
        async with basement.db.tx(None) as tx:
            if known:
                await close_gap(tx, "revocations")
            else:
                await keep_gap(tx, "revocations", self._gap or tx.now)
        if known:
            return said or "No key had been revoked since the backup."
        if self._found:
            warning = (
                "The database that this one replaces had itself been restored without knowing which keys had been "
                f"revoked, so some may open again: {_LOOK}"
            )
            return f"{said} {warning}" if said else warning
        return f"This restore replaces no database, so a key that was revoked since the backup opens again: {_LOOK}"

    async def _revoke_again(self, basement: Basement) -> int:
        again = 0
        for org_id, key_id, at in self._revoked:
            async with basement.db.tx(org_id) as tx:
                scope = Scope(org_id=org_id)
                if await store.revoke_again(scope, tx, key_id, at):
                    await store.end_signins_of(scope, tx, key_id)
                    again += 1
        return again


def _words(again: int) -> str:
    if not again:
        return ""
    if again == 1:
        return "1 key that was revoked since the backup is revoked again."
    return f"{again} keys that were revoked since the backup are revoked again."
