"""The words by which the gates compare a statement with its quote.

They stand in `vocabulary.toml`, lists and synonyms that the rules need, and in `lexicon.txt`, everyday words with what
supports them ("statement : quote", one line for each word of a statement).
"""

import tomllib
from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from itertools import chain
from typing import Any

from mnemon.evidence.stems import stem

_TABLE: dict[str, Any] = tomllib.loads(files("mnemon.evidence").joinpath("vocabulary.toml").read_text("utf-8"))
_FEWEST_SHARED_LETTERS = 4
"""Letters that two forms of one word share at least."""


def _read_irregular(lines: str) -> dict[str, str]:
    """Return a map from irregular forms to their base: "swam" to "swim"."""
    pairs = (line.partition(" : ") for line in filter(None, lines.splitlines()))
    return {form: base for base, _, forms in pairs for form in forms.split()}


_BASES = _read_irregular(_TABLE["irregular"]["lines"])


def word_stem(word: str) -> str:
    """Return the stem by which a lower-case word is compared: that of its base if its form is irregular."""
    return stem(_BASES.get(word, word).replace("-", ""))


def is_past_form(word: str) -> bool:
    """Say whether a lower-case word is a verb form in the past tense: "decided", "fell"."""
    by_form = word in _BASES or (word.endswith("ed") and word not in word_list("action_verb") | word_list("light_verb"))
    return by_form and word_stem(word) in _action_stems()


@cache
def _action_stems() -> frozenset[str]:
    """Return the stems of all verbs for actions."""
    return stem_list("action_verb") | stem_list("light_verb") | stem_list("directed_verb")


@cache
def word_list(name: str) -> frozenset[str]:
    """Return the words of the named list in the vocabulary table."""
    return frozenset(str(_TABLE[name]).split())


@cache
def stem_list(name: str) -> frozenset[str]:
    """Return the stems of the words of the named list in the vocabulary table."""
    return frozenset(map(word_stem, word_list(name)))


def pair_list(name: str) -> list[tuple[str, str]]:
    """Return the pairs of words of the named list in the vocabulary table."""
    parts = (part.split() for line in str(_TABLE[name]).splitlines() for part in line.split(" / ") if part.strip())
    return [(one, other) for one, other in parts]


def supporting_stems(claimed: str) -> frozenset[str]:
    """Return the stems whose presence in a quote supports this stem of a statement, without itself."""
    return _supporting_by_stem().get(claimed, frozenset())


@cache
def _supporting_by_stem() -> dict[str, frozenset[str]]:
    """Return, for each stem of a statement, the stems of a quote that support it; cached."""
    lexicon = files("mnemon.evidence").joinpath("lexicon.txt").read_text("utf-8")
    found: dict[str, set[str]] = defaultdict(set)
    for line in filter(None, chain(_TABLE["synonyms"]["lines"].splitlines(), lexicon.splitlines())):
        claimed, _, said = line.partition(" : ")
        for word in claimed.split():
            found[word_stem(word)] |= {word_stem(other) for other in said.split()}
    return {word: frozenset(said) for word, said in found.items()}


FUNCTION_WORDS = word_list("function")
"""Words of grammar, which need no support."""
FREE = stem_list("free")
"""Stems that a statement may add without support."""
PRONOUNS: dict[str, frozenset[str]] = {name: frozenset(words.split()) for name, words in _TABLE["pronoun"].items()}
"""Subject pronouns by person: `first`, `second`, `other`."""
QUANTIFIERS: dict[str, frozenset[str]] = {
    name: frozenset(words.split()) for name, words in _TABLE["quantifier"].items()
}
"""Words that widen a statement, each with the words of a quote that support it."""
_DERIVED_ENDINGS = word_list("derived_ending")


@cache
def _generalizing_by_stem() -> dict[str, frozenset[str]]:
    """Return, for each stem of a quote, the more general stems that it supports; cached."""
    found: dict[str, set[str]] = defaultdict(set)
    for claimed, said in _supporting_by_stem().items():
        for other in said:
            found[other].add(claimed)
    return {said: frozenset(claimed) for said, claimed in found.items()}


def are_kinds_of_one(one: str, other: str) -> bool:
    """Say whether two stems are different kinds of one thing, such as dog and cat, and so exclude each other."""
    return bool(_generalizing_by_stem().get(one, frozenset()) & _generalizing_by_stem().get(other, frozenset()))


def is_supported_by(claimed: str, said: str) -> bool:
    """Say whether a stem of a quote supports a stem of a statement: the same word, a derived one, or a synonym."""
    return claimed == said or said in supporting_stems(claimed) or is_derived(claimed, said)


class ClaimedStems:
    """The stems of a statement, so that whether a quote's word supports one of them is seen in one step."""

    def __init__(self, stems: Iterable[str]) -> None:
        self.own = frozenset(stems)
        self._supporting = frozenset(said for one in self.own for said in supporting_stems(one))
        self._by_beginning: dict[str, list[str]] = {}
        for one in self.own:
            self._by_beginning.setdefault(one[:_FEWEST_SHARED_LETTERS], []).append(one)

    def are_supported_by(self, said: str) -> bool:
        """Say whether a stem of a quote supports one of the claimed stems."""
        if said in self.own or said in self._supporting:
            return True
        return any(is_derived(one, said) for one in self._by_beginning.get(said[:_FEWEST_SHARED_LETTERS], ()))


def is_derived(one: str, other: str) -> bool:
    """Say whether two stems are forms of one word, such as "allergi" and "allerg", or "teacher" and "teach"."""
    shared = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        shared += 1
    if shared < _FEWEST_SHARED_LETTERS:
        return False
    return all(not end or end in _DERIVED_ENDINGS for end in (one[shared:], other[shared:]))
