"""Entity cards: the three weightiest facts about each entity that the found memories speak of."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from mnemon.memory.importance import SIGNIFICANT
from mnemon.memory.memory import Memory

FACTS_PER_CARD = 3


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
        return f"[{self.key}]: {'; '.join(self.facts)}"


def keys_of(found: Iterable[Memory], resolve: Callable[[str], str]) -> list[str]:
    """The entity keys of the found memories, each once, in the order they first appear."""
    return list(dict.fromkeys(resolve(ref) for memory in found for ref in memory.entity_refs))


def entity_cards(keys: Sequence[str], known: Iterable[Memory], resolve: Callable[[str], str]) -> list[Card]:
    """A card per key from the known memories that share it; a key without a weighty fact has no card."""
    weighty = [memory for memory in known if memory.pinned or memory.importance >= SIGNIFICANT]
    weighty.sort(key=lambda one: (-one.pinned, -one.importance, -one.created_at.timestamp(), one.id))
    cards = []
    for key in keys:
        about = [memory for memory in weighty if key in map(resolve, memory.entity_refs)]
        if about:
            cards.append(_card(key, about))
    return cards


def _card(key: str, about: Sequence[Memory]) -> Card:
    top = about[:FACTS_PER_CARD]
    return Card(
        key=key,
        label=_label(key, about),
        facts=tuple(memory.content for memory in top),
        memory_ids=tuple(memory.id for memory in top),
    )


def _label(key: str, about: Sequence[Memory]) -> str:
    """The label of a memory whose primary entity it is, else the key's slug in words."""
    for memory in about:
        if memory.entity_label and memory.entity_refs[:1] == (key,):
            return memory.entity_label
    for memory in about:
        if memory.entity_label and len(memory.entity_refs) == 1:
            return memory.entity_label
    return key.partition(":")[2].replace("_", " ")
