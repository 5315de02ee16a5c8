"""Claims: when two of them say the same, and how far evidence raises the confidence in one."""

import math
from collections import Counter
from collections.abc import Iterable

from mnemon.evidence.clause import read_words
from mnemon.evidence.confidence import LOG_ODDS_STEPS, START_CONFIDENCE, Strength
from mnemon.evidence.fold import distinguishing_tokens
from mnemon.evidence.vocabulary import FREE
from mnemon.untrusted_text import reads_outside_text_up_to

MAX_CONFIDENCE = 0.99
"""The most a confidence counts as before it moves: from certainty, a step would hardly lower it."""
_LEAST_CONFIDENCE = 0.01
_REPEAT_WEIGHTS = (1.0, 0.5)
"""What the first and the second piece of one source weigh; a further one weighs nothing."""


LONGEST_CLAIM = 2_000
"""The most characters of a claim, as proposals are validated; a longer text equals only itself."""


@reads_outside_text_up_to(LONGEST_CLAIM)
def is_same_claim(one: str, other: str) -> bool:
    """Say whether two texts make the same claim in other words: same stems, figures, dates, names and negations."""
    if same_wording(one) == same_wording(other):
        return True
    if max(len(one), len(other)) > LONGEST_CLAIM:
        return False
    if _content_stems(one) != _content_stems(other) or distinguishing_tokens(one) != distinguishing_tokens(other):
        return False
    # "Ann owes Bob" and "Bob owes Ann" have the same stems and the same names.
    return _names_in_order(one) == _names_in_order(other)


def same_wording(text: str) -> str:
    """Return the text in comparable form: case-folded, with single spaces."""
    return " ".join(text.casefold().split())


def supported_confidence(start: float, counted: Iterable[str], pieces: Iterable[str | None]) -> float:
    """Return the confidence after these supporting pieces, given as their sources' keys; None adds nothing.

    `counted` are the sources of the pieces that count already. Each piece is a moderate one; the second of a source
    weighs half, a third nothing.
    """
    seen = Counter(counted)
    steps = 0.0
    for source in pieces:
        if source is None:
            continue
        steps += _REPEAT_WEIGHTS[seen[source]] if seen[source] < len(_REPEAT_WEIGHTS) else 0.0
        seen[source] += 1
    if not steps:
        return start
    bounded = min(max(start, _LEAST_CONFIDENCE), MAX_CONFIDENCE)
    odds = math.log(bounded / (1 - bounded)) + steps * LOG_ODDS_STEPS[Strength.MODERATE]
    return round(1 / (1 + math.exp(-odds)), 6)


def highest_confidence(sources: Iterable[str]) -> float:
    """Return the highest confidence that pieces of these sources can give a claim."""
    return supported_confidence(START_CONFIDENCE, (), sources)


def _content_stems(text: str) -> frozenset[str]:
    """Return the stems of the text's content words."""
    return frozenset(word.stem for word in read_words(text) if not word.is_function_word and word.stem not in FREE)


def _names_in_order(text: str) -> list[str]:
    """Return the stems of the names in the text, in order."""
    return [word.stem for word in read_words(text) if word.is_name or (word.opens and not word.is_function_word)]
