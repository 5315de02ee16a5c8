"""Locks a run or a chat turn after its agent, the order in which everyone takes them: deleting an agent does so too."""

from mnemon.db.tx import Tx
from mnemon.errors import NotFound
from mnemon.runs import agent_store, store
from mnemon.runs.agent_store import Exchange
from mnemon.runs.run import Run
from mnemon.scope import Scope


async def locked_run(tx: Tx, scope: Scope, run_id: str) -> Run | None:
    """Lock the run's agent, then the run; None when it is gone."""
    found = await store.run(scope, tx, run_id)
    if found is None:
        return None
    await agent_store.agent(scope, tx, found.agent_id, locked=True)
    return await store.run(scope, tx, run_id, locked=True)


async def lock_run(tx: Tx, scope: Scope, run_id: str) -> Run:
    """Lock the run's agent, then the run. Raises NotFound."""
    found = await locked_run(tx, scope, run_id)
    if found is None:
        raise NotFound("run")
    return found


async def locked_exchange(tx: Tx, scope: Scope, turn_id: str) -> Exchange | None:
    """Lock the chat turn's agent, then the turn; None when it is gone."""
    found = await agent_store.exchange(scope, tx, turn_id)
    if found is None:
        return None
    await agent_store.agent(scope, tx, found.agent_id, locked=True)
    return await agent_store.exchange(scope, tx, turn_id, locked=True)


async def locked_positions(tx: Tx, scope: Scope, symbols: list[str]) -> list[Run]:
    """Lock the open trades in these markets, after their agents in the order of their ids."""
    owners = await store.agents_with_positions(scope, tx, symbols)
    return await store.open_positions(scope, tx, symbols, await agent_store.keep_agents(scope, tx, owners))
