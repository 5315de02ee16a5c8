"""The job that runs a run: prepare in one transaction, think without any, seal in another."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

from mnemon.basement import Basement
from mnemon.db.tx import Tx
from mnemon.errors import Contended, DatabaseDown, MnemonError
from mnemon.jobs import store as work
from mnemon.jobs.kind import TIME_LIMIT, Attempt, Kind
from mnemon.jobs.work import Item, LeaseLost, Retry
from mnemon.runs import agent_store, council, store
from mnemon.runs.active_memory import Start
from mnemon.runs.adapter import Driver, Emit, Event, EventType, Outcome, Review, RunFailed, Task
from mnemon.runs.agent import Adapter, Agent
from mnemon.runs.ask import RUN, get_run, say_status
from mnemon.runs.card import CardDefinition, Cards, load_cards
from mnemon.runs.decision import review_text
from mnemon.runs.decisions import decisions_for
from mnemon.runs.filling import fill, with_actions
from mnemon.runs.locking import locked_run
from mnemon.runs.performance import (
    MOST_TRIES,
    Stopped,
    make_drivers,
    opening,
    time_allowed,
    within,
    write_back,
)
from mnemon.runs.prompt import consultation_prompt, system_prompt, with_reports
from mnemon.runs.re_examination import blind_prompt, blind_subject
from mnemon.runs.recorder import Recorder
from mnemon.runs.resolution import expiry_of, opening_status, position_of
from mnemon.runs.run import OVER, Run, RunKind, RunStatus, RunUsage, moved
from mnemon.runs.run_log import log_run
from mnemon.runs.settlement import EXPIRY
from mnemon.runs.tokens import issue_token
from mnemon.scope import Scope


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A run that is running, and all it needs."""

    run: Run
    agent: Agent
    council: tuple[tuple[Agent, str], ...]
    """Specialists and what each is asked."""
    card: CardDefinition
    start: Start
    task: Task


@dataclass(frozen=True, kw_only=True)
class Ending:
    """How it went."""

    outcome: Outcome | None
    usage: RunUsage
    error: str | None = None
    code: str | None = None
    """Why it failed, in a word of ours."""

    @property
    def status(self) -> RunStatus:
        return RunStatus.FAILED if self.outcome is None else RunStatus.SUCCEEDED


