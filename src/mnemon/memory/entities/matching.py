"""Decide whether two entities are one: merge clear cases, suggest doubtful ones, keep the others apart."""

from dataclasses import dataclass, field
from enum import IntEnum, StrEnum

from mnemon.memory.entities.names import ParsedName, WordSpellings, length_key, parse_name
from mnemon.memory.entities.spelling import WordLikeness, word_likeness
from mnemon.memory.entities.surroundings import (
    Surroundings,
    SurroundingsComparison,
    SurroundingsFit,
    compare_surroundings,
)
from mnemon.memory.fact import EntityType
from mnemon.memory.trust import Trust

_SHORTEST_ACRONYM = 3
_LINKING_WORDS = frozenset({"of", "the", "and", "for", "in"})
_SHORTEST_PLACE = 7


class NameLikeness(IntEnum):
    """How similar two names are, regardless of what is known about the entities."""

    OTHER = 0
    """Different names."""
    DOUBTFUL = 1
    """Similar, but with a difference that shared context does not remove: at most a suggestion."""
    ALIKE = 2
    """Perhaps one name misheard, perhaps two: always a suggestion, never more."""
    PART = 3
    """One is part of the other: a first name, an initial, an acronym, a place without its region."""
    VARIANT = 4
    """One name in two spellings, by sound, by letters or as a short form."""
    SAME = 5
    """The same name except for accents, punctuation, titles and legal forms."""


class PairVerdict(StrEnum):
    MERGE = "merge"
    SUGGEST = "suggest"
    APART = "apart"


@dataclass(frozen=True, kw_only=True)
class EntityCandidate:
    """An entity as the matching sees it."""

    key: str
    type: EntityType
    label: str
    trust: Trust = Trust.PERSON
    """The trust of the most trusted source that mentions it."""
    surroundings: Surroundings = field(default_factory=Surroundings)


@dataclass(frozen=True, kw_only=True)
class PairJudgement:
    """What to do about two entities, and why."""

    verdict: PairVerdict
    likeness: NameLikeness
    fit: SurroundingsFit
    score: float
    """0 to 1, for sorting suggestions only."""
    reasons: tuple[str, ...]


def judge_pair(one: EntityCandidate, two: EntityCandidate) -> PairJudgement:
    """Return whether to merge two entities, suggest a merge or keep them apart, and why; the order does not matter."""
    if one.type is not two.type:
        return _no_match("different kinds of entity")
    # Sorted, so that the judgement does not depend on the order of the two.
    first, second = sorted((one, two), key=lambda c: (c.key, c.label))
    likeness = name_likeness(one.type, first.label, second.label)
    if likeness is NameLikeness.OTHER:
        return _no_match("different names")
    context = compare_surroundings(
        first.surroundings,
        second.surroundings,
        labels=(first.label, second.label),
        keys=(first.key, second.key),
    )
    verdict = _decide_verdict(likeness, context)
    return PairJudgement(
        verdict=verdict,
        likeness=likeness,
        fit=context.fit,
        score=round((likeness / 5 * 3 + max(context.fit, 0) / 2) / 4, 3),
        reasons=_list_reasons(likeness, context),
    )


def _no_match(reason: str) -> PairJudgement:
    """Return the judgement that keeps two entities apart for this reason."""
    return PairJudgement(
        verdict=PairVerdict.APART, likeness=NameLikeness.OTHER, fit=SurroundingsFit.NONE, score=0.0, reasons=(reason,)
    )


def _decide_verdict(likeness: NameLikeness, context: SurroundingsComparison) -> PairVerdict:
    """Return the verdict that a table gives for the likeness of two names and the fit of their surroundings."""
    if context.fit is SurroundingsFit.CONFLICT:
        # The same name with conflicting facts may be one entity that changed, or two: a person has to decide.
        return PairVerdict.SUGGEST if likeness is NameLikeness.SAME else PairVerdict.APART
    needed = {
        NameLikeness.SAME: SurroundingsFit.NONE,
        NameLikeness.VARIANT: SurroundingsFit.SHARED,
        NameLikeness.PART: SurroundingsFit.STRONG,
    }.get(likeness)
    # Both names in one turn may mean two entities, so that such a merge is only suggested.
    if needed is None or context.fit < needed or context.together:
        return (
            PairVerdict.SUGGEST
            if likeness is not NameLikeness.DOUBTFUL or context.fit > SurroundingsFit.NONE
            else PairVerdict.APART
        )
    return PairVerdict.MERGE


def _list_reasons(likeness: NameLikeness, context: SurroundingsComparison) -> tuple[str, ...]:
    """Return in words why two entities may be one, for the suggestion and the merge log."""
    names = {
        NameLikeness.DOUBTFUL: "the names are alike, with a difference that matters",
        NameLikeness.ALIKE: "the names may be one misheard",
        NameLikeness.PART: "one name is part of the other",
        NameLikeness.VARIANT: "the names sound or are spelt alike",
        NameLikeness.SAME: "the same name",
    }[likeness]
    reasons = [names]
    if context.conflict:
        reasons.append(context.conflict)
    if context.shared:
        reasons.append("both with: " + ", ".join(context.shared[:5]))
    if context.together:
        reasons.append("spoken of in one turn under both names")
    return tuple(reasons)


