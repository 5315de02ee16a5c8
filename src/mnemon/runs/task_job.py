"""The job that performs an agent's tasks, its runs and the replies in its chat.

A task is prepared in one transaction, performed outside any, and sealed in another. `task_kinds.py` has what differs
between a run and a reply.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Generic, Protocol, TypeVar

from mnemon.db.tx import Tx
from mnemon.errors import Contended, DatabaseDown, MnemonError
from mnemon.jobs.kind import DEFAULT_TIME_LIMIT, Attempt, JobKind, SlotGroup
from mnemon.jobs.work import LeaseLost, WorkItem, WorkRetryPolicy
from mnemon.runs import agent_store, store
from mnemon.runs.active_memory import MemoryStart
from mnemon.runs.adapter import (
    AgentDriver,
    AgentTask,
    DecisionReview,
    EmitEvent,
    RunEvent,
    RunEventType,
    RunFailed,
    TaskOutcome,
)
from mnemon.runs.agent import Adapter, Agent
from mnemon.runs.card import CardDefinition
from mnemon.runs.card_coercion import coerce_answer
from mnemon.runs.card_filling import fill_card
from mnemon.runs.prompt import prompt_with_reports, system_prompt
from mnemon.runs.run import FINAL_STATUSES, RunStatus, RunUsage, TaskRecord, require_transition
from mnemon.runs.run_events import EventRecorder
from mnemon.runs.task_runner import (
    TaskStopped,
    consult_council,
    make_drivers,
    open_memory,
    run_until_over,
    time_limit_s,
    write_back_memory,
)
from mnemon.scope import Scope
from mnemon.services import Services

MAX_ATTEMPTS = 3
"""Attempts at a task before its job is parked."""
R = TypeVar("R", bound=TaskRecord)


@dataclass(frozen=True, kw_only=True)
class TaskPlan:
    """What a task asks of its agent."""

    prompt: str
    card: CardDefinition | None = None
    """The card to fill; None for a plain reply."""
    council: tuple[tuple[Agent, str], ...] = ()
    """The specialists to consult, each with its prompt."""
    blind: bool = False
    """Whether the specialists must not learn of the decision that is re-examined."""
    review: DecisionReview | None = None
    read_only: bool = False
    """Whether the task reads the shared session without extending it."""


class TaskKind(Protocol[R]):
    """How one kind of task is planned, stored and logged. `R` is its stored record."""

    name: str
    """The name of its job."""
    gave_up: str
    """The error of a task whose job was parked, before the reason."""

    async def find_record(self, tx: Tx, scope: Scope, task_id: str, *, locked: bool = False) -> R | None:
        """Return the stored task (run or chat turn) of this id, or None; `locked` locks its agent, then its row."""

    async def plan_task(self, tx: Tx, scope: Scope, record: R, agent: Agent, team: list[Agent]) -> TaskPlan:
        """Return what the task asks of its agent: prompt, card, council. Raise RunFailed if it can never succeed."""

    def started_record(self, record: R, now: datetime) -> R:
        """Return a copy of the stored task as it is once it runs; nothing is stored."""

    def requeued_record(self, record: R) -> R | None:
        """Return a copy of the stored task for when its worker stops; None to leave the stored one unchanged."""

    async def store_record(self, tx: Tx, scope: Scope, record: R, *, code: str | None = None) -> None:
        """Store the task's new state and notify its watchers of the status, and of the code of its error."""

    async def store_success(self, tx: Tx, scope: Scope, record: R, plan: TaskPlan, outcome: TaskOutcome) -> None:
        """Store a task that succeeded, and its result."""

    def log_end(self, record: R, status: RunStatus, usage: RunUsage, code: str | None) -> None:
        """Log how a task ended: its status, what it cost, the code of its error."""


@dataclass(frozen=True, kw_only=True)
class PreparedTask(Generic[R]):
    """A task that was set to running, with everything needed to perform it."""

    record: R
    plan: TaskPlan
    start: MemoryStart
    task: AgentTask


@dataclass(frozen=True, kw_only=True)
class TaskEnding:
    """The result of performing a task, before it is stored."""

    outcome: TaskOutcome | None
    usage: RunUsage
    error: str | None = None
    code: str | None = None
    """The error's code, for the log and the last status event."""

    @property
    def status(self) -> RunStatus:
        """Return the status with which the task ends: failed without an outcome, else succeeded."""
        return RunStatus.FAILED if self.outcome is None else RunStatus.SUCCEEDED


