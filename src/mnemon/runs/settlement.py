"""How decisions come to their end in the store: pushed prices, expiry, a person's word. The first one is final."""

from collections.abc import Sequence
from dataclasses import dataclass

from mnemon.basement import Basement
from mnemon.db.tx import Tx
from mnemon.errors import Conflict
from mnemon.jobs.kind import Attempt, Kind
from mnemon.runs import store
from mnemon.runs.ask import get_run
from mnemon.runs.card import CardDefinition, Cards, Rule, load_cards
from mnemon.runs.locking import lock_run, locked_positions, locked_run
from mnemon.runs.resolution import Price, Resolved, expired, expiry_of, position_of, resolve
from mnemon.runs.run import ResolutionStatus, Run, RunStatus
from mnemon.scope import Scope

EXPIRY = "expiry"


@dataclass(frozen=True, kw_only=True)
class Pushed:
    """What a push of prices did."""

    stored: int
    resolved: tuple[Run, ...]
    """Trades that ended by it."""


async def push_prices(tx: Tx, scope: Scope, pushed: Sequence[Price], cards: Cards) -> Pushed:
    """The prices are kept, and every open trade they touch has ended."""
    await store.add_prices(scope, tx, pushed)
    ended: list[Run] = []
    for run in await locked_positions(tx, scope, sorted({price.symbol for price in pushed})):
        end = _end_of(run, cards.get(run.card_type), pushed, tx)
        if end is not None and await store.resolve_run(scope, tx, run.id, end):
            ended.append(await get_run(tx, scope, run.id))
    return Pushed(stored=len(pushed), resolved=tuple(ended))


async def resolve_by_hand(tx: Tx, scope: Scope, run_id: str, outcome: str, note: str | None, cards: Cards) -> Run:
    """The decision has ended with this outcome. Raises Conflict when it cannot, or has ended already."""
    run = await lock_run(tx, scope, run_id)
    card = cards.get(run.card_type)
    if run.status is not RunStatus.SUCCEEDED:
        raise Conflict(f"Run {run.id} is {run.status} and holds no decision to resolve.", code="not_resolvable")
    if card is None or card.resolution.rule is Rule.NONE:
        raise Conflict(f"A card of type {run.card_type} has nothing to resolve.", code="not_resolvable")
    end = Resolved(status=ResolutionStatus.RESOLVED, outcome=outcome, at=tx.now, note=note or "")
    if not await store.resolve_run(scope, tx, run.id, end):
        raise Conflict(f"Run {run.id} is already {run.resolution_status}.", code="already_resolved")
    return await get_run(tx, scope, run_id)


class Expiry:
    """Ends decisions whose time has run out."""

    def __init__(self, basement: Basement) -> None:
        self._db = basement.db
        self._cards: Cards = load_cards(basement.settings.cards_dir)

    def kind(self) -> Kind:
        """The kind of work that expires a decision."""
        return Kind(name=EXPIRY, run=self.expire)

    async def expire(self, attempt: Attempt) -> None:
        """The decision has ended: by a price that touched it in time, else because its time ran out."""
        scope = attempt.scope
        async with self._db.tx(scope.org_id) as tx:
            run = await locked_run(tx, scope, attempt.key)
            await attempt.hold(tx)  # after the run's row, as everyone who cancels it does
            card = self._cards.get(run.card_type) if run else None
            expires = expiry_of(card, run.result or {}) if run and card else None
            if run and card and expires and run.resolution_status is ResolutionStatus.OPEN:
                position = position_of(card, run.result or {}, run.finished_at or run.created_at)
                known = (
                    await store.prices_since(scope, tx, position.symbol, position.opened_at, expires)
                    if position
                    else []
                )
                end = resolve(position, known, tx.now) if position else expired(expires)
                await store.resolve_run(scope, tx, run.id, end or expired(expires))
            await attempt.settle(tx)


def _end_of(run: Run, card: CardDefinition | None, pushed: Sequence[Price], tx: Tx) -> Resolved | None:
    position = position_of(card, run.result or {}, run.finished_at or run.created_at) if card else None
    if position is None:
        return None
    latest = max([tx.now, *(price.at for price in pushed if price.symbol == position.symbol)])
    return resolve(position, pushed, latest)
