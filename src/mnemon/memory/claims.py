"""Claims: statements of a less trusted source that contradict a memory. They are shown after it, never in its place."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Protocol, TypeVar

from mnemon.memory.fact import Fact
from mnemon.memory.lifecycle import AGREED, OVERTAKEN, ArchiveReason, ArchiveStatus, has_same_words, may_revive
from mnemon.memory.memory import StoredMemory
from mnemon.memory.ranking import RankedItem
from mnemon.memory.slots import repeated_text
from mnemon.memory.trust import Trust, outranks, speaks_for_person, trust_rank


class Claimable(Protocol):
    """The fields of a memory that say whether it is a claim, and of what."""

    @property
    def id(self) -> str:
        """Return the memory's id."""

    @property
    def memory_key(self) -> str:
        """Return the key under which the memory is stored."""

    @property
    def claim_of(self) -> str | None:
        """Return the key of the memory that it contradicts; None if it is no claim."""

    @property
    def persona_id(self) -> str | None:
        """Return the only persona that sees the memory; None for all."""

    @property
    def trust(self) -> Trust:
        """Return how far the memory's source is trusted."""

    @property
    def updated_at(self) -> datetime:
        """Return when the memory was last said or changed."""


S = TypeVar("S", bound=Claimable)


@dataclass(frozen=True, kw_only=True)
class ClaimGroups:
    """The claims beside each memory."""

    claims: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Ids of claims by the id of the memory they contradict, best first.

    If that memory is not found, the best claim takes its place and the others follow that one.
    """
    unheld: frozenset[str] = frozenset()
    """Claims that are shown by themselves, because the memory they contradict is not found."""

    @property
    def follower_ids(self) -> frozenset[str]:
        """Return the ids of claims that are shown after the memory they contradict or not at all."""
        return frozenset(one for some in self.claims.values() for one in some)


@dataclass(frozen=True, kw_only=True)
class ShownClaims:
    """A ranking with the claims that are shown."""

    ranked: tuple[RankedItem, ...]
    contradicts: Mapping[str, str]
    """The id of the memory that each shown claim contradicts and follows, by the id of the claim."""
    further: Mapping[str, int]
    """How many claims beside a shown memory are not shown, if any."""


NO_CLAIMS = ClaimGroups()


def makes_claim(held: StoredMemory, fact: Fact, at: datetime) -> bool:
    """Say whether a fact must become a claim beside the memory under its key: that one is trusted more, or pinned.

    A withdrawn memory counts as never said, and an archived one may give way to the person.
    """
    if held.is_withdrawn:
        return False
    if outranks(held.trust, fact.effective_trust):
        return not _gives_way(held, fact, at)
    return is_kept_by_pin(held, fact, at)


def is_kept_by_pin(held: StoredMemory, fact: Fact, at: datetime) -> bool:
    """Say whether a fact only suggests another text for a memory, because somebody pinned that.

    Whoever is trusted more replaces it, and so does a statement that says itself whether it is pinned.
    """
    if not held.pinned or held.status is not ArchiveStatus.ACTIVE or fact.pinned is not None or held.claim_of:
        return False
    if outranks(fact.effective_trust, held.trust) or at < held.valid_from:
        return False
    return repeated_text(fact, held, held.content) is None


def _gives_way(held: StoredMemory, fact: Fact, at: datetime) -> bool:
    """Say whether a more trusted but archived memory may be replaced by what the person now says."""
    # Only the person's: a tool or document must not take the place of what an operator archived as wrong.
    if not speaks_for_person(fact.effective_trust) or held.archived_at is None or at < held.archived_at:
        return False
    # What was folded is still in use, as part of the fold.
    if held.archive_reason is None or held.archive_reason is ArchiveReason.FOLDED:
        return False
    # Trusted less, even an application that repeats what was archived as wrong does not undo that.
    return may_revive(held.archive_reason, same_words=has_same_words(fact.content, held.content), extracted=True)


def archive_overtaken(under_key: Iterable[StoredMemory], persona_id: str | None, at: datetime) -> list[StoredMemory]:
    """Return, as archived, the person's own claims under a key, which a later statement of theirs made the fact.

    They contradicted a memory whose place a later statement of the person has taken.
    """
    return [
        archive_claim(one, at, OVERTAKEN)
        for one in under_key
        if one.claim_of is not None
        and one.persona_id == persona_id
        and one.status is ArchiveStatus.ACTIVE
        and speaks_for_person(one.trust)
    ]


def archive_agreed(under_key: Iterable[StoredMemory], at: datetime) -> list[StoredMemory]:
    """Return, as archived, the claims under a key that now say the same as the memory they contradicted.

    They are statements that support the fact, so they stay on record for the case that its source is withdrawn.
    """
    active = [one for one in under_key if one.status is ArchiveStatus.ACTIVE]
    facts = {(one.persona_id, one.memory_key): one for one in active if one.claim_of is None}
    pairs = [(one, _find_contradicted(one, facts)) for one in active if one.claim_of is not None]
    return [
        archive_claim(claim, at, AGREED)
        for claim, fact in pairs
        if fact is not None and has_same_words(claim.content, fact.content)
    ]


def archive_claim(claim: StoredMemory, at: datetime, note: str) -> StoredMemory:
    """Return the claim as archived by a rule at this time, with a note that names the rule."""
    return claim.as_archived(ArchiveReason.OUTDATED, at, note=note)


def group_claims(held: Iterable[Claimable]) -> ClaimGroups:
    """Return which claims (less trusted statements) contradict which memory, the best of each first."""
    known = list(held)
    claims = [one for one in known if one.claim_of is not None]
    if not claims:
        return NO_CLAIMS
    wanted = {one.claim_of for one in claims}
    facts = {
        (one.persona_id, one.memory_key): one for one in known if one.claim_of is None and one.memory_key in wanted
    }
    groups: dict[str, list[Claimable]] = {}
    without: dict[str, list[Claimable]] = {}
    for claim in sort_by_trust(claims):
        fact = _find_contradicted(claim, facts)
        if fact is None:
            without.setdefault(str(claim.claim_of), []).append(claim)
        else:
            groups.setdefault(fact.id, []).append(claim)
    # The fact is archived or was not found: the best claim is shown like any other external memory.
    for first, *others in without.values():
        groups[first.id] = others
    return ClaimGroups(
        claims={leader: tuple(one.id for one in some) for leader, some in groups.items()},
        unheld=frozenset(some[0].id for some in without.values()),
    )


def sort_by_trust(claims: Iterable[S]) -> list[S]:
    """Return the claims sorted by trust, highest first, then by update, newest first."""
    return sorted(claims, key=lambda one: (-trust_rank(one.trust), -one.updated_at.timestamp(), one.id))


def _find_contradicted(claim: Claimable, facts: Mapping[tuple[str | None, str], S]) -> S | None:
    """Return the memory that a claim contradicts, the more trusted of two candidates first; None if none is stored."""
    # A memory private to the claim's own persona comes before one that all personas see.
    # dict.fromkeys removes the repetition if the claim is not private, and keeps the order.
    places = dict.fromkeys(((claim.persona_id, str(claim.claim_of)), (None, str(claim.claim_of))))
    held = [facts[place] for place in places if place in facts]
    # What the claim lost against comes first; without one, what is stored under the key.
    return next((one for one in held if outranks(one.trust, claim.trust)), held[0] if held else None)


def show_claims(ranked: Sequence[RankedItem], groups: ClaimGroups, *, limit: int, extra: int = 0) -> ShownClaims:
    """Return the ranking with up to one contradicting claim after each shown memory, within `limit` plus `extra`.

    Claims are not ranked: the other items are those that would be shown without them. `extra` places are for claims
    only.
    """
    followers = groups.follower_ids
    leaders = [one for one in ranked if one.id not in followers][:limit]
    # Claims never take a place from a memory.
    room = limit - len(leaders) + extra
    shown: list[RankedItem] = []
    contradicts: dict[str, str] = {}
    further: dict[str, int] = {}
    for one in leaders:
        shown.append(one)
        claims = groups.claims.get(one.id, ())
        first = claims[0] if claims and room > 0 and one.id not in groups.unheld else None
        if first is not None:
            room -= 1
            contradicts[first] = one.id
            # The claim takes the score of its memory: claims are not ranked themselves.
            shown.append(replace(one, id=first))
        if left := len(claims) - (first is not None):
            further[one.id] = left
    return ShownClaims(ranked=tuple(shown), contradicts=contradicts, further=further)
