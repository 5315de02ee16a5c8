"""Memories as a graph of entities, relations and observations, and back: the words of the reference `server-memory`.

An entity is whom memories speak of; an observation is one such memory; a relation is a memory of the fact type
`relationship`. What conversations taught us is therefore in the graph, and what is written into it is recalled.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mnemon.db.tx import Tx
from mnemon.memory.entities.overview import EntityOverview, overviews
from mnemon.memory.entities.store import load_aliases, spoken_of
from mnemon.memory.fact import Entity, EntityType, Fact, FactType, MemoryType
from mnemon.memory.keys import content_hash
from mnemon.memory.memory import Memory
from mnemon.memory.trust import Trust
from mnemon.scope import Scope

AGENT = "agent"
KIND = "entity type"
_IS = " is of type "
_ARROW = " → "
_TYPES = {
    EntityType.PERSON: {"person", "people", "user", "human", "contact", "friend", "colleague"},
    EntityType.PLACE: {"place", "location", "city", "country", "building"},
    EntityType.ORG: {"org", "organization", "organisation", "company", "team", "institution"},
}


@dataclass(frozen=True, kw_only=True)
class Node:
    """An entity of the graph."""

    name: str
    entity_type: str
    observations: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Edge:
    """A relation of the graph, in active voice."""

    source: str
    target: str
    relation_type: str


@dataclass(frozen=True, kw_only=True)
class Graph:
    """Entities, and the relations among them."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]

    def only(self, names: Iterable[str]) -> "Graph":
        """These entities, and the relations that touch one of them."""
        wanted = set(names)
        return Graph(
            nodes=tuple(node for node in self.nodes if node.name in wanted),
            edges=tuple(edge for edge in self.edges if edge.source in wanted or edge.target in wanted),
        )

    def matching(self, query: str) -> "Graph":
        """Entities whose name, type or an observation has the words."""
        words = query.casefold()
        found = [n.name for n in self.nodes if any(words in text.casefold() for text in _texts(n))]
        return self.only(found)


async def known(tx: Tx, scope: Scope) -> list[EntityOverview]:
    """Every entity that the person's memories speak of."""
    return overviews(await spoken_of(tx, scope), await load_aliases(tx, scope))


def drawn(entities: Sequence[EntityOverview]) -> Graph:
    """The graph of these entities."""
    nodes = tuple(
        Node(name=e.label, entity_type=_kind(e), observations=tuple(m.content for m in observations(e)))
        for e in entities
    )
    edges = {edge: None for entity in entities for memory in entity.memories if (edge := edge_of(memory)) is not None}
    return Graph(nodes=nodes, edges=tuple(edges))


def named(entities: Sequence[EntityOverview], name: str) -> EntityOverview | None:
    """The entity of that name."""
    return next((entity for entity in entities if entity.label == name), None)


def observations(entity: EntityOverview) -> list[Memory]:
    """The memories that are observations of the entity."""
    return [m for m in entity.memories if m.attribute != KIND and edge_of(m) is None]


def edge_of(memory: Memory) -> Edge | None:
    """The relation that the memory states; None where it states none in our form."""
    parts = memory.content.split(_ARROW)
    if memory.fact_type is not FactType.RELATIONSHIP or len(parts) != 3:
        return None
    return Edge(source=parts[0], relation_type=parts[1], target=parts[2])


def kind_fact(node: Node) -> Fact:
    """That there is this entity, of this type."""
    return _fact(_entity(node.name, node.entity_type), f"{node.name}{_IS}{node.entity_type}", KIND)


def observation_fact(entity: EntityOverview | Node, content: str) -> Fact:
    """An observation of the entity; each under a key of its own, so that none replaces another."""
    about = (
        _entity(entity.name, entity.entity_type)
        if isinstance(entity, Node)
        else Entity(type=entity.type, label=entity.label)
    )
    return _fact(about, content, f"observation {content_hash(content)[:12]}")


def relation_fact(source: EntityOverview, edge: Edge) -> Fact:
    """The relation, about the entity it starts from."""
    content = _ARROW.join((edge.source, edge.relation_type, edge.target))
    about = Entity(type=source.type, label=source.label)
    return _fact(about, content, f"{edge.relation_type} {edge.target}", FactType.RELATIONSHIP)


def _fact(about: Entity, content: str, attribute: str, fact_type: FactType = FactType.FACT) -> Fact:
    kind = MemoryType.PEOPLE if about.type is EntityType.PERSON else MemoryType.PROJECT
    return Fact(
        type=kind,
        content=content,
        entity=about,
        fact_type=fact_type,
        attribute=attribute,
        source=AGENT,
        trust=Trust.AGENT,
    )


def _entity(name: str, entity_type: str) -> Entity:
    word = entity_type.casefold()
    found = next((ours for ours, words in _TYPES.items() if word in words), EntityType.PROJECT)
    return Entity(type=found, label=name)


def _kind(entity: EntityOverview) -> str:
    stated = [m.content for m in entity.memories if m.attribute == KIND and _IS in m.content and m.claim_of is None]
    return stated[-1].split(_IS, 1)[1] if stated else str(entity.type)


def _texts(node: Node) -> tuple[str, ...]:
    return (node.name, node.entity_type, *node.observations)