class AgentTaskJob(Generic[R]):
    """The job that performs the tasks of one kind, with whichever adapter their agents have."""

    def __init__(self, services: Services, kind: TaskKind[R]) -> None:
        self._db = services.db
        self._settings = services.settings
        self._drivers: Mapping[Adapter, AgentDriver] = make_drivers(services)
        self._kind = kind

    def job_kind(self) -> JobKind:
        """Return the job kind that performs agents' tasks of this kind, with its retries and time limit."""
        # Longer than any task may take, so that a slow one fails by its own limit and not by the job's.
        limit = timedelta(seconds=self._settings.run_timeout_s) + DEFAULT_TIME_LIMIT
        return JobKind(
            name=self._kind.name,
            run=self.perform_work,
            retry=WorkRetryPolicy(max_attempts=MAX_ATTEMPTS),
            time_limit=limit,
            group=SlotGroup.RUNS,
            on_park=self.fail_task,
        )

    async def perform_work(self, attempt: Attempt) -> None:
        """Perform the run or chat turn that the job names and store its end, unless cancelled or deleted meanwhile."""
        scope = attempt.scope
        prepared = await self._prepare_task(attempt)
        if prepared is None:
            return
        record = prepared.record
        recorder = EventRecorder(self._db, scope, record.id, record.agent_id)
        try:
            ending = await self._perform_in_time(scope, prepared, recorder)
            await recorder.flush()
            await self._seal_task(attempt, prepared, ending)
        except TaskStopped:
            self._kind.log_end(record, RunStatus.CANCELLED, RunUsage(), TaskStopped.code)
            return
        except asyncio.CancelledError:
            # The server is stopping: queued again, a run does not look as if it were still running.
            await self._requeue_task(scope, record.id)
            raise
        self._kind.log_end(record, ending.status, ending.usage, ending.code)

    async def fail_task(self, tx: Tx, item: WorkItem, reason: str) -> None:
        """Store a run or chat turn as failed when its job has used up its attempts, so that its watchers stop."""
        scope = Scope(org_id=item.org_id)
        record = await self._kind.find_record(tx, scope, item.key, locked=True)
        if record is not None and record.status not in FINAL_STATUSES:
            await self._store_failure(tx, scope, record, f"{self._kind.gave_up}: {reason}")
            self._kind.log_end(record, RunStatus.FAILED, RunUsage(), "given_up")

    async def _requeue_task(self, scope: Scope, task_id: str) -> None:
        """Set a task whose worker stops back to queued, if its kind does so; the next worker starts it over."""
        async with self._db.tx(scope.org_id) as tx:
            record = await self._kind.find_record(tx, scope, task_id, locked=True)
            if record is not None and record.status is RunStatus.RUNNING:
                waiting = self._kind.requeued_record(record)
                if waiting is not None:
                    await self._kind.store_record(tx, scope, waiting)

    async def _prepare_task(self, attempt: Attempt) -> PreparedTask[R] | None:
        """Set the job's task to running and collect what it needs; return None if it is over or deleted."""
        scope = attempt.scope
        async with self._db.tx(scope.org_id) as tx:
            record = await self._kind.find_record(tx, scope, attempt.key, locked=True)
            await attempt.lock_work(tx)
            if record is None or record.status in FINAL_STATUSES:
                await attempt.settle(tx)
                return None
            agent = await agent_store.find_agent(tx, scope, record.agent_id)
            assert agent is not None  # the locked record refers to it
            team = await agent_store.list_team(tx, scope, agent.team)
            try:
                plan = await self._kind.plan_task(tx, scope, record, agent, team)
            except RunFailed as failed:
                await self._store_failure(tx, scope, record, failed.detail)
                self._kind.log_end(record, RunStatus.FAILED, RunUsage(), "given_up")
                await attempt.settle(tx)
                return None
            return await self._start_task(tx, scope, record, agent, team, plan)

    async def _start_task(
        self, tx: Tx, scope: Scope, record: R, agent: Agent, team: list[Agent], plan: TaskPlan
    ) -> PreparedTask[R]:
        """Open the agent's memory, set the task to running, and return it with all that its adapter needs."""
        given = await open_memory(tx, scope, agent, read_only=plan.read_only)
        # A task that is already running was left by a worker that died; this one takes it over.
        running = replace(
            self._kind.started_record(record, tx.now),
            status=RunStatus.RUNNING,
            session_id_before=given.start.session_id,
            memory_generation=given.start.generation,
        )
        await self._kind.store_record(tx, scope, running)
        if given.lost:
            await store.append_event(tx, scope, record.id, agent.id, given.lost)
        task = AgentTask(
            org_id=scope.org_id,
            agent=agent,
            system=system_prompt(agent, team),
            prompt=plan.prompt,
            card=plan.card,
            access=given.start.access,
            session_id=None if given.lost else given.start.session_id,
            fresh_session_id=tx.new_id("ase"),
            history=given.history,
            review=plan.review,
        )
        return PreparedTask(record=running, plan=plan, start=given.start, task=task)

    async def _perform_in_time(self, scope: Scope, prepared: PreparedTask[R], recorder: EventRecorder) -> TaskEnding:
        """Perform the task within its time limit and return how it ended; raise TaskStopped if cancelled meanwhile.

        Raises TaskStopped when the task was cancelled or deleted meanwhile.
        """

        async def read_status() -> RunStatus | None:
            """Return the task's stored status; None if it was deleted."""
            async with self._db.tx(scope.org_id) as tx:
                record = await self._kind.find_record(tx, scope, prepared.record.id)
            return record.status if record else None

        seconds = time_limit_s(self._settings, prepared.task.agent)
        try:
            return await run_until_over(self._perform_task(prepared, recorder), seconds, read_status)
        # None of these is a result of the task: it was stopped, or the job is retried.
        except (LeaseLost, TaskStopped, DatabaseDown, Contended):
            raise
        except MnemonError as error:
            return _failed_ending(error, RunUsage())

    async def _perform_task(self, prepared: PreparedTask[R], emit: EmitEvent) -> TaskEnding:
        """Have the agent's driver perform the task, and check the card it filled; return how the task ended."""
        plan, spent = prepared.plan, RunUsage()

        async def convene_council() -> str:
            """Consult the lead's specialists and return the task's prompt with their reports."""
            nonlocal spent
            reports, spent = await consult_council(
                self._drivers, prepared.task.org_id, plan.council, emit, blind=plan.blind
            )
            return prompt_with_reports(plan.prompt, reports)

        task = replace(prepared.task, convene=convene_council if plan.council else None)
        try:
            outcome = await self._drivers[task.agent.adapter].perform_task(task, emit)
        except RunFailed as error:
            return _failed_ending(error, spent)  # what the council cost counts too
        usage = spent.plus(outcome.usage)
        if plan.card is None:
            return TaskEnding(outcome=outcome, usage=usage)
        try:
            values = fill_card(plan.card, coerce_answer(plan.card, outcome.answer or {}))
        except MnemonError as error:
            return _failed_ending(error, usage)
        await emit(RunEvent(type=RunEventType.CARD, data={"card": plan.card.type, "values": values}))
        return TaskEnding(outcome=replace(outcome, answer=dict(values)), usage=usage)

    async def _seal_task(self, attempt: Attempt, prepared: PreparedTask[R], ending: TaskEnding) -> None:
        """Store how the task ended, update the agent's memory and complete the job, in one transaction."""
        scope = attempt.scope
        async with self._db.tx(scope.org_id) as tx:
            record = await self._kind.find_record(tx, scope, prepared.record.id, locked=True)
            await attempt.lock_work(tx)
            # Read again under the lock: it may have been cancelled since the last poll.
            if record is None or record.status in FINAL_STATUSES:
                raise TaskStopped
            # Memory and result are written together: a session that contains the task is never kept without its result.
            back = await write_back_memory(tx, scope, record.agent_id, prepared.start, ending.outcome)
            if back.why_not and ending.outcome:
                unkept = RunEvent(type=RunEventType.SESSION, data={"kept": False, "note": back.why_not})
                await store.append_event(tx, scope, record.id, record.agent_id, unkept)
            sealed = replace(record, usage=ending.usage, session_id_after=back.session_id_after)
            if ending.outcome is None:
                await self._store_failure(tx, scope, sealed, ending.error, code=ending.code)
            else:
                done = _closed_record(sealed, RunStatus.SUCCEEDED, tx.now)
                await self._kind.store_success(tx, scope, done, prepared.plan, ending.outcome)
            await attempt.settle(tx)

    async def _store_failure(
        self, tx: Tx, scope: Scope, record: R, error: str | None, *, code: str | None = None
    ) -> None:
        """Store that the task failed, with the code of its error for those who watch it."""
        failed = replace(_closed_record(record, RunStatus.FAILED, tx.now), error=error)
        await self._kind.store_record(tx, scope, failed, code=code)


def _closed_record(record: R, status: RunStatus, now: datetime) -> R:
    """Return a copy of the stored task with its final status; raise Conflict when it has one already."""
    return replace(record, status=require_transition(record.id, record.status, status), finished_at=now)


def _failed_ending(error: MnemonError, spent: RunUsage) -> TaskEnding:
    """Return the ending of a task that failed with this error after spending this much."""
    usage = spent.plus(error.usage) if isinstance(error, RunFailed) else spent
    return TaskEnding(outcome=None, usage=usage, error=error.detail, code=error.code)
