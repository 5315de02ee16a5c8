"""The work row of a turn: it waits while the turn is answered, gives up one whose lease ran out, then reflects.

One row per turn, in the lane of its session: turns are reflected in order, one at a time, and a row exists from the
moment the turn begins, so that a later turn cannot overtake one that is still being answered.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from structlog.contextvars import bound_contextvars

from mnemon.basement import Basement
from mnemon.db.tx import Tx
from mnemon.errors import Conflict, MnemonError, ModelDown, NotFound
from mnemon.jobs.kind import Attempt, Kind, time_for_model_calls
from mnemon.jobs.store import enqueue, enqueue_later
from mnemon.jobs.work import Item, Retry
from mnemon.reflection import store
from mnemon.reflection.lifecycle import ReflectionStatus, may_run_again
from mnemon.reflection.question import Due
from mnemon.reflection.reflect import Asked, applied, asked, briefed, tell_all, usable_raw
from mnemon.reflection.report import Reflection
from mnemon.reflection.report_log import write_line
from mnemon.scope import Scope
from mnemon.section import Section
from mnemon.sessions import turns
from mnemon.sessions.lifecycle import TurnStatus
from mnemon.sessions.people import hold_person, keep_person
from mnemon.sessions.turns import TurnError
from mnemon.turn import Turn

REFLECTION = "reflection"
"""The kind of work; its key is the turn."""
_LOST = TurnError(code="interrupted", detail="The process that was answering went away before the reply was complete.")


@dataclass(frozen=True, kw_only=True)
class _Plan:
    turn: Turn
    due: list[Due]
    reflection: Reflection
    forgettings: int | None
    """How often something of the person's had been forgotten when the turn was read."""


async def queue(tx: Tx, turn: Turn, *, due_at: datetime | None = None) -> str:
    """The turn will be reflected, after its session's earlier turns and not before `due_at`; gives the job's id."""
    job_id = await enqueue(tx, turn.scope, REFLECTION, turn.id, due_at=due_at, lane=_lane(turn), seq=turn.seq)
    store.queue(tx, turn.scope, turn.id, job_id)
    return job_id


def queue_first(tx: Tx, turn: Turn, *, due_at: datetime) -> None:
    """The same for a turn that is being stored: nothing of its is queued yet, so both rows leave with the next."""
    job_id = enqueue_later(tx, turn.scope, REFLECTION, turn.id, due_at=due_at, lane=_lane(turn), seq=turn.seq)
    store.queue(tx, turn.scope, turn.id, job_id)


def _lane(turn: Turn) -> str:
    return f"session:{turn.session_id}"


async def run_again(tx: Tx, scope: Scope, turn_id: str) -> Reflection:
    """A failed or parked reflection is queued with all its tries."""
    stored = await turns.find(tx, scope, turn_id)
    found = None if stored is None else await store.find(tx, stored.turn.scope, turn_id)
    if stored is None or found is None:
        raise NotFound("turn")
    if not may_run_again(found.status):
        raise Conflict(
            f"This reflection is {found.status}; only a failed or parked one can be run again.",
            code="reflection_not_failed",
        )
    await queue(tx, stored.turn)
    again = await store.find(tx, stored.turn.scope, turn_id)
    assert again is not None
    return again


def kinds(basement: Basement, sections: Sequence[Section]) -> tuple[Kind, ...]:
    """The work this file does."""

    async def run(attempt: Attempt) -> None:
        with bound_contextvars(turn=attempt.key):
            await _reflect(basement, attempt, sections)

    async def on_park(tx: Tx, item: Item, error: str) -> None:
        await store.park(tx, Scope(org_id=item.org_id), item.key, error)

    retry = Retry(max_attempts=basement.settings.max_attempts)
    limit = time_for_model_calls(basement.settings.model_timeout_s)
    return (Kind(name=REFLECTION, run=run, retry=retry, time_limit=limit, on_park=on_park),)


