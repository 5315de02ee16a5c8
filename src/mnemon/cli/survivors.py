"""What must survive a restore: read from the database that is replaced, and applied to the restored one.

In between, the records stand in the restored database's table `restore_pending`. Applying them is repeatable: a restore
that was interrupted meanwhile applies all of them again.
"""

from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from mnemon.db.backup import GapSubject
    from mnemon.db.pending_restore import CarriedRecords
    from mnemon.services import Services


class Survivor(Protocol):
    """Records that must survive a restore, such as the ledger of what was forgotten."""

    subject: "GapSubject"
    """The name of this kind of record in `restore_pending`."""

    async def read_from(self, url: str) -> None:
        """Read the records from the database that is about to be replaced; not called when that one is empty."""
        ...

    def carried_records(self, data_dir: Path, at: datetime) -> "CarriedRecords":
        """Return what was read, and what the data directory has of it, for the table `restore_pending`."""
        ...

    def take_over(self, records: "CarriedRecords") -> None:
        """Add what a restore wrote into `restore_pending`: this one's, or one that was interrupted before."""
        ...

    async def apply_to(self, services: "Services") -> str:
        """Apply the records to the restored database, skipping what was applied before; return what was done."""
        ...


def _ledger_survivor() -> Survivor:
    """Return the object that carries the ledger of forgotten data from the replaced database to the restored one."""
    from mnemon.custody.replay import LedgerCarryover

    return LedgerCarryover()


def _revocation_survivor() -> Survivor:
    """Return the object that carries the revocations of keys from the replaced database to the restored one."""
    from mnemon.access.carryover import RevocationCarryover

    return RevocationCarryover()


def _withdrawal_survivor() -> Survivor:
    """Return the object that carries the withdrawals of sources from the replaced database to the restored one."""
    from mnemon.memory.sources.survivor import WithdrawalSurvivor

    return WithdrawalSurvivor()


SURVIVORS: tuple[Callable[[], Survivor], ...] = (_ledger_survivor, _revocation_survivor, _withdrawal_survivor)
"""Constructors of all survivors. Older backups lack what was forgotten, revoked or withdrawn since."""


async def read_survivors(url: str, data_dir: Path, at: datetime, *, empty: bool) -> "list[CarriedRecords]":
    """Return the records that must survive the restore, from the database to be replaced and the data directory.

    Includes what an interrupted restore had not yet applied to that database.
    """
    from mnemon.db.pending_restore import load_pending

    unfinished = await load_pending(url)
    survivors = [make() for make in SURVIVORS]
    for survivor in survivors:
        if not empty:
            await survivor.read_from(url)
        _give_own_records(survivor, unfinished)
    return [survivor.carried_records(data_dir, at) for survivor in survivors]


async def apply_survivors(services: "Services", carried: "Iterable[CarriedRecords]") -> list[str]:
    """Apply the records that must survive the restore to the new database; return a sentence for each kind."""
    records, notes = list(carried), []
    for make in SURVIVORS:
        survivor = make()
        _give_own_records(survivor, records)
        notes.append(await survivor.apply_to(services))
    return notes


def _give_own_records(survivor: Survivor, records: "Iterable[CarriedRecords]") -> None:
    """Give the survivor those of the records that are of its own kind."""
    for one in records:
        if one.subject == survivor.subject:
            survivor.take_over(one)
