"""Words of a text as recall compares them, and how well one text covers another.

Terms are stemmed words without stop words. BM25 and coverage compare a query with texts; the grounding check says
whether a text made from memories adds anything that its sources do not say.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence

from mnemon.evidence.number_gate import number_fault
from mnemon.evidence.stems import stem
from mnemon.memory.keys import normalize_content
from mnemon.untrusted_text import normalize_text, reads_outside_text

_WORD = re.compile(r"[^\W_]+", re.UNICODE)

STOP_WORDS = frozenset(
    _WORD.findall(
        "a an and are as at be been but by can could did do does for from had has have he her hers him his how i if in "
        "into is it its me my of on or our she should so than that the their them then there these they this those to "
        "was we were what when where which who whom whose why will with would you your yours am about any some"
    )
)
# The textbook values of BM25; the hybrid ranking has values of its own (`ranking.py`).
_K1, _B = 1.2, 0.75
_MOST_WORDS = 200_000
_LONGEST_KEPT = 64
"""Longer words are not cached: they hardly recur, and a caller who sends many must not fill the cache."""
LONGEST_INDEXED = 50_000
"""Characters of a text that recall indexes, counted again after normalization."""
_LONGEST_FORM = 18
"""The most characters that one character becomes in NFKC (U+FDFA)."""
MOST_QUERY_TERMS = 256
"""The most terms of a query that are looked up."""
_QUERY_END_CHARS = 4_000
"""Characters kept from either end of a long query."""
_CHARACTERS_OF_A_ROW = 500
"""Characters whose terms take about as long to make as everything else about an indexed row."""
_ASCII_SEPARATORS = {number: " " for number in range(128) if not chr(number).isalnum()}
"""Everything but letters and digits separates words. Most texts are ASCII, for which this is enough."""


class _StemCache(dict[str, str]):
    """Stems of the words seen so far; empty for stop words. Cleared when it has grown too large."""

    def __missing__(self, word: str) -> str:
        """Return the stem of a word that is looked up for the first time, and cache it."""
        # Numbers and codes are their own stems, and there are too many different ones to cache.
        if not word.isalpha():
            return word
        if len(self) >= _MOST_WORDS:
            self.clear()
        known = "" if word in STOP_WORDS else stem(word)
        if len(word) <= _LONGEST_KEPT:
            self[word] = known
        return known


_STEMS = _StemCache()


def _split_words(text: str) -> list[str]:
    """Return the case-folded words of a text, without the possessive 's."""
    # Most texts are ASCII, and splitting without a pattern is much faster (docs/recall.md).
    if text.isascii():
        return text.lower().replace("'s", "").translate(_ASCII_SEPARATORS).split()
    plain = normalize_text("NFKC", text).replace("’s", "")
    return _WORD.findall(plain.casefold().replace("'s", ""))


@reads_outside_text
def terms(text: str, *, bare: bool = False) -> list[str]:
    """Return the stems of a text in order, without stop words.

    A text of stop words only gives their stems, or nothing if `bare`.
    """
    words = _split_words(text)
    return [known for word in words if (known := _STEMS[word])] or ([] if bare else [stem(word) for word in words])


@reads_outside_text
def indexed_terms(text: str) -> list[str]:
    """Return the terms by which recall finds a text; for a very long text, those of its beginning."""
    # Only a text this long can exceed the limit once normalized; shorter ones need no cut.
    if len(text) > LONGEST_INDEXED // _LONGEST_FORM:
        text = text[:LONGEST_INDEXED]
        text = text if text.isascii() else normalize_text("NFKC", text)[:LONGEST_INDEXED]
    return terms(text)


def _term_counts(text: str) -> tuple[dict[str, int], int]:
    """Return how often a text has each of its terms, and how many terms it has in all."""
    words = indexed_terms(text)
    return Counter(words), len(words)