async def _reflect(basement: Basement, attempt: Attempt, sections: Sequence[Section]) -> None:
    began = time.perf_counter()
    async with basement.db.tx(attempt.scope.org_id) as tx:
        plan = await _plan(tx, attempt, sections)
    if plan is None:
        return
    given = await _ask(basement, attempt, plan)
    if given.usage is not None:
        async with basement.db.tx(attempt.scope.org_id) as tx:
            if not await _hold(tx, attempt, plan):
                return
            usage = given.usage if plan.reflection.usage is None else plan.reflection.usage.plus(given.usage)
            store.keep_raw(tx, plan.turn.scope, plan.turn.id, dict(given.raw), usage)
    async with basement.db.tx(attempt.scope.org_id) as tx:
        if not await _hold(tx, attempt, plan):
            return
        made = await applied(tx, plan.turn, plan.due, given, plan.reflection)
        done = made.reflection
        store.report(tx, plan.turn.scope, done)
        if done.status is ReflectionStatus.DONE:
            await attempt.settle(tx)
    write_line(done, given.usage, seconds=time.perf_counter() - began)
    if made.errors:
        raise made.errors[0] if len(made.errors) == 1 else ExceptionGroup("several sections failed", made.errors)
    if done.status is not ReflectionStatus.DONE:
        raise ModelDown(f"Sections are still open: {', '.join(done.open_sections)}. They are asked for again.")


async def _hold(tx: Tx, attempt: Attempt, plan: _Plan) -> bool:
    """The turn's person and work are ours; whether nothing of theirs was forgotten since the turn was read.

    If something was, the answer may hold it: it is dropped and the turn is read again. The person's row is locked
    before the work's, as every writer does: the other way round they would block each other.
    """
    forgettings, _ = await tx.together(hold_person(tx, plan.turn.scope), attempt.hold(tx))
    same = forgettings == plan.forgettings
    if not same:
        await attempt.repeat(tx, after=timedelta(0))
    return same


async def _plan(tx: Tx, attempt: Attempt, sections: Sequence[Section]) -> _Plan | None:
    """What there is to do; None when there is nothing (any more, or yet)."""
    stored = await turns.find(tx, attempt.scope, attempt.key)
    if stored is None:
        await attempt.settle(tx)
        return None
    turn = stored.turn
    # The turn's row before the work's: whoever seals the turn locks them in this order too.
    forgettings, status, _ = await tx.together(
        keep_person(tx, turn.scope), turns.locked_status(tx, turn.scope, turn.id), attempt.hold(tx)
    )
    if status is TurnStatus.ANSWERING and not await _is_over(tx, attempt, turn):
        return None
    store.queue(tx, turn.scope, turn.id, attempt.item.job_id)
    reflection = await store.find(tx, turn.scope, turn.id)
    assert reflection is not None
    if reflection.status is ReflectionStatus.DONE:
        await attempt.settle(tx)
        return None
    store.start(tx, turn.scope, turn.id)
    due, reflection = await briefed(tx, turn, sections, reflection)
    return _Plan(turn=turn, due=due, reflection=reflection, forgettings=forgettings)


async def _is_over(tx: Tx, attempt: Attempt, turn: Turn) -> bool:
    """Whether the turn is sealed now, its lease having run out; one being answered is looked at later."""
    # Read again under the lock: the turn may have been taken up since it was first read.
    lease_until = await turns.lease_of(tx, turn.scope, turn.id)
    if lease_until is not None and lease_until > tx.now:
        await attempt.repeat(tx, after=lease_until - tx.now)
        return False
    turns.seal(tx, turn.scope, turn.id, TurnStatus.INTERRUPTED, error=_LOST)
    return True


async def _ask(basement: Basement, attempt: Attempt, plan: _Plan) -> Asked:
    if not plan.due:
        return Asked(raw={}, answers={}, faults={}, usage=None)
    try:
        return await asked(basement.reflector, plan.turn, plan.due, usable_raw(plan.reflection, plan.due))
    except ModelDown as error:
        await _failed(basement, attempt, plan, error)
        raise


async def _failed(basement: Basement, attempt: Attempt, plan: _Plan, error: MnemonError) -> None:
    async with basement.db.tx(attempt.scope.org_id) as tx:
        await hold_person(tx, plan.turn.scope)
        await attempt.hold(tx)
        await store.fail(tx, plan.turn.scope, plan.turn.id, f"{error.code}: {error.detail}")
        await tell_all(tx, plan.turn, plan.due, error.code, error.detail)
