"""What outlives a restore: the fact that a source was withdrawn."""

import json
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

from mnemon.db.backup import GapSubject, delete_gap, read_gap, record_gap
from mnemon.db.connect import open_connection
from mnemon.db.pending_restore import CarriedRecords
from mnemon.db.statements import load_statements
from mnemon.errors import NotFound
from mnemon.memory.sources.overview import printable_name
from mnemon.memory.sources.withdrawal import withdraw_source
from mnemon.scope import Scope
from mnemon.services import Services

SQL = load_statements("mnemon.memory.sources")
MOST_NAMED = 10
"""The most source names that the report lists."""
_NEXT_STEP = "look at `mnemon sources NAME`, and withdraw what should be."


@dataclass(frozen=True, kw_only=True)
class PastWithdrawal:
    """One withdrawal for one person, as the replaced database recorded it."""

    org_id: str
    user_id: str
    id: str
    origin: str


class WithdrawalSurvivor:
    """Carries withdrawals over a restore, so that a backup does not bring a withdrawn source back."""

    subject: GapSubject = "withdrawals"

    def __init__(self) -> None:
        """Begin a restore without knowing any withdrawal."""
        self._known: list[PastWithdrawal] = []
        self._found = False
        self._gap: datetime | None = None

    async def read_from(self, url: str) -> None:
        """Read the withdrawals of every organization from the database that a restore is about to replace."""
        async with await open_connection(url) as connection:
            table = await (await connection.execute("select to_regclass('withdrawals')")).fetchone()
            if table is None or table[0] is None:
                return
            self._found = True
            self._gap = await read_gap(connection, "withdrawals")
            rows = await connection.execute("select org_id, user_id, id, origin from withdrawals order by at, id")
            async for org_id, user_id, id_, origin in rows:
                self._known.append(PastWithdrawal(org_id=org_id, user_id=user_id, id=id_, origin=origin))

    def carried_records(self, data_dir: Path, at: datetime) -> CarriedRecords:
        """Return the withdrawals as records that a restore keeps until they are applied."""
        rows = tuple(json.dumps(asdict(one)) for one in self._known)
        return CarriedRecords(subject=self.subject, at=at, found=self._found, gap=self._gap, rows=rows)

    def take_over(self, records: CarriedRecords) -> None:
        """Merge in the withdrawals of an earlier, unfinished restore, and what that one knew of gaps."""
        there = set(self._known)
        kept = (PastWithdrawal(**json.loads(row)) for row in records.rows)
        self._known += [one for one in kept if one not in there]
        if self._found and not records.found:
            # Loaded from a backup with nothing to replace: the database to replace now lacks what came after it.
            self._gap = self._gap or records.at
        else:
            self._found, self._gap = records.found, records.gap

    async def apply_to(self, services: Services) -> str:
        """Repeat the withdrawals that the restored backup does not know; return a report in words."""
        repeated = [one for one in self._known if await _withdraw_again(services, one)]
        report = _format_withdrawn(repeated)
        known = self._found and self._gap is None
        async with services.db.tx(None) as tx:
            # A gap says that withdrawals may be missing; it is passed on to the next restore until a complete record is
            # found.
            if known:
                await delete_gap(tx, "withdrawals")
            else:
                await record_gap(tx, "withdrawals", self._gap or tx.now)
        if known:
            return report or "No source had been withdrawn since the backup."
        if self._found:
            warning = (
                "The database that this one replaces had itself been restored without knowing which sources had been "
                f"withdrawn, so some may speak again: {_NEXT_STEP}"
            )
            return f"{report} {warning}" if report else warning
        return (
            "This restore replaces no database that knew of withdrawals, so a source that was withdrawn since the "
            f"backup speaks again: {_NEXT_STEP}"
        )


async def _withdraw_again(services: Services, one: PastWithdrawal) -> bool:
    """Repeat a withdrawal unless the restored database knows it; return whether it changed anything."""
    scope = Scope(org_id=one.org_id, user_id=one.user_id)
    owner = {"org_id": one.org_id, "user_id": one.user_id}
    try:
        # A transaction for each person, as in `withdraw_from_everyone`.
        async with services.db.tx(one.org_id) as tx:
            if await tx.fetch_one_or_none(SQL["withdrawal_is_known"], **owner, id=one.id) is not None:
                return False
            return (await withdraw_source(tx, scope, one.origin, receipt_id=one.id)).total > 0
    # The person, or all that the source said, is newer than the backup or was forgotten.
    except NotFound:
        return False


def _format_withdrawn(repeated: list[PastWithdrawal]) -> str:
    """Return a sentence on which sources were withdrawn again; empty for none."""
    names = sorted({printable_name(one.origin) for one in repeated})
    if not names:
        return ""
    listed = ", ".join(names[:MOST_NAMED]) + (f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else "")
    if len(names) == 1:
        return f"1 source that was withdrawn since the backup is withdrawn again: {listed}."
    return f"{len(names)} sources that were withdrawn since the backup are withdrawn again: {listed}."
