"""The kinds of work that this room does, and the heartbeat.

The heartbeat is the job that starts the runs of scheduled agents: one work row per agent, due at its next slot.
"""

from datetime import datetime, timedelta

from mnemon.db.tx import Tx
from mnemon.jobs.kind import Attempt, JobKind
from mnemon.runs import agent_store, store
from mnemon.runs.adapter import RunEvent, RunEventType
from mnemon.runs.agent import Agent
from mnemon.runs.agents import HEARTBEAT_KIND, AgentRemovalJob
from mnemon.runs.decision_outcomes import ExpiryJob
from mnemon.runs.run import RunKind
from mnemon.runs.run_requests import enqueue_run
from mnemon.runs.schedule import due_slot
from mnemon.runs.task_job import AgentTaskJob
from mnemon.runs.task_kinds import ChatReplies, RunTasks
from mnemon.scope import Scope
from mnemon.services import Services

_FALLBACK_PROMPT = "Do what your skill says for this time."
"""The prompt of a scheduled run of an agent that has no default prompt."""


class HeartbeatJob:
    """The job that starts a run at each slot of an agent's schedule, once per slot."""

    def __init__(self, services: Services) -> None:
        """Make the job that starts the runs of scheduled agents."""
        self._db = services.db

    def job_kind(self) -> JobKind:
        """Return the kind of work that wakes a scheduled agent."""
        return JobKind(name=HEARTBEAT_KIND, run=self.wake_agent)

    async def wake_agent(self, attempt: Attempt) -> None:
        """Start the agent's run for the slot that is due, if it is not busy, and wait for the next slot.

        While the agent is busy no run is started: the slot is joined to the next.
        """
        scope = attempt.scope
        async with self._db.tx(scope.org_id) as tx:
            agent = await agent_store.find_agent(tx, scope, attempt.key, locked=True)
            # After the agent's row: `edit_agent` locks the agent too before it changes this work row.
            await attempt.lock_work(tx)
            waiting = await agent_store.find_next_slot(tx, scope, attempt.key)
            if agent is None or agent.schedule is None or waiting is None:
                await attempt.settle(tx)
                return
            found = due_slot(agent.schedule, waiting_for=waiting, now=tx.now)
            # While the agent is busy the stored slot stays as it is, so that the next run counts it as skipped.
            if found.slot is not None and not await store.is_busy(tx, scope, agent.id):
                await self._start_run(tx, scope, agent, found.slot, found.skipped)
                await agent_store.set_next_slot(tx, scope, agent.id, found.next_slot)
            if found.next_slot is None:
                await attempt.settle(tx)
            else:
                await attempt.repeat(tx, after=max(found.next_slot - tx.now, timedelta(0)))

    async def _start_run(self, tx: Tx, scope: Scope, agent: Agent, slot: datetime, skipped: int) -> None:
        """Insert and enqueue the slot's run, unless another worker did, and record how many slots were missed."""
        run_id = tx.new_id("run")
        fired = await store.insert_run(
            tx,
            scope,
            run_id=run_id,
            agent_id=agent.id,
            kind=RunKind.HEARTBEAT,
            prompt=agent.default_prompt.strip() or _FALLBACK_PROMPT,
            card_type=agent.card_type,
            slot=slot,
        )
        if not fired:
            return
        if skipped:
            note = f"{skipped} earlier slots were missed; this run replaces them."
            event = RunEvent(type=RunEventType.SKIPPED, data={"slots": skipped, "note": note})
            await store.append_event(tx, scope, run_id, agent.id, event)
        await enqueue_run(tx, scope, agent, run_id)


def job_kinds(services: Services) -> tuple[JobKind, ...]:
    """Return every kind of work of agents: chat, runs, expiry, heartbeats and removal."""
    return (
        AgentTaskJob(services, ChatReplies()).job_kind(),
        AgentTaskJob(services, RunTasks(services)).job_kind(),
        ExpiryJob(services).job_kind(),
        HeartbeatJob(services).job_kind(),
        AgentRemovalJob(services).job_kind(),
    )
