"""Statements on runs, their events and tokens, and pushed prices.

Lock order: the agent's row first, then its run or chat turn. Deleting an agent takes the same order.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from psycopg.types.json import Jsonb

from mnemon.db.rows import from_row
from mnemon.db.statements import load_statements
from mnemon.db.tx import Row, Tx
from mnemon.errors import NotFound
from mnemon.input_checks import storable_json
from mnemon.runs import agent_store
from mnemon.runs.adapter import RunEvent
from mnemon.runs.resolution import Price, ResolvedDecision
from mnemon.runs.run import ChatExchange, ResolutionStatus, Run, RunKind, RunStatus, RunUsage
from mnemon.scope import Scope

SQL = load_statements("mnemon.runs")


@dataclass(frozen=True, kw_only=True)
class RecordedEvent:
    """A stored event with its sequence number."""

    seq: int
    at: datetime
    type: str
    data: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class EndedDecision:
    """A resolved or expired decision: the columns that calibration needs."""

    id: str
    agent_id: str
    card_type: str
    outcome: str | None
    result: dict[str, Any] | None


@dataclass(frozen=True, kw_only=True)
class RunFilter:
    """Which runs to list; None means any."""

    agent_id: str | None = None
    status: RunStatus | None = None
    card_type: str | None = None
    resolution: ResolutionStatus | None = None


async def insert_run(
    tx: Tx,
    scope: Scope,
    *,
    run_id: str,
    agent_id: str,
    kind: RunKind,
    prompt: str,
    card_type: str,
    slot: datetime | None = None,
    parent_run_id: str | None = None,
) -> bool:
    """Insert a queued run; return False when the agent already has a run for this scheduled time (`slot`)."""
    inserted = await tx.execute(
        SQL["insert_run"],
        org_id=scope.org_id,
        run_id=run_id,
        agent_id=agent_id,
        kind=kind,
        prompt=prompt,
        slot=slot,
        parent_run_id=parent_run_id,
        card_type=card_type,
        now=tx.now,
    )
    return inserted > 0


async def find_run(tx: Tx, scope: Scope, run_id: str, *, locked: bool = False) -> Run | None:
    """Return the run of this id or None; `locked` locks its row until the transaction ends."""
    row = await tx.fetch_one_or_none(SQL["run_locked" if locked else "run"], org_id=scope.org_id, run_id=run_id)
    return None if row is None else _run_from_row(row)


async def list_runs(
    tx: Tx, scope: Scope, wanted: RunFilter, *, before: int | None = None, most: int = 50
) -> list[tuple[int, Run]]:
    """Return the runs that match the filter with their sequence numbers, newest first."""
    rows = await tx.fetch_all(
        SQL["runs"],
        org_id=scope.org_id,
        before=before,
        most=most,
        agent_id=wanted.agent_id,
        status=wanted.status,
        card_type=wanted.card_type,
        resolution=wanted.resolution,
    )
    return [(row["seq"], _run_from_row(row)) for row in rows]


async def list_re_examinations(tx: Tx, scope: Scope, parent_ids: Sequence[str], *, most: int = 10_000) -> list[Run]:
    """Return the runs that re-examine these runs' decisions, oldest first."""
    rows = await tx.fetch_all(SQL["re_examinations"], org_id=scope.org_id, parent_ids=list(parent_ids), most=most)
    return [_run_from_row(row) for row in rows]


async def is_busy(tx: Tx, scope: Scope, agent_id: str) -> bool:
    """Say whether the agent has a run that is queued or running."""
    return bool((await tx.fetch_one(SQL["busy"], org_id=scope.org_id, agent_id=agent_id))["busy"])


async def is_working(tx: Tx, scope: Scope, agent_id: str) -> bool:
    """Say whether a run or a chat turn of the agent is running."""
    return bool((await tx.fetch_one(SQL["at_work"], org_id=scope.org_id, agent_id=agent_id))["busy"])


async def update_run(tx: Tx, scope: Scope, changed: Run, *, symbol: str | None = None) -> None:
    """Write the columns of a run's row; `symbol` is the market whose prices can end its open position."""
    await tx.execute(
        SQL["update_run"],
        org_id=scope.org_id,
        run_id=changed.id,
        status=changed.status,
        session_id_before=changed.session_id_before,
        session_id_after=changed.session_id_after,
        memory_generation=changed.memory_generation,
        result=None if changed.result is None else Jsonb(changed.result),
        headline=changed.headline,
        resolution_status=changed.resolution_status,
        symbol=symbol,
        usage=Jsonb(asdict(changed.usage)),
        started_at=changed.started_at,
        finished_at=changed.finished_at,
        error=storable_json(changed.error),
    )


async def resolve_run(tx: Tx, scope: Scope, run_id: str, end: ResolvedDecision) -> bool:
    """Store how the decision of a run ended; return False when it had ended before."""
    # The statement leaves a decision that has ended alone: the first resolution is final.
    touched = await tx.execute(
        SQL["resolve_run"],
        org_id=scope.org_id,
        run_id=run_id,
        status=end.status,
        outcome=end.outcome,
        at=end.at,
        note=end.note or None,
    )
    return touched > 0


async def list_position_holders(tx: Tx, scope: Scope, symbols: Sequence[str]) -> list[str]:
    """Return the ids of the agents that have open trades in these markets."""
    rows = await tx.fetch_all(SQL["agents_with_positions"], org_id=scope.org_id, symbols=list(symbols))
    return [row["agent_id"] for row in rows]


async def list_traded_symbols(tx: Tx, scope: Scope, symbols: Sequence[str]) -> set[str]:
    """Return those of the symbols in which some trade was ever open."""
    rows = await tx.fetch_all(SQL["traded_symbols"], org_id=scope.org_id, symbols=list(symbols))
    return {row["symbol"] for row in rows}


