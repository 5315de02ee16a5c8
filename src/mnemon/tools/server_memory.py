"""The nine tools of the reference `server-memory` over Mnemon's memories, so that Mnemon can replace it."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import numpy as np
from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from mnemon.db.tx import Tx
from mnemon.errors import NotFound
from mnemon.memory.keys import content_hash, make_slug
from mnemon.memory.memory import StoredMemory
from mnemon.memory.plan import MemoryOutcome
from mnemon.memory.remember import remember_facts
from mnemon.memory.trust import Trust, outranks
from mnemon.sessions.people import ensure_person
from mnemon.tool import Arguments, Caller, Tool, ToolReply
from mnemon.tools import graph
from mnemon.tools.context import ForgetMemory
from mnemon.tools.graph import GraphEdge, GraphNode, KnowledgeGraph


class GraphArguments(Arguments):
    """Arguments with camelCase names in JSON; unknown ones are ignored."""

    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True, extra="ignore")


ShortText = Field(min_length=1, max_length=200)


# These classes have no docstrings: pydantic would put them into the schemas that models read.
class EntityArgument(GraphArguments):
    name: str = ShortText
    entity_type: str = ShortText
    observations: list[str] = Field(max_length=200)


class RelationArgument(GraphArguments):
    source: str = Field(alias="from", min_length=1, max_length=200)
    target: str = Field(alias="to", min_length=1, max_length=200)
    relation_type: str = ShortText


class ObservationAddition(GraphArguments):
    entity_name: str = ShortText
    contents: list[str] = Field(max_length=200)


class ObservationDeletion(GraphArguments):
    entity_name: str = ShortText
    observations: list[str] = Field(max_length=200)


class CreateEntitiesArguments(GraphArguments):
    entities: list[EntityArgument] = Field(max_length=200)


class RelationsArguments(GraphArguments):
    relations: list[RelationArgument] = Field(max_length=200)


class AddObservationsArguments(GraphArguments):
    observations: list[ObservationAddition] = Field(max_length=200)


class DeleteEntitiesArguments(GraphArguments):
    entity_names: list[str] = Field(max_length=200)


class DeleteObservationsArguments(GraphArguments):
    deletions: list[ObservationDeletion] = Field(max_length=200)


class ReadGraphArguments(GraphArguments):
    """No arguments."""


class SearchNodesArguments(GraphArguments):
    query: str = Field(max_length=2000)


class OpenNodesArguments(GraphArguments):
    names: list[str] = Field(max_length=200)


GraphWork = Callable[[Tx, Caller, Any], Awaitable[dict[str, Any]]]


class GraphTool:
    """One of the nine tools."""

    def __init__(self, name: str, description: str, arguments: type[Arguments], needs: str, work: GraphWork) -> None:
        """Make one of the tools of `server-memory`: its name, arguments, scope, and the function behind it."""
        self.name = name
        self.description = description
        self.arguments = arguments
        self.needs = needs
        self._work = work

    def text_to_embed(self, arguments: Arguments) -> str | None:
        """Return None: the tools of `server-memory` need no embedding."""
        return None

    async def run(self, tx: Tx, caller: Caller, arguments: Arguments, vector: np.ndarray | None) -> ToolReply:
        """Run one of the nine tools and return what the reference server would return."""
        # The caller may name a person of whom nothing is stored yet.
        if self.needs == "memory:write" and caller.user_name:
            await ensure_person(tx, caller.scope.org_id, caller.user_name)
        return ToolReply(content=await self._work(tx, caller, arguments), reports=False)


def server_memory_tools(forget: ForgetMemory) -> Mapping[str, Tool]:
    """Return the nine tools of `server-memory` by name; `forget` is passed in: deleting forgets for good."""
    deleting = _GraphDeletion(forget)
    write, read, forgets = "memory:write", "memory:read", "custody"
    rows: tuple[tuple[str, str, type[Arguments], str, GraphWork], ...] = (
        (
            "create_entities",
            "Create new entities in the knowledge graph.",
            CreateEntitiesArguments,
            write,
            _create_entities,
        ),
        (
            "create_relations",
            "Create relations between entities, in active voice.",
            RelationsArguments,
            write,
            _create_relations,
        ),
        (
            "add_observations",
            "Add observations to existing entities.",
            AddObservationsArguments,
            write,
            _add_observations,
        ),
        (
            "delete_entities",
            "Delete entities and their relations.",
            DeleteEntitiesArguments,
            forgets,
            deleting.delete_entities,
        ),
        (
            "delete_observations",
            "Delete observations from entities.",
            DeleteObservationsArguments,
            forgets,
            deleting.delete_observations,
        ),
        (
            "delete_relations",
            "Delete relations from the knowledge graph.",
            RelationsArguments,
            forgets,
            deleting.delete_relations,
        ),
        ("read_graph", "Read the entire knowledge graph.", ReadGraphArguments, read, _read_graph),
        ("search_nodes", "Search entities by name, type and observations.", SearchNodesArguments, read, _search_nodes),
        ("open_nodes", "Open entities by their names.", OpenNodesArguments, read, _open_nodes),
    )
    tools: list[Tool] = [GraphTool(*row) for row in rows]
    return {tool.name: tool for tool in tools}


async def _create_entities(tx: Tx, caller: Caller, given: CreateEntitiesArguments) -> dict[str, Any]:
    """Remember entities that are new, with type and observations; return them as the reference does."""
    names = graph.EntityNames(await graph.load_entities(tx, caller.scope))
    given_once: dict[str, GraphNode] = {}
    for one in given.entities:
        if names.find_entity(one.name) is None:
            # The first spelling of a name stays, here as for entities that exist.
            node = graph.new_node(one.name, one.entity_type, one.observations)
            given_once.setdefault(make_slug(one.name), node)
    fresh = list(given_once.values())
    facts = [
        fact for n in fresh for fact in (graph.type_fact(n), *(graph.observation_fact(n, o) for o in n.observations))
    ]
    if facts:
        await remember_facts(tx, caller.scope, facts)
    return {"entities": [_node_json(node) for node in fresh]}


async def _create_relations(tx: Tx, caller: Caller, given: RelationsArguments) -> dict[str, Any]:
    """Remember relations that are new; return them; raise NotFound where the source is no entity."""
    entities = await graph.load_entities(tx, caller.scope)
    names = graph.EntityNames(entities)
    known = {edge.slugs for edge in graph.build_graph(entities).edges}
    made = []
    for edge in map(names.relabel_edge, map(_edge_from, given.relations)):
        if edge.slugs in known:
            continue
        source = names.find_entity(edge.source)
        if source is None:
            raise _no_such_entity(edge.source)
        await remember_facts(tx, caller.scope, [graph.relation_fact(source, edge)])
        known.add(edge.slugs)
        made.append(_edge_json(edge))
    return {"relations": made}


async def _add_observations(tx: Tx, caller: Caller, given: AddObservationsArguments) -> dict[str, Any]:
    """Remember observations that are new; return those added; raise NotFound for an unknown entity."""
    results = []
    for addition in given.observations:
        # Loaded for each addition, since two of them may be for one entity.
        names = graph.EntityNames(await graph.load_entities(tx, caller.scope))
        entity = names.find_entity(addition.entity_name)
        if entity is None:
            raise _no_such_entity(addition.entity_name)
        known = {content_hash(memory.content) for memory in graph.entity_observations(entity)}
        stated = graph.distinct_texts(addition.contents)
        fresh = [content for content in stated if content_hash(content) not in known]
        kept = await remember_facts(tx, caller.scope, [graph.observation_fact(entity, content) for content in fresh])
        added = [content for content, one in zip(fresh, kept, strict=True) if one.outcome is not MemoryOutcome.SKIPPED]
        results.append({"entityName": entity.label, "addedObservations": added})
    return {"results": results}


def _no_such_entity(name: str) -> NotFound:
    """Return the error for a name that no entity of the person has, with the next step."""
    return NotFound(
        "entity",
        detail=f"There is no entity with name {name}. Check the name with `search_nodes`, or call `create_entities` "
        "first.",
    )


async def _read_graph(tx: Tx, caller: Caller, given: ReadGraphArguments) -> dict[str, Any]:
    """Return the person's whole graph as JSON."""
    return _graph_json(graph.build_graph(await graph.load_entities(tx, caller.scope)))


