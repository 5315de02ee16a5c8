"""Memories as a graph of entities, relations and observations, and back, in the terms of the reference `server-memory`.

An entity is what memories are about; an observation is one such memory; a relation is a memory of the fact type
`relationship`. So what conversations taught is in the graph, and what is written into the graph is recalled.

A name means the entity whose key has the same slug, however it is written, since memories are stored by that slug.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from mnemon.db.tx import Tx
from mnemon.memory.entities.overview import EntityOverview, entity_overviews
from mnemon.memory.entities.store import list_mentions, load_aliases
from mnemon.memory.fact import EntityType, Fact, FactEntity, FactType, MemoryType
from mnemon.memory.keys import content_hash, make_slug, split_key
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
    slugs: frozenset[str]
    """Slugs of the names by which it is found."""


@dataclass(frozen=True, kw_only=True)
class GraphEdge:
    """A relation of the graph, in active voice."""

    source: str
    target: str
    relation_type: str

    @property
    def slugs(self) -> tuple[str, str, str]:
        """Return a key that is equal for two spellings of one relation: the slugs of source, relation and target."""
        return make_slug(self.source), make_slug(self.relation_type), make_slug(self.target)


@dataclass(frozen=True, kw_only=True)
class KnowledgeGraph:
    """Entities and the relations among them."""

    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]

    def open_nodes(self, names: Iterable[str]) -> "KnowledgeGraph":
        """Return the graph of the entities with these names and the relations that touch one of them."""
        wanted = set(map(make_slug, names))
        return self._around_nodes([node for node in self.nodes if node.slugs & wanted], wanted)

    def search_nodes(self, query: str) -> "KnowledgeGraph":
        """Return the entities whose name, type or observation contains the query, with their relations."""
        words, slug = query.casefold(), make_slug(query)
        found = [
            node
            for node in self.nodes
            if any(words in text.casefold() for text in _node_texts(node))
            or (slug and any(slug in one for one in node.slugs))
        ]
        return self._around_nodes(found, set())

    def _around_nodes(self, nodes: Sequence[GraphNode], wanted: set[str]) -> "KnowledgeGraph":
        """Return the graph of these entities, with the relations that touch them or a name with one of these slugs."""
        touched = wanted.union(*(node.slugs for node in nodes))
        edges = tuple(edge for edge in self.edges if not touched.isdisjoint((edge.slugs[0], edge.slugs[2])))
        return KnowledgeGraph(nodes=tuple(nodes), edges=edges)


class EntityNames:
    """The entities by name; names with the same slug mean the same entity."""

    def __init__(self, entities: Sequence[EntityOverview]) -> None:
        """Index the entities by the slugs of their names."""
        by_slug: dict[str, list[EntityOverview]] = defaultdict(list)
        for entity in entities:
            for slug in sorted(entity_slugs(entity)):
                by_slug[slug].append(entity)
        self._by_slug: Mapping[str, list[EntityOverview]] = dict(by_slug)

    def find_entity(self, name: str) -> EntityOverview | None:
        """Return the entity of this name; None if there is none."""
        # Two entities of different types may share a slug: the one that is written like this comes first.
        found = sorted(self._by_slug.get(make_slug(name), ()), key=lambda entity: entity.label != name)
        return found[0] if found else None

    def label_of(self, name: str) -> str:
        """Return a name as the graph writes it: as its entity's label, or unchanged if there is no such entity."""
        entity = self.find_entity(name)
        return name if entity is None else entity.label

    def relabel_edge(self, edge: GraphEdge) -> GraphEdge:
        """Return the relation with both ends written as the graph writes the entities' names."""
        return replace(edge, source=self.label_of(edge.source), target=self.label_of(edge.target))


async def load_entities(tx: Tx, scope: Scope) -> list[EntityOverview]:
    """Return every entity that the person's memories mention, with those memories."""
    return entity_overviews(await list_mentions(tx, scope), await load_aliases(tx, scope))


def new_node(name: str, entity_type: str, observations: Iterable[str]) -> GraphNode:
    """Return an entity that is to be created."""
    return GraphNode(
        name=name,
        entity_type=entity_type,
        observations=distinct_texts(observations),
        slugs=frozenset({make_slug(name)}),
    )


def distinct_texts(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the texts without repetitions, compared as memories are: ignoring case, spacing and final punctuation."""
    first: dict[str, str] = {}
    for text in texts:
        first.setdefault(content_hash(text), text)
    return tuple(first.values())


def build_graph(entities: Sequence[EntityOverview]) -> KnowledgeGraph:
    """Return the graph of these entities: a node each, and the relations that their memories state."""
    nodes = tuple(
        GraphNode(
            name=e.label,
            entity_type=_stated_type(e),
            observations=tuple(m.content for m in entity_observations(e)),
            slugs=entity_slugs(e),
        )
        for e in entities
    )
    names = EntityNames(entities)
    stated = [edge for entity in entities for memory in entity.memories if (edge := edge_of(memory)) is not None]
    edges: dict[tuple[str, str, str], GraphEdge] = {}
    for edge in map(names.relabel_edge, stated):
        edges.setdefault(edge.slugs, edge)
    return KnowledgeGraph(nodes=nodes, edges=tuple(edges.values()))


def entity_slugs(entity: EntityOverview) -> frozenset[str]:
    """Return the slugs of the names by which an entity is found: its own and those of what was merged into it."""
    return frozenset({make_slug(entity.label), *(split_key(key)[1] for key in (entity.key, *entity.aliases))})


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
    # Without the digest, "works at" a company and "works" at something called "at …" would replace each other.
    digest = content_hash(_ARROW.join(edge.slugs[1:]))[:6]
    return _agent_fact(about, content, f"{edge.relation_type} {edge.target} {digest}", FactType.RELATIONSHIP)


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
    """Return the texts of an entity that a search compares with its query: name, type, observations."""
    return (node.name, node.entity_type, *node.observations)
