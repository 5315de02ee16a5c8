"""What of access outlives a restore: that a key was revoked."""

from datetime import datetime

from mnemon.access import store
from mnemon.basement import Basement
from mnemon.db.connecting import connect
from mnemon.scope import Scope


class RevocationSurvivor:
    """Carries revocations over a restore, so that a backup does not make a revoked key open again."""

    def __init__(self) -> None:
        self._revoked: list[tuple[str, str, datetime]] = []
        self._found = False

    async def take(self, url: str) -> None:
        """Remember the revoked keys of every organization in the database that is about to be replaced."""
        async with await connect(url) as connection:
            there = await (await connection.execute("select to_regclass('keys')")).fetchone()
            if there is None or there[0] is None:
                return
            self._found = True
            revoked = "select org_id, key_id, revoked_at from keys where revoked_at is not null order by org_id, key_id"
            self._revoked = await (await connection.execute(revoked)).fetchall()

    async def give(self, basement: Basement) -> str:
        """Revoke them again, and end the sessions that they had opened."""
        if not self._found:
            return (
                "This restore replaces no database, so a key that was revoked since the backup opens again: look at "
                "`mnemon keys list`, and revoke what should be."
            )
        again = 0
        for org_id, key_id, at in self._revoked:
            async with basement.db.tx(org_id) as tx:
                scope = Scope(org_id=org_id)
                if await store.revoke_again(scope, tx, key_id, at):
                    await store.end_signins_of(scope, tx, key_id)
                    again += 1
        if not again:
            return "No key had been revoked since the backup."
        if again == 1:
            return "1 key that was revoked since the backup is revoked again."
        return f"{again} keys that were revoked since the backup are revoked again."