async def _search_nodes(tx: Tx, caller: Caller, given: SearchNodesArguments) -> dict[str, Any]:
    """Return the entities that contain the query, with their relations, as JSON."""
    return _graph_json(graph.build_graph(await graph.load_entities(tx, caller.scope)).search_nodes(given.query))


async def _open_nodes(tx: Tx, caller: Caller, given: OpenNodesArguments) -> dict[str, Any]:
    """Return the entities of these names, with their relations, as JSON."""
    return _graph_json(graph.build_graph(await graph.load_entities(tx, caller.scope)).open_nodes(given.names))


class _GraphDeletion:
    """The three deleting tools; what they delete is forgotten.

    Deleting what does not exist is no error, as with the reference.
    """

    def __init__(self, forget: ForgetMemory) -> None:
        """Make the deleting tools of `server-memory` with the function that forgets a memory."""
        self._forget = forget

    async def delete_entities(self, tx: Tx, caller: Caller, given: DeleteEntitiesArguments) -> dict[str, Any]:
        """Forget the memories about these entities and the relations that touch them."""
        entities = await graph.load_entities(tx, caller.scope)
        wanted = {make_slug(name) for name in given.entity_names}
        named = [entity for entity in entities if graph.entity_slugs(entity) & wanted]
        slugs = wanted.union(*map(graph.entity_slugs, named))
        gone = [memory for entity in named for memory in entity.memories]
        for memory in (memory for entity in entities for memory in entity.memories):
            edge = graph.edge_of(memory)
            if edge is not None and {edge.slugs[0], edge.slugs[2]} & slugs:
                gone.append(memory)
        unknown = wanted.difference(*map(graph.entity_slugs, named))
        return await self._forget_memories(tx, caller, gone, "Entities", unknown=len(unknown))

    async def delete_observations(self, tx: Tx, caller: Caller, given: DeleteObservationsArguments) -> dict[str, Any]:
        """Forget these observations of entities; unknown ones are skipped."""
        names = graph.EntityNames(await graph.load_entities(tx, caller.scope))
        gone: list[StoredMemory] = []
        unknown = 0
        for deletion in given.deletions:
            entity = names.find_entity(deletion.entity_name)
            wanted = {content_hash(text) for text in deletion.observations}
            held = [] if entity is None else graph.entity_observations(entity)
            found = [memory for memory in held if content_hash(memory.content) in wanted]
            gone += found
            unknown += len(wanted - {content_hash(memory.content) for memory in found})
        return await self._forget_memories(tx, caller, gone, "Observations", unknown=unknown)

    async def delete_relations(self, tx: Tx, caller: Caller, given: RelationsArguments) -> dict[str, Any]:
        """Forget the memories that state these relations."""
        entities = await graph.load_entities(tx, caller.scope)
        names = graph.EntityNames(entities)
        wanted = {names.relabel_edge(_edge_from(one)).slugs for one in given.relations}
        stated = [
            (memory, names.relabel_edge(edge).slugs)
            for entity in entities
            for memory in entity.memories
            if (edge := graph.edge_of(memory)) is not None
        ]
        gone = [memory for memory, slugs in stated if slugs in wanted]
        unknown = wanted - {slugs for _, slugs in stated}
        return await self._forget_memories(tx, caller, gone, "Relations", unknown=len(unknown))

    async def _forget_memories(
        self, tx: Tx, caller: Caller, chosen: Sequence[StoredMemory], noun: str, *, unknown: int
    ) -> dict[str, Any]:
        """Forget memories of the agent or a less trusted source; those the person stated take the tool `forget`."""
        kept = {memory.id for memory in chosen if outranks(memory.trust, Trust.AGENT)}
        gone = sorted({memory.id for memory in chosen} - kept)
        for memory_id in gone:
            await self._forget(tx, caller, memory_id)
        # The reference always answers success in these words; here they are said only of what was deleted.
        words = [f"{noun} deleted successfully" if gone else "Nothing was deleted"]
        words += [f"{len(kept)} kept, for the person said it"] if kept else []
        words += [f"{unknown} not found"] if unknown else []
        return {"success": True, "message": "; ".join(words)}


def _edge_from(given: RelationArgument) -> GraphEdge:
    """Return the relation that a caller's argument describes."""
    return GraphEdge(source=given.source, target=given.target, relation_type=given.relation_type)


def _node_json(node: GraphNode) -> dict[str, Any]:
    """Return an entity of the graph as the reference server's JSON."""
    return {"name": node.name, "entityType": node.entity_type, "observations": list(node.observations)}


def _edge_json(edge: GraphEdge) -> dict[str, str]:
    """Return a relation of the graph as the reference server's JSON."""
    return {"from": edge.source, "to": edge.target, "relationType": edge.relation_type}


def _graph_json(drawn: KnowledgeGraph) -> dict[str, Any]:
    """Return the graph as the reference server's JSON."""
    return {
        "entities": [_node_json(node) for node in drawn.nodes],
        "relations": [_edge_json(edge) for edge in drawn.edges],
    }
