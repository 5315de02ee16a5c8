"""The ways a session's state changes: a plan, tool results, a reflection, a request. Each is one journal entry."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from mnemon.agentstate import store
from mnemon.agentstate.change import Change, difference, fold
from mnemon.agentstate.delta import Delta
from mnemon.agentstate.reducer import Applied, apply
from mnemon.agentstate.state import AgentState
from mnemon.agentstate.store import Entry, Held, Who
from mnemon.agentstate.verification import learned, planned
from mnemon.db.tx import Tx
from mnemon.errors import Stale
from mnemon.scope import Scope
from mnemon.section import Rejection
from mnemon.turn import Intent, ToolOutcome, Turn


@dataclass(frozen=True, kw_only=True)
class Update:
    """What was just changed in a session's state: what `agent_state_update` tells."""

    session_id: str
    version: int
    change: Change


@dataclass(frozen=True, kw_only=True)
class Amended:
    """What came of a proposal."""

    held: Held
    """The state afterwards."""
    update: Update | None
    """None when nothing changed."""
    reported: tuple[Rejection, ...]


@dataclass(frozen=True, kw_only=True)
class Source:
    """Who proposes a change, and on what occasion."""

    who: Who
    reason: str
    turn_id: str | None = None
    at: datetime | None = None
    """When it happened; None for now."""


async def record_turn(tx: Tx, turn: Turn) -> Update | None:
    """The turn's plan, then its tool results, are in the state; gives both as one update, None if nothing changed."""
    if not turn.intents and not turn.tool_results:
        return None
    before = await store.lock(tx, turn.scope, turn.session_id)
    plan = await add_intents(tx, turn.scope, turn.session_id, turn.intents, turn_id=turn.id, at=turn.at)
    results = await apply_tool_results(tx, turn.scope, turn.session_id, turn.tool_results, turn_id=turn.id, at=turn.at)
    if plan is None or results is None:
        return plan or results
    after = fold(fold(before.state, plan.change), results.change)
    together = _together(before.state, after, (plan.change, results.change))
    return Update(session_id=turn.session_id, version=results.version, change=together)


async def add_intents(
    tx: Tx,
    scope: Scope,
    session_id: str,
    intents: tuple[Intent, ...],
    *,
    turn_id: str | None = None,
    at: datetime | None = None,
) -> Update | None:
    """What the planner expects is pending in the state."""
    if not intents:
        return None
    reason = f"planned {_named(intent.action for intent in intents)}"
    source = Source(who=Who.PLANNER, reason=reason, turn_id=turn_id, at=at)
    return (await amend(tx, scope, session_id, planned(intents), source)).update


async def apply_tool_results(
    tx: Tx,
    scope: Scope,
    session_id: str,
    results: tuple[ToolOutcome, ...],
    *,
    turn_id: str | None = None,
    at: datetime | None = None,
) -> Update | None:
    """What the results name is understood, and the expectations they settle are settled, in their order."""
    if not results:
        return None

    def learn(state: AgentState) -> Applied:
        before, changes = state, []
        for result in results:
            delta = learned(state, result, now=tx.now, new_id=tx.new_id)
            applied = apply(state, delta, now=tx.now, new_id=tx.new_id)
            state = applied.state
            changes.append(applied.change)
        return Applied(state=state, change=_together(before, state, changes))

    reason = f"result of {_named(result.action for result in results)}"
    source = Source(who=Who.TOOL, reason=reason, turn_id=turn_id, at=at)
    held = await store.lock(tx, scope, session_id)
    return (await _record(tx, scope, held, learn(held.state), source)).update


async def amend(
    tx: Tx, scope: Scope, session_id: str, delta: Delta, source: Source, *, version: int | None = None
) -> Amended:
    """The delta is applied; refused when the caller names a version that is no longer the current one."""
    held = await store.lock(tx, scope, session_id)
    if version is not None and version != held.version:
        raise Stale(
            f"The agent state is at version {held.version}, not {version}. Read it again and send the change with "
            "the version you read in If-Match."
        )
    applied = apply(held.state, delta, now=tx.now, new_id=tx.new_id)
    return await _record(tx, scope, held, applied, source)


async def _record(tx: Tx, scope: Scope, held: Held, applied: Applied, source: Source) -> Amended:
    if applied.change.empty:
        return Amended(held=held, update=None, reported=applied.reported)
    entry = Entry(
        seq=held.version + 1,
        turn_id=source.turn_id,
        who=source.who,
        reason=source.reason,
        change=applied.change,
        at=source.at or tx.now,
        recorded_at=tx.now,
    )
    await store.append(tx, scope, applied.state, entry)
    update = Update(session_id=applied.state.session_id, version=entry.seq, change=entry.change)
    return Amended(held=Held(state=applied.state, version=entry.seq), update=update, reported=applied.reported)


def _together(before: AgentState, after: AgentState, changes: Sequence[Change]) -> Change:
    summarized = tuple(line for change in changes for line in change.summarized or ())
    return replace(difference(before, after), summarized=summarized or None)


def _named(actions: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(action[:100] for action in actions))[:500]
