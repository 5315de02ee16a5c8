"""Reading an agent's own decisions: what `get_my_decisions` and the API give."""

from collections.abc import Sequence

from mnemon.db.tx import Tx
from mnemon.runs import store
from mnemon.runs.decision import REVIEWED, Decision, decision
from mnemon.scope import Scope


async def decisions_for(tx: Tx, scope: Scope, agent_id: str, *, limit: int = REVIEWED) -> tuple[Decision, ...]:
    """The agent's last decisions as of the transaction's time, newest first; nobody else's."""
    found = await store.decisions(scope, tx, agent_id, most=limit)
    return tuple(decision(run_id=run_id, at=at, headline=text, now=tx.now) for run_id, at, text in found)


async def last_decisions(tx: Tx, scope: Scope, agent_ids: Sequence[str]) -> dict[str, Decision]:
    """By agent, its last decision as of the transaction's time, where it made one."""
    found = await store.last_decisions(scope, tx, agent_ids)
    return {
        agent_id: decision(run_id=run_id, at=at, headline=text, now=tx.now)
        for agent_id, (run_id, at, text) in found.items()
    }
