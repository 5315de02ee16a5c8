"""Words of a text as recall compares them: stemmed, without stop words; and how well a text covers a query.

Whether a text says only what its sources say: the gate for text that is made from memories.
"""

import math
import re
import threading
from collections import Counter
from collections.abc import Iterable, Sequence

import Stemmer

from mnemon.evidence.number_gate import number_fault
from mnemon.memory.keys import normalize_content
from mnemon.untrusted_text import normalize_text, reads_outside_text

_WORD = re.compile(r"[^\W_]+", re.UNICODE)


class _ThreadStemmer(threading.local):
    """A stemmer for each thread: it has inner state and must not be called by two at once."""

    def __init__(self) -> None:
        self.stem_word = Stemmer.Stemmer("english").stemWord


_STEMMER = _ThreadStemmer()
STOP_WORDS = frozenset(
    _WORD.findall(
        "a an and are as at be been but by can could did do does for from had has have he her hers him his how i if in "
        "into is it its me my of on or our she should so than that the their them then there these they this those to "
        "was we were what when where which who whom whose why will with would you your yours am about any some"
    )
)
_K1, _B = 1.2, 0.75
_MOST_WORDS = 200_000
_LONGEST_KEPT = 64
"""A longer word is hardly met again, and whoever sends such words must not fill the memory with them."""
LONGEST_INDEXED = 50_000
"""Characters of a text that recall reads, counted again in its normal form."""
_LONGEST_FORM = 18
"""Characters that one may become in its normal form (U+FDFA)."""
MOST_QUERY_TERMS = 256
_QUERY_END_CHARS = 4_000
"""Characters at either end of a long query."""
_CHARACTERS_OF_A_ROW = 500
"""Characters whose terms take about as long as everything else about a row of recall."""
_ASCII_SEPARATORS = {number: " " for number in range(128) if not chr(number).isalnum()}
"""What is not a letter or digit stands between words; most texts are of these characters alone."""


class _StemCache(dict[str, str]):
    """Words met so far and their stems; empty for stop words. Forgets everything when it has grown too large."""

    def __missing__(self, word: str) -> str:
        if not word.isalpha():  # a number or a code is its own stem, and there is no end of them
            return word
        if len(self) >= _MOST_WORDS:
            self.clear()
        known = "" if word in STOP_WORDS else stem(word)
        if len(word) <= _LONGEST_KEPT:
            self[word] = known
        return known


_STEMS = _StemCache()


def stem(word: str) -> str:
    """The word without its ending; numbers and codes have none."""
    return str(_STEMMER.stem_word(word)) if word.isalpha() and len(word) > 2 else word


def stem_words(words: str) -> frozenset[str]:
    """The stems of the words, stop words too."""
    return frozenset(map(stem, words.split()))


def _split_words(text: str) -> list[str]:
    """The words of a text, folded, without a possessive's ending."""
    if text.isascii():
        return text.lower().replace("'s", "").translate(_ASCII_SEPARATORS).split()
    plain = normalize_text("NFKC", text).replace("’s", "")
    return _WORD.findall(plain.casefold().replace("'s", ""))


@reads_outside_text
def terms(text: str, *, bare: bool = False) -> list[str]:
    """The stemmed words of a text, in order; stop words only when there is nothing else, and never when `bare`."""
    words = _split_words(text)
    return [known for word in words if (known := _STEMS[word])] or ([] if bare else [stem(word) for word in words])


@reads_outside_text
def indexed_terms(text: str) -> list[str]:
    """The terms by which recall finds a text: of a very long one, those at its beginning."""
    if len(text) > LONGEST_INDEXED // _LONGEST_FORM:
        text = text[:LONGEST_INDEXED]
        text = text if text.isascii() else normalize_text("NFKC", text)[:LONGEST_INDEXED]
    return terms(text)


def _term_counts(text: str) -> tuple[dict[str, int], int]:
    words = indexed_terms(text)
    return Counter(words), len(words)


@reads_outside_text
def query_terms(text: str) -> list[str]:
    """The different terms that a query is compared by: of a very long one, those at its beginning and its end.

    Each is looked for in everything that is held, so their number must not grow with what a caller sends.
    """
    if len(text) > 2 * _QUERY_END_CHARS:
        text = f"{text[:_QUERY_END_CHARS]} {text[-_QUERY_END_CHARS:]}"
    found = list(dict.fromkeys(terms(text)))
    half = MOST_QUERY_TERMS // 2
    return found if len(found) <= MOST_QUERY_TERMS else [*found[:half], *found[-half:]]


def reading_effort(texts: Iterable[str | None]) -> int:
    """How long the texts' terms take, as a number of rows with short texts."""
    return sum(min(len(text), LONGEST_INDEXED) for text in texts if text) // _CHARACTERS_OF_A_ROW


@reads_outside_text
def bm25_scores(query: str, texts: Sequence[str]) -> list[float]:
    """How well each text matches the query among these texts; 0 where no word is shared."""
    wanted = query_terms(query)
    counted = list(map(_term_counts, texts))
    weights = _term_weights(wanted, [counts for counts, _ in counted])
    average = sum(length for _, length in counted) / max(1, len(counted)) or 1.0
    return [_bm25_score(wanted, weights, counts, length / average) for counts, length in counted]


def _bm25_score(
    wanted: Sequence[str], weights: dict[str, float], counts: dict[str, int], relative_length: float
) -> float:
    damp = _K1 * (1 - _B + _B * relative_length)
    held = ((weights[word], counts[word]) for word in wanted if word in counts)
    return sum(weight * count * (_K1 + 1) / (count + damp) for weight, count in held)


@reads_outside_text
def query_coverage(query: str, texts: Sequence[str]) -> list[float]:
    """The share of the query's words, weighted by rarity among these texts, that each text holds: 0 to 1."""
    wanted = query_terms(query)
    counted = [counts for counts, _ in map(_term_counts, texts)]
    weights = _term_weights(wanted, counted)
    total = sum(weights.values())
    if not total:
        return [0.0] * len(texts)
    return [sum(weights[word] for word in wanted if word in counts) / total for counts in counted]


def _term_weights(wanted: Sequence[str], counted: Sequence[dict[str, int]]) -> dict[str, float]:
    size = len(counted)
    holds = {word: sum(word in counts for counts in counted) for word in wanted}
    return {word: math.log(1 + (size - held + 0.5) / (held + 0.5)) for word, held in holds.items()}


_CONNECTIVES = frozenset(terms("also both while too likewise including such as whereas plus"))


def ungrounded_terms(text: str, sources: Sequence[str]) -> tuple[str, ...]:
    """The stems of the text that stand in none of the sources; none when it adds nothing."""
    said = {term for source in sources for term in terms(source)}
    return tuple(
        dict.fromkeys(t for t in terms(text) if t not in said and t not in _CONNECTIVES and t not in STOP_WORDS)
    )


def grounding_fault(text: str, sources: Sequence[str], *, share: float = 1.0) -> str | None:
    """Why the text may not stand for its sources; None when it may. `share` of its words must be theirs."""
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
