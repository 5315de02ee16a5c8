"""The entities that a person's memories speak of: what a list, a page and a graph show. Pure, over what was read."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations

from mnemon.memory.cards import Card, entity_cards
from mnemon.memory.entities.aliases import Aliases
from mnemon.memory.entities.matching import EntityCandidate
from mnemon.memory.entities.names import plain_words
from mnemon.memory.entities.store import EntityMention
from mnemon.memory.entities.surroundings import EntityFact, Surroundings
from mnemon.memory.fact import EntityType
from mnemon.memory.keys import split_key
from mnemon.memory.memory import StoredMemory
from mnemon.memory.trust import highest_trust


@dataclass(frozen=True, kw_only=True)
class EntityOverview:
    """One entity, aliases resolved."""

    key: str
    type: EntityType
    label: str
    aliases: tuple[str, ...]
    """Other stored keys that read as this one."""
    memories: tuple[StoredMemory, ...]
    """What is known about it, oldest first."""
    mentions: int
    last_mentioned_at: datetime

    @property
    def card(self) -> Card:
        """Its card; without a weighty fact one with no facts."""
        keys = {self.key, *self.aliases}
        made = entity_cards([self.key], self.memories, lambda key: self.key if key in keys else key)
        facts, ids = (made[0].facts, made[0].memory_ids) if made else ((), ())
        return Card(key=self.key, label=self.label, facts=facts, memory_ids=ids)


@dataclass(frozen=True, kw_only=True)
class CoMention:
    """Two entities that memories bring together."""

    one: str
    two: str
    weight: int
    """Memories that name both, and turns that speak of both."""


def entity_overviews(spoken: Sequence[EntityMention], aliases: Aliases) -> list[EntityOverview]:
    """Every entity that is spoken of, by key."""
    about: dict[str, list[StoredMemory]] = defaultdict(list)
    for one in spoken:
        for root in dict.fromkeys(map(aliases.resolve, one.memory.entity_refs)):
            about[root].append(one.memory)
    return [_build_overview(key, memories, aliases) for key, memories in sorted(about.items())]


def _build_overview(key: str, memories: list[StoredMemory], aliases: Aliases) -> EntityOverview:
    return EntityOverview(
        key=key,
        type=_type_of(key, memories),
        label=_label_of(key, memories, aliases),
        aliases=aliases.member_keys(key)[1:],
        memories=tuple(memories),
        mentions=sum(memory.mentions for memory in memories),
        last_mentioned_at=max(memory.updated_at for memory in memories),
    )


def _type_of(key: str, memories: Sequence[StoredMemory]) -> EntityType:
    kind = split_key(key)[0]
    return EntityType(kind) if kind in set(EntityType) else memories[-1].entity_type


def _label_of(key: str, memories: Sequence[StoredMemory], aliases: Aliases) -> str:
    """As the latest memory under the key itself writes it, else as one under an alias does, else the key in words.

    Only the most trusted ones have a say.
    """
    top = highest_trust([m.trust for m in memories])
    memories = [m for m in memories if m.trust is top]
    own = [m.entity_label for m in memories if m.entity_label and m.entity_refs[0] == key]
    other = [m.entity_label for m in memories if m.entity_label and aliases.resolve(m.entity_refs[0]) == key]
    return (own or other or [split_key(key)[1].replace("_", " ")])[-1]


def match_candidates(spoken: Sequence[EntityMention]) -> list[EntityCandidate]:
    """Every stored key with what is known about it, for the matching."""
    about: dict[str, list[EntityMention]] = defaultdict(list)
    for one in spoken:
        for ref in one.memory.entity_refs:
            about[ref].append(one)
    nobody = Aliases()
    return [
        EntityCandidate(
            key=key,
            type=_type_of(key, [one.memory for one in said]),
            label=_label_of(key, [one.memory for one in said], nobody),
            trust=highest_trust([one.memory.trust for one in said]),
            surroundings=Surroundings(
                facts=tuple(EntityFact(content=one.memory.content, attribute=one.memory.attribute) for one in said),
                companions=frozenset(ref for one in said for ref in one.memory.entity_refs) - {key},
                turns=frozenset(turn for one in said for turn in one.turns),
            ),
        )
        for key, said in sorted(about.items())
    ]


def co_mentions(spoken: Sequence[EntityMention], aliases: Aliases) -> list[CoMention]:
    """What belongs together: entities that one memory names, or one turn speaks of; heaviest first."""
    named: dict[str, list[tuple[tuple[str, ...], str]]] = defaultdict(list)
    for one in entity_overviews(spoken, aliases):
        label = plain_words(one.label)
        if label:
            named[label[0]].append((label, one.key))
    weights: Counter[tuple[str, str]] = Counter()
    by_turn: dict[str, set[str]] = defaultdict(set)
    for said in spoken:
        own = set(map(aliases.resolve, said.memory.entity_refs))
        weights.update(combinations(sorted(own | _keys_named_in(plain_words(said.memory.content), named)), 2))
        for turn in said.turns:
            by_turn[turn] |= own
    for together in by_turn.values():
        weights.update(combinations(sorted(together), 2))
    found = [CoMention(one=one, two=two, weight=weight) for (one, two), weight in weights.items()]
    return sorted(found, key=lambda tie: (-tie.weight, tie.one, tie.two))


def _keys_named_in(words: Sequence[str], named: Mapping[str, list[tuple[tuple[str, ...], str]]]) -> set[str]:
    """The keys whose label stands among the words, looked up by its first."""
    return {
        key
        for place, word in enumerate(words)
        for label, key in named.get(word, ())
        if tuple(words[place : place + len(label)]) == label
    }
