"""When a scheduled agent runs: the slots of a cron expression, in UTC, each fired once.

slot is due, agent idle ──► a run, then the next slot
slot is due, agent busy ──► no run of its own: joined to the next slot
server was down         ──► one run for the latest missed slot; the earlier ones are reported as skipped
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cronsim import CronSim, CronSimError

from mnemon.errors import FieldFault, Invalid

MAX_SKIPPED_COUNTED = 10_000
"""Missed slots that are counted one by one; after a long pause the rest is jumped over."""


@dataclass(frozen=True, kw_only=True)
class DueSlot:
    """What to do when a scheduled agent is woken."""

    slot: datetime | None
    """The slot to run now; None when none is due."""
    skipped: int
    """Number of earlier missed slots that get no run of their own."""
    next_slot: datetime | None
    """When to wake again; None when the expression has no further slot."""


def check_cron(expression: str) -> None:
    """Raise Invalid unless the text is a cron expression of five fields that matches some time in the future."""
    if len(expression.split()) != 5:
        raise _invalid_schedule("it needs five fields: minute, hour, day of month, month, day of week")
    # Any date shows whether there is a slot at all; a fixed one gives the same answer every day.
    try:
        next(CronSim(expression, datetime(2024, 1, 1, tzinfo=UTC)))
    except CronSimError as error:
        raise _invalid_schedule(str(error)) from None
    except StopIteration:
        raise _invalid_schedule("no day ever matches it") from None


def next_slot(expression: str, after: datetime) -> datetime | None:
    """Return the first time of a cron expression strictly after this one; None when there is none."""
    try:
        slot: datetime = next(CronSim(expression, after.astimezone(UTC)))
    except StopIteration:
        return None
    return slot


def due_slot(expression: str, *, waiting_for: datetime, now: datetime) -> DueSlot:
    """Return the latest scheduled time that is due, how many earlier ones it skips, and the next one."""
    if waiting_for > now:
        return DueSlot(slot=None, skipped=0, next_slot=waiting_for)
    latest, skipped = waiting_for, 0
    following = next_slot(expression, latest)
    while following is not None and following <= now:
        # A server that was down for a year would otherwise step over half a million slots of `* * * * *`.
        if skipped >= MAX_SKIPPED_COUNTED:
            latest = _latest_slot(expression, now) or following
            following = next_slot(expression, latest)
            break
        latest, skipped = following, skipped + 1
        following = next_slot(expression, latest)
    return DueSlot(slot=latest, skipped=skipped, next_slot=following)


def _latest_slot(expression: str, now: datetime) -> datetime | None:
    """Return the last time of a cron expression that is not after now; None when there is none."""
    # In reverse CronSim returns slots strictly before a time; a microsecond later, one exactly now is included.
    after = now.astimezone(UTC) + timedelta(microseconds=1)
    try:
        slot: datetime = next(CronSim(expression, after, reverse=True))
    except StopIteration:
        return None
    return slot


def _invalid_schedule(why: str) -> Invalid:
    """Return the error for a schedule that is no cron expression, with the reason."""
    detail = f"The schedule is not a cron expression: {why}. Example: `0 * * * *` is every hour."
    return Invalid(detail, code="invalid_schedule", faults=(FieldFault(pointer="/schedule", detail=why),))
