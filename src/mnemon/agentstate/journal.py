"""The ways a session's state changes: a plan, tool results, a reflection, a request, forgetting.

Each change is one journal entry, written together with the document that results from it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import reduce

from mnemon.agentstate import store
from mnemon.agentstate.change import StateChange, fold_change, state_difference
from mnemon.agentstate.delta import StateDelta
from mnemon.agentstate.reducer import AppliedDelta, apply_delta
from mnemon.agentstate.settlement import settle_results
from mnemon.agentstate.state import AgentState
from mnemon.agentstate.store import ChangeAuthor, StateEntry, StoredState
from mnemon.agentstate.verification import Settlement, delta_from_calls, delta_from_intents, delta_from_settlement
from mnemon.db.tx import Tx
from mnemon.errors import Stale
from mnemon.event_loop import run_off_loop
from mnemon.scope import Scope
from mnemon.section import Rejection
from mnemon.turn import Intent, ToolOutcome, Turn


@dataclass(frozen=True, kw_only=True)
class StateUpdate:
    """A change just made to a session's state: the content of the event `agent_state_update`."""

    session_id: str
    version: int
    change: StateChange


@dataclass(frozen=True, kw_only=True)
class AmendResult:
    """The result of a proposal."""

    held: StoredState
    """The state afterwards."""
    update: StateUpdate | None
    """None when nothing changed."""
    reported: tuple[Rejection, ...]


@dataclass(frozen=True, kw_only=True)
class ChangeSource:
    """Who proposes a change, and why."""

    who: ChangeAuthor
    reason: str
    turn_id: str | None = None
    at: datetime | None = None
    """When it happened; None for now."""


@dataclass(frozen=True, kw_only=True)
class RecordedResults:
    """What tool results did to a session's state."""

    update: StateUpdate | None = None
    """None when nothing changed."""
    settlements: tuple[Settlement, ...] = ()
    """What came of each result, in their order."""


async def record_turn(tx: Tx, turn: Turn) -> RecordedResults:
    """Apply what a turn brings to its session's agent state; return the change and the verdicts.

    First what the session takes over from the one it resumes, then the plan, then the tool results.
    """
    carried = await carry_state(tx, turn, turn.carries_from) if turn.carries_from else None
    if not turn.intents and not turn.tool_results:
        return RecordedResults(update=carried)
    # Locked before the plan, so that `before` is the state that it changes: the carried one, or the session's own.
    held = await store.lock_state(tx, turn.scope, turn.session_id)
    before = AgentState(session_id=turn.session_id) if carried else held.state
    plan = await record_intents(tx, turn.scope, turn.session_id, turn.intents, turn_id=turn.id, at=turn.at)
    results = await record_tool_results(tx, turn.scope, turn.session_id, turn.tool_results, turn_id=turn.id, at=turn.at)
    made = [update for update in (carried, plan, results.update) if update is not None]
    if len(made) < 2:
        return replace(results, update=made[0] if made else None)
    changes = [update.change for update in made]
    combined = _combine_changes(before, reduce(fold_change, changes, before), changes)
    return replace(results, update=StateUpdate(session_id=turn.session_id, version=made[-1].version, change=combined))


async def carry_state(tx: Tx, turn: Turn, earlier_session: str) -> StateUpdate | None:
    """Begin the turn's session with the agent state of an earlier one; None where there is nothing to carry.

    The whole document is carried: what settled an expectation in it is still known if it is sent again.
    """
    earlier = (await store.load_state(tx, turn.scope, earlier_session)).state
    begun = AgentState(session_id=turn.session_id)
    state = replace(earlier, session_id=turn.session_id)
    change = state_difference(begun, state)
    # An empty state leaves no row: most sessions never get one.
    if change.is_empty:
        return None
    held = await store.lock_state(tx, turn.scope, turn.session_id)
    source = ChangeSource(
        who=ChangeAuthor.SESSION, reason=f"carried from {earlier_session}", turn_id=turn.id, at=turn.at
    )
    return (await _append_change(tx, turn.scope, held, AppliedDelta(state=state, change=change), source)).update


async def record_intents(
    tx: Tx,
    scope: Scope,
    session_id: str,
    intents: tuple[Intent, ...],
    *,
    turn_id: str | None = None,
    at: datetime | None = None,
) -> StateUpdate | None:
    """Add what the planner expects to the agent state as pending expectations; return the update, None if unchanged."""
    if not intents:
        return None
    reason = f"planned {_join_actions(intent.action for intent in intents)}"
    source = ChangeSource(who=ChangeAuthor.PLANNER, reason=reason, turn_id=turn_id, at=at)
    return (await amend_state(tx, scope, session_id, delta_from_intents(intents), source)).update


async def link_calls(
    tx: Tx, scope: Scope, session_id: str, calls: Sequence[tuple[str, str]], *, turn_id: str
) -> StateUpdate | None:
    """Link calls (id and action) to the pending expectations of the same actions, in order; return the update."""
    held = await store.lock_state(tx, scope, session_id)
    delta = delta_from_calls(held.state.expectations, calls)
    if not delta.expectations:
        return None
    reason = f"calls {_join_actions(action for _, action in calls)}"
    source = ChangeSource(who=ChangeAuthor.PLANNER, reason=reason, turn_id=turn_id)
    applied = apply_delta(held.state, delta, now=tx.now, new_id=tx.new_id)
    return (await _append_change(tx, scope, held, applied, source)).update


