"""What is known about two entities, set side by side: does it speak for one, for two, or not at all?"""

import re
from dataclasses import dataclass
from enum import IntEnum

from mnemon.memory.entities.lexicon import COMMON_CONTEXT, HE, KIN, SHE
from mnemon.memory.entities.names import words_of
from mnemon.memory.slug import slug
from mnemon.memory.words import stem

_STRONG = 2


@dataclass(frozen=True, kw_only=True)
class Known:
    """One thing that a memory says about an entity."""

    content: str
    attribute: str | None = None
    """What it is a value of, where the memory names it."""


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """All that is known about one entity."""

    facts: tuple[Known, ...] = ()
    companions: frozenset[str] = frozenset()
    """Keys of other entities that its memories name."""
    turns: frozenset[str] = frozenset()
    """Turns in which it was spoken of."""


class Fit(IntEnum):
    CONFLICT = -1
    """Cannot both be true of one: named together, another relation, another value, another pronoun."""
    NONE = 0
    """Nothing shared."""
    SHARED = 1
    """Something specific is shared."""
    STRONG = 2
    """Several specific things are shared."""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    fit: Fit
    shared: tuple[str, ...] = ()
    """The words and companions both have."""
    conflict: str | None = None
    """Why they cannot be one."""
    together: bool = False
    """Spoken of in one and the same turn under both names."""


def compare(one: Surroundings, two: Surroundings, *, labels: tuple[str, str], keys: tuple[str, str]) -> Comparison:
    """What the surroundings of two entities say about their being one."""
    together = bool(one.turns & two.turns)
    named = frozenset(words_of(labels[0])) | frozenset(words_of(labels[1]))
    if _names_both(one, labels[0], labels[1], keys[1]) or _names_both(two, labels[1], labels[0], keys[0]):
        return Comparison(fit=Fit.CONFLICT, conflict="named side by side in one memory", together=together)
    conflict = _pronouns(one, two) or _kin(one, two) or _values(one, two, named)
    if conflict:
        return Comparison(fit=Fit.CONFLICT, conflict=conflict, together=together)
    words = _telling(one, named) & _telling(two, named)
    shared = tuple(sorted(words)) + tuple(sorted((one.companions & two.companions) - set(keys)))
    fit = Fit.NONE if not shared else Fit.SHARED if len(shared) < _STRONG else Fit.STRONG
    return Comparison(fit=fit, shared=shared, together=together)


def _names_both(own: Surroundings, own_label: str, other_label: str, other_key: str) -> bool:
    if other_key in own.companions:
        return True
    own_words, other_words = words_of(own_label), words_of(other_label)
    if not other_words or own_words == other_words:
        return False
    for fact in own.facts:
        text = " ".join(words_of(fact.content))
        if len(own_words) >= len(other_words):
            text = _take_out(text, own_words)
        if re.search(rf"\b{re.escape(' '.join(other_words))}\b", text):
            return True
    return False


def _take_out(text: str, words: tuple[str, ...]) -> str:
    return re.sub(rf"\b{re.escape(' '.join(words))}\b", " ", text) if words else text


def _all_words(side: Surroundings) -> frozenset[str]:
    return frozenset(word for fact in side.facts for word in words_of(fact.content))


def _pronouns(one: Surroundings, two: Surroundings) -> str | None:
    first, second = _all_words(one), _all_words(two)
    he_she = first & HE and second & SHE and not first & SHE and not second & HE
    she_he = first & SHE and second & HE and not first & HE and not second & SHE
    return "one is a he, the other a she" if he_she or she_he else None


def _kin(one: Surroundings, two: Surroundings) -> str | None:
    first, second = _all_words(one) & KIN, _all_words(two) & KIN
    if first and second and not first & second:
        return f"{min(first)} and {min(second)}"
    return None


def _values(one: Surroundings, two: Surroundings, named: frozenset[str]) -> str | None:
    second = {slug(fact.attribute): fact for fact in two.facts if fact.attribute}
    for fact in one.facts:
        other = second.get(slug(fact.attribute)) if fact.attribute else None
        if other is None:
            continue
        mine, theirs = _stems(fact.content, named), _stems(other.content, named)
        if mine and theirs and not mine & theirs:
            return f"another {fact.attribute}"
    return None


def _telling(side: Surroundings, named: frozenset[str]) -> frozenset[str]:
    return frozenset(stem for fact in side.facts for stem in _stems(fact.content, named))


def _stems(content: str, named: frozenset[str]) -> frozenset[str]:
    kept = (w for w in words_of(content) if w not in named and w not in COMMON_CONTEXT and len(w) > 1)
    return frozenset(stem(word) for word in kept)
