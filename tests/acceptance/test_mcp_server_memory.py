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


async def test_a_name_that_no_entity_has_is_refused_with_the_next_step(server: Served) -> None:
    async with swapped_in(server) as call:
        more = [{"entityName": "John_Smith", "contents": ["Plays the oboe"]}]
        for name, arguments in (
            ("create_relations", {"relations": [WORKS]}),
            ("add_observations", {"observations": more}),
        ):
            refused = await call.session.call_tool(name, arguments)
            assert refused.is_error
            assert "There is no entity with name John_Smith." in refused.content[0].text
            assert "call `create_entities` first" in refused.content[0].text


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


async def test_every_spelling_of_a_name_means_the_entity_that_was_written_first(server: Served) -> None:
    bob = {"name": "Bob Jones", "entityType": "person", "observations": ["Plays the oboe"]}
    again = {**bob, "name": "bob_jones", "observations": ["Sings"]}
    async with swapped_in(server) as call:
        assert await call("create_entities", entities=[bob, {**bob, "name": "BOB JONES"}]) == {"entities": [bob]}
        assert await call("create_entities", entities=[again]) == {"entities": []}
        more = {"entityName": "BOB_jones", "contents": ["plays the  oboe.", "Sings", "sings"]}
        added = await call("add_observations", observations=[more])
        assert added == {"results": [{"entityName": "Bob Jones", "addedObservations": ["Sings"]}]}
        await call("create_entities", entities=[ACME])
        works = {"from": "bob_jones", "to": "ACME", "relationType": "works_at"}
        stored = {"from": "Bob Jones", "to": "Acme", "relationType": "works_at"}
        twice = [works, {"from": "Bob Jones", "to": "acme", "relationType": "works at"}]
        assert await call("create_relations", relations=twice) == {"relations": [stored]}

        for name in ("Bob Jones", "bob_jones", "bob-JONES"):
            opened = await call("open_nodes", names=[name])
            assert opened["relations"] == [stored]
            assert [(e["name"], set(e["observations"])) for e in opened["entities"]] == [
                ("Bob Jones", {"Plays the oboe", "Sings"})
            ]
        assert [e["name"] for e in (await call("search_nodes", query="bob_jones"))["entities"]] == ["Bob Jones"]


async def test_deleting_finds_every_spelling_and_says_what_it_did_not_find(server: Served) -> None:
    async with swapped_in(server) as call:
        await call("create_entities", entities=[JOHN, ACME])
        await call("create_relations", relations=[WORKS])
        gone = {"entityName": "john smith", "observations": ["speaks fluent spanish."]}
        assert (await call("delete_observations", deletions=[gone]))["message"] == "Observations deleted successfully"
        assert (await call("open_nodes", names=["John Smith"]))["entities"][0]["observations"] == ["Graduated in 2019"]
        unknown = await call("delete_observations", deletions=[gone])
        assert unknown == {"success": True, "message": "Nothing was deleted; 1 not found"}

        works = {"from": "john smith", "to": "ACME", "relationType": "Works at"}
        assert (await call("delete_relations", relations=[works]))["message"] == "Relations deleted successfully"
        assert (await call("read_graph"))["relations"] == []
        assert "1 not found" in (await call("delete_relations", relations=[works]))["message"]

        answer = await call("delete_entities", entityNames=["john-smith", "Nobody"])
        assert answer == {"success": True, "message": "Entities deleted successfully; 1 not found"}
        assert [e["name"] for e in (await call("read_graph"))["entities"]] == ["Acme"]
        assert "Nothing was deleted" in (await call("delete_entities", entityNames=["John_Smith"]))["message"]


async def test_relations_whose_words_run_together_alike_stay_apart(server: Served) -> None:
    apart = [
        {"from": "John_Smith", "to": "Acme", "relationType": "works at"},
        {"from": "John_Smith", "to": "At Acme", "relationType": "works"},
    ]
    async with swapped_in(server) as call:
        await call("create_entities", entities=[JOHN])
        assert await call("create_relations", relations=apart) == {"relations": apart}
        assert sorted((await call("read_graph"))["relations"], key=str) == sorted(apart, key=str)


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