async def record_tool_results(
    tx: Tx,
    scope: Scope,
    session_id: str,
    results: tuple[ToolOutcome, ...],
    *,
    turn_id: str | None = None,
    at: datetime | None = None,
) -> RecordedResults:
    """Apply tool results to the agent state: add what they name, settle the expectations they answer."""
    if not results:
        return RecordedResults()
    held = await store.lock_state(tx, scope, session_id)
    # Which result answers which expectation is decided for all of them together; each may be compared with each.
    size = _results_size(results) + len(results) * sum(len(e.expected_ids or ()) + 9 for e in held.state.expectations)
    settlements = await run_off_loop(size, lambda: settle_results(held.state.expectations, results))
    state, changes = held.state, []
    for settlement in settlements:
        delta = delta_from_settlement(state, settlement, now=tx.now, new_id=tx.new_id)
        applied = apply_delta(state, delta, now=tx.now, new_id=tx.new_id)
        state = applied.state
        changes.append(applied.change)
    combined = AppliedDelta(state=state, change=_combine_changes(held.state, state, changes))
    reason = f"result of {_join_actions(result.action for result in results)}"
    source = ChangeSource(who=ChangeAuthor.TOOL, reason=reason, turn_id=turn_id, at=at)
    amended = await _append_change(tx, scope, held, combined, source)
    return RecordedResults(update=amended.update, settlements=settlements)


def _results_size(results: Sequence[ToolOutcome]) -> int:
    """Return about how many characters of the results have to be read."""
    texts = sum(len(result.output) for result in results if isinstance(result.output, str))
    return texts + 10 * sum(len(result.ids or ()) + len(result.entities) for result in results)


async def amend_state(
    tx: Tx, scope: Scope, session_id: str, delta: StateDelta, source: ChangeSource, *, version: int | None = None
) -> AmendResult:
    """Apply a delta to the session's agent state; raise Stale if `version` is not the current one."""
    held = await store.lock_state(tx, scope, session_id)
    # Compared under the lock, so that of two clients with the same version only one succeeds.
    if version is not None and version != held.version:
        raise Stale(
            f"The agent state is at version {held.version}, not {version}. Read it again and send the change with "
            "the version you read in If-Match."
        )
    # Comparing claims, and claims with what they cite, takes long for long texts.
    applied = await run_off_loop(delta.claim_size, lambda: apply_delta(held.state, delta, now=tx.now, new_id=tx.new_id))
    return await _append_change(tx, scope, held, applied, source)


async def _append_change(
    tx: Tx, scope: Scope, held: StoredState, applied: AppliedDelta, source: ChangeSource
) -> AmendResult:
    """Append the change to `agent_state_journal` and store the new state; write nothing if nothing changed."""
    if applied.change.is_empty:
        return AmendResult(held=held, update=None, reported=applied.reported)
    entry = StateEntry(
        seq=held.version + 1,
        turn_id=source.turn_id,
        who=source.who,
        reason=source.reason,
        change=applied.change,
        at=source.at or tx.now,
        recorded_at=tx.now,
    )
    await store.append_entry(tx, scope, applied.state, entry)
    update = StateUpdate(session_id=applied.state.session_id, version=entry.seq, change=entry.change)
    return AmendResult(
        held=StoredState(state=applied.state, version=entry.seq), update=update, reported=applied.reported
    )


def _combine_changes(before: AgentState, after: AgentState, changes: Sequence[StateChange]) -> StateChange:
    """Return several changes of an agent state as one, with the summary lines of all."""
    summarized = tuple(line for change in changes for line in change.summarized or ())
    return replace(state_difference(before, after), summarized=summarized or None)


def _join_actions(actions: Iterable[str]) -> str:
    """Return the distinct names of the actions as a journal reason: 100 characters of each, 500 in all."""
    return ", ".join(dict.fromkeys(action[:100] for action in actions))[:500]


_PAGE_SIZE = 500


async def forget_person(tx: Tx, scope: Scope, now: datetime) -> dict[str, int]:
    """Delete all agent states and journals of the person; return how many rows were deleted, per table."""
    return await store.delete_person(tx, scope)


async def refold_documents(tx: Tx, scope: Scope, now: datetime) -> None:
    """Recompute every stored agent state of the person from its journal.

    Where that changes the document, the difference becomes a journal entry of its own, so that followers receive it and
    a version keeps identifying one document.
    """
    for session_id in await store.list_session_ids(tx, scope):
        held = await store.lock_state(tx, scope, session_id)
        state = await _fold_journal(tx, scope, session_id)
        change = state_difference(held.state, state)
        if not change.is_empty:
            entry = StateEntry(
                seq=held.version + 1,
                turn_id=None,
                who=ChangeAuthor.FORGETTING,
                reason="something was forgotten",
                change=change,
                at=now,
                recorded_at=now,
            )
            await store.append_entry(tx, scope, state, entry)


async def _fold_journal(tx: Tx, scope: Scope, session_id: str) -> AgentState:
    """Return the agent state that the session's whole journal gives, read page by page."""
    state, after = AgentState(session_id=session_id), 0
    while entries := await store.list_entries(tx, scope, session_id, after=after, most=_PAGE_SIZE):
        for entry in entries:
            state = fold_change(state, entry.change)
        after = entries[-1].seq
    return state
