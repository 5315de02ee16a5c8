"""How a decision ends: prices touch a level, its time runs out, or a person resolves it.

Prices are points or bars. A price beyond a level has touched it, however far it jumped. Where one moment touches both
levels, as a bar or two prices of the same time can, the stop is assumed to have come first: nothing tells the order,
and the other assumption would flatter the record. The first touch is final.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from mnemon.clock import parse_time
from mnemon.runs.card import CardDefinition, ResolutionRule, SlotValues
from mnemon.runs.run import ResolutionStatus

TAKE_PROFIT = "take_profit"
STOP_LOSS = "stop_loss"
EXPIRED = "expired"


@dataclass(frozen=True, kw_only=True)
class Price:
    """A market's price at a time; a bar also has its lowest and highest price."""

    symbol: str
    price: float
    at: datetime
    low: float | None = None
    high: float | None = None

    @property
    def lowest(self) -> float:
        """Return the lowest of the price and, if given, the bar's low and high."""
        return min(value for value in (self.price, self.low, self.high) if value is not None)

    @property
    def highest(self) -> float:
        """Return the highest of the price and, if given, the bar's low and high."""
        return max(value for value in (self.price, self.low, self.high) if value is not None)


@dataclass(frozen=True, kw_only=True)
class Position:
    """An open trade: its levels and when it expires."""

    symbol: str
    side: Literal["long", "short"]
    take_profit: float
    stop_loss: float
    opened_at: datetime
    expires_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class ResolvedDecision:
    """How and when a decision ended."""

    status: ResolutionStatus
    outcome: str
    at: datetime
    note: str


def normalize_symbol(symbol: str) -> str:
    """Return a market's name as cards and prices are compared by it: `btc/usd` is `BTC-USD`."""
    return symbol.strip().upper().replace("/", "-").replace("_", "-")


def initial_status(card: CardDefinition, values: SlotValues) -> ResolutionStatus | None:
    """Return OPEN if a new decision waits for an outcome, as trades and manually resolved ones do; else None."""
    if card.resolution.rule is ResolutionRule.NONE:
        return None
    if card.resolution.rule is ResolutionRule.PRICE_LEVELS and position_side(card, values) is None:
        return None
    return ResolutionStatus.OPEN


def position_side(card: CardDefinition, values: SlotValues) -> Literal["long", "short"] | None:
    """Return `long` or `short` for the trade that a decision's card opens; None when it opens none."""
    side = values.get(card.resolution.side or "")
    if side is None or card.resolution.rule is not ResolutionRule.PRICE_LEVELS:
        return None
    if side == card.resolution.long:
        return "long"
    return "short" if side == card.resolution.short else None


def position_of(card: CardDefinition, values: SlotValues, opened_at: datetime) -> Position | None:
    """Return the trade that a decision's card opens, with its price levels; None when it opens none."""
    rule, side = card.resolution, position_side(card, values)
    if side is None:
        return None
    gain, loss = values.get(rule.take_profit or ""), values.get(rule.stop_loss or "")
    if not isinstance(gain, int | float) or not isinstance(loss, int | float):
        return None
    return Position(
        symbol=normalize_symbol(str(values.get(rule.symbol or ""))),
        side=side,
        take_profit=float(gain),
        stop_loss=float(loss),
        opened_at=opened_at,
        expires_at=expiry_time(card, values),
    )


def expiry_time(card: CardDefinition, values: SlotValues) -> datetime | None:
    """Return when the card's decision expires, or None when it does not say."""
    given = values.get(card.resolution.expires_at or "")
    return parse_time(given) if isinstance(given, str) else None


def resolve_position(position: Position, prices: Iterable[Price], now: datetime) -> ResolvedDecision | None:
    """Return how an open trade ended, given all known prices; None while it is open."""
    known = sorted(
        (p for p in prices if p.symbol == position.symbol and p.at >= position.opened_at), key=lambda p: p.at
    )
    touches = [(price.at, touch) for price in known if (touch := _touched_level(position, price))]
    for at, touch in touches:
        # A price at the very time of expiry still counts.
        if position.expires_at is not None and at > position.expires_at:
            break
        # Another price of the same time may have touched the stop, which then counts as first.
        same = [other for when, other in touches if when == at]
        stop = next((other for other in same if other[0] == STOP_LOSS), touch)
        return ResolvedDecision(status=ResolutionStatus.RESOLVED, outcome=stop[0], at=at, note=stop[1])
    if position.expires_at is not None and now > position.expires_at:
        return expired_resolution(position.expires_at)
    return None


def expired_resolution(at: datetime) -> ResolvedDecision:
    """Return the resolution of a decision that expired at this time without an outcome."""
    return ResolvedDecision(
        status=ResolutionStatus.EXPIRED, outcome=EXPIRED, at=at, note="neither level was touched before it expired"
    )


def is_right(card: CardDefinition, outcome: str | None) -> bool | None:
    """Return whether the outcome proves the decision right (True) or wrong (False); None when it proves neither."""
    word = (outcome or "").strip().casefold()
    if word in card.resolution.right:
        return True
    return False if word in card.resolution.wrong else None


def _touched_level(position: Position, price: Price) -> tuple[str, str] | None:
    """Return which level of the trade the price touched, stop or target, with a note; None for neither."""
    low, high = price.lowest, price.highest
    if position.side == "long":
        stopped, taken = low <= position.stop_loss, high >= position.take_profit
    else:
        stopped, taken = high >= position.stop_loss, low <= position.take_profit
    if stopped and taken:
        return STOP_LOSS, f"{position.symbol} touched both levels at once; the stop is taken to have come first"
    if stopped:
        return STOP_LOSS, f"{position.symbol} at {price.price:g} touched the stop at {position.stop_loss:g}"
    if taken:
        return TAKE_PROFIT, f"{position.symbol} at {price.price:g} touched the target at {position.take_profit:g}"
    return None
