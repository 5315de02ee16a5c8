"""The entities in a person's memories as a list, a page and a graph show them. Pure functions over what was read."""

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
    """One entity, with aliases resolved."""

    key: str
    type: EntityType
    label: str
    aliases: tuple[str, ...]
    """Other stored keys that are resolved to this one."""
    memories: tuple[StoredMemory, ...]
    """The memories that mention it, oldest first."""
    mentions: int
    last_mentioned_at: datetime

    @property
    def card(self) -> Card:
        """Return the entity's card; without an important fact, a card with no facts."""
        keys = {self.key, *self.aliases}
        cards = entity_cards([self.key], self.memories, lambda key: self.key if key in keys else key)
        facts, ids = (cards[0].facts, cards[0].memory_ids) if cards else ((), ())
        return Card(key=self.key, label=self.label, facts=facts, memory_ids=ids)


@dataclass(frozen=True, kw_only=True)
class CoMention:
    """Two entities that are mentioned together."""

    one: str
    two: str
    weight: int
    """The number of memories and of turns that mention both."""


def entity_overviews(mentions: Sequence[EntityMention], aliases: Aliases) -> list[EntityOverview]:
    """Return every entity that the person's memories mention, by key, with those memories."""
    about: dict[str, list[StoredMemory]] = defaultdict(list)
    for one in mentions:
        for root in dict.fromkeys(map(aliases.resolve, one.memory.entity_refs)):
            about[root].append(one.memory)
    return [_build_overview(key, memories, aliases) for key, memories in sorted(about.items())]


def _build_overview(key: str, memories: list[StoredMemory], aliases: Aliases) -> EntityOverview:
    """Return one entity with its label, aliases, memories and the time of its last mention."""
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
    """Return an entity's type by its key, else by its latest memory."""
    kind = split_key(key)[0]
    return EntityType(kind) if kind in set(EntityType) else memories[-1].entity_type


def _label_of(key: str, memories: Sequence[StoredMemory], aliases: Aliases) -> str:
    """Return an entity's name by the latest memory under its key, else under an alias, else the key as words.

    Only the most trusted memories count.
    """
    # A less trusted source must not choose the name under which the person sees an entity.
    top = highest_trust([m.trust for m in memories])
    memories = [m for m in memories if m.trust is top]
    own = [label for m in memories if (label := m.label_of(key))]
    other = [m.entity_label for m in memories if m.entity_label and aliases.resolve(m.entity_refs[0]) == key]
    return (own or other or [split_key(key)[1].replace("_", " ")])[-1]


def match_candidates(mentions: Sequence[EntityMention]) -> list[EntityCandidate]:
    """Return every stored entity key with what is known about it, as candidates for matching."""
    about: dict[str, list[EntityMention]] = defaultdict(list)
    for one in mentions:
        for ref in one.memory.entity_refs:
            about[ref].append(one)
    # Matching compares stored keys, also those that are merged already.
    no_aliases = Aliases()
    return [
        EntityCandidate(
            key=key,
            type=_type_of(key, [one.memory for one in about_key]),
            label=_label_of(key, [one.memory for one in about_key], no_aliases),
            trust=highest_trust([one.memory.trust for one in about_key]),
            surroundings=Surroundings(
                facts=tuple(
                    EntityFact(content=one.memory.content, attribute=one.memory.attribute) for one in about_key
                ),
                companions=frozenset(ref for one in about_key for ref in one.memory.entity_refs) - {key},
                turns=frozenset(turn for one in about_key for turn in one.turns),
            ),
        )
        for key, about_key in sorted(about.items())
    ]


def co_mentions(mentions: Sequence[EntityMention], aliases: Aliases) -> list[CoMention]:
    """Return pairs of entities that one memory or one turn mentions, most frequent first."""
    # Labels by their first word: each memory's words are looked up once, instead of every label in it.
    named: dict[str, list[tuple[tuple[str, ...], str]]] = defaultdict(list)
    for one in entity_overviews(mentions, aliases):
        label = plain_words(one.label)
        if label:
            named[label[0]].append((label, one.key))
    weights: Counter[tuple[str, str]] = Counter()
    by_turn: dict[str, set[str]] = defaultdict(set)
    for mention in mentions:
        own = set(map(aliases.resolve, mention.memory.entity_refs))
        weights.update(combinations(sorted(own | _keys_named_in(plain_words(mention.memory.content), named)), 2))
        for turn in mention.turns:
            by_turn[turn] |= own
    for keys in by_turn.values():
        weights.update(combinations(sorted(keys), 2))
    found = [CoMention(one=one, two=two, weight=weight) for (one, two), weight in weights.items()]
    return sorted(found, key=lambda tie: (-tie.weight, tie.one, tie.two))


def _keys_named_in(words: Sequence[str], named: Mapping[str, list[tuple[tuple[str, ...], str]]]) -> set[str]:
    """Return the entity keys whose label is among the words; `named` has the labels by their first word."""
    return {
        key
        for position, word in enumerate(words)
        for label, key in named.get(word, ())
        if tuple(words[position : position + len(label)]) == label
    }
