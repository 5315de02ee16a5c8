"""Evidence lines, and the confidence computed from them.

Confidence starts at one half and moves in log-odds with each distinct piece of evidence. An evidence line is a short
attributed sentence with the quote that supports it.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from mnemon.evidence.quote_gate import normalize_quote

START_CONFIDENCE = 0.5
"""The confidence without any evidence."""
_MOST_LOG_ODDS = 30.0
"""The limit of the log-odds: beyond it confidence would round to certainty, which is never reached."""


# Neither enum has a docstring: pydantic would add it to the JSON schema that the model is sent.
class Stance(StrEnum):
    SUPPORTS = "supports"
    CONTRADICTS = "contradicts"


class Strength(StrEnum):
    WEAK = "weak"
    MODERATE = "moderate"
    STRONG = "strong"


LOG_ODDS_STEPS = {Strength.WEAK: 0.35, Strength.MODERATE: 0.6, Strength.STRONG: 1.2}
"""How far one piece of evidence moves the log-odds, by its strength."""


def compute_confidence(pieces: Iterable[tuple[Stance, Strength]], start: float = START_CONFIDENCE) -> float:
    """Return the confidence, in (0, 1), that pieces of evidence give from `start`, whatever their order."""
    # `fsum` is exact, so that the same pieces in another order give the same bits.
    total = math.fsum((_log_odds(start), *(_log_odds_step(stance, strength) for stance, strength in pieces)))
    return 1 / (1 + math.exp(-max(-_MOST_LOG_ODDS, min(_MOST_LOG_ODDS, total))))


def update_confidence(before: float, stance: Stance, strength: Strength) -> float:
    """Return the confidence after one more piece of evidence."""
    return compute_confidence(((stance, strength),), start=before)


def round_confidence(value: float) -> float:
    """Return the confidence as the API shows it: two decimals, never 0 or 1."""
    return min(0.99, max(0.01, round(value, 2)))


def _log_odds_step(stance: Stance, strength: Strength) -> float:
    """Return how far one piece of evidence moves the log-odds; negative when it contradicts."""
    return LOG_ODDS_STEPS[strength] if stance is Stance.SUPPORTS else -LOG_ODDS_STEPS[strength]


def _log_odds(value: float) -> float:
    """Return the log-odds of a probability, bounded so that 0 and 1 stay finite."""
    if value <= 0:
        return -_MOST_LOG_ODDS
    if value >= 1:
        return _MOST_LOG_ODDS
    return math.log(value / (1 - value))


@dataclass(frozen=True, kw_only=True)
class EvidenceLine:
    """One distinct piece of evidence."""

    id: str
    """Begins with `evd_`."""
    line: str
    """The sentence that is shown."""
    quote: str
    """The quoted words that support it, verbatim."""
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
    """The message or tool result that contains the quote."""
    start: int
    end: int
    """With `start`, the quote's position in that text."""
    resolves: tuple[str, ...] = ()
    """Ids of contradicting lines that it settles."""

    def is_repeat_of(self, other: "EvidenceLine") -> bool:
        """Say whether two lines are the same evidence: one source, and the same or overlapping words of a message."""
        if self.source.casefold() != other.source.casefold():
            return False
        if normalize_quote(self.quote).casefold() == normalize_quote(other.quote).casefold():
            return True
        # Overlap counts as a repeat, or a model could raise the confidence by cutting one sentence into many quotes
        # (decision 6).
        return self.message_id == other.message_id and self.start < other.end and other.start < self.end
