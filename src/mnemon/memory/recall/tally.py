"""How often recall is asked, by day. Counted in the process and written every few seconds, so that a read stays one."""

from collections import Counter
from datetime import UTC, date, datetime, timedelta

from mnemon.db.statements import statements
from mnemon.db.tx import Tx
from mnemon.scope import Scope

SQL = statements("mnemon.memory.recall")
EVERY = timedelta(seconds=10)

_Place = tuple[str, str]
"""A database and an organization in it."""


class Tally:
    """What this process has counted and not written yet. What a transaction that fails had written is lost."""

    def __init__(self) -> None:
        self._waiting: Counter[tuple[_Place, date]] = Counter()
        self._written: dict[_Place, datetime] = {}

    async def count(self, tx: Tx, scope: Scope, number: int = 1) -> None:
        """So many recalls more."""
        place = _place(tx, scope)
        self._waiting[place, tx.now.astimezone(UTC).date()] += number
        if self._due(place, tx.now):
            self._written[place] = tx.now
            await self._write(tx, scope, place)

    def due(self, database: str, scope: Scope, now: datetime) -> bool:
        """Whether it is time to write, which takes a transaction."""
        return self._due((database, scope.org_id), now)

    def note(self, database: str, scope: Scope, now: datetime) -> None:
        """One recall more, to be written later."""
        self._waiting[(database, scope.org_id), now.astimezone(UTC).date()] += 1

    async def days(self, tx: Tx, scope: Scope, since: date) -> dict[date, int]:
        """Recalls by day since then, those not written yet included."""
        rows = await tx.all(SQL["recall_days"], org_id=scope.org_id, since=since)
        found = Counter({row["day"]: int(row["number"]) for row in rows})
        place = _place(tx, scope)
        found.update({day: n for (where, day), n in self._waiting.items() if where == place and day >= since})
        return dict(found)

    def _due(self, place: _Place, now: datetime) -> bool:
        since = self._written.get(place)
        return since is None or abs(now - since) >= EVERY

    async def _write(self, tx: Tx, scope: Scope, place: _Place) -> None:
        for key in [key for key in self._waiting if key[0] == place]:
            number = self._waiting.pop(key)
            if not await tx.run(SQL["keep_count"], org_id=scope.org_id, day=key[1], number=number):
                self._waiting[key] += number


def _place(tx: Tx, scope: Scope) -> _Place:
    return tx.database, scope.org_id


TALLY = Tally()
"""This process's."""
