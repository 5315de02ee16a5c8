"""The nine tools of the reference `server-memory`, over our memories."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

from support.bounds import HANGS_S
from support.served import Served

NINE = {"create_entities", "create_relations", "add_observations", "delete_entities", "delete_observations",
        "delete_relations", "read_graph", "search_nodes", "open_nodes"}  # fmt: skip
JOHN = {"name": "John_Smith", "entityType": "person", "observations": ["Speaks fluent Spanish", "Graduated in 2019"]}
ACME = {"name": "Acme", "entityType": "company", "observations": ["Makes anvils"]}
WORKS = {"from": "John_Smith", "to": "Acme", "relationType": "works_at"}


@asynccontextmanager
async def swapped_in(server: Served) -> AsyncIterator[Any]:
    key = await asyncio.to_thread(server.key)
    http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=HANGS_S)
    async with (
        http,
        streamable_http_client(f"{server.url}/mcp?userId=ann&tools=server-memory", http_client=http) as streams,
        ClientSession(streams[0], streams[1]) as session,
    ):
        await session.initialize()

        async def call(name: str, **arguments: Any) -> dict[str, Any]:
            answer = await session.call_tool(name, arguments)
            assert not answer.is_error, answer.content
            content: dict[str, Any] = answer.structured_content
            return content

        call.session = session  # type: ignore[attr-defined]
        yield call


async def test_it_can_be_swapped_for_the_reference_server(server: Served) -> None:
    async with swapped_in(server) as call:
        assert {tool.name for tool in (await call.session.list_tools()).tools} == NINE
        assert await call("create_entities", entities=[JOHN, ACME]) == {"entities": [JOHN, ACME]}
        assert await call("create_entities", entities=[JOHN]) == {"entities": []}
        assert await call("create_relations", relations=[WORKS, WORKS]) == {"relations": [WORKS]}
        more = [{"entityName": "John_Smith", "contents": ["Plays the oboe", "Graduated in 2019"]}]
        added = await call("add_observations", observations=more)
        assert added == {"results": [{"entityName": "John_Smith", "addedObservations": ["Plays the oboe"]}]}

        whole = await call("read_graph")
        assert {e["name"]: set(e["observations"]) for e in whole["entities"]} == {
            "John_Smith": {*JOHN["observations"], "Plays the oboe"},
            "Acme": {"Makes anvils"},
        }
        assert {e["name"]: e["entityType"] for e in whole["entities"]} == {"John_Smith": "person", "Acme": "company"}
        assert whole["relations"] == [WORKS]
        assert [e["name"] for e in (await call("search_nodes", query="ANVIL"))["entities"]] == ["Acme"]
        assert [e["name"] for e in (await call("open_nodes", names=["Acme", "Nobody"]))["entities"]] == ["Acme"]


async def test_what_is_deleted_is_gone_and_the_rest_stays(server: Served) -> None:
    async with swapped_in(server) as call:
        await call("create_entities", entities=[JOHN, ACME])
        await call("create_relations", relations=[WORKS])
        gone = {"entityName": "John_Smith", "observations": ["Speaks fluent Spanish"]}
        assert (await call("delete_observations", deletions=[gone]))["success"]
        assert (await call("open_nodes", names=["John_Smith"]))["entities"][0]["observations"] == ["Graduated in 2019"]
        await call("delete_relations", relations=[WORKS])
        assert (await call("read_graph"))["relations"] == []
        await call("create_relations", relations=[WORKS])
        await call("delete_entities", entityNames=["Acme", "Nobody"])
        left = await call("read_graph")
        assert [e["name"] for e in left["entities"]] == ["John_Smith"]
        assert left["relations"] == []


async def test_an_unknown_entity_is_named_in_the_error(server: Served) -> None:
    async with swapped_in(server) as call:
        wrong = [{"entityName": "Nobody", "contents": ["x"]}]
        refused = await call.session.call_tool("add_observations", {"observations": wrong})
    assert refused.is_error
    assert "Nobody" in refused.content[0].text


async def test_observations_are_memories_that_recall_finds(server: Served) -> None:
    async with swapped_in(server) as call:
        await call("create_entities", entities=[JOHN])
    client = await asyncio.to_thread(server.client)
    asked = {"userId": "ann", "query": "who speaks Spanish"}
    found = (await asyncio.to_thread(lambda: client.post("/api/memories/search", json=asked))).json()["data"]
    assert found["results"][0]["memory"]["content"] == "Speaks fluent Spanish"
    assert found["results"][0]["memory"]["entityRefs"] == ["person:john_smith"]


async def test_what_the_person_said_is_not_deleted_by_an_agents_tool(server: Served) -> None:
    client = await asyncio.to_thread(server.client)
    own = {"userId": "ann", "type": "PEOPLE", "content": "Acme owes me money", "attribute": "debt",
           "entity": {"type": "org", "label": "Acme"}}  # fmt: skip
    await asyncio.to_thread(lambda: client.post("/api/memories", json=own))
    async with swapped_in(server) as call:
        await call("add_observations", observations=[{"entityName": "Acme", "contents": ["Makes anvils"]}])
        answer = await call("delete_entities", entityNames=["Acme"])
        assert "1 kept" in answer["message"]
        deletion = {"entityName": "Acme", "observations": ["Acme owes me money"]}
        assert "1 kept" in (await call("delete_observations", deletions=[deletion]))["message"]
    left = (await asyncio.to_thread(lambda: client.get("/api/memories", params={"userId": "ann"}))).json()["data"]
    assert [one["content"] for one in left] == ["Acme owes me money"]
