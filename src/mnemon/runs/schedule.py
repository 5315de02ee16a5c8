"""When a scheduled agent wakes: slots of a cron expression, in UTC, each fired once.

slot comes due ──► agent idle: a run ──► the next slot
              └──► agent busy: joined to the next slot, which is due as ever
server was away ──► one catch-up run for the latest missed slot, the earlier ones are reported as skipped
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cronsim import CronSim, CronSimError

from mnemon.errors import FieldFault, Invalid

MAX_SKIPPED_COUNTED = 10_000


@dataclass(frozen=True, kw_only=True)
class DueSlot:
    """What to do at a wake-up."""

    slot: datetime | None
    """The slot to fire now; None when none is due."""
    skipped: int
    """Earlier missed slots that the one run stands for."""
    next_slot: datetime | None
    """When to wake again; None when the expression has no further slot."""


def check_cron(expression: str) -> None:
    """Raises Invalid unless the expression is cron with five fields and a slot to come."""
    if len(expression.split()) != 5:
        raise _invalid_schedule("it needs five fields: minute, hour, day of month, month, day of week")
    try:
        next(CronSim(expression, datetime(2024, 1, 1, tzinfo=UTC)))
    except CronSimError as error:
        raise _invalid_schedule(str(error)) from None
    except StopIteration:
        raise _invalid_schedule("no day ever matches it") from None


def next_slot(expression: str, after: datetime) -> datetime | None:
    """The first slot strictly after this moment."""
    try:
        slot: datetime = next(CronSim(expression, after.astimezone(UTC)))
    except StopIteration:
        return None
    return slot


def due_slot(expression: str, *, waiting_for: datetime, now: datetime) -> DueSlot:
    """What the agent that waits for a slot does now: the latest slot that is due, the others counted as skipped."""
    if waiting_for > now:
        return DueSlot(slot=None, skipped=0, next_slot=waiting_for)
    latest, skipped = waiting_for, 0
    following = next_slot(expression, latest)
    while following is not None and following <= now:
        if skipped >= MAX_SKIPPED_COUNTED:
            latest = _latest_slot(expression, now) or following
            following = next_slot(expression, latest)
            break
        latest, skipped = following, skipped + 1
        following = next_slot(expression, latest)
    return DueSlot(slot=latest, skipped=skipped, next_slot=following)


def _latest_slot(expression: str, now: datetime) -> datetime | None:
    """The last slot that is not after now."""
    # CronSim gives what lies strictly before a moment, so it is asked for the next one.
    after = now.astimezone(UTC) + timedelta(microseconds=1)
    try:
        slot: datetime = next(CronSim(expression, after, reverse=True))
    except StopIteration:
        return None
    return slot


def _invalid_schedule(why: str) -> Invalid:
    detail = f"The schedule is not a cron expression: {why}. Example: `0 * * * *` is every hour."
    return Invalid(detail, code="invalid_schedule", faults=(FieldFault(pointer="/schedule", detail=why),))
