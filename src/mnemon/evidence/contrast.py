"""Small words that turn a statement round: before and after, more and less, from and to, every other, six of forty.

They are words of grammar or of measure, which need no support of their own, so a lie may change one and keep every
other word of its quote. Each is compared with the one that stands in its place in the quote.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

from mnemon.evidence.clause import ReadWord
from mnemon.evidence.figure import Figure, find_figures
from mnemon.evidence.said_dates import date_spans
from mnemon.evidence.statement import QuotedSentence
from mnemon.evidence.vocabulary import pair_list, word_stem

_EVERY = re.compile(r"\b(?:every|each)\s+(?P<skip>other|second|third|fourth|two|three|four|six|\d+)?", re.IGNORECASE)
_SKIPPING = re.compile(
    r"\b(?:every|each)\s+(?:other|second|third|fourth|two|three|four|six|\d+)\b|\balternat\w+|\bfortnight\w*|\bbi-?weekly\b",
    re.IGNORECASE,
)
_FROM = re.compile(r"\bfrom\s+(?:the\s+)?$", re.IGNORECASE)
_TO = re.compile(r"\s*(?:\([^)]{0,40}\)\s*)?(?:\w+\s+){0,3}?(?:to|→|->)\s+(?:the\s+)?", re.IGNORECASE)
_OF = re.compile(r"\s+(?:out\s+)?of\s+(?:the\s+|my\s+|our\s+|their\s+|his\s+|her\s+|these\s+|those\s+)?", re.IGNORECASE)
_STEP = re.compile(r"\b(?P<word>by|to|until|till|through)\s+(?:the\s+|about\s+|around\s+|end\s+of\s+)*$", re.IGNORECASE)
_WAS_BEFORE = re.compile(
    r"\b(?:from|was|were|used|previous\w*|original\w*|instead|old|before|had|no longer|not)\b", re.IGNORECASE
)
_ENDING = re.compile(
    r"\b(?:until|till|through|to|ends|ended|ending|expires?|expired|up to|by|before|lasts?|back|return\w*|over|runs?)\b"
    r"|[-–—]",
    re.IGNORECASE,
)
_RISING = frozenset(map(word_stem, ["rise", "grow", "increase", "climb", "up", "raise", "gain", "jump"]))
_FALLING = frozenset(
    map(word_stem, ["fall", "drop", "decrease", "decline", "down", "shrink", "lower", "reduce", "cut", "sink"])
)
_COMPARING = frozenset({"than", "over", "beats", "beat"})
_SPAN = 6
"""Words on either side of a "than" that are compared."""


def _load_opposites() -> dict[str, frozenset[str]]:
    """Return, for each stem in the table of opposites, the stems that contradict it."""
    found: dict[str, set[str]] = defaultdict(set)
    for one, other in pair_list("opposed"):
        found[word_stem(one)].add(word_stem(other))
        found[word_stem(other)].add(word_stem(one))
    return {word: frozenset(others) for word, others in found.items()}


_OPPOSITES = _load_opposites()


def opposites(word: str) -> frozenset[str]:
    """Return the stems that contradict this stem: "after" for "before"."""
    return _OPPOSITES.get(word, frozenset())


def contrast_fault(statement: str, claimed: Sequence[ReadWord], sentences: Sequence[QuotedSentence]) -> str | None:
    """Return the fault where a small word contradicts the quote ("after" for "before"); None without."""
    return (
        _opposed_fault(claimed, sentences)
        or next(filter(None, (_measure_fault(statement, claimed, one) for one in sentences)), None)
        or next(filter(None, (_compared_fault(claimed, one) for one in sentences)), None)
        or next(filter(None, (_sequence_fault(claimed, one) for one in sentences)), None)
    )


def _opposed_fault(claimed: Sequence[ReadWord], sentences: Sequence[QuotedSentence]) -> str | None:
    """Return the fault where a word is the opposite of the quote's ("after" for "before breakfast"); None without."""
    said = {word.stem: word for one in sentences for word in one.words if one.is_quoted(word)}
    around = {word.stem for one in sentences for word in one.words}
    own = {word.stem for word in claimed}
    for word in claimed:
        if word.stem in around:
            continue
        for other in _OPPOSITES.get(word.stem, ()):
            met = said.get(other)
            if met is not None and other not in own and met.negated == word.negated and not word.is_name:
                return f"the quote says “{met.text}”, not “{word.text}”"
    return None


def _sequence_fault(claimed: Sequence[ReadWord], one: QuotedSentence) -> str | None:
    """Return the fault where the statement reverses an order that the quote gives with "then"; None without."""
    texts = [word.text for word in one.words]
    if "then" not in texts or {"before", "after"} & set(texts):
        return None
    places = {word.stem: word.start for word in reversed(one.words) if not word.is_function_word}
    for at, word in enumerate(claimed):
        if word.text not in {"before", "after"}:
            continue
        left = next((places[other.stem] for other in reversed(claimed[:at]) if other.stem in places), None)
        right = next((places[other.stem] for other in claimed[at + 1 :] if other.stem in places), None)
        if left is not None and right is not None and (left > right) == (word.text == "before"):
            return "the quote gives another order"
    return None


