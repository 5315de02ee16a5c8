"""The time zone of a person: what they have said it is, else the setting."""

from collections.abc import Iterable
from datetime import tzinfo

from mnemon.db.tx import Tx
from mnemon.memory import store
from mnemon.memory.lifecycle import ArchiveStatus
from mnemon.memory.relative_dates import DefaultTimeZone, zone_called
from mnemon.memory.slots import SELF_KEY, read_memory, slot_of
from mnemon.scope import Scope

TIME_ZONE_SLOT = slot_of(SELF_KEY, "timezone")


async def load_time_zone(tx: Tx, scope: Scope) -> tzinfo:
    """Return the person's time zone by the fact about it ("My time zone is Europe/Berlin"), else the default."""
    held = await store.in_slots(tx, scope, [TIME_ZONE_SLOT])
    told = (value for one in held if one.status is ArchiveStatus.ACTIVE for value in read_memory(one).values)
    return choose_time_zone(tx, told)


def choose_time_zone(tx: Tx, told: Iterable[str]) -> tzinfo:
    """Return the first of the zones that the person has told which exists, else the default."""
    known = (zone for name in told if (zone := zone_called(name)) is not None)
    return next(known, tx.attached.get_or_create(DefaultTimeZone).zone)
