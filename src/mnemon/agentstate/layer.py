"""L7: what the agent holds true in this session, for the planner."""

from mnemon.agentstate import store
from mnemon.agentstate.planner_view import lines
from mnemon.db.tx import Tx
from mnemon.layer import Ask, Layer

OPENING = (
    "What you hold true in this session. An expectation that FAILED means that an action did not do what was planned: "
    "take account of it before you act on. Open questions come next. A number in brackets is how sure an assumption is."
)
BUDGET = 600


async def state(tx: Tx, ask: Ask) -> Layer:
    """The session's state, most pressing first; empty without a session or without the right to see it."""
    blank = Layer(name="L7", title="Agent state", opening=OPENING, budget=BUDGET)
    if ask.session_id is None or not ask.sees_agent_state:
        return blank
    held = await store.read(tx, ask.scope, ask.session_id)
    return Layer(name=blank.name, title=blank.title, opening=OPENING, items=lines(held.state), budget=BUDGET)
