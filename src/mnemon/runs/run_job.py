"""The job that executes a run: prepare it in one transaction, perform it outside any, store the result in another."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

from mnemon.db.tx import Tx
from mnemon.errors import Contended, DatabaseDown, MnemonError
from mnemon.jobs import store as work
from mnemon.jobs.kind import DEFAULT_TIME_LIMIT, Attempt, JobKind
from mnemon.jobs.work import LeaseLost, WorkItem, WorkRetryPolicy
from mnemon.runs import agent_store, store, task_runner
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
from mnemon.runs.card import CardDefinition, CardTypes, load_cards
from mnemon.runs.card_filling import fill_card, with_actions
from mnemon.runs.decision_outcomes import EXPIRY_KIND
from mnemon.runs.decisions import format_review, list_agent_decisions
from mnemon.runs.prompt import consultation_prompt, prompt_with_reports, system_prompt
from mnemon.runs.re_examination import blind_prompt, blind_subject
from mnemon.runs.resolution import expiry_time, initial_status, position_of
from mnemon.runs.run import FINAL_STATUSES, Run, RunKind, RunStatus, RunUsage, require_transition
from mnemon.runs.run_events import EventRecorder, log_run
from mnemon.runs.run_requests import RUN_KIND, get_run, record_status
from mnemon.runs.store import find_locked_run
from mnemon.runs.task_runner import (
    MAX_ATTEMPTS,
    TaskStopped,
    make_drivers,
    open_memory,
    run_until_over,
    time_limit_s,
    write_back_memory,
)
from mnemon.runs.tokens import issue_token
from mnemon.scope import Scope
from mnemon.services import Services


@dataclass(frozen=True, kw_only=True)
class PreparedRun:
    """A run that was set to running, with everything needed to perform it."""

    run: Run
    agent: Agent
    council: tuple[tuple[Agent, str], ...]
    """The specialists, each with its prompt."""
    card: CardDefinition
    start: MemoryStart
    task: AgentTask


@dataclass(frozen=True, kw_only=True)
class RunEnding:
    """The result of performing a run, before it is stored."""

    outcome: TaskOutcome | None
    usage: RunUsage
    error: str | None = None
    code: str | None = None
    """The error's code, for the log and the last status event."""

    @property
    def status(self) -> RunStatus:
        """The status the run ends with."""
        return RunStatus.FAILED if self.outcome is None else RunStatus.SUCCEEDED


