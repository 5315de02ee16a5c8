"""Live page of a session's agent state: expectations and their outcomes, assumptions, items and the journal."""

from fastapi import APIRouter

from mnemon.access.grants import Grant
from mnemon.agentstate import store
from mnemon.agentstate.state import ExpectationStatus
from mnemon.agentstate.store import load_hit_rates
from mnemon.console.live import live_topic
from mnemon.console.page_request import PageRequest
from mnemon.console.pages import PageContent, page
from mnemon.console.sessions import find_session
from mnemon.db.tx import Tx
from mnemon.scope import Scope
from mnemon.sessions import store as sessions

router = APIRouter()
MAX_JOURNAL_LINES = 60


@page(router, "/sessions/{session_id}/agent-state", "agent_state.html", grant=Grant.AGENT_STATE_READ)
async def agent_state(visit: PageRequest, session_id: str) -> PageContent:
    """Show the page of a session's agent state and its latest journal entries."""
    async with visit.tx() as tx:
        session, scope = await find_session(tx, visit, session_id)
        held = await store.load_state(tx, scope, session_id)
        journal = await store.list_entries(
            tx, scope, session_id, after=max(0, held.version - MAX_JOURNAL_LINES), most=MAX_JOURNAL_LINES
        )
        total, _ = await load_hit_rates(tx, scope)
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
    return PageContent(title="Agent state", data=data)


@live_topic("agent-state", grant=Grant.AGENT_STATE_READ)
async def _agent_state_version(tx: Tx, scope: Scope, argument: str) -> str:
    """Return the version of the session's agent state, `gone` without the session; a new one reloads the page."""
    found = await sessions.find_session(tx, scope, argument)
    return "gone" if found is None else str((await store.load_state(tx, found[1], argument)).version)
