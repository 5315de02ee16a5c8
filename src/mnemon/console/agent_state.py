"""The agent state of a session: what it expects, what came of that, what it assumes and keeps in hand. Live."""

from fastapi import APIRouter

from mnemon.access.grants import Grant
from mnemon.agentstate import store
from mnemon.agentstate.hit_rate import hit_rates
from mnemon.agentstate.state import ExpectationStatus
from mnemon.console.live import pulse
from mnemon.console.sessions import located
from mnemon.console.shell import Shown, page
from mnemon.console.visit import Visit
from mnemon.db.tx import Tx
from mnemon.scope import Scope
from mnemon.sessions import store as sessions

router = APIRouter()
LINES = 60


@page(router, "/sessions/{session_id}/agent-state", "agent_state.html", grant=Grant.AGENT_STATE_READ)
async def agent_state(visit: Visit, session_id: str) -> Shown:
    """The state as it stands, and the journal it was folded from."""
    async with visit.tx() as tx:
        session, scope = await located(tx, visit, session_id)
        held = await store.read(tx, scope, session_id)
        journal = await store.entries(tx, scope, session_id, after=max(0, held.version - LINES), most=LINES)
        total, _ = await hit_rates(tx, scope)
    outcomes = {status.value: 0 for status in ExpectationStatus}
    for one in held.state.expectations:
        outcomes[one.status.value] += 1
    data = {
        "session": session,
        "state": held.state,
        "version": held.version,
        "outcomes": outcomes,
        "hit_rate": total.rate,
        "settled": total.confirmed + total.failed,
        "journal": journal[::-1],
        "now": tx.now,
    }
    return Shown(title="Agent state", data=data)


@pulse("agent-state", grant=Grant.AGENT_STATE_READ)
async def _version(tx: Tx, scope: Scope, argument: str) -> str:
    found = await sessions.find(tx, scope, argument)
    return "gone" if found is None else str((await store.read(tx, found[1], argument)).version)
