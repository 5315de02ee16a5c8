"""Confidence is computed: it starts at one half and moves in log-odds with each distinct piece of evidence.

The evidence line: a short attributed sentence with the quote behind it.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from mnemon.evidence.quote_gate import normalize_quote

START_CONFIDENCE = 0.5
_MOST_LOG_ODDS = 30.0
"""Log-odds beyond this would round to certainty; certainty is never reached."""


class Stance(StrEnum):
    SUPPORTS = "supports"
    CONTRADICTS = "contradicts"


class Strength(StrEnum):
    WEAK = "weak"
    MODERATE = "moderate"
    STRONG = "strong"


LOG_ODDS_STEPS = {Strength.WEAK: 0.35, Strength.MODERATE: 0.6, Strength.STRONG: 1.2}
"""How far one piece moves the log-odds."""


def compute_confidence(pieces: Iterable[tuple[Stance, Strength]], start: float = START_CONFIDENCE) -> float:
    """What the pieces together make of `start`, in (0, 1), whatever their order."""
    total = math.fsum((_log_odds(start), *(_log_odds_step(stance, strength) for stance, strength in pieces)))
    return 1 / (1 + math.exp(-max(-_MOST_LOG_ODDS, min(_MOST_LOG_ODDS, total))))


def update_confidence(before: float, stance: Stance, strength: Strength) -> float:
    """The confidence after one more piece."""
    return compute_confidence(((stance, strength),), start=before)


def round_confidence(value: float) -> float:
    """The confidence as the outside sees it: two decimals, never 0 or 1."""
    return min(0.99, max(0.01, round(value, 2)))


def _log_odds_step(stance: Stance, strength: Strength) -> float:
    return LOG_ODDS_STEPS[strength] if stance is Stance.SUPPORTS else -LOG_ODDS_STEPS[strength]


def _log_odds(value: float) -> float:
    if value <= 0:
        return -_MOST_LOG_ODDS
    if value >= 1:
        return _MOST_LOG_ODDS
    return math.log(value / (1 - value))


@dataclass(frozen=True, kw_only=True)
class EvidenceLine:
    """One distinct piece of evidence."""

    id: str
    """`evd_…`."""
    line: str
    """The sentence that is shown."""
    quote: str
    """The words it rests on, as they stand in the source."""
    source: str
    """Whose words they are, as named: a person, a document, a tool."""
    stance: Stance
    strength: Strength
    who: str
    """Who brought it into the turn: the person who spoke, or the tool."""
    at: datetime
    """When it was said."""
    turn_id: str
    message_id: str
    """The message or tool result the quote stands in."""
    start: int
    end: int
    """The quote's place in that text."""
    resolves: tuple[str, ...] = ()
    """Ids of contradicting lines that it settles."""

    def is_repeat_of(self, other: "EvidenceLine") -> bool:
        """Whether both are the same piece: one source, and the same quote or overlapping words of one message."""
        if self.source.casefold() != other.source.casefold():
            return False
        if normalize_quote(self.quote).casefold() == normalize_quote(other.quote).casefold():
            return True
        return self.message_id == other.message_id and self.start < other.end and other.start < self.end