class Execution:
    """Runs runs, whatever adapter their agents have."""

    def __init__(self, basement: Basement) -> None:
        self._db = basement.db
        self._settings = basement.settings
        self._cards: Cards = load_cards(basement.settings.cards_dir)
        self._drivers: Mapping[Adapter, Driver] = make_drivers(basement)

    def kind(self) -> Kind:
        """The kind of work that runs a run."""
        limit = timedelta(seconds=self._settings.run_timeout_s) + TIME_LIMIT
        retry = Retry(max_attempts=MOST_TRIES)
        return Kind(name=RUN, run=self.run, retry=retry, time_limit=limit, long=True, on_park=self.give_up)

    async def run(self, attempt: Attempt) -> None:
        """The run is over, or it was taken over by somebody else."""
        scope = attempt.scope
        prepared = await self._prepare(attempt)
        if prepared is None:
            return
        recorder = Recorder(self._db, scope, prepared.run.id, prepared.agent.id)
        try:
            ending = await self._think(scope, prepared, recorder)
            await recorder.flush()
            await self._seal(attempt, prepared, ending)
        except Stopped:
            log_run(prepared.run, RunStatus.CANCELLED, RunUsage(), Stopped.code)
            return
        except asyncio.CancelledError:
            await self._hand_back(scope, prepared.run.id)
            raise
        log_run(prepared.run, ending.status, ending.usage, ending.code)

    async def give_up(self, tx: Tx, item: Item, said: str) -> None:
        """A run whose job failed for good has failed."""
        scope = Scope(org_id=item.org_id)
        run = await locked_run(tx, scope, item.key)
        if run is not None and run.status not in OVER:
            await self._close(tx, scope, run, RunStatus.FAILED, error=f"The server could not run it: {said}")
            log_run(run, RunStatus.FAILED, RunUsage(), "given_up")

    async def _hand_back(self, scope: Scope, run_id: str) -> None:
        """A run whose worker stops waits again; the next worker begins it anew."""
        async with self._db.tx(scope.org_id) as tx:
            run = await locked_run(tx, scope, run_id)
            if run is not None and run.status is RunStatus.RUNNING:
                waiting = replace(run, status=moved(run.id, run.status, RunStatus.QUEUED), started_at=None)
                await store.update_run(scope, tx, waiting)
                await store.drop_tokens(scope, tx, run_id)
                await say_status(tx, scope, waiting)

    async def _prepare(self, attempt: Attempt) -> Prepared | None:
        """The run is running; None when there is nothing to do any more."""
        scope = attempt.scope
        async with self._db.tx(scope.org_id) as tx:
            run = await locked_run(tx, scope, attempt.key)
            await attempt.hold(tx)
            if run is None or run.status in OVER:
                await attempt.settle(tx)
                return None
            hopeless = self._hopeless(run)
            if hopeless:
                await self._close(tx, scope, run, RunStatus.FAILED, error=hopeless)
                log_run(run, RunStatus.FAILED, RunUsage(), "given_up")
                await attempt.settle(tx)
                return None
            return await self._begin(tx, scope, run)

    def _hopeless(self, run: Run) -> str | None:
        if run.card_type not in self._cards:
            return f"The card type {run.card_type} is not known any more; put its file back."
        return None

    async def _begin(self, tx: Tx, scope: Scope, run: Run) -> Prepared:
        agent = await agent_store.agent(scope, tx, run.agent_id)
        assert agent is not None
        parent = await get_run(tx, scope, run.parent_run_id) if run.parent_run_id else None
        given = await opening(tx, scope, agent, read_only=agent.config.memory_read_only)
        if run.status is RunStatus.QUEUED:
            moved(run.id, run.status, RunStatus.RUNNING)
        running = replace(
            run,
            status=RunStatus.RUNNING,
            started_at=tx.now,
            session_id_before=given.start.session_id,
            memory_generation=given.start.generation,
        )
        await store.update_run(scope, tx, running)
        await say_status(tx, scope, running)
        if given.lost:
            await store.add_event(scope, tx, run.id, agent.id, given.lost)
        team = await agent_store.team_of(scope, tx, agent.team)
        card = self._card(run, parent)
        task = Task(
            org_id=scope.org_id,
            agent=agent,
            system=system_prompt(agent, team),
            prompt=run.prompt,
            card=card,
            access=given.start.access,
            session_id=None if given.lost else given.start.session_id,
            fresh_session_id=tx.new_id("ase"),
            history=given.history,
            review=await self._review(tx, scope, running, agent),
        )
        asked = tuple((member, self._asked(member, run, parent)) for member in team)
        return Prepared(run=running, agent=agent, council=asked, card=card, start=given.start, task=task)

    def _card(self, run: Run, parent: Run | None) -> CardDefinition:
        card = self._cards[run.card_type]
        above = self._cards.get(parent.card_type) if parent else None
        return with_actions(card, above.re_examine_actions) if above else card

    def _asked(self, member: Agent, run: Run, parent: Run | None) -> str:
        if run.kind is not RunKind.RE_EXAMINATION:
            return consultation_prompt(member, run.prompt)
        card = self._cards.get(parent.card_type) if parent else None
        subject = blind_subject(card, parent.result or {}) if card and parent else None
        return blind_prompt(member, subject)

    async def _review(self, tx: Tx, scope: Scope, run: Run, agent: Agent) -> Review | None:
        if not agent.config.review_decisions:
            return None

        async def read() -> str:
            async with self._db.tx(scope.org_id) as reading:
                return review_text(await decisions_for(reading, scope, agent.id))

        return Review(read=read, token=await issue_token(scope, tx, run_id=run.id, agent_id=agent.id))

    async def _think(self, scope: Scope, prepared: Prepared, recorder: Recorder) -> Ending:
        """How it went; raises Stopped when the run was cancelled or deleted meanwhile.

        A database that fails is no outcome of the run: the job is tried again.
        """
        seconds = time_allowed(self._settings, prepared.agent)
        try:
            return await within(
                self._performed(scope, prepared, recorder), seconds, self._status(scope, prepared.run.id)
            )
        except (LeaseLost, Stopped, DatabaseDown, Contended):
            raise
        except RunFailed as error:
            return Ending(outcome=None, usage=error.usage, error=error.detail, code=error.code)
        except MnemonError as error:
            return Ending(outcome=None, usage=RunUsage(), error=error.detail, code=error.code)

    async def _performed(self, scope: Scope, prepared: Prepared, emit: Emit) -> Ending:
        spent = RunUsage()

        async def convene() -> str:
            nonlocal spent
            blind = prepared.run.kind is RunKind.RE_EXAMINATION
            reports, spent = await council.convene(self._drivers, scope.org_id, prepared.council, emit, blind=blind)
            return with_reports(prepared.task.prompt, reports)

        task = replace(prepared.task, convene=convene if prepared.council else None)
        try:
            outcome = await self._drivers[prepared.agent.adapter].perform(task, emit)
        except RunFailed as error:
            return Ending(outcome=None, usage=spent.plus(error.usage), error=error.detail, code=error.code)
        usage = spent.plus(outcome.usage)
        try:
            values = fill(prepared.card, outcome.answer or {})
        except MnemonError as error:
            return Ending(outcome=None, usage=usage, error=error.detail, code=error.code)
        await emit(Event(type=EventType.CARD, data={"card": prepared.card.type, "values": values}))
        return Ending(outcome=replace(outcome, answer=dict(values)), usage=usage)

    async def _seal(self, attempt: Attempt, prepared: Prepared, ending: Ending) -> None:
        """The run is over, its memory written back and its work settled, all at once."""
        scope = attempt.scope
        async with self._db.tx(scope.org_id) as tx:
            run = await locked_run(tx, scope, prepared.run.id)
            await attempt.hold(tx)
            if run is None or run.status in OVER:
                raise Stopped
            back = await write_back(tx, scope, prepared.agent.id, prepared.start, ending.outcome)
            if back.why_not and ending.outcome:
                unkept = Event(type=EventType.SESSION, data={"kept": False, "note": back.why_not})
                await store.add_event(scope, tx, run.id, run.agent_id, unkept)
            sealed = replace(run, usage=ending.usage, session_id_after=back.session_id_after)
            if ending.outcome is None:
                await self._close(tx, scope, sealed, RunStatus.FAILED, error=ending.error)
            else:
                await self._succeed(tx, scope, sealed, prepared.card, ending.outcome)
            await attempt.settle(tx)

    async def _succeed(self, tx: Tx, scope: Scope, run: Run, card: CardDefinition, outcome: Outcome) -> None:
        values = outcome.answer or {}
        status = opening_status(card, values)
        position = position_of(card, values, tx.now)
        done = replace(
            run,
            result=values,
            headline=card.headline_of(values),
            resolution_status=status,
        )
        await self._close(tx, scope, done, RunStatus.SUCCEEDED, symbol=position.symbol if position else None)
        expires = expiry_of(card, values)
        if status is not None and expires is not None:
            await work.enqueue(tx, scope, EXPIRY, run.id, due_at=expires + timedelta(milliseconds=1))

    async def _close(
        self, tx: Tx, scope: Scope, run: Run, status: RunStatus, *, error: str | None = None, symbol: str | None = None
    ) -> None:
        closed = replace(run, status=moved(run.id, run.status, status), finished_at=tx.now, error=error)
        await store.update_run(scope, tx, closed, symbol=symbol)
        await store.drop_tokens(scope, tx, run.id)
        await say_status(tx, scope, closed)

    def _status(self, scope: Scope, run_id: str) -> Callable[[], Awaitable[RunStatus | None]]:
        async def look() -> RunStatus | None:
            async with self._db.tx(scope.org_id) as tx:
                run = await store.run(scope, tx, run_id)
            return run.status if run else None

        return look
