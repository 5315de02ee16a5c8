"""Are these two entities one? Clear cases merge by themselves, doubtful ones are suggested, the rest stay apart."""

from dataclasses import dataclass, field
from enum import IntEnum, StrEnum

from mnemon.memory.entities.names import Name, Word, parse
from mnemon.memory.entities.spelling import Tie, tie
from mnemon.memory.entities.surroundings import Comparison, Fit, Surroundings, compare
from mnemon.memory.fact import EntityType
from mnemon.memory.trust import Trust

_SHORTEST_ACRONYM = 3
_LINKING = frozenset({"of", "the", "and", "for", "in"})
_SHORTEST_PLACE = 7


class Likeness(IntEnum):
    """How alike two names are, whatever is known about their bearers."""

    OTHER = 0
    """Different names."""
    DOUBTFUL = 1
    """Alike, but a difference speaks against it that context alone does not remove: at most a suggestion."""
    ALIKE = 2
    """Could be one name misheard, could be two: always a suggestion, never more."""
    PART = 3
    """One is a part of the other: a first name, an initial, an acronym, a place without its region."""
    VARIANT = 4
    """One name in two spellings, by sound, by letters or as a short form."""
    SAME = 5
    """The same name but for accents, punctuation, titles and legal forms."""


class Verdict(StrEnum):
    MERGE = "merge"
    SUGGEST = "suggest"
    APART = "apart"


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """An entity as the rule sees it."""

    key: str
    type: EntityType
    label: str
    trust: Trust = Trust.PERSON
    """Of the most trusted source that speaks of it."""
    surroundings: Surroundings = field(default_factory=Surroundings)


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """What is to be done about two entities, and why."""

    verdict: Verdict
    likeness: Likeness
    fit: Fit
    score: float
    """0 to 1, for ordering suggestions; decides nothing."""
    reasons: tuple[str, ...]


def judge(one: Candidate, two: Candidate) -> Judgement:
    """Whether two entities are one; the same whichever comes first."""
    if one.type is not two.type:
        return _apart("different kinds of entity")
    first, second = sorted((one, two), key=lambda c: (c.key, c.label))
    likeness = name_likeness(one.type, first.label, second.label)
    if likeness is Likeness.OTHER:
        return _apart("different names")
    context = compare(
        first.surroundings,
        second.surroundings,
        labels=(first.label, second.label),
        keys=(first.key, second.key),
    )
    verdict = _verdict(likeness, context)
    return Judgement(
        verdict=verdict,
        likeness=likeness,
        fit=context.fit,
        score=round((likeness / 5 * 3 + max(context.fit, 0) / 2) / 4, 3),
        reasons=_reasons(likeness, context),
    )


def _apart(reason: str) -> Judgement:
    return Judgement(verdict=Verdict.APART, likeness=Likeness.OTHER, fit=Fit.NONE, score=0.0, reasons=(reason,))


def _verdict(likeness: Likeness, context: Comparison) -> Verdict:
    """The table: likeness of the names against the fit of what is known."""
    if context.fit is Fit.CONFLICT:
        # The same name twice with facts that clash may be one who changed, or two: a person has to say.
        return Verdict.SUGGEST if likeness is Likeness.SAME else Verdict.APART
    needed = {
        Likeness.SAME: Fit.NONE,
        Likeness.VARIANT: Fit.SHARED,
        Likeness.PART: Fit.STRONG,
    }.get(likeness)
    if needed is None or context.fit < needed or context.together:
        return Verdict.SUGGEST if likeness is not Likeness.DOUBTFUL or context.fit > Fit.NONE else Verdict.APART
    return Verdict.MERGE


def _reasons(likeness: Likeness, context: Comparison) -> tuple[str, ...]:
    names = {
        Likeness.DOUBTFUL: "the names are alike, with a difference that matters",
        Likeness.ALIKE: "the names may be one misheard",
        Likeness.PART: "one name is part of the other",
        Likeness.VARIANT: "the names sound or are spelt alike",
        Likeness.SAME: "the same name",
    }[likeness]
    reasons = [names]
    if context.conflict:
        reasons.append(context.conflict)
    if context.shared:
        reasons.append("both with: " + ", ".join(context.shared[:5]))
    if context.together:
        reasons.append("spoken of in one turn under both names")
    return tuple(reasons)


