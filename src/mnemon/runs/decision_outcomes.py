"""Resolve stored decisions: by pushed prices, by expiry, or by a person. The first resolution is final."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mnemon.db.tx import Tx
from mnemon.errors import Conflict
from mnemon.jobs.kind import Attempt, JobKind
from mnemon.runs import store
from mnemon.runs.card import CardDefinition, CardTypes, ResolutionRule, load_cards
from mnemon.runs.resolution import (
    Price,
    ResolvedDecision,
    expired_resolution,
    expiry_time,
    normalize_symbol,
    position_of,
    resolve_position,
)
from mnemon.runs.run import ResolutionStatus, Run, RunStatus
from mnemon.runs.run_requests import get_run
from mnemon.runs.store import find_locked_run, lock_open_positions, lock_run
from mnemon.scope import Scope
from mnemon.services import Services

EXPIRY_KIND = "expiry"


@dataclass(frozen=True, kw_only=True)
class PricePush:
    """The result of a push of prices."""

    stored: int
    resolved: tuple[Run, ...]
    """The trades that these prices ended."""
    unknown: tuple[str, ...]
    """The symbols that no trade so far has: perhaps they are spelled otherwise."""


async def push_prices(tx: Tx, scope: Scope, pushed: Sequence[Price], cards: CardTypes) -> PricePush:
    """Store the prices, end every open trade whose stop or target they touch, and return these trades."""
    # Only the pushed prices can end a trade here: earlier ones were compared when they came.
    prices = [replace(price, symbol=normalize_symbol(price.symbol)) for price in pushed]
    await store.insert_prices(tx, scope, prices)
    symbols = sorted({price.symbol for price in prices})
    ended: list[Run] = []
    for run in await lock_open_positions(tx, scope, symbols):
        end = _resolution_of(run, cards.get(run.card_type), prices, tx)
        if end is not None and await store.resolve_run(tx, scope, run.id, end):
            ended.append(await get_run(tx, scope, run.id))
    known = await store.list_traded_symbols(tx, scope, symbols)
    return PricePush(stored=len(prices), resolved=tuple(ended), unknown=tuple(s for s in symbols if s not in known))


async def resolve_manually(tx: Tx, scope: Scope, run_id: str, outcome: str, note: str | None, cards: CardTypes) -> Run:
    """Store this outcome, which a person gives, as the end of a run's decision; return the run.

    Raises NotFound, and Conflict when the run has no decision that can be resolved or it has ended already.
    """
    run = await lock_run(tx, scope, run_id)
    card = cards.get(run.card_type)
    if run.status is not RunStatus.SUCCEEDED:
        raise Conflict(f"Run {run.id} is {run.status} and holds no decision to resolve.", code="not_resolvable")
    if card is None or card.resolution.rule is ResolutionRule.NONE:
        raise Conflict(f"A card of type {run.card_type} has nothing to resolve.", code="not_resolvable")
    end = ResolvedDecision(status=ResolutionStatus.RESOLVED, outcome=outcome, at=tx.now, note=note or "")
    if not await store.resolve_run(tx, scope, run.id, end):
        raise Conflict(f"Run {run.id} is already {run.resolution_status}.", code="already_resolved")
    return await get_run(tx, scope, run_id)


class ExpiryJob:
    """The job that ends decisions whose time has run out."""

    def __init__(self, services: Services) -> None:
        """Make the job that expires decisions, with the card types."""
        self._db = services.db
        self._cards: CardTypes = load_cards(services.settings.cards_dir)

    def job_kind(self) -> JobKind:
        """Return the job kind that expires a decision when its card's time runs out."""
        return JobKind(name=EXPIRY_KIND, run=self.expire_decision)

    async def expire_decision(self, attempt: Attempt) -> None:
        """End a decision whose time ran out: by the first price that touched a level, else as expired."""
        scope = attempt.scope
        async with self._db.tx(scope.org_id) as tx:
            run = await find_locked_run(tx, scope, attempt.key)
            # The work row after the run's, as in every job: locks in two orders could deadlock.
            await attempt.lock_work(tx)
            card = self._cards.get(run.card_type) if run else None
            expires = expiry_time(card, run.result or {}) if run and card else None
            if run and card and expires and run.resolution_status is ResolutionStatus.OPEN:
                position = position_of(card, run.result or {}, run.finished_at or run.created_at)
                known = (
                    await store.list_prices(tx, scope, position.symbol, position.opened_at, expires) if position else []
                )
                end = resolve_position(position, known, tx.now) if position else expired_resolution(expires)
                await store.resolve_run(tx, scope, run.id, end or expired_resolution(expires))
            await attempt.settle(tx)


def _resolution_of(run: Run, card: CardDefinition | None, pushed: Sequence[Price], tx: Tx) -> ResolvedDecision | None:
    """Return how the pushed prices end the run's position, or None when it stays open."""
    position = position_of(card, run.result or {}, run.finished_at or run.created_at) if card else None
    if position is None:
        return None
    # A pushed price may be dated after the server's clock; then its time decides what has expired.
    latest = max([tx.now, *(price.at for price in pushed if price.symbol == position.symbol)])
    return resolve_position(position, pushed, latest)
