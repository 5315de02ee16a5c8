"""The job that answers in an agent's chat, in the same lane as its runs."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import timedelta

from mnemon.basement import Basement
from mnemon.db.tx import Tx
from mnemon.errors import Contended, DatabaseDown, MnemonError
from mnemon.jobs.kind import TIME_LIMIT, Attempt, Kind
from mnemon.jobs.work import Item, LeaseLost, Retry
from mnemon.runs import agent_store, store
from mnemon.runs.active_memory import Start
from mnemon.runs.adapter import Event, EventType, Outcome, RunFailed, Task
from mnemon.runs.agent import Agent
from mnemon.runs.agent_store import Exchange
from mnemon.runs.ask import CHAT
from mnemon.runs.locking import locked_exchange
from mnemon.runs.performance import (
    MOST_TRIES,
    Stopped,
    make_drivers,
    opening,
    time_allowed,
    within,
    write_back,
)
from mnemon.runs.prompt import system_prompt
from mnemon.runs.recorder import Recorder
from mnemon.runs.run import OVER, RunStatus, RunUsage
from mnemon.runs.run_log import log_agent_reply
from mnemon.scope import Scope


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A chat turn that is being answered."""

    exchange: Exchange
    agent: Agent
    start: Start
    task: Task


class Conversation:
    """Answers chat turns."""

    def __init__(self, basement: Basement) -> None:
        self._db = basement.db
        self._settings = basement.settings
        self._drivers = make_drivers(basement)

    def kind(self) -> Kind:
        """The kind of work that answers a chat turn."""
        limit = timedelta(seconds=self._settings.run_timeout_s) + TIME_LIMIT
        retry = Retry(max_attempts=MOST_TRIES)
        return Kind(name=CHAT, run=self.answer, retry=retry, time_limit=limit, long=True, on_park=self.give_up)

    async def answer(self, attempt: Attempt) -> None:
        """The turn has its reply, or says why it has none."""
        scope = attempt.scope
        prepared = await self._prepare(attempt)
        if prepared is None:
            return
        recorder = Recorder(self._db, scope, prepared.exchange.turn_id, prepared.agent.id)
        outcome, usage, error, code = None, RunUsage(), None, None
        try:
            work = self._drivers[prepared.agent.adapter].perform(prepared.task, recorder)
            seconds = time_allowed(self._settings, prepared.agent)
            outcome = await within(work, seconds, self._status(scope, prepared.exchange.turn_id))
            usage = outcome.usage
        except (LeaseLost, DatabaseDown, Contended):  # no outcome of the turn: the job is tried again
            raise
        except Stopped:
            return
        except MnemonError as failed:
            usage = failed.usage if isinstance(failed, RunFailed) else usage
            error, code = failed.detail, failed.code
        await recorder.flush()
        await self._seal(attempt, prepared, outcome, usage, error)
        status = RunStatus.SUCCEEDED if outcome else RunStatus.FAILED
        log_agent_reply(prepared.exchange.turn_id, prepared.agent.id, status, usage, code)

    async def give_up(self, tx: Tx, item: Item, said: str) -> None:
        """A turn whose job failed for good has failed, and its watchers are told."""
        scope = Scope(org_id=item.org_id)
        exchange = await locked_exchange(tx, scope, item.key)
        if exchange is not None and exchange.status not in OVER:
            error = f"The server could not answer: {said}"
            failed = replace(exchange, status=RunStatus.FAILED, finished_at=tx.now, error=error)
            await agent_store.update_exchange(scope, tx, failed)

    async def _prepare(self, attempt: Attempt) -> Prepared | None:
        scope = attempt.scope
        async with self._db.tx(scope.org_id) as tx:
            exchange = await locked_exchange(tx, scope, attempt.key)
            await attempt.hold(tx)
            agent = await agent_store.agent(scope, tx, exchange.agent_id) if exchange else None
            said = await agent_store.message_of_turn(scope, tx, attempt.key, "user")
            if exchange is None or agent is None or said is None or exchange.status in OVER:
                await attempt.settle(tx)
                return None
            given = await opening(tx, scope, agent, read_only=False)
            running = replace(
                exchange,
                status=RunStatus.RUNNING,
                session_id_before=given.start.session_id,
                memory_generation=given.start.generation,
            )
            await agent_store.update_exchange(scope, tx, running)
            if given.lost:
                await store.add_event(scope, tx, exchange.turn_id, agent.id, given.lost)
            team = await agent_store.team_of(scope, tx, agent.team)
            task = Task(
                org_id=scope.org_id,
                agent=agent,
                system=system_prompt(agent, team),
                prompt=said.content,
                card=None,
                access=given.start.access,
                session_id=None if given.lost else given.start.session_id,
                fresh_session_id=tx.new_id("ase"),
                history=given.history,
            )
        return Prepared(exchange=running, agent=agent, start=given.start, task=task)

    async def _seal(
        self, attempt: Attempt, prepared: Prepared, outcome: Outcome | None, usage: RunUsage, error: str | None
    ) -> None:
        scope = attempt.scope
        turn_id = prepared.exchange.turn_id
        async with self._db.tx(scope.org_id) as tx:
            exchange = await locked_exchange(tx, scope, turn_id)
            await attempt.hold(tx)
            if exchange is None:
                await attempt.settle(tx)
                return
            back = await write_back(tx, scope, prepared.agent.id, prepared.start, outcome)
            if back.why_not and outcome:
                unkept = Event(type=EventType.SESSION, data={"kept": False, "note": back.why_not})
                await store.add_event(scope, tx, turn_id, prepared.agent.id, unkept)
            if outcome:
                await agent_store.insert_message(scope, tx, prepared.agent.id, turn_id, "assistant", outcome.reply)
            status = RunStatus.SUCCEEDED if outcome else RunStatus.FAILED
            sealed = replace(
                prepared.exchange,
                status=status,
                session_id_after=back.session_id_after,
                usage=usage,
                finished_at=tx.now,
                error=error,
            )
            await agent_store.update_exchange(scope, tx, sealed)
            await attempt.settle(tx)

    def _status(self, scope: Scope, turn_id: str) -> Callable[[], Awaitable[RunStatus | None]]:
        async def look() -> RunStatus | None:
            async with self._db.tx(scope.org_id) as tx:
                exchange = await agent_store.exchange(scope, tx, turn_id)
            return exchange.status if exchange else None

        return look
