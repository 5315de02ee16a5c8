"""Forgetting in agent state: a person's states go whole, and a redacted journal is folded again."""

from datetime import datetime

from mnemon.agentstate import store
from mnemon.agentstate.change import difference, fold
from mnemon.agentstate.state import AgentState
from mnemon.agentstate.store import Entry, Who
from mnemon.db.tx import Tx
from mnemon.scope import Scope

_PAGE = 500


async def forget_person(tx: Tx, scope: Scope, now: datetime) -> dict[str, int]:
    """Nothing of the person's is left; counts what was removed, per table."""
    return await store.delete_person(tx, scope)


async def refold(tx: Tx, scope: Scope, now: datetime) -> None:
    """Every document of the person is the fold of its journal as that stands now.

    Where that changes the document, the difference is a journal entry of its own, so that followers hear of it and
    a version keeps standing for one document.
    """
    for session_id in await store.sessions_of(tx, scope):
        held = await store.lock(tx, scope, session_id)
        state = await _folded(tx, scope, session_id)
        change = difference(held.state, state)
        if not change.empty:
            entry = Entry(
                seq=held.version + 1,
                turn_id=None,
                who=Who.FORGETTING,
                reason="something was forgotten",
                change=change,
                at=now,
                recorded_at=now,
            )
            await store.append(tx, scope, state, entry)


async def _folded(tx: Tx, scope: Scope, session_id: str) -> AgentState:
    state, after = AgentState(session_id=session_id), 0
    while entries := await store.entries(tx, scope, session_id, after=after, most=_PAGE):
        for entry in entries:
            state = fold(state, entry.change)
        after = entries[-1].seq
    return state