async def lock_agent_positions(tx: Tx, scope: Scope, symbols: Sequence[str], agent_ids: Sequence[str]) -> list[Run]:
    """Lock and return the open trades of these agents in these markets."""
    owners = {"org_id": scope.org_id, "agent_ids": list(agent_ids)}
    return [_run_from_row(row) for row in await tx.fetch_all(SQL["open_positions"], **owners, symbols=list(symbols))]


async def count_decisions(tx: Tx, scope: Scope) -> dict[str, tuple[int, int]]:
    """Return by card type how many decisions there are, and how many of them are open."""
    rows = await tx.fetch_all(SQL["decision_counts"], org_id=scope.org_id)
    return {row["card_type"]: (int(row["made"]), int(row["open"])) for row in rows}


async def list_resolved(tx: Tx, scope: Scope, agent_id: str | None) -> list[EndedDecision]:
    """Return every decision that was resolved or expired, oldest first; of one agent unless `agent_id` is None."""
    return [EndedDecision(**row) for row in await tx.fetch_all(SQL["resolved"], org_id=scope.org_id, agent_id=agent_id)]


async def append_event(tx: Tx, scope: Scope, run_id: str, agent_id: str, event: RunEvent) -> None:
    """Append an event to a run or chat turn; store nothing when its agent was deleted meanwhile."""
    await tx.execute(
        SQL["add_event"],
        org_id=scope.org_id,
        run_id=run_id,
        agent_id=agent_id,
        now=tx.now,
        type=event.type,
        data=Jsonb(storable_json(event.data)),
    )


async def list_events(tx: Tx, scope: Scope, run_id: str, *, after: int = 0, most: int = 500) -> list[RecordedEvent]:
    """Return events of a run or chat turn after a sequence number, in order."""
    rows = await tx.fetch_all(SQL["events"], org_id=scope.org_id, run_id=run_id, after=after, most=most)
    return [RecordedEvent(**row) for row in rows]


async def insert_token(tx: Tx, scope: Scope, digest: bytes, *, run_id: str, agent_id: str) -> None:
    """Store the hash of a token with which a run authenticates itself."""
    await tx.execute(SQL["insert_token"], org_id=scope.org_id, digest=digest, run_id=run_id, agent_id=agent_id)


async def delete_tokens(tx: Tx, scope: Scope, run_id: str) -> None:
    """Delete the tokens with which a run authenticates itself."""
    await tx.execute(SQL["drop_tokens"], org_id=scope.org_id, run_id=run_id)


async def find_token_holder(tx: Tx, scope: Scope, digest: bytes) -> tuple[str, str] | None:
    """Return the ids of the running run and its agent that a token with this hash belongs to, or None."""
    row = await tx.fetch_one_or_none(SQL["token"], org_id=scope.org_id, digest=digest)
    return None if row is None else (row["run_id"], row["agent_id"])


async def insert_prices(tx: Tx, scope: Scope, pushed: Sequence[Price]) -> None:
    """Store the pushed prices; one that is stored already is skipped."""
    # Sorted, so that two pushes of the same prices lock the rows in one order: one waits and neither deadlocks.
    rows = [
        {"org_id": scope.org_id, "symbol": p.symbol, "at": p.at, "price": p.price, "low": p.lowest, "high": p.highest}
        for p in sorted(pushed, key=lambda p: (p.symbol, p.at, p.price))
    ]
    if rows:
        await tx.execute_many(SQL["add_price"], rows)


async def list_prices(
    tx: Tx, scope: Scope, symbol: str, since: datetime, until: datetime, *, most: int = 100_000
) -> list[Price]:
    """Return a market's stored prices in this period, oldest first."""
    rows = await tx.fetch_all(
        SQL["prices_since"], org_id=scope.org_id, symbol=symbol, since=since, until=until, most=most
    )
    return [Price(**row) for row in rows]


def _run_from_row(row: Row) -> Run:
    """Return a row of `runs` as a Run."""
    return from_row(Run, row, id=row["run_id"], usage=RunUsage(**row["usage"]))


async def find_locked_run(tx: Tx, scope: Scope, run_id: str) -> Run | None:
    """Lock the run's agent, then the run; return None when the run does not exist."""
    found = await find_run(tx, scope, run_id)
    if found is None:
        return None
    await agent_store.find_agent(tx, scope, found.agent_id, locked=True)
    # Read again: while this waited for the agent's lock, the run may have changed or been deleted.
    return await find_run(tx, scope, run_id, locked=True)


async def lock_run(tx: Tx, scope: Scope, run_id: str) -> Run:
    """Lock the run's agent, then the run, and return the run. Raise NotFound when it does not exist."""
    found = await find_locked_run(tx, scope, run_id)
    if found is None:
        raise NotFound("run")
    return found


async def find_locked_exchange(tx: Tx, scope: Scope, turn_id: str) -> ChatExchange | None:
    """Lock the chat turn's agent, then the turn; return None when the turn does not exist."""
    found = await agent_store.find_exchange(tx, scope, turn_id)
    if found is None:
        return None
    await agent_store.find_agent(tx, scope, found.agent_id, locked=True)
    return await agent_store.find_exchange(tx, scope, turn_id, locked=True)


async def lock_open_positions(tx: Tx, scope: Scope, symbols: list[str]) -> list[Run]:
    """Lock the open trades in these markets, after their agents in the order of their ids."""
    owners = await list_position_holders(tx, scope, symbols)
    return await lock_agent_positions(tx, scope, symbols, await agent_store.lock_agents(tx, scope, owners))
