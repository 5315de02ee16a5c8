"""Entity cards: the three most trusted and weightiest facts about each entity that the found memories speak of."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from mnemon.memory.importance import SIGNIFICANT
from mnemon.memory.memory import StoredMemory
from mnemon.memory.trust import Trust, trust_rank

FACTS_PER_CARD = 3


class CardCandidate(Protocol):
    """What a card must know of a memory to choose it."""

    @property
    def id(self) -> str: ...
    @property
    def entity_refs(self) -> tuple[str, ...]: ...
    @property
    def entity_label(self) -> str | None: ...
    @property
    def pinned(self) -> bool: ...
    @property
    def importance(self) -> int: ...
    @property
    def created_at(self) -> datetime: ...
    @property
    def trust(self) -> Trust: ...
    @property
    def claim_of(self) -> str | None: ...


@dataclass(frozen=True, kw_only=True)
class CardSelection:
    """A card whose facts are chosen."""

    key: str
    label: str
    memory_ids: tuple[str, ...]

    def make_card(self, contents: Mapping[str, str]) -> "Card | None":
        """The card with what the memories say; None when none of them is there any more."""
        there = [one for one in self.memory_ids if one in contents]
        facts = tuple(contents[one] for one in there)
        return Card(key=self.key, label=self.label, facts=facts, memory_ids=tuple(there)) if there else None


@dataclass(frozen=True, kw_only=True)
class Card:
    """What matters most about one entity."""

    key: str
    label: str
    facts: tuple[str, ...]
    memory_ids: tuple[str, ...]
    """The memories the facts are from, in the same order."""

    @property
    def text(self) -> str:
        """`[person:john]: fact1; fact2; fact3`."""
        # A semicolon within a fact would read as the end of it, and what stands before it as a fact without a mark.
        return f"[{self.key}]: {'; '.join(fact.replace(';', ',') for fact in self.facts)}"


def entity_keys_of(found: Iterable[CardCandidate], resolve: Callable[[str], str]) -> list[str]:
    """The entity keys of the found memories, each once, in the order they first appear."""
    return list(dict.fromkeys(resolve(ref) for memory in found for ref in memory.entity_refs))


def entity_cards(keys: Sequence[str], known: Sequence[StoredMemory], resolve: Callable[[str], str]) -> list[Card]:
    """A card per key from the known memories that share it; a key without a weighty fact has no card."""
    contents = {one.id: one.line for one in known}
    picked = select_cards(keys, lambda key: [one for one in known if key in map(resolve, one.entity_refs)])
    return [card for pick in picked if (card := pick.make_card(contents)) is not None]


def select_cards(keys: Sequence[str], about: Callable[[str], Iterable[CardCandidate]]) -> list[CardSelection]:
    """The weightiest facts about each key, chosen from all that is known about it."""
    made = []
    for key in keys:
        weighty = [one for one in about(key) if is_card_worthy(one)]
        if weighty:
            weighty.sort(key=_card_order)
            top = tuple(one.id for one in weighty[:FACTS_PER_CARD])
            made.append(CardSelection(key=key, label=_entity_label(key, weighty), memory_ids=top))
    return made


def is_card_worthy(one: CardCandidate) -> bool:
    """Whether it may stand on a card; a claim never does."""
    return one.claim_of is None and (one.pinned or one.importance >= SIGNIFICANT)


def _card_order(one: CardCandidate) -> tuple[int, bool, int, float, str]:
    """What comes first on a card: the more trusted, so that no weighty external fact displaces the person's."""
    return -trust_rank(one.trust), not one.pinned, -one.importance, -one.created_at.timestamp(), one.id


def _entity_label(key: str, about: Sequence[CardCandidate]) -> str:
    """The label of a memory whose primary entity it is, else the key's slug in words."""
    for memory in about:
        if memory.entity_label and memory.entity_refs[:1] == (key,):
            return memory.entity_label
    for memory in about:
        if memory.entity_label and len(memory.entity_refs) == 1:
            return memory.entity_label
    return key.partition(":")[2].replace("_", " ")
