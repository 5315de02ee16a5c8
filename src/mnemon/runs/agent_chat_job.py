"""The job that replies in an agent's chat, in the same lane as the agent's runs."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import timedelta

from mnemon.db.tx import Tx
from mnemon.errors import Contended, DatabaseDown, MnemonError
from mnemon.jobs.kind import DEFAULT_TIME_LIMIT, Attempt, JobKind
from mnemon.jobs.work import LeaseLost, WorkItem, WorkRetryPolicy
from mnemon.runs import agent_store, store
from mnemon.runs.active_memory import MemoryStart
from mnemon.runs.adapter import AgentTask, RunEvent, RunEventType, RunFailed, TaskOutcome
from mnemon.runs.agent import Agent
from mnemon.runs.agent_store import ChatExchange
from mnemon.runs.prompt import system_prompt
from mnemon.runs.run import FINAL_STATUSES, RunStatus, RunUsage
from mnemon.runs.run_events import EventRecorder, log_agent_reply
from mnemon.runs.run_requests import AGENT_CHAT_KIND
from mnemon.runs.store import find_locked_exchange
from mnemon.runs.task_runner import (
    MAX_ATTEMPTS,
    TaskStopped,
    make_drivers,
    open_memory,
    run_until_over,
    time_limit_s,
    write_back_memory,
)
from mnemon.scope import Scope
from mnemon.services import Services


@dataclass(frozen=True, kw_only=True)
class PreparedReply:
    """A chat turn that was set to running, with everything needed to reply to it."""

    exchange: ChatExchange
    agent: Agent
    start: MemoryStart
    task: AgentTask


class AgentChatJob:
    """The job that replies to chat turns."""

    def __init__(self, services: Services) -> None:
        self._db = services.db
        self._settings = services.settings
        self._drivers = make_drivers(services)

    def job_kind(self) -> JobKind:
        """Return the kind of work that replies to a chat turn."""
        # Longer than any reply may take, so that a slow one fails by its own limit and not by the job's.
        limit = timedelta(seconds=self._settings.run_timeout_s) + DEFAULT_TIME_LIMIT
        retry = WorkRetryPolicy(max_attempts=MAX_ATTEMPTS)
        return JobKind(
            name=AGENT_CHAT_KIND, run=self.answer_turn, retry=retry, time_limit=limit, long=True, on_park=self.fail_turn
        )

    async def answer_turn(self, attempt: Attempt) -> None:
        """Have the agent reply to the turn, and store the reply or the error."""
        scope = attempt.scope
        prepared = await self._prepare_reply(attempt)
        if prepared is None:
            return
        recorder = EventRecorder(self._db, scope, prepared.exchange.turn_id, prepared.agent.id)
        outcome, usage, error, code = None, RunUsage(), None, None
        try:
            work = self._drivers[prepared.agent.adapter].perform_task(prepared.task, recorder)
            seconds = time_limit_s(self._settings, prepared.agent)
            outcome = await run_until_over(work, seconds, self._status_reader(scope, prepared.exchange.turn_id))
            usage = outcome.usage
        except (LeaseLost, DatabaseDown, Contended):  # not a result of the turn: the job is retried
            raise
        except TaskStopped:
            return
        except MnemonError as failed:
            usage = failed.usage if isinstance(failed, RunFailed) else usage
            error, code = failed.detail, failed.code
        await recorder.flush()
        await self._seal_reply(attempt, prepared, outcome, usage, error)
        status = RunStatus.SUCCEEDED if outcome else RunStatus.FAILED
        log_agent_reply(prepared.exchange.turn_id, prepared.agent.id, status, usage, code)

    async def fail_turn(self, tx: Tx, item: WorkItem, reason: str) -> None:
        """Mark the turn as failed after its job was given up, so that its watchers stop."""
        scope = Scope(org_id=item.org_id)
        exchange = await find_locked_exchange(tx, scope, item.key)
        if exchange is not None and exchange.status not in FINAL_STATUSES:
            error = f"The server could not answer: {reason}"
            failed = replace(exchange, status=RunStatus.FAILED, finished_at=tx.now, error=error)
            await agent_store.update_exchange(tx, scope, failed)

    async def _prepare_reply(self, attempt: Attempt) -> PreparedReply | None:
        """Set the turn to running and collect what the reply needs; return None when nothing is to be done."""
        scope = attempt.scope
        async with self._db.tx(scope.org_id) as tx:
            exchange = await find_locked_exchange(tx, scope, attempt.key)
            await attempt.lock_work(tx)
            agent = await agent_store.find_agent(tx, scope, exchange.agent_id) if exchange else None
            message = await agent_store.find_turn_message(tx, scope, attempt.key, "user")
            if exchange is None or agent is None or message is None or exchange.status in FINAL_STATUSES:
                await attempt.settle(tx)
                return None
            given = await open_memory(tx, scope, agent, read_only=False)
            running = replace(
                exchange,
                status=RunStatus.RUNNING,
                session_id_before=given.start.session_id,
                memory_generation=given.start.generation,
            )
            await agent_store.update_exchange(tx, scope, running)
            if given.lost:
                await store.append_event(tx, scope, exchange.turn_id, agent.id, given.lost)
            team = await agent_store.list_team(tx, scope, agent.team)
            task = AgentTask(
                org_id=scope.org_id,
                agent=agent,
                system=system_prompt(agent, team),
                prompt=message.content,
                card=None,
                access=given.start.access,
                session_id=None if given.lost else given.start.session_id,
                fresh_session_id=tx.new_id("ase"),
                history=given.history,
            )
        return PreparedReply(exchange=running, agent=agent, start=given.start, task=task)

    async def _seal_reply(
        self, attempt: Attempt, prepared: PreparedReply, outcome: TaskOutcome | None, usage: RunUsage, error: str | None
    ) -> None:
        """Store the reply or the error, write the memory back and settle the work, in one transaction."""
        scope = attempt.scope
        turn_id = prepared.exchange.turn_id
        async with self._db.tx(scope.org_id) as tx:
            exchange = await find_locked_exchange(tx, scope, turn_id)
            await attempt.lock_work(tx)
            if exchange is None:
                await attempt.settle(tx)
                return
            # Memory and message are written together: a session that contains the turn is never kept without its reply.
            back = await write_back_memory(tx, scope, prepared.agent.id, prepared.start, outcome)
            if back.why_not and outcome:
                unkept = RunEvent(type=RunEventType.SESSION, data={"kept": False, "note": back.why_not})
                await store.append_event(tx, scope, turn_id, prepared.agent.id, unkept)
            if outcome:
                await agent_store.insert_message(tx, scope, prepared.agent.id, turn_id, "assistant", outcome.reply)
            status = RunStatus.SUCCEEDED if outcome else RunStatus.FAILED
            sealed = replace(
                prepared.exchange,
                status=status,
                session_id_after=back.session_id_after,
                usage=usage,
                finished_at=tx.now,
                error=error,
            )
            await agent_store.update_exchange(tx, scope, sealed)
            await attempt.settle(tx)

    def _status_reader(self, scope: Scope, turn_id: str) -> Callable[[], Awaitable[RunStatus | None]]:
        """Return a function that reads the turn's status, None when it was deleted."""

        async def read_status() -> RunStatus | None:
            async with self._db.tx(scope.org_id) as tx:
                exchange = await agent_store.find_exchange(tx, scope, turn_id)
            return exchange.status if exchange else None

        return read_status
