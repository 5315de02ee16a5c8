"""How often recall is asked, by day. Counted in process and written every few seconds, so that a read stays one."""

from collections import Counter
from datetime import UTC, date, datetime, timedelta

from mnemon.db.statements import statements
from mnemon.db.tx import Tx
from mnemon.scope import Scope

SQL = statements("mnemon.memory.recall")
EVERY = timedelta(seconds=10)


class Tally:
    """What was counted in one open database and not written yet. What a failed transaction had written is lost."""

    def __init__(self) -> None:
        self._waiting: Counter[tuple[str, date]] = Counter()
        """By organization and day."""
        self._written: dict[str, datetime] = {}
        """When each organization's counts were written last."""

    async def count(self, tx: Tx, scope: Scope, number: int = 1) -> None:
        """So many recalls more."""
        self.note(scope, tx.now, number)
        if self.due(scope, tx.now):
            self._written[scope.org_id] = tx.now
            await self._write(tx, scope)

    def due(self, scope: Scope, now: datetime) -> bool:
        """Whether it is time to write, which takes a transaction."""
        since = self._written.get(scope.org_id)
        return since is None or abs(now - since) >= EVERY

    def note(self, scope: Scope, now: datetime, number: int = 1) -> None:
        """So many recalls more, to be written later."""
        self._waiting[scope.org_id, now.astimezone(UTC).date()] += number

    async def days(self, tx: Tx, scope: Scope, since: date) -> dict[date, int]:
        """Recalls by day since then, those not written yet included."""
        rows = await tx.all(SQL["recall_days"], org_id=scope.org_id, since=since)
        found = Counter({row["day"]: int(row["number"]) for row in rows})
        found.update({day: n for (org, day), n in self._waiting.items() if org == scope.org_id and day >= since})
        return dict(found)

    async def _write(self, tx: Tx, scope: Scope) -> None:
        if (await tx.one(SQL["is_read_only"]))["read_only"]:
            return  # as in a failover: recall works, and the counts wait
        for key in [key for key in self._waiting if key[0] == scope.org_id]:
            number = self._waiting.pop(key)
            if not await tx.run(SQL["keep_count"], org_id=scope.org_id, day=key[1], number=number):
                self._waiting[key] += number
