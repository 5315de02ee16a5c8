"""The job that wakes scheduled agents: one work row per agent, due at its next slot."""

from datetime import datetime, timedelta

from mnemon.basement import Basement
from mnemon.db.tx import Tx
from mnemon.jobs.kind import Attempt, Kind
from mnemon.runs import agent_store, store
from mnemon.runs.adapter import Event, EventType
from mnemon.runs.agent import Agent
from mnemon.runs.agents import HEARTBEAT
from mnemon.runs.ask import queue
from mnemon.runs.run import RunKind
from mnemon.runs.schedule import due
from mnemon.scope import Scope

_NOTHING_TO_ASK = "Do what your skill says for this time."


class Heartbeat:
    """Fires slots, each once."""

    def __init__(self, basement: Basement) -> None:
        self._db = basement.db

    def kind(self) -> Kind:
        """The kind of work that wakes an agent."""
        return Kind(name=HEARTBEAT, run=self.beat)

    async def beat(self, attempt: Attempt) -> None:
        """The slot that is due has its run, or is joined to the next because the agent is busy; the next is awaited."""
        scope = attempt.scope
        async with self._db.tx(scope.org_id) as tx:
            agent = await agent_store.agent(scope, tx, attempt.key, locked=True)
            await attempt.hold(tx)  # after the agent's row, as everyone who edits its schedule does
            waiting = await agent_store.next_slot_of(scope, tx, attempt.key)
            if agent is None or agent.schedule is None or waiting is None:
                await attempt.settle(tx)
                return
            found = due(agent.schedule, waiting_for=waiting, now=tx.now)
            # A slot that finds the agent busy stays the one waited for, so that the next run counts it in.
            if found.slot is not None and not await store.busy(scope, tx, agent.id):
                await self._fire(tx, scope, agent, found.slot, found.skipped)
                await agent_store.set_next_slot(scope, tx, agent.id, found.next_slot)
            if found.next_slot is None:
                await attempt.settle(tx)
            else:
                await attempt.repeat(tx, after=max(found.next_slot - tx.now, timedelta(0)))

    async def _fire(self, tx: Tx, scope: Scope, agent: Agent, slot: datetime, skipped: int) -> None:
        run_id = tx.new_id("run")
        fired = await store.insert_run(
            scope,
            tx,
            run_id=run_id,
            agent_id=agent.id,
            kind=RunKind.HEARTBEAT,
            prompt=agent.default_prompt.strip() or _NOTHING_TO_ASK,
            card_type=agent.card_type,
            slot=slot,
        )
        if not fired:
            return
        if skipped:
            note = f"{skipped} earlier slots were missed; this run stands for them too."
            event = Event(type=EventType.SKIPPED, data={"slots": skipped, "note": note})
            await store.add_event(scope, tx, run_id, agent.id, event)
        await queue(tx, scope, agent, run_id)