def _measure_fault(statement: str, claimed: Sequence[ReadWord], one: QuotedSentence) -> str | None:
    """Return the fault where a figure or date means something else than in the quote; None without."""
    if fault := frequency_fault(statement, one.read):
        return fault
    figures, own = find_figures(one.read), find_figures(statement)
    values = {(figure.low, figure.high) for figure in own}
    for left, right in pairwise(figures):
        gap = one.read[left.end : right.start]
        has_left, has_right = (left.low, left.high) in values, (right.low, right.high) in values
        if _OF.fullmatch(gap) and has_right and not has_left:
            return f"the quote says it of {left.text.strip()} of {right.text.strip()}"
    return _moved_fault(statement, one) or _step_fault(statement, own, one, figures) or _direction_fault(claimed, own)


def frequency_fault(statement: str, text: str) -> str | None:
    """Return the fault where the statement says "every" and the text "every other"; None without."""
    skips = next((match for match in _EVERY.finditer(text) if match["skip"]), None)
    if skips and _EVERY.search(statement) and not _SKIPPING.search(statement):
        return f"the quote says “{skips[0].strip()}”"
    return None


def _moved_fault(statement: str, one: QuotedSentence) -> str | None:
    """Return the fault where the statement gives the old value of a change ("moved from Friday to"); None without."""
    changes = [
        (one.read[left[0] : left[1]].lower(), one.read[right[0] : right[1]].lower())
        for left, right in _neighbour_pairs(one.read)
        if _FROM.search(one.read, max(0, left[0] - 12), left[0]) and _TO.fullmatch(one.read[left[1] : right[0]])
    ]
    low = statement.lower()
    for old, new in changes:
        at_old, at_new = low.find(old), low.find(new)
        if at_old >= 0 and at_new >= 0 and at_new < at_old and _FROM.search(low, max(0, at_new - 12), at_new):
            return f"the quote says from “{old}” to “{new}”"
        if at_old >= 0 and at_new < 0 and old not in new and not _WAS_BEFORE.search(statement):
            return f"the quote says that “{old}” became “{new}”"
    return None


def _neighbour_pairs(text: str) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Return each pair of consecutive figures or dates of the text, as spans."""
    spans = sorted({*date_spans(text), *((figure.start, figure.end) for figure in find_figures(text))})
    return list(pairwise(spans))


def _step_fault(statement: str, own: Sequence[Figure], one: QuotedSentence, given: Sequence[Figure]) -> str | None:
    """Return the fault where "rose by 5" becomes "rose to 5", or "until Friday" becomes "on Friday"; None without."""
    said = {(figure.low, figure.high): _word_before(one.read, figure.start) for figure in given}
    for figure in own:
        pair = {_word_before(statement, figure.start), said.get((figure.low, figure.high), "")}
        if pair == {"by", "to"}:
            return f"the quote says “{said[figure.low, figure.high]} {figure.text.strip()}”"
    for start, end in date_spans(one.read):
        if _word_before(one.read, start) in {"until", "till", "through"} and not _ENDING.search(statement):
            named = one.read[start:end]
            if named.lower() in statement.lower() or named.split()[0].lower() in statement.lower():
                return f"the quote says “until {named}”"
    return None


def _word_before(text: str, at: int) -> str:
    """Return the "by", "to" or "until" directly before a position in the text; empty if there is none."""
    match = _STEP.search(text[max(0, at - 24) : at])
    return match["word"].lower() if match else ""


def _direction_fault(claimed: Sequence[ReadWord], own: Sequence[Figure]) -> str | None:
    """Return the fault where the statement calls its own figures a rise although they fall, or the reverse."""
    stems = {word.stem for word in claimed}
    if len(own) != 2 or not {"from", "to"} <= {word.text for word in claimed} or own[0].unit != own[1].unit:
        return None
    rises = own[1].low > own[0].low
    if stems & _RISING and not stems & _FALLING and not rises:
        return "its own figures fall"
    return "its own figures rise" if stems & _FALLING and not stems & _RISING and rises else None


def _compared_fault(claimed: Sequence[ReadWord], one: QuotedSentence) -> str | None:
    """Return the fault where the statement reverses a comparison ("tea over coffee"); None without."""
    own, said = _compared_sides(claimed), _compared_sides(one.words)
    if not own or not said:
        return None
    left, right = own[0] & said[1] - said[0], own[1] & said[0] - said[1]
    return "the sides of the comparison changed places" if left and right else None


def _compared_sides(words: Sequence[ReadWord]) -> tuple[frozenset[str], frozenset[str]] | None:
    """Return the stems before and after a comparing word ("than", "over"); None if there is none."""
    for at, word in enumerate(words):
        prefers = word.text == "to" and any(other.stem == "prefer" for other in words[:at])
        if (word.text in _COMPARING or prefers) and at:
            before, after = words[max(0, at - _SPAN) : at], words[at + 1 : at + 1 + _SPAN]
            return _content_stems(before), _content_stems(after)
    return None


def _content_stems(words: Sequence[ReadWord]) -> frozenset[str]:
    """Return the stems of the words that are no function words."""
    return frozenset(word.stem for word in words if not word.is_function_word)
