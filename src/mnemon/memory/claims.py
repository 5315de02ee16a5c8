"""Which claims stand beside which memory, and where they are shown: after what they contradict, never in its place."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Protocol, TypeVar

from mnemon.memory.ranking import RankedItem
from mnemon.memory.trust import Trust, outranks, trust_rank


class Claimable(Protocol):
    """What of a memory tells whether it is a claim, and of what."""

    @property
    def id(self) -> str: ...
    @property
    def memory_key(self) -> str: ...
    @property
    def claim_of(self) -> str | None: ...
    @property
    def persona_id(self) -> str | None: ...
    @property
    def trust(self) -> Trust: ...
    @property
    def updated_at(self) -> datetime: ...


S = TypeVar("S", bound=Claimable)


@dataclass(frozen=True, kw_only=True)
class ClaimGroups:
    """The claims beside each memory."""

    claims: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Ids of claims by the id of the memory they contradict, best first. Where that memory is not held, the best claim
    stands for itself and the others stand beside it."""
    unheld: frozenset[str] = frozenset()
    """Claims that stand for themselves, because what they contradict is not held."""

    @property
    def follower_ids(self) -> frozenset[str]:
        """Ids of the claims that are shown after another memory, or not at all."""
        return frozenset(one for some in self.claims.values() for one in some)


@dataclass(frozen=True, kw_only=True)
class ShownClaims:
    """A ranking together with the claims that are shown."""

    ranked: tuple[RankedItem, ...]
    beside: Mapping[str, str]
    """Id of each shown claim to the id of the memory before it."""
    further: Mapping[str, int]
    """How many claims beside a shown memory are not shown, where there are any."""


NO_CLAIMS = ClaimGroups()


def group_claims(held: Iterable[Claimable]) -> ClaimGroups:
    """Find what each claim contradicts among what is held: what is said to its own persona first, then to everyone."""
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
    for first, *others in without.values():
        groups[first.id] = others
    return ClaimGroups(
        claims={leader: tuple(one.id for one in some) for leader, some in groups.items()},
        unheld=frozenset(some[0].id for some in without.values()),
    )


def sort_by_trust(claims: Iterable[S]) -> list[S]:
    """Sort by the highest trust, then the newest."""
    return sorted(claims, key=lambda one: (-trust_rank(one.trust), -one.updated_at.timestamp(), one.id))


def _find_contradicted(claim: Claimable, facts: Mapping[tuple[str | None, str], Claimable]) -> Claimable | None:
    places = dict.fromkeys(((claim.persona_id, str(claim.claim_of)), (None, str(claim.claim_of))))
    held = [facts[place] for place in places if place in facts]
    return next((one for one in held if outranks(one.trust, claim.trust)), held[0] if held else None)


def show_claims(ranked: Sequence[RankedItem], beside: ClaimGroups, *, limit: int, extra: int = 0) -> ShownClaims:
    """Show at most one claim directly after each memory that is shown, in the places the memories leave.

    Claims are not ranked: what is shown besides them is what would be shown without them. `extra` places are for
    claims alone.
    """
    followers = beside.follower_ids
    leading = [one for one in ranked if one.id not in followers][:limit]
    room = limit - len(leading) + extra
    shown: list[RankedItem] = []
    of: dict[str, str] = {}
    further: dict[str, int] = {}
    for one in leading:
        shown.append(one)
        claims = beside.claims.get(one.id, ())
        first = claims[0] if claims and room > 0 and one.id not in beside.unheld else None
        if first is not None:
            room -= 1
            of[first] = one.id
            shown.append(replace(one, id=first))
        if left := len(claims) - (first is not None):
            further[one.id] = left
    return ShownClaims(ranked=tuple(shown), beside=of, further=further)
