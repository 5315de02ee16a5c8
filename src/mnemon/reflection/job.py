"""The reflection job of a turn: wait while the turn is answered, give up a turn whose lease ran out, then reflect.

There is one work row per turn, in the lane of its session: turns are reflected in order, one at a time. The row exists
from the moment the turn begins, so that a later turn cannot overtake one that is still being answered.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from structlog.contextvars import bound_contextvars

from mnemon.agentstate.reflect import SECTIONS as AGENT_STATE
from mnemon.db.tx import Tx
from mnemon.engagement.reflect import make_sections as engagement
from mnemon.errors import Conflict, MnemonError, ModelDown, NotFound
from mnemon.jobs.kind import Attempt, JobKind, SlotGroup, model_time_limit
from mnemon.jobs.store import enqueue_work, enqueue_work_deferred
from mnemon.jobs.work import WorkItem, WorkRetryPolicy
from mnemon.memory.reflect import SECTIONS as MEMORY
from mnemon.memory.todos.store import open_todos
from mnemon.reflection import store
from mnemon.reflection.prompt import DueSection
from mnemon.reflection.reflect import (
    AskOptions,
    SectionAnswers,
    apply_answers,
    ask_model,
    brief_sections,
    notify_sections,
    reusable_answers,
)
from mnemon.reflection.report import Reflection, ReflectionStatus, log_reflection, may_run_again
from mnemon.reflection.sight import Sight, load_sight
from mnemon.scope import Scope
from mnemon.section import Section
from mnemon.services import Services
from mnemon.sessions import turns
from mnemon.sessions.lifecycle import TurnStatus
from mnemon.sessions.people import lock_person, lock_person_shared
from mnemon.sessions.rolling_summary import RollingSummarySection
from mnemon.sessions.turns import TurnError
from mnemon.settings import Settings
from mnemon.turn import Turn

REFLECTION_KIND = "reflection"
"""The job kind; the key of its work is the turn's id."""
_LEASE_EXPIRED = TurnError(
    code="interrupted", detail="The process that was answering went away before the reply was complete."
)


@dataclass(frozen=True, kw_only=True)
class _Plan:
    """What one attempt has to do."""

    turn: Turn
    sight: Sight
    due: list[DueSection]
    reflection: Reflection
    forgettings: int | None
    """How many times something of the person had been forgotten when the turn was read."""


async def enqueue_reflection(tx: Tx, turn: Turn, *, due_at: datetime | None = None) -> str:
    """Queue the turn's reflection after its session's earlier turns, not before `due_at`; return the job's id."""
    job_id = await enqueue_work(
        tx, turn.scope, REFLECTION_KIND, turn.id, due_at=due_at, lane=_session_lane(turn), seq=turn.seq
    )
    store.mark_queued(tx, turn.scope, turn.id, job_id)
    return job_id


def enqueue_with_turn(tx: Tx, turn: Turn, *, due_at: datetime) -> None:
    """Queue the reflection of a turn that is being stored, with the transaction's next statement.

    Nothing of the turn is queued yet, so both rows are deferred and sent with the next statement.
    """
    job_id = enqueue_work_deferred(
        tx, turn.scope, REFLECTION_KIND, turn.id, due_at=due_at, lane=_session_lane(turn), seq=turn.seq
    )
    store.mark_queued(tx, turn.scope, turn.id, job_id)


def _session_lane(turn: Turn) -> str:
    """Return the lane of the turn's session: its reflections run one at a time, in order."""
    return f"session:{turn.session_id}"


async def rerun_reflection(tx: Tx, scope: Scope, turn_id: str) -> Reflection:
    """Queue a failed or parked reflection of a turn again with all its attempts, and return it.

    Raises NotFound for a turn without one and Conflict for any other status.
    """
    stored = await turns.find_turn(tx, scope, turn_id)
    found = None if stored is None else await store.find(tx, stored.turn.scope, turn_id)
    if stored is None or found is None:
        raise NotFound("turn")
    if not may_run_again(found.status):
        raise Conflict(
            f"This reflection is {found.status}; only a failed or parked one can be run again.",
            code="reflection_not_failed",
        )
    await enqueue_reflection(tx, stored.turn)
    again = await store.find(tx, stored.turn.scope, turn_id)
    assert again is not None
    return again


def kinds_for_sections(services: Services, sections: Sequence[Section]) -> tuple[JobKind, ...]:
    """Return the job kind that reflects turns with these sections."""

    async def run_attempt(attempt: Attempt) -> None:
        """Make one attempt to reflect the turn whose id is the work's key."""
        with bound_contextvars(turn=attempt.key):
            await _reflect_turn(services, attempt, sections)

    async def on_park(tx: Tx, item: WorkItem, error: str) -> None:
        """Mark the turn's reflection as parked (out of tries), in the transaction that parks the work."""
        await store.mark_parked(tx, Scope(org_id=item.org_id), item.key, error)

    retry = WorkRetryPolicy(max_attempts=services.settings.max_attempts)
    limit = model_time_limit(services.settings.model_timeout_s)
    return (
        JobKind(
            name=REFLECTION_KIND,
            run=run_attempt,
            retry=retry,
            time_limit=limit,
            group=SlotGroup.REFLECTION,
            on_park=on_park,
        ),
    )