@reads_outside_text
def query_terms(text: str) -> list[str]:
    """Return the distinct terms of a query; of a very long one, those of its beginning and end.

    Each is looked up in everything that is stored, so their number must not grow with what a caller sends.
    """
    if len(text) > 2 * _QUERY_END_CHARS:
        text = f"{text[:_QUERY_END_CHARS]} {text[-_QUERY_END_CHARS:]}"
    found = list(dict.fromkeys(terms(text)))
    half = MOST_QUERY_TERMS // 2
    return found if len(found) <= MOST_QUERY_TERMS else [*found[:half], *found[-half:]]


def reading_effort(texts: Iterable[str | None]) -> int:
    """Return the cost of splitting the texts into terms, counted in rows with short texts."""
    return sum(min(len(text), LONGEST_INDEXED) for text in texts if text) // _CHARACTERS_OF_A_ROW


@reads_outside_text
def bm25_scores(query: str, texts: Sequence[str]) -> list[float]:
    """Return how well each text matches the query among these texts, by BM25; 0 if they share no word."""
    wanted = query_terms(query)
    counted = list(map(_term_counts, texts))
    weights = _term_weights(wanted, [counts for counts, _ in counted])
    average = sum(length for _, length in counted) / max(1, len(counted)) or 1.0
    return [_bm25_score(wanted, weights, counts, length / average) for counts, length in counted]


def _bm25_score(
    wanted: Sequence[str], weights: dict[str, float], counts: dict[str, int], relative_length: float
) -> float:
    """Return the BM25 score of one text, given its terms and its length relative to the average."""
    damp = _K1 * (1 - _B + _B * relative_length)
    held = ((weights[word], counts[word]) for word in wanted if word in counts)
    return sum(weight * count * (_K1 + 1) / (count + damp) for weight, count in held)


@reads_outside_text
def query_coverage(query: str, texts: Sequence[str]) -> list[float]:
    """Return the share of the query's terms that each text contains, weighted by rarity among the texts: 0 to 1."""
    wanted = query_terms(query)
    counted = [counts for counts, _ in map(_term_counts, texts)]
    weights = _term_weights(wanted, counted)
    total = sum(weights.values())
    if not total:
        return [0.0] * len(texts)
    return [sum(weights[word] for word in wanted if word in counts) / total for counts in counted]


def _term_weights(wanted: Sequence[str], counted: Sequence[dict[str, int]]) -> dict[str, float]:
    """Return the inverse document frequency of each term among the texts."""
    size = len(counted)
    holds = {word: sum(word in counts for counts in counted) for word in wanted}
    return {word: math.log(1 + (size - held + 0.5) / (held + 0.5)) for word, held in holds.items()}


_CONNECTIVES = frozenset(terms("also both while too likewise including such as whereas plus"))


def ungrounded_terms(text: str, sources: Sequence[str]) -> tuple[str, ...]:
    """Return the stems of the text that are in none of the sources; empty if it adds nothing."""
    known = {term for source in sources for term in terms(source)}
    return tuple(
        dict.fromkeys(
            t
            for t in terms(text)
            # Figures are compared by their value, in the number gate.
            if t not in known and t not in _CONNECTIVES and t not in STOP_WORDS and not t.isdigit()
        )
    )


def grounding_fault(text: str, sources: Sequence[str], *, share: float = 1.0) -> str | None:
    """Return why a text may not replace its sources; None if it may.

    `share` of its words must be in the sources, and all of its numbers.
    """
    if normalize_content(text) in {normalize_content(source) for source in sources}:
        return None
    fault = number_fault(text, sources)
    if fault:
        return fault
    words = [term for term in dict.fromkeys(terms(text)) if term not in STOP_WORDS]
    if not words:
        return "it says nothing"
    new = ungrounded_terms(text, sources)
    if len(new) > (1.0 - share) * len(words):
        return "its sources do not say: " + ", ".join(new[:5])
    return None