class RunJob:
    """The job that executes runs, with whichever adapter their agents have."""

    def __init__(self, services: Services) -> None:
        self._db = services.db
        self._settings = services.settings
        self._cards: CardTypes = load_cards(services.settings.cards_dir)
        self._drivers: Mapping[Adapter, AgentDriver] = make_drivers(services)

    def job_kind(self) -> JobKind:
        """Return the kind of work that executes a run."""
        # Longer than any run may take, so that a slow run fails by its own limit and not by the job's.
        limit = timedelta(seconds=self._settings.run_timeout_s) + DEFAULT_TIME_LIMIT
        retry = WorkRetryPolicy(max_attempts=MAX_ATTEMPTS)
        return JobKind(
            name=RUN_KIND, run=self.execute_run, retry=retry, time_limit=limit, long=True, on_park=self.fail_run
        )

    async def execute_run(self, attempt: Attempt) -> None:
        """Execute the run and store its end, unless it was cancelled or deleted meanwhile."""
        scope = attempt.scope
        prepared = await self._prepare_run(attempt)
        if prepared is None:
            return
        recorder = EventRecorder(self._db, scope, prepared.run.id, prepared.agent.id)
        try:
            ending = await self._perform_in_time(scope, prepared, recorder)
            await recorder.flush()
            await self._seal_run(attempt, prepared, ending)
        except TaskStopped:
            log_run(prepared.run, RunStatus.CANCELLED, RunUsage(), TaskStopped.code)
            return
        except asyncio.CancelledError:
            # The server is stopping: queued again, the run does not look as if it were still running.
            await self._requeue_run(scope, prepared.run.id)
            raise
        log_run(prepared.run, ending.status, ending.usage, ending.code)

    async def fail_run(self, tx: Tx, item: WorkItem, reason: str) -> None:
        """Mark the run as failed after its job was given up."""
        scope = Scope(org_id=item.org_id)
        run = await find_locked_run(tx, scope, item.key)
        if run is not None and run.status not in FINAL_STATUSES:
            await self._close_run(tx, scope, run, RunStatus.FAILED, error=f"The server could not run it: {reason}")
            log_run(run, RunStatus.FAILED, RunUsage(), "given_up")

    async def _requeue_run(self, scope: Scope, run_id: str) -> None:
        """Set a run whose worker stops back to queued; the next worker starts it from the beginning."""
        async with self._db.tx(scope.org_id) as tx:
            run = await find_locked_run(tx, scope, run_id)
            if run is not None and run.status is RunStatus.RUNNING:
                waiting = replace(run, status=require_transition(run.id, run.status, RunStatus.QUEUED), started_at=None)
                await store.update_run(tx, scope, waiting)
                await store.delete_tokens(tx, scope, run_id)
                await record_status(tx, scope, waiting)

    async def _prepare_run(self, attempt: Attempt) -> PreparedRun | None:
        """Set the run to running and collect what it needs; return None when there is nothing to do any more."""
        scope = attempt.scope
        async with self._db.tx(scope.org_id) as tx:
            run = await find_locked_run(tx, scope, attempt.key)
            await attempt.lock_work(tx)
            if run is None or run.status in FINAL_STATUSES:
                await attempt.settle(tx)
                return None
            reason = self._unrunnable_reason(run)
            if reason:
                await self._close_run(tx, scope, run, RunStatus.FAILED, error=reason)
                log_run(run, RunStatus.FAILED, RunUsage(), "given_up")
                await attempt.settle(tx)
                return None
            return await self._begin_run(tx, scope, run)

    def _unrunnable_reason(self, run: Run) -> str | None:
        """Return why the run can never succeed, or None."""
        if run.card_type not in self._cards:
            return f"The card type {run.card_type} is not known any more; put its file back."
        return None

    async def _begin_run(self, tx: Tx, scope: Scope, run: Run) -> PreparedRun:
        """Set the run to running, open the agent's memory and build its task."""
        agent = await agent_store.find_agent(tx, scope, run.agent_id)
        assert agent is not None  # the locked run refers to it
        parent = await get_run(tx, scope, run.parent_run_id) if run.parent_run_id else None
        given = await open_memory(tx, scope, agent, read_only=agent.config.memory_read_only)
        # A run that is already running was left by a worker that died; this one takes it over.
        if run.status is RunStatus.QUEUED:
            require_transition(run.id, run.status, RunStatus.RUNNING)
        running = replace(
            run,
            status=RunStatus.RUNNING,
            started_at=tx.now,
            session_id_before=given.start.session_id,
            memory_generation=given.start.generation,
        )
        await store.update_run(tx, scope, running)
        await record_status(tx, scope, running)
        if given.lost:
            await store.append_event(tx, scope, run.id, agent.id, given.lost)
        team = await agent_store.list_team(tx, scope, agent.team)
        card = self._card_for(run, parent)
        task = AgentTask(
            org_id=scope.org_id,
            agent=agent,
            system=system_prompt(agent, team),
            prompt=run.prompt,
            card=card,
            access=given.start.access,
            session_id=None if given.lost else given.start.session_id,
            fresh_session_id=tx.new_id("ase"),
            history=given.history,
            review=await self._open_review(tx, scope, running, agent),
        )
        council = tuple((member, self._specialist_prompt(member, run, parent)) for member in team)
        return PreparedRun(run=running, agent=agent, council=council, card=card, start=given.start, task=task)

    def _card_for(self, run: Run, parent: Run | None) -> CardDefinition:
        """Return the run's card; for a re-examination, with the actions that the parent's card allows."""
        card = self._cards[run.card_type]
        parent_card = self._cards.get(parent.card_type) if parent else None
        return with_actions(card, parent_card.re_examine_actions) if parent_card else card

    def _specialist_prompt(self, member: Agent, run: Run, parent: Run | None) -> str:
        """Return what to ask a specialist; in a re-examination, a prompt that does not tell the decision."""
        if run.kind is not RunKind.RE_EXAMINATION:
            return consultation_prompt(member, run.prompt)
        card = self._cards.get(parent.card_type) if parent else None
        subject = blind_subject(card, parent.result or {}) if card and parent else None
        return blind_prompt(member, subject)

    async def _open_review(self, tx: Tx, scope: Scope, run: Run, agent: Agent) -> DecisionReview | None:
        """Return access to the agent's decisions, with a fresh token, if the agent reviews them."""
        if not agent.config.review_decisions:
            return None

        async def read_decisions() -> str:
            async with self._db.tx(scope.org_id) as reading:
                return format_review(await list_agent_decisions(reading, scope, agent.id))

        return DecisionReview(read=read_decisions, token=await issue_token(tx, scope, run_id=run.id, agent_id=agent.id))

    async def _perform_in_time(self, scope: Scope, prepared: PreparedRun, recorder: EventRecorder) -> RunEnding:
        """Perform the run within its time limit and return how it ended, a failure included.

        Raises TaskStopped when the run was cancelled or deleted meanwhile.
        """
        seconds = time_limit_s(self._settings, prepared.agent)
        try:
            return await run_until_over(
                self._perform_run(scope, prepared, recorder), seconds, self._status_reader(scope, prepared.run.id)
            )
        # None of these is a result of the run: it was stopped, or the job is retried.
        except (LeaseLost, TaskStopped, DatabaseDown, Contended):
            raise
        except RunFailed as error:
            return RunEnding(outcome=None, usage=error.usage, error=error.detail, code=error.code)
        except MnemonError as error:
            return RunEnding(outcome=None, usage=RunUsage(), error=error.detail, code=error.code)

    async def _perform_run(self, scope: Scope, prepared: PreparedRun, emit: EmitEvent) -> RunEnding:
        """Have the agent's driver perform the task and check the card; return how it ended."""
        spent = RunUsage()

        async def convene_council() -> str:
            nonlocal spent
            blind = prepared.run.kind is RunKind.RE_EXAMINATION
            reports, spent = await task_runner.consult_council(
                self._drivers, scope.org_id, prepared.council, emit, blind=blind
            )
            return prompt_with_reports(prepared.task.prompt, reports)

        task = replace(prepared.task, convene=convene_council if prepared.council else None)
        try:
            outcome = await self._drivers[prepared.agent.adapter].perform_task(task, emit)
        except RunFailed as error:  # what the council cost counts too
            return RunEnding(outcome=None, usage=spent.plus(error.usage), error=error.detail, code=error.code)
        usage = spent.plus(outcome.usage)
        try:
            values = fill_card(prepared.card, outcome.answer or {})
        except MnemonError as error:
            return RunEnding(outcome=None, usage=usage, error=error.detail, code=error.code)
        await emit(RunEvent(type=RunEventType.CARD, data={"card": prepared.card.type, "values": values}))
        return RunEnding(outcome=replace(outcome, answer=dict(values)), usage=usage)

    async def _seal_run(self, attempt: Attempt, prepared: PreparedRun, ending: RunEnding) -> None:
        """Store the run's end, write its memory back and settle its work, in one transaction."""
        scope = attempt.scope
        async with self._db.tx(scope.org_id) as tx:
            run = await find_locked_run(tx, scope, prepared.run.id)
            await attempt.lock_work(tx)
            # Read again under the lock: it may have been cancelled since the last poll.
            if run is None or run.status in FINAL_STATUSES:
                raise TaskStopped
            back = await write_back_memory(tx, scope, prepared.agent.id, prepared.start, ending.outcome)
            if back.why_not and ending.outcome:
                unkept = RunEvent(type=RunEventType.SESSION, data={"kept": False, "note": back.why_not})
                await store.append_event(tx, scope, run.id, run.agent_id, unkept)
            sealed = replace(run, usage=ending.usage, session_id_after=back.session_id_after)
            if ending.outcome is None:
                await self._close_run(tx, scope, sealed, RunStatus.FAILED, error=ending.error, code=ending.code)
            else:
                await self._store_success(tx, scope, sealed, prepared.card, ending.outcome)
            await attempt.settle(tx)

    async def _store_success(self, tx: Tx, scope: Scope, run: Run, card: CardDefinition, outcome: TaskOutcome) -> None:
        """Store the card and open its decision; enqueue the expiry if it has one."""
        values = outcome.answer or {}
        status = initial_status(card, values)
        position = position_of(card, values, tx.now)
        done = replace(
            run,
            result=values,
            headline=card.format_headline(values),
            resolution_status=status,
        )
        await self._close_run(tx, scope, done, RunStatus.SUCCEEDED, symbol=position.symbol if position else None)
        expires = expiry_time(card, values)
        if status is not None and expires is not None:
            # One millisecond later, because a price at the very moment of expiry still counts.
            await work.enqueue_work(tx, scope, EXPIRY_KIND, run.id, due_at=expires + timedelta(milliseconds=1))

    async def _close_run(
        self,
        tx: Tx,
        scope: Scope,
        run: Run,
        status: RunStatus,
        *,
        error: str | None = None,
        code: str | None = None,
        symbol: str | None = None,
    ) -> None:
        """Store the run's final status and delete its tokens; the status event carries the error's code."""
        closed = replace(run, status=require_transition(run.id, run.status, status), finished_at=tx.now, error=error)
        await store.update_run(tx, scope, closed, symbol=symbol)
        await store.delete_tokens(tx, scope, run.id)
        await record_status(tx, scope, closed, code=code)

    def _status_reader(self, scope: Scope, run_id: str) -> Callable[[], Awaitable[RunStatus | None]]:
        """Return a function that reads the run's status, None when it was deleted."""

        async def read_status() -> RunStatus | None:
            async with self._db.tx(scope.org_id) as tx:
                run = await store.find_run(tx, scope, run_id)
            return run.status if run else None

        return read_status
