"""Phrases of a quote that say what one word of a statement says: "passed away" supports "died"."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files

from mnemon.evidence.clause import ReadWord
from mnemon.evidence.vocabulary import word_list, word_stem

_NEGATORS = word_list("negating")


@cache
def _load_phrases() -> dict[str, list[tuple[tuple[str, ...], frozenset[str]]]]:
    """Return the table of phrases as stems, by first stem, each with the stems that it supports; cached."""
    lines = files("mnemon.evidence").joinpath("phrases.txt").read_text("utf-8")
    found: dict[str, list[tuple[tuple[str, ...], frozenset[str]]]] = defaultdict(list)
    for line in filter(None, map(str.strip, lines.splitlines())):
        said, _, claimed = line.partition(" => ")
        phrase = tuple(map(word_stem, said.split()))
        found[phrase[0]].append((phrase, frozenset(map(word_stem, claimed.split()))))
    return {first: sorted(some, key=lambda one: -len(one[0])) for first, some in found.items()}


def find_phrases(words: Sequence[ReadWord]) -> Iterator[tuple[ReadWord, frozenset[str]]]:
    """Yield, for each known phrase in the words, the word that stands for it and the stems that it supports."""
    for place, word in enumerate(words):
        for phrase, claimed in _load_phrases().get(word.stem, ()):
            within = words[place : place + len(phrase)]
            if tuple(one.stem for one in within) == phrase and within[-1].clause == word.clause:
                yield _carrying_word(within), claimed


def _carrying_word(within: Sequence[ReadWord]) -> ReadWord:
    """Return the last content word of a phrase, to stand for it; a negation inside the phrase does not count."""
    said = next((one for one in reversed(within) if not one.is_function_word), within[-1])
    has_own = any(map(_is_negator, within))
    if not has_own:
        return said
    return replace(said, negated=within[0].negated and not _is_negator(within[0]), clause_negated=False)


def _is_negator(word: ReadWord) -> bool:
    """Say whether the word is a negation."""
    return word.text in _NEGATORS or word.text.endswith("n't")
