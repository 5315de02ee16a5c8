"""Evidence lines, and the confidence computed from them.

Confidence starts at one half and moves in log-odds with each distinct piece of evidence. An evidence line is a short
attributed sentence with the quote that supports it. What one source says again counts half, and after that nothing:
a claim grows by sources, not by repetition.
"""

import math
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime
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


REPEAT_WEIGHTS = (1.0, 0.5)
"""The weights of a source's strongest message, and of its second; every later one weighs nothing."""


def compute_confidence(pieces: Iterable[tuple[Stance, Strength]], start: float = START_CONFIDENCE) -> float:
    """Return the confidence, in (0, 1), that pieces of evidence give from `start`, whatever their order."""
    # `fsum` is exact, so that the same pieces in another order give the same bits.
    total = math.fsum((_log_odds(start), *(_log_odds_step(stance, strength) for stance, strength in pieces)))
    return _from_log_odds(total)


def update_confidence(before: float, stance: Stance, strength: Strength) -> float:
    """Return the confidence after one more piece of evidence."""
    return compute_confidence(((stance, strength),), start=before)


def round_confidence(value: float) -> float:
    """Return the confidence as the API shows it: two decimals, never 0 or 1."""
    return min(0.99, max(0.01, round(value, 2)))


def line_weights(lines: Iterable["EvidenceLine"]) -> dict[str, float]:
    """Return each evidence line's weight by its id: 1, 0.5 or 0, since repeats of one source count less.

    Of one source and stance, the strongest line of each message counts; of its messages the strongest counts fully and
    the second half.
    """
    groups: dict[tuple[str, Stance], list[EvidenceLine]] = defaultdict(list)
    for line in lines:
        groups[line.identity, line.stance].append(line)
    weights: dict[str, float] = {}
    for group in groups.values():
        heard: set[str] = set()
        for line in sorted(group, key=lambda one: (-LOG_ODDS_STEPS[one.strength], one.at, one.id)):
            repeats = line.message_id in heard or len(heard) >= len(REPEAT_WEIGHTS)
            weights[line.id] = 0.0 if repeats else REPEAT_WEIGHTS[len(heard)]
            heard.add(line.message_id)
    return weights


def lines_confidence(lines: Iterable["EvidenceLine"]) -> float:
    """Return the confidence that weighted lines of evidence give, whatever their order."""
    held = tuple(lines)
    weights = line_weights(held)
    return _from_log_odds(math.fsum(weights[line.id] * _log_odds_step(line.stance, line.strength) for line in held))


def _from_log_odds(total: float) -> float:
    """Return the probability that log-odds stand for, bounded so that it is never 0 or 1."""
    return 1 / (1 + math.exp(-max(-_MOST_LOG_ODDS, min(_MOST_LOG_ODDS, total))))


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
    """Whose words they are: the speaker, a person "as told by" the speaker, or a tool."""
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
    source_key: str | None = None
    """Whose words they are, to compare: `speaker:dana`, `person:diane`, `tool:search`. None before it was recorded."""
    teller: str | None = None
    """Through whom they came, to compare: `speaker:dana` or `tool:search`. None before it was recorded."""
    event_date: date | None = None
    """The day that the quoted words name: when the source said it, or when it happened."""
    settled_note: str | None = None
    """Of a contradiction that a person settled by hand, why."""

    @property
    def identity(self) -> str:
        """Return the key of the person whose words the line quotes, whether they spoke themselves or were quoted."""
        return (
            (self.source_key or _key_of_source(self.source, self.who)).removeprefix("speaker:").removeprefix("person:")
        )

    @property
    def told_by(self) -> str:
        """Return the key of the speaker through whom the words came; by default the source."""
        return self.teller or f"speaker:{self.who.casefold()}"

    def is_repeat_of(self, other: "EvidenceLine") -> bool:
        """Say whether both are the same piece: overlapping words of one message, or one source with the same quote."""
        # Overlap counts as a repeat under whatever names, or a model could raise the confidence by cutting one sentence
        # into many quotes, or by giving one quote to several sources (decision 6).
        if self.message_id == other.message_id and self.start < other.end and other.start < self.end:
            return True
        return (
            self.identity == other.identity
            and normalize_quote(self.quote).casefold() == normalize_quote(other.quote).casefold()
        )


_DRESS = re.compile(r"\s*\((?:the\s+)?user\)\s*$")
_SPEAKER_NAMES = frozenset({"", "user", "the user"})


def _key_of_source(source: str, who: str) -> str:
    """Return the source key of a line stored before keys were recorded: the speaker's, or one made of the name."""
    name = _DRESS.sub("", source.casefold().strip()[:200])
    return f"speaker:{who.casefold()}" if name in _SPEAKER_NAMES or name == who.casefold() else f"person:{name}"
