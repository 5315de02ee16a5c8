"""Compare what is known about two entities: it may suggest that they are one, that they are two, or nothing."""

import re
from dataclasses import dataclass
from enum import IntEnum

from mnemon.evidence.stems import stem
from mnemon.memory.entities.lexicon import COMMON_CONTEXT_WORDS, FEMALE_PRONOUNS, KINSHIP_WORDS, MALE_PRONOUNS
from mnemon.memory.entities.names import plain_words
from mnemon.memory.keys import make_slug

_STRONG_COUNT = 2
"""How many shared words or companions make a strong fit."""


@dataclass(frozen=True, kw_only=True)
class EntityFact:
    """One fact of a memory about an entity."""

    content: str
    attribute: str | None = None
    """What the fact is a value of, if the memory names it."""


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """All that is known about one entity."""

    facts: tuple[EntityFact, ...] = ()
    companions: frozenset[str] = frozenset()
    """Keys of other entities that its memories mention."""
    turns: frozenset[str] = frozenset()
    """Turns that mention it."""


class SurroundingsFit(IntEnum):
    """How well the surroundings of two entities fit together."""

    CONFLICT = -1
    """They cannot both be true of one entity: named together, another relation, another value, another pronoun."""
    NONE = 0
    """Nothing is shared."""
    SHARED = 1
    """Something specific is shared."""
    STRONG = 2
    """Several specific things are shared."""


@dataclass(frozen=True, kw_only=True)
class SurroundingsComparison:
    """The outcome of a comparison."""

    fit: SurroundingsFit
    shared: tuple[str, ...] = ()
    """The words and companions that both have."""
    conflict: str | None = None
    """Why they cannot be one; None if nothing speaks against it."""
    together: bool = False
    """Whether one turn mentions both names."""


def compare_surroundings(
    one: Surroundings, two: Surroundings, *, labels: tuple[str, str], keys: tuple[str, str]
) -> SurroundingsComparison:
    """Return whether what is known about two entities conflicts, and else what they share."""
    together = bool(one.turns & two.turns)
    named = frozenset(plain_words(labels[0])) | frozenset(plain_words(labels[1]))
    if _names_both(one, labels[0], labels[1], keys[1]) or _names_both(two, labels[1], labels[0], keys[0]):
        return SurroundingsComparison(
            fit=SurroundingsFit.CONFLICT, conflict="named side by side in one memory", together=together
        )
    conflict = _pronoun_conflict(one, two) or _kinship_conflict(one, two) or _value_conflict(one, two, named)
    if conflict:
        return SurroundingsComparison(fit=SurroundingsFit.CONFLICT, conflict=conflict, together=together)
    words = _distinctive_stems(one, named) & _distinctive_stems(two, named)
    shared = tuple(sorted(words)) + tuple(sorted((one.companions & two.companions) - set(keys)))
    fit = (
        SurroundingsFit.NONE
        if not shared
        else SurroundingsFit.SHARED
        if len(shared) < _STRONG_COUNT
        else SurroundingsFit.STRONG
    )
    return SurroundingsComparison(fit=fit, shared=shared, together=together)


def _names_both(own: Surroundings, own_label: str, other_label: str, other_key: str) -> bool:
    """Say whether a memory about one entity also mentions the other."""
    if other_key in own.companions:
        return True
    own_words, other_words = plain_words(own_label), plain_words(other_label)
    if not other_words or own_words == other_words:
        return False
    for fact in own.facts:
        text = " ".join(plain_words(fact.content))
        # "Anna Smith" contains "Anna": take the own, longer name out before looking for the other.
        if len(own_words) >= len(other_words):
            text = _remove_words(text, own_words)
        if re.search(rf"\b{re.escape(' '.join(other_words))}\b", text):
            return True
    return False


def _remove_words(text: str, words: tuple[str, ...]) -> str:
    """Return the text without these words wherever they occur consecutively."""
    return re.sub(rf"\b{re.escape(' '.join(words))}\b", " ", text) if words else text


def _all_words(side: Surroundings) -> frozenset[str]:
    """Return all plain words of an entity's facts."""
    return frozenset(word for fact in side.facts for word in plain_words(fact.content))


def _pronoun_conflict(one: Surroundings, two: Surroundings) -> str | None:
    """Return a conflict if one entity is always a he and the other always a she; else None."""
    first, second = _all_words(one), _all_words(two)
    he_she = (
        first & MALE_PRONOUNS
        and second & FEMALE_PRONOUNS
        and not first & FEMALE_PRONOUNS
        and not second & MALE_PRONOUNS
    )
    she_he = (
        first & FEMALE_PRONOUNS
        and second & MALE_PRONOUNS
        and not first & MALE_PRONOUNS
        and not second & FEMALE_PRONOUNS
    )
    return "one is a he, the other a she" if he_she or she_he else None


def _kinship_conflict(one: Surroundings, two: Surroundings) -> str | None:
    """Return a conflict if both entities have kinship words and share none; else None."""
    first, second = _all_words(one) & KINSHIP_WORDS, _all_words(two) & KINSHIP_WORDS
    if first and second and not first & second:
        return f"{min(first)} and {min(second)}"
    return None


def _value_conflict(one: Surroundings, two: Surroundings, named: frozenset[str]) -> str | None:
    """Return a conflict if an attribute has values that share no word; else None."""
    second = {make_slug(fact.attribute): fact for fact in two.facts if fact.attribute}
    for fact in one.facts:
        other = second.get(make_slug(fact.attribute)) if fact.attribute else None
        if other is None:
            continue
        stems, other_stems = _content_stems(fact.content, named), _content_stems(other.content, named)
        # Values that share a word may be one value in two wordings: only wholly different ones conflict.
        if stems and other_stems and not stems & other_stems:
            return f"another {fact.attribute}"
    return None


def _distinctive_stems(side: Surroundings, named: frozenset[str]) -> frozenset[str]:
    """Return the stems in an entity's facts that are neither part of the names nor common words."""
    return frozenset(stem for fact in side.facts for stem in _content_stems(fact.content, named))


def _content_stems(content: str, named: frozenset[str]) -> frozenset[str]:
    """Return the stems of a fact's words that are neither part of the names nor common words."""
    kept = (w for w in plain_words(content) if w not in named and w not in COMMON_CONTEXT_WORDS and len(w) > 1)
    return frozenset(stem(word) for word in kept)