async def _reflect_turn(services: Services, attempt: Attempt, sections: Sequence[Section]) -> None:
    """Make one attempt to reflect a turn, in up to three transactions: plan, keep the answer, apply it.

    No transaction is open while the model is asked. Keeping the answer by itself saves a second call to the model if
    applying it fails.
    """
    began = time.perf_counter()
    async with services.db.tx(attempt.scope.org_id) as tx:
        plan = await _make_plan(tx, attempt, sections)
    if plan is None:
        return
    given = await _ask_sections(services, attempt, plan)
    if given.usage is not None:
        async with services.db.tx(attempt.scope.org_id) as tx:
            if not await _hold_person_and_work(tx, attempt, plan):
                return
            usage = given.usage if plan.reflection.usage is None else plan.reflection.usage.plus(given.usage)
            store.store_raw_answer(tx, plan.turn.scope, plan.turn.id, dict(given.raw), usage)
    async with services.db.tx(attempt.scope.org_id) as tx:
        if not await _hold_person_and_work(tx, attempt, plan):
            return
        made = await apply_answers(tx, plan.turn, plan.due, given, plan.reflection)
        done = made.reflection
        store.store_report(tx, plan.turn.scope, done)
        # Otherwise the error raised below has the job retried or parked.
        if done.status is ReflectionStatus.DONE:
            await attempt.settle(tx)
    log_reflection(done, given.usage, seconds=time.perf_counter() - began)
    if made.errors:
        raise made.errors[0] if len(made.errors) == 1 else ExceptionGroup("several sections failed", made.errors)
    if done.status is not ReflectionStatus.DONE:
        raise ModelDown(f"Sections are still open: {', '.join(done.open_sections)}. They are asked for again.")


async def _hold_person_and_work(tx: Tx, attempt: Attempt, plan: _Plan) -> bool:
    """Lock the turn's person and work rows; return False if something was forgotten since the turn was read.

    If something was, the answer may contain it: it is dropped and the turn is read again. The person's row is locked
    before the work row, as every writer does: the other way round they would block each other.
    """
    forgettings, _ = await tx.gather(lock_person(tx, plan.turn.scope), attempt.lock_work(tx))
    same = forgettings == plan.forgettings
    if not same:
        await attempt.repeat(tx, after=timedelta(0))
    return same


async def _make_plan(tx: Tx, attempt: Attempt, sections: Sequence[Section]) -> _Plan | None:
    """Lock the turn and load what the attempt needs; settle the work and return None if nothing is left to do."""
    stored = await turns.find_turn(tx, attempt.scope, attempt.key)
    if stored is None:
        await attempt.settle(tx)
        return None
    turn = stored.turn
    # Lock order of every writer: the person's row, then the turn's, then the work row.
    forgettings, status, _ = await tx.gather(
        lock_person_shared(tx, turn.scope), turns.lock_turn_status(tx, turn.scope, turn.id), attempt.lock_work(tx)
    )
    if status is TurnStatus.ANSWERING and not await _seal_if_expired(tx, attempt, turn):
        return None
    store.mark_queued(tx, turn.scope, turn.id, attempt.item.job_id)
    reflection = await store.find(tx, turn.scope, turn.id)
    assert reflection is not None
    if reflection.status is ReflectionStatus.DONE:
        await attempt.settle(tx)
        return None
    store.mark_started(tx, turn.scope, turn.id)
    turn, sight = await load_sight(tx, turn)
    due, reflection = await brief_sections(tx, turn, sections, reflection)
    return _Plan(turn=turn, sight=sight, due=due, reflection=reflection, forgettings=forgettings)


async def _seal_if_expired(tx: Tx, attempt: Attempt, turn: Turn) -> bool:
    """Seal the turn if its lease has run out, and return True; else repeat the job when the lease ends."""
    # Read again under the lock: the turn may have been continued since it was first read.
    lease_until = await turns.lock_turn_lease(tx, turn.scope, turn.id)
    if lease_until is not None and lease_until > tx.now:
        await attempt.repeat(tx, after=lease_until - tx.now)
        return False
    turns.seal_turn(tx, turn.scope, turn.id, TurnStatus.INTERRUPTED, error=_LEASE_EXPIRED)
    return True


async def _ask_sections(services: Services, attempt: Attempt, plan: _Plan) -> SectionAnswers:
    """Return the model's answers for the due sections; without any, record the failure and raise ModelDown."""
    if not plan.due:
        return SectionAnswers(raw={}, answers={}, faults={}, usage=None)
    settings = services.settings
    options = AskOptions(
        sight=plan.sight,
        budget=settings.reflection_budget_tokens,
        one_by_one=settings.reflection_calls == "sections",
    )
    kept = reusable_answers(plan.reflection, plan.due)
    try:
        return await ask_model(services.reflector, plan.turn, plan.due, kept, options)
    except ModelDown as error:
        await _record_failure(services, attempt, plan, error)
        raise


async def _record_failure(services: Services, attempt: Attempt, plan: _Plan, error: MnemonError) -> None:
    """Mark the reflection as failed and notify its sections, in a transaction of its own."""
    async with services.db.tx(attempt.scope.org_id) as tx:
        await lock_person(tx, plan.turn.scope)
        await attempt.lock_work(tx)
        await store.mark_failed(tx, plan.turn.scope, plan.turn.id, f"{error.code}: {error.detail}")
        await notify_sections(tx, plan.turn, plan.due, error.code, error.detail)


SECTION_LABELS = ("memory", "todos", "engagement", "agentState", "rollingSummary")
"""The labels of the sections in a report, due or not."""


def all_sections(settings: Settings) -> tuple[Section, ...]:
    """Return every section of the reflection, in the order in which they are asked for."""
    return (*MEMORY, *engagement(settings), *AGENT_STATE, RollingSummarySection(_open_todo_texts))


def job_kinds(services: Services) -> tuple[JobKind, ...]:
    """Return the job kind that reflects turns with all sections."""
    return kinds_for_sections(services, all_sections(services.settings))


async def _open_todo_texts(tx: Tx, scope: Scope) -> Sequence[str]:
    """Return the texts of the person's open todos."""
    return [todo.content for todo in await open_todos(tx, scope)]