def name_likeness(entity_type: EntityType, one: str, two: str) -> NameLikeness:
    """Return how similar two names of one entity type are."""
    a, b = parse_name(entity_type, one), parse_name(entity_type, two)
    if not a.words or not b.words or _numbers_in(a) != _numbers_in(b):
        return NameLikeness.OTHER
    if a.gender and b.gender and a.gender != b.gender:
        return NameLikeness.OTHER
    if a.generation and b.generation and a.generation != b.generation:
        return NameLikeness.OTHER
    likeness = _words_likeness(entity_type, a, b)
    if a.generation != b.generation:
        # Father and son share a name and most of their surroundings.
        return min(likeness, NameLikeness.DOUBTFUL)
    # "Kestrel App" may be another thing than "Kestrel", "Dr. Smith" someone else than "Smith".
    if a.loose != b.loose or (a.titled != b.titled and min(len(a.words), len(b.words)) == 1):
        return min(likeness, NameLikeness.PART)
    return likeness


def _numbers_in(name: ParsedName) -> frozenset[str]:
    """Return the spellings of a name's words that contain a digit: names with other numbers are others."""
    return frozenset(s for word in name.words for s in word if any(c.isdigit() for c in s))


def _words_likeness(entity_type: EntityType, a: ParsedName, b: ParsedName) -> NameLikeness:
    """Return how similar the words of two names are, without looking at titles and generations."""
    if entity_type is EntityType.PLACE:
        return _place_likeness(a, b)
    if _joined_spellings(a) & _joined_spellings(b):
        return NameLikeness.SAME
    if entity_type is EntityType.PERSON:
        return _person_likeness(a.words, b.words)
    if _is_acronym_of(a, b) or _is_acronym_of(b, a):
        return NameLikeness.PART
    likenesses = [word_likeness(x, y) for x, y in zip(a.words, b.words, strict=False)]
    if len(a.words) != len(b.words) or WordLikeness.OTHER in likenesses or WordLikeness.INITIAL in likenesses:
        return NameLikeness.OTHER
    return _combine_word_likeness(likenesses)


def _place_likeness(a: ParsedName, b: ParsedName) -> NameLikeness:
    """Return how similar two place names are; names with different regions are not similar."""
    if a.qualifier and b.qualifier and a.qualifier != b.qualifier:
        return NameLikeness.OTHER
    same_region = a.qualifier == b.qualifier
    if _joined_spellings(a) & _joined_spellings(b):
        return NameLikeness.SAME if same_region else NameLikeness.PART
    if _is_acronym_of(a, b) or _is_acronym_of(b, a):
        return NameLikeness.PART
    likenesses = [word_likeness(x, y) for x, y in zip(a.words, b.words, strict=False)]
    long_enough = min(len(min(_joined_spellings(n), key=len)) for n in (a, b)) >= _SHORTEST_PLACE
    alike = (
        len(a.words) == len(b.words)
        and all(t >= WordLikeness.VARIANT for t in likenesses)
        and likenesses.count(WordLikeness.VARIANT) == 1
    )
    return NameLikeness.VARIANT if alike and long_enough and same_region else NameLikeness.OTHER


def _person_likeness(a: tuple[WordSpellings, ...], b: tuple[WordSpellings, ...]) -> NameLikeness:
    """Return how similar two names of persons are: full names, first or last name alone, middle names."""
    if len(a) == len(b):
        # The same words in another order, as in "Smith, John".
        if len(a) > 1 and all(any(x & y for y in b) for x in a) and all(any(x & y for x in a) for y in b):
            return NameLikeness.VARIANT
        return _combine_word_likeness([word_likeness(x, y) for x, y in zip(a, b, strict=True)])
    short, long = sorted((a, b), key=len)
    if len(short) == 1:
        (only,) = short
        closest = max(word_likeness(only, long[0]), word_likeness(only, long[-1]))
        return {WordLikeness.EQUAL: NameLikeness.PART, WordLikeness.VARIANT: NameLikeness.DOUBTFUL}.get(
            closest, NameLikeness.OTHER
        )
    # With an extra middle name, the first and last names have to match.
    ends = [word_likeness(short[0], long[0]), word_likeness(short[-1], long[-1])]
    middle = all(any(word_likeness(x, y) > WordLikeness.OTHER for y in long[1:-1]) for x in short[1:-1])
    return min(_combine_word_likeness(ends), NameLikeness.VARIANT) if middle else NameLikeness.OTHER


def _combine_word_likeness(likenesses: list[WordLikeness]) -> NameLikeness:
    """Return the likeness of two names from that of their words: at most one may differ, slightly."""
    if WordLikeness.OTHER in likenesses:
        return NameLikeness.OTHER
    changed = [t for t in likenesses if t is not WordLikeness.EQUAL]
    if not changed:
        return NameLikeness.SAME
    if len(changed) > 1:
        return NameLikeness.DOUBTFUL if min(changed) is WordLikeness.VARIANT else NameLikeness.OTHER
    if changed == [WordLikeness.INITIAL]:
        return NameLikeness.PART if len(likenesses) > 1 else NameLikeness.OTHER
    return NameLikeness.ALIKE if changed == [WordLikeness.ALIKE] else NameLikeness.VARIANT


def _joined_spellings(name: ParsedName) -> frozenset[str]:
    """Return a name as one word, with the shortest spelling of every word and with the longest."""
    return frozenset(
        {"".join(min(w, key=length_key) for w in name.words), "".join(max(w, key=length_key) for w in name.words)}
    )


def _is_acronym_of(short: ParsedName, long: ParsedName) -> bool:
    """Say whether the first name is made of the second's initials, without its linking words."""
    if len(short.words) != 1:
        return False
    (only,) = short.words
    initials = "".join(min(word)[0] for word in long.words if not word & _LINKING_WORDS)
    return len(initials) >= _SHORTEST_ACRONYM and initials in only