def name_likeness(entity_type: EntityType, one: str, two: str) -> Likeness:
    """How alike two labels of one entity type are."""
    a, b = parse(entity_type, one), parse(entity_type, two)
    if not a.words or not b.words or _numbers(a) != _numbers(b):
        return Likeness.OTHER
    if a.gender and b.gender and a.gender != b.gender:
        return Likeness.OTHER
    if a.generation and b.generation and a.generation != b.generation:
        return Likeness.OTHER
    likeness = _words_likeness(entity_type, a, b)
    if a.generation != b.generation:
        return min(likeness, Likeness.DOUBTFUL)  # father and son share a name and most of their surroundings
    if a.loose != b.loose or (a.titled != b.titled and min(len(a.words), len(b.words)) == 1):
        return min(likeness, Likeness.PART)
    return likeness


def _numbers(name: Name) -> frozenset[str]:
    return frozenset(s for word in name.words for s in word if any(c.isdigit() for c in s))


def _words_likeness(entity_type: EntityType, a: Name, b: Name) -> Likeness:
    if entity_type is EntityType.PLACE:
        return _place_likeness(a, b)
    if _joined(a) & _joined(b):
        return Likeness.SAME
    if entity_type is EntityType.PERSON:
        return _person_likeness(a.words, b.words)
    if _acronym(a, b) or _acronym(b, a):
        return Likeness.PART
    ties = [tie(x, y) for x, y in zip(a.words, b.words, strict=False)]
    if len(a.words) != len(b.words) or Tie.OTHER in ties or Tie.INITIAL in ties:
        return Likeness.OTHER
    return _from_ties(ties)


def _place_likeness(a: Name, b: Name) -> Likeness:
    if a.qualifier and b.qualifier and a.qualifier != b.qualifier:
        return Likeness.OTHER
    same_region = a.qualifier == b.qualifier
    if _joined(a) & _joined(b):
        return Likeness.SAME if same_region else Likeness.PART
    if _acronym(a, b) or _acronym(b, a):
        return Likeness.PART
    ties = [tie(x, y) for x, y in zip(a.words, b.words, strict=False)]
    long_enough = min(len(min(_joined(n), key=len)) for n in (a, b)) >= _SHORTEST_PLACE
    alike = len(a.words) == len(b.words) and all(t >= Tie.VARIANT for t in ties) and ties.count(Tie.VARIANT) == 1
    return Likeness.VARIANT if alike and long_enough and same_region else Likeness.OTHER


def _person_likeness(a: tuple[Word, ...], b: tuple[Word, ...]) -> Likeness:
    if len(a) == len(b):
        if len(a) > 1 and all(any(x & y for y in b) for x in a) and all(any(x & y for x in a) for y in b):
            return Likeness.VARIANT
        return _from_ties([tie(x, y) for x, y in zip(a, b, strict=True)])
    short, long = sorted((a, b), key=len)
    if len(short) == 1:
        (only,) = short
        closest = max(tie(only, long[0]), tie(only, long[-1]))
        return {Tie.EQUAL: Likeness.PART, Tie.VARIANT: Likeness.DOUBTFUL}.get(closest, Likeness.OTHER)
    # A middle name more: first and last have to carry it.
    ends = [tie(short[0], long[0]), tie(short[-1], long[-1])]
    middle = all(any(tie(x, y) > Tie.OTHER for y in long[1:-1]) for x in short[1:-1])
    return min(_from_ties(ends), Likeness.VARIANT) if middle else Likeness.OTHER


def _from_ties(ties: list[Tie]) -> Likeness:
    if Tie.OTHER in ties:
        return Likeness.OTHER
    changed = [t for t in ties if t is not Tie.EQUAL]
    if not changed:
        return Likeness.SAME
    if len(changed) > 1:
        return Likeness.DOUBTFUL if min(changed) is Tie.VARIANT else Likeness.OTHER
    if changed == [Tie.INITIAL]:
        return Likeness.PART if len(ties) > 1 else Likeness.OTHER
    return Likeness.ALIKE if changed == [Tie.ALIKE] else Likeness.VARIANT


def _joined(name: Name) -> frozenset[str]:
    """The name written as one word, each word in either of its spellings throughout."""
    return frozenset(
        {"".join(min(w, key=_length) for w in name.words), "".join(max(w, key=_length) for w in name.words)}
    )


def _acronym(short: Name, long: Name) -> bool:
    if len(short.words) != 1:
        return False
    (only,) = short.words
    initials = "".join(min(word)[0] for word in long.words if not word & _LINKING)
    return len(initials) >= _SHORTEST_ACRONYM and initials in only


def _length(spelling: str) -> tuple[int, str]:
    return len(spelling), spelling
