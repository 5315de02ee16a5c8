"""The nine tools of the reference `server-memory`, over our memories, so that it can be swapped for us."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import numpy as np
from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from mnemon.db.tx import Tx
from mnemon.errors import NotFound
from mnemon.memory.memory import Memory
from mnemon.memory.plan import Outcome
from mnemon.memory.remember import remember
from mnemon.memory.trust import Trust, outranks
from mnemon.sessions.people import ensure_person
from mnemon.tool import Arguments, Caller, Tool, ToolReply
from mnemon.tools import graph
from mnemon.tools.elsewhere import ForgetMemory
from mnemon.tools.graph import Edge, Graph, Node


class Shape(Arguments):
    """Camel case outside."""

    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True, extra="ignore")


Short = Field(min_length=1, max_length=200)


class EntityShape(Shape):
    name: str = Short
    entity_type: str = Short
    observations: list[str] = Field(max_length=200)


class RelationShape(Shape):
    source: str = Field(alias="from", min_length=1, max_length=200)
    target: str = Field(alias="to", min_length=1, max_length=200)
    relation_type: str = Short


class Addition(Shape):
    entity_name: str = Short
    contents: list[str] = Field(max_length=200)


class Deletion(Shape):
    entity_name: str = Short
    observations: list[str] = Field(max_length=200)


class Entities(Shape):
    entities: list[EntityShape] = Field(max_length=200)


class Relations(Shape):
    relations: list[RelationShape] = Field(max_length=200)


class Additions(Shape):
    observations: list[Addition] = Field(max_length=200)


class EntityNames(Shape):
    entity_names: list[str] = Field(max_length=200)


class Deletions(Shape):
    deletions: list[Deletion] = Field(max_length=200)


class Nothing(Shape):
    """No arguments."""


class Query(Shape):
    query: str = Field(max_length=2000)


class Names(Shape):
    names: list[str] = Field(max_length=200)


Work = Callable[[Tx, Caller, Any], Awaitable[dict[str, Any]]]


class GraphTool:
    """One of the nine."""

    def __init__(self, name: str, description: str, arguments: type[Arguments], needs: str, work: Work) -> None:
        self.name = name
        self.description = description
        self.arguments = arguments
        self.needs = needs
        self._work = work

    def text_to_embed(self, arguments: Arguments) -> str | None:
        return None

    async def run(self, tx: Tx, caller: Caller, arguments: Arguments, vector: np.ndarray | None) -> ToolReply:
        """What the reference server would say."""
        if self.needs == "memory:write" and caller.user_name:
            await ensure_person(tx, caller.scope.org_id, caller.user_name)
        return ToolReply(content=await self._work(tx, caller, arguments), reports=False)


def server_memory_tools(forget: ForgetMemory) -> Mapping[str, Tool]:
    """The nine tools by name; deleting is handed in, for it really forgets."""
    deleting = _Deleting(forget)
    write, read, forgets = "memory:write", "memory:read", "custody"
    rows: tuple[tuple[str, str, type[Arguments], str, Work], ...] = (
        ("create_entities", "Create new entities in the knowledge graph.", Entities, write, _create_entities),
        (
            "create_relations",
            "Create relations between entities, in active voice.",
            Relations,
            write,
            _create_relations,
        ),
        ("add_observations", "Add observations to existing entities.", Additions, write, _add_observations),
        ("delete_entities", "Delete entities and their relations.", EntityNames, forgets, deleting.entities),
        ("delete_observations", "Delete observations from entities.", Deletions, forgets, deleting.observations),
        ("delete_relations", "Delete relations from the knowledge graph.", Relations, forgets, deleting.relations),
        ("read_graph", "Read the entire knowledge graph.", Nothing, read, _read_graph),
        ("search_nodes", "Search entities by name, type and observations.", Query, read, _search_nodes),
        ("open_nodes", "Open entities by their names.", Names, read, _open_nodes),
    )
    tools: list[Tool] = [GraphTool(*row) for row in rows]
    return {tool.name: tool for tool in tools}


async def _create_entities(tx: Tx, caller: Caller, given: Entities) -> dict[str, Any]:
    there = {entity.label for entity in await graph.known(tx, caller.scope)}
    fresh = [
        Node(name=e.name, entity_type=e.entity_type, observations=tuple(dict.fromkeys(e.observations)))
        for e in {e.name: e for e in given.entities}.values()
        if e.name not in there
    ]
    facts = [
        fact for n in fresh for fact in (graph.kind_fact(n), *(graph.observation_fact(n, o) for o in n.observations))
    ]
    if facts:
        await remember(tx, caller.scope, facts)
    return {"entities": [_node(node) for node in fresh]}


async def _create_relations(tx: Tx, caller: Caller, given: Relations) -> dict[str, Any]:
    entities = await graph.known(tx, caller.scope)
    there = set(graph.drawn(entities).edges)
    made = []
    for edge in dict.fromkeys(map(_given_edge, given.relations)):
        if edge in there:
            continue
        source = graph.named(entities, edge.source)
        if source is None:
            raise NotFound(f"entity with name {edge.source}")
        await remember(tx, caller.scope, [graph.relation_fact(source, edge)])
        made.append(_edge(edge))
    return {"relations": made}


async def _add_observations(tx: Tx, caller: Caller, given: Additions) -> dict[str, Any]:
    results = []
    for addition in given.observations:
        entity = graph.named(await graph.known(tx, caller.scope), addition.entity_name)
        if entity is None:
            raise NotFound(f"entity with name {addition.entity_name}")
        there = {memory.content for memory in graph.observations(entity)}
        fresh = [content for content in dict.fromkeys(addition.contents) if content not in there]
        kept = await remember(tx, caller.scope, [graph.observation_fact(entity, content) for content in fresh])
        added = [content for content, one in zip(fresh, kept, strict=True) if one.outcome is not Outcome.SKIPPED]
        results.append({"entityName": addition.entity_name, "addedObservations": added})
    return {"results": results}


async def _read_graph(tx: Tx, caller: Caller, given: Nothing) -> dict[str, Any]:
    return _whole(graph.drawn(await graph.known(tx, caller.scope)))


async def _search_nodes(tx: Tx, caller: Caller, given: Query) -> dict[str, Any]:
    return _whole(graph.drawn(await graph.known(tx, caller.scope)).matching(given.query))


async def _open_nodes(tx: Tx, caller: Caller, given: Names) -> dict[str, Any]:
    return _whole(graph.drawn(await graph.known(tx, caller.scope)).only(given.names))


class _Deleting:
    """What is deleted is forgotten, as everything here is; what is not there is no error, as with the reference."""

    def __init__(self, forget: ForgetMemory) -> None:
        self._forget = forget

    async def entities(self, tx: Tx, caller: Caller, given: EntityNames) -> dict[str, Any]:
        gone, names = [], set(given.entity_names)
        for entity in await graph.known(tx, caller.scope):
            for memory in entity.memories:
                edge = graph.edge_of(memory)
                if entity.label in names or (edge is not None and {edge.source, edge.target} & names):
                    gone.append(memory)
        return await self._gone(tx, caller, gone, "Entities deleted successfully")

    async def observations(self, tx: Tx, caller: Caller, given: Deletions) -> dict[str, Any]:
        entities, gone = await graph.known(tx, caller.scope), []
        for deletion in given.deletions:
            entity = graph.named(entities, deletion.entity_name)
            if entity is not None:
                gone += [m for m in graph.observations(entity) if m.content in deletion.observations]
        return await self._gone(tx, caller, gone, "Observations deleted successfully")

    async def relations(self, tx: Tx, caller: Caller, given: Relations) -> dict[str, Any]:
        wanted = set(map(_given_edge, given.relations))
        memories = [m for entity in await graph.known(tx, caller.scope) for m in entity.memories]
        gone = [memory for memory in memories if graph.edge_of(memory) in wanted]
        return await self._gone(tx, caller, gone, "Relations deleted successfully")

    async def _gone(self, tx: Tx, caller: Caller, chosen: Sequence[Memory], words: str) -> dict[str, Any]:
        """Forget what the agent itself or a less trusted source said; what the person said takes `forget`."""
        kept = {memory.id for memory in chosen if outranks(memory.trust, Trust.AGENT)}
        for memory_id in sorted({memory.id for memory in chosen} - kept):
            await self._forget(tx, caller, memory_id)
        left = f"; {len(kept)} kept, for the person said it" if kept else ""
        return {"success": True, "message": words + left}


def _given_edge(given: RelationShape) -> Edge:
    return Edge(source=given.source, target=given.target, relation_type=given.relation_type)


def _node(node: Node) -> dict[str, Any]:
    return {"name": node.name, "entityType": node.entity_type, "observations": list(node.observations)}


def _edge(edge: Edge) -> dict[str, str]:
    return {"from": edge.source, "to": edge.target, "relationType": edge.relation_type}


def _whole(drawn: Graph) -> dict[str, Any]:
    return {"entities": [_node(node) for node in drawn.nodes], "relations": [_edge(edge) for edge in drawn.edges]}
