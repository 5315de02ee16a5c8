"""Entity cards: for each entity that found memories mention, its three most trusted and important facts."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from mnemon.memory.importance import SIGNIFICANT
from mnemon.memory.memory import StoredMemory
from mnemon.memory.trust import Trust, trust_rank

FACTS_PER_CARD = 3
"""The most facts on a card."""


class CardCandidate(Protocol):
    """What the choice of a card's facts needs to know about a memory."""

    @property
    def id(self) -> str:
        """Return the memory's id."""

    @property
    def entity_refs(self) -> tuple[str, ...]:
        """Return the keys of the entities that the memory mentions."""

    @property
    def entity_label(self) -> str | None:
        """Return the name of the memory's primary entity; None if it has none."""

    @property
    def pinned(self) -> bool:
        """Return whether the memory is pinned."""

    @property
    def importance(self) -> int:
        """Return the memory's importance, 0 to 3."""

    @property
    def created_at(self) -> datetime:
        """Return when the memory was first said."""

    @property
    def trust(self) -> Trust:
        """Return how far the memory's source is trusted."""

    @property
    def claim_of(self) -> str | None:
        """Return the key of the memory that it contradicts; None if it is no claim."""


@dataclass(frozen=True, kw_only=True)
class CardSelection:
    """A card whose facts are chosen but not yet read."""

    key: str
    label: str
    memory_ids: tuple[str, ...]

    def make_card(self, contents: Mapping[str, str]) -> "Card | None":
        """Return the entity's card with the memories' texts; None if none of the memories exists any more."""
        present = [one for one in self.memory_ids if one in contents]
        facts = tuple(contents[one] for one in present)
        return Card(key=self.key, label=self.label, facts=facts, memory_ids=tuple(present)) if present else None


@dataclass(frozen=True, kw_only=True)
class Card:
    """The most important facts about one entity."""

    key: str
    label: str
    facts: tuple[str, ...]
    memory_ids: tuple[str, ...]
    """The memories that the facts are from, in the same order."""

    @property
    def text(self) -> str:
        """Return the entity's card as one line: `[person:john]: fact1; fact2; fact3`."""
        # A semicolon in a fact would look like its end, and the rest like another fact without its own source mark.
        return f"[{self.key}]: {'; '.join(fact.replace(';', ',') for fact in self.facts)}"


def entity_keys_of(found: Iterable[CardCandidate], resolve: Callable[[str], str]) -> list[str]:
    """Return the entity keys of the found memories, without repetitions, in the order of first appearance."""
    return list(dict.fromkeys(resolve(ref) for memory in found for ref in memory.entity_refs))


def entity_cards(keys: Sequence[str], known: Sequence[StoredMemory], resolve: Callable[[str], str]) -> list[Card]:
    """Return a card for each entity key from the memories that mention it; none without an important fact."""
    contents = {one.id: one.line for one in known}
    picked = select_cards(keys, lambda key: [one for one in known if key in map(resolve, one.entity_refs)])
    return [card for pick in picked if (card := pick.make_card(contents)) is not None]


def select_cards(keys: Sequence[str], about: Callable[[str], Iterable[CardCandidate]]) -> list[CardSelection]:
    """Return for each entity key which memories go on its card, without reading their texts."""
    selections = []
    for key in keys:
        worthy = [one for one in about(key) if is_card_worthy(one)]
        if worthy:
            worthy.sort(key=_card_order)
            top = tuple(one.id for one in worthy[:FACTS_PER_CARD])
            selections.append(CardSelection(key=key, label=_entity_label(key, worthy), memory_ids=top))
    return selections


def is_card_worthy(one: CardCandidate) -> bool:
    """Say whether a memory may be on an entity's card: pinned or important, and not a claim."""
    # A claim may be shown only directly after what it contradicts, which a card cannot do.
    return one.claim_of is None and (one.pinned or one.importance >= SIGNIFICANT)


def _card_order(one: CardCandidate) -> tuple[int, bool, int, float, str]:
    """Return the key that sorts a memory on an entity's card: most trusted first, then by pin, importance and age."""
    return -trust_rank(one.trust), not one.pinned, -one.importance, -one.created_at.timestamp(), one.id


def _entity_label(key: str, about: Sequence[CardCandidate]) -> str:
    """Return an entity's name from a memory whose primary entity it is, else the key's slug as words."""
    for memory in about:
        if memory.entity_label and memory.entity_refs[:1] == (key,):
            return memory.entity_label
    for memory in about:
        if memory.entity_label and len(memory.entity_refs) == 1:
            return memory.entity_label
    return key.partition(":")[2].replace("_", " ")
