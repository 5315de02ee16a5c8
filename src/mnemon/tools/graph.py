"""Memories as a graph of entities, relations and observations, and back, in the terms of the reference `server-memory`.

An entity is what memories are about; an observation is one such memory; a relation is a memory of the fact type
`relationship`. So what conversations taught is in the graph, and what is written into the graph is recalled.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mnemon.db.tx import Tx
from mnemon.memory.entities.overview import EntityOverview, entity_overviews
from mnemon.memory.entities.store import list_mentions, load_aliases
from mnemon.memory.fact import EntityType, Fact, FactEntity, FactType, MemoryType
from mnemon.memory.keys import content_hash
from mnemon.memory.memory import StoredMemory
from mnemon.memory.trust import Trust
from mnemon.scope import Scope

AGENT_SOURCE = "agent"
TYPE_ATTRIBUTE = "entity type"
_TYPE_PHRASE = " is of type "
_ARROW = " → "
_TYPE_WORDS = {
    EntityType.PERSON: {"person", "people", "user", "human", "contact", "friend", "colleague"},
    EntityType.PLACE: {"place", "location", "city", "country", "building"},
    EntityType.ORG: {"org", "organization", "organisation", "company", "team", "institution"},
}


@dataclass(frozen=True, kw_only=True)
class GraphNode:
    """An entity of the graph."""

    name: str
    entity_type: str
    observations: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class GraphEdge:
    """A relation of the graph, in active voice."""

    source: str
    target: str
    relation_type: str


@dataclass(frozen=True, kw_only=True)
class KnowledgeGraph:
    """Entities and the relations among them."""

    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]

    def subgraph_of(self, names: Iterable[str]) -> "KnowledgeGraph":
        """Return the graph of these entities and the relations that touch one of them."""
        wanted = set(names)
        return KnowledgeGraph(
            nodes=tuple(node for node in self.nodes if node.name in wanted),
            edges=tuple(edge for edge in self.edges if edge.source in wanted or edge.target in wanted),
        )

    def search_nodes(self, query: str) -> "KnowledgeGraph":
        """Return the entities whose name, type or observation contains the query, with their relations."""
        words = query.casefold()
        found = [n.name for n in self.nodes if any(words in text.casefold() for text in _node_texts(n))]
        return self.subgraph_of(found)


async def load_entities(tx: Tx, scope: Scope) -> list[EntityOverview]:
    """Return every entity that the person's memories mention, with those memories."""
    return entity_overviews(await list_mentions(tx, scope), await load_aliases(tx, scope))


def build_graph(entities: Sequence[EntityOverview]) -> KnowledgeGraph:
    """Return the graph of these entities: a node each, and the relations that their memories state."""
    nodes = tuple(
        GraphNode(
            name=e.label, entity_type=_stated_type(e), observations=tuple(m.content for m in entity_observations(e))
        )
        for e in entities
    )
    # A dict, to drop duplicates and keep the order.
    edges = {edge: None for entity in entities for memory in entity.memories if (edge := edge_of(memory)) is not None}
    return KnowledgeGraph(nodes=nodes, edges=tuple(edges))


def find_entity(entities: Sequence[EntityOverview], name: str) -> EntityOverview | None:
    """Return the entity with exactly this name; None if there is none."""
    return next((entity for entity in entities if entity.label == name), None)


def entity_observations(entity: EntityOverview) -> list[StoredMemory]:
    """Return the memories of an entity that are neither its type nor a relation."""
    return [m for m in entity.memories if m.attribute != TYPE_ATTRIBUTE and edge_of(m) is None]


def edge_of(memory: StoredMemory) -> GraphEdge | None:
    """Return the relation that the memory states; None where it is not written as `source → relation → target`."""
    parts = memory.content.split(_ARROW)
    if memory.fact_type is not FactType.RELATIONSHIP or len(parts) != 3:
        return None
    return GraphEdge(source=parts[0], relation_type=parts[1], target=parts[2])


def type_fact(node: GraphNode) -> Fact:
    """Return the fact to be remembered that this entity exists and has this type."""
    return _agent_fact(
        _make_entity(node.name, node.entity_type), f"{node.name}{_TYPE_PHRASE}{node.entity_type}", TYPE_ATTRIBUTE
    )


def observation_fact(entity: EntityOverview | GraphNode, content: str) -> Fact:
    """Return an observation of the entity as a fact, with a key of its own, so that none replaces another."""
    # A node that is being created is in no memory yet, so its type is derived from the caller's word.
    about = (
        _make_entity(entity.name, entity.entity_type)
        if isinstance(entity, GraphNode)
        else FactEntity(type=entity.type, label=entity.label)
    )
    return _agent_fact(about, content, f"observation {content_hash(content)[:12]}")


def relation_fact(source: EntityOverview, edge: GraphEdge) -> Fact:
    """Return the relation as a fact to be remembered about the entity it starts from."""
    content = _ARROW.join((edge.source, edge.relation_type, edge.target))
    about = FactEntity(type=source.type, label=source.label)
    return _agent_fact(about, content, f"{edge.relation_type} {edge.target}", FactType.RELATIONSHIP)


def _agent_fact(about: FactEntity, content: str, attribute: str, fact_type: FactType = FactType.FACT) -> Fact:
    """Return a fact that an agent states about an entity, with an agent's trust."""
    kind = MemoryType.PEOPLE if about.type is EntityType.PERSON else MemoryType.PROJECT
    return Fact(
        type=kind,
        content=content,
        entity=about,
        fact_type=fact_type,
        attribute=attribute,
        source=AGENT_SOURCE,
        trust=Trust.AGENT,
    )


def _make_entity(name: str, entity_type: str) -> FactEntity:
    """Return the entity of this name; its type is guessed from the caller's word, a project by default."""
    word = entity_type.casefold()
    found = next((kind for kind, words in _TYPE_WORDS.items() if word in words), EntityType.PROJECT)
    return FactEntity(type=found, label=name)


def _stated_type(entity: EntityOverview) -> str:
    """Return the type that the caller last gave the entity; without any, the type its memories have."""
    stated = [
        m.content
        for m in entity.memories
        if m.attribute == TYPE_ATTRIBUTE and _TYPE_PHRASE in m.content and m.claim_of is None
    ]
    return stated[-1].split(_TYPE_PHRASE, 1)[1] if stated else str(entity.type)


def _node_texts(node: GraphNode) -> tuple[str, ...]:
    """Return the texts of an entity in which a search looks."""
    return (node.name, node.entity_type, *node.observations)
