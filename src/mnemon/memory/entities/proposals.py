"""Compare all entities of a person: which pairs are merged automatically and which are suggested."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from mnemon.memory.entities.matching import EntityCandidate, NameLikeness, PairJudgement, PairVerdict, judge_pair
from mnemon.memory.entities.names import parse_name
from mnemon.memory.entities.spelling import lookup_codes
from mnemon.memory.fact import EntityType

_LARGEST_BLOCK = 200
"""A code that more entities than this share is not distinctive and is not compared."""


@dataclass(frozen=True, kw_only=True)
class MergeProposal:
    """Two entities that may be one."""

    source: str
    """The key that would become an alias."""
    into: str
    """The key that would remain: the fuller name, then the more mentioned, then the first in alphabetical order."""
    judgement: PairJudgement


def propose_merges(
    candidates: Sequence[EntityCandidate], kept_apart: frozenset[frozenset[str]] = frozenset()
) -> list[MergeProposal]:
    """Return which entities to merge and which merges to suggest, best first, without pairs a person split.

    A merge is clear only if nothing else could be meant: if one of the two could also be a third entity that the other
    certainly is not, it is a suggestion.
    """
    judged = _judge_all(candidates)
    by_key = {candidate.key: candidate for candidate in candidates}
    neighbours: dict[str, set[str]] = defaultdict(set)
    for pair, judgement in judged.items():
        if judgement.likeness > NameLikeness.DOUBTFUL and judgement.verdict is not PairVerdict.APART:
            for key in pair:
                neighbours[key] |= pair - {key}

    # "Anna" may be Anna Smith or Anna Jones, who are certainly two: then neither merge is clear.
    def is_ambiguous(one: str, two: str) -> bool:
        """Say whether one of the two could also be a third entity that the other is not."""
        return any(
            judge_pair(by_key[other], by_key[third]).verdict is PairVerdict.APART
            for own, other in ((one, two), (two, one))
            for third in neighbours[own] - {other}
        )

    proposals = [
        _build_proposal(by_key, pair, judgement, is_ambiguous)
        for pair, judgement in judged.items()
        if judgement.verdict is not PairVerdict.APART and pair not in kept_apart
    ]
    return sorted(proposals, key=lambda one: (-one.judgement.score, one.source, one.into))


def _build_proposal(
    by_key: dict[str, EntityCandidate],
    pair: frozenset[str],
    judgement: PairJudgement,
    ambiguous: Callable[[str, str], bool],
) -> MergeProposal:
    """Return the proposal to merge a pair of entities, only suggested where that is ambiguous or mixes trust."""
    into, source = sorted(pair, key=lambda key: _precedence_key(by_key[key]))
    if judgement.verdict is PairVerdict.MERGE and ambiguous(source, into):
        judgement = _demote_to_suggestion(judgement, "could also be another entity")
    # A name used by a less trusted source must not be merged automatically with an entity of the person's.
    if judgement.verdict is PairVerdict.MERGE and by_key[source].trust is not by_key[into].trust:
        judgement = _demote_to_suggestion(judgement, "one of the two is known from a less trusted source alone")
    return MergeProposal(source=source, into=into, judgement=judgement)


def _demote_to_suggestion(judgement: PairJudgement, reason: str) -> PairJudgement:
    """Return the judgement as a suggestion, with one more reason."""
    return replace(judgement, verdict=PairVerdict.SUGGEST, reasons=(*judgement.reasons, reason))


def _precedence_key(candidate: EntityCandidate) -> tuple[int, int, str]:
    """Return the key that sorts which of two entity keys a merge keeps: longest name, most facts, alphabetical."""
    name = parse_name(candidate.type, candidate.label)
    return (-len(name.words) - len(name.qualifier), -len(candidate.surroundings.facts), candidate.key)


def _judge_all(candidates: Sequence[EntityCandidate]) -> dict[frozenset[str], PairJudgement]:
    """Return the judgement of every pair of entities that could be one."""
    judged: dict[frozenset[str], PairJudgement] = {}
    for one, two in _candidate_pairs(candidates):
        pair = frozenset({one.key, two.key})
        if len(pair) > 1 and pair not in judged:
            judged[pair] = judge_pair(one, two)
    return judged


def _candidate_pairs(candidates: Sequence[EntityCandidate]) -> Iterator[tuple[EntityCandidate, EntityCandidate]]:
    """Yield every pair of entities that could be one: two names that share a code.

    Comparing only within such blocks avoids comparing every entity with every other.
    """
    blocks: dict[tuple[EntityType, str], list[EntityCandidate]] = defaultdict(list)
    for candidate in sorted(candidates, key=lambda one: one.key):
        for code in _blocking_codes(candidate):
            blocks[candidate.type, code].append(candidate)
    for (_, code), group in blocks.items():
        # The letter of an initial: only names with an initial are compared by it.
        if code.endswith("."):
            short = [one for one in group if _has_initial(one)]
            yield from ((one, two) for one in short[:_LARGEST_BLOCK] for two in group)
        elif len(group) <= _LARGEST_BLOCK:
            yield from combinations(group, 2)


def _has_initial(candidate: EntityCandidate) -> bool:
    """Say whether the entity's name has a word of one letter."""
    return any(len(min(word)) == 1 for word in parse_name(candidate.type, candidate.label).words)


def _blocking_codes(candidate: EntityCandidate) -> frozenset[str]:
    """Return the codes of an entity's name; only entities that share one are compared."""
    name = parse_name(candidate.type, candidate.label)
    codes = {code for word in name.words for code in lookup_codes(word)}
    joined = "".join(min(word) for word in name.words)
    initials = "".join(min(word)[0] for word in name.words)
    linked = "".join(min(w)[0] for w in name.words if not w & {"of", "the", "and", "for", "in"})
    return frozenset(codes | {f"={joined[:4]}", f"@{initials}", f"@{linked}", f"@{joined[:5]}"})
