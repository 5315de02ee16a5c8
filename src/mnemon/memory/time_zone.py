"""The time zone of a person: what they have said it is, else the organization's, else the setting."""

from collections.abc import Iterable
from datetime import tzinfo

from mnemon.db.tx import Tx
from mnemon.memory import store
from mnemon.memory.lifecycle import ArchiveStatus
from mnemon.memory.relative_dates import DefaultTimeZone, zone_called
from mnemon.memory.slots import SELF_KEY, read_memory, slot_of
from mnemon.scope import Scope
from mnemon.sessions.organization import load_organization_settings

TIME_ZONE_SLOT = slot_of(SELF_KEY, "timezone")


async def load_time_zone(tx: Tx, scope: Scope) -> tzinfo:
    """Return the person's time zone by the fact about it ("My time zone is Europe/Berlin"), else the default."""
    held, organization = await tx.gather(
        store.in_slots(tx, scope, [TIME_ZONE_SLOT]), load_organization_settings(tx, scope)
    )
    told = (value for one in held if one.status is ArchiveStatus.ACTIVE for value in read_memory(one).values)
    return choose_time_zone(tx, told, organization.time_zone)


def choose_time_zone(tx: Tx, told: Iterable[str], organization: str) -> tzinfo:
    """Return the first zone that exists of those the person told, then the organization's, then the server's default.

    `organization` is the name of its zone, or "" if it chose none.
    """
    known = (zone for name in (*told, organization) if name and (zone := zone_called(name)) is not None)
    return next(known, tx.attached.get_or_create(DefaultTimeZone).zone)
