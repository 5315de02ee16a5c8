"""The Python client against a real server."""

import asyncio
import json
from pathlib import Path

import pytest

from mnemon_client import ApiError, Mnemon, SyncMnemon, Unreachable
from mnemon_client.shapes import Expectation
from support.served import Served, served


async def test_a_person_is_remembered_and_recalled(server: Served) -> None:
    async with Mnemon(server.url, await asyncio.to_thread(server.key), user_id="ann") as m:
        stored = await m.remember("Lives in Austin, Texas", attribute="lives_in")
        assert stored["memoryKey"] == "profile|person|self|fact|lives_in"
        found = await m.recall("Where does she live?")
        assert found["results"][0]["memory"]["content"] == "Lives in Austin, Texas"
        assert [memory["id"] async for memory in m.memories(limit=1)] == [stored["id"]]


@pytest.mark.scripted
async def test_a_reply_streams(server: Served) -> None:
    server.script.add_replies("Hello Ann!", "And again.")
    async with Mnemon(server.url, await asyncio.to_thread(server.key), user_id="ann") as m:
        async with m.stream("Hi") as events:
            kinds = [event.kind async for event in events]
        assert (kinds[0], kinds[-1]) == ("turn", "done")
        assert "delta" in kinds
        assert (await m.chat("Hi again"))["reply"] == "And again."


@pytest.mark.scripted
def test_the_sync_client_does_the_same(server: Served) -> None:
    server.script.add_replies("Hello Ann!")
    with SyncMnemon(server.url, server.key(), user_id="ann") as m:
        m.remember("Prefers dark mode", fact_type="preference", attribute="theme")
        assert [memory["content"] for memory in m.memories()] == ["Prefers dark mode"]
        with m.stream("Hi") as events:
            assert "".join(event.data["text"] for event in events if event.kind == "delta") == "Hello Ann!"


@pytest.mark.scripted
def test_line_separators_inside_a_text_end_no_line(server: Served) -> None:
    said = "one\u2028two\u2029three\x85four"
    server.script.add_replies(said)
    with SyncMnemon(server.url, server.key(), user_id="ann") as m:
        with m.stream(said) as events:
            assert "".join(event.data["text"] for event in events if event.kind == "delta") == said
        rows = [json.loads(line) for line in m.export("ann")]
    assert said in json.dumps(rows, ensure_ascii=False)


async def test_a_source_is_withdrawn_for_everybody_only_when_that_is_said(server: Served) -> None:
    async with Mnemon(server.url, await asyncio.to_thread(server.key), user_id="ann") as m:
        for person in ("ann", "bob"):
            await m.remember("Keeps bees", user_id=person, source="tool:fit")
        with pytest.raises(ValueError, match="everyone=True"):
            await m.withdraw("tool:fit")
        with pytest.raises(ValueError, match="everyone=True"):
            await m.preview_withdrawal("tool:fit", "ann", everyone=True)
        assert (await m.preview_withdrawal("tool:fit", everyone=True))["people"] == 2
        assert (await m.withdraw("tool:fit", "ann"))["people"] == 1
        assert (await m.withdraw("tool:fit", everyone=True))["people"] == 1


async def test_an_error_carries_the_servers_words(server: Served) -> None:
    async with Mnemon(server.url, await asyncio.to_thread(server.key)) as m:
        with pytest.raises(ApiError) as caught:
            await m.memory("mem_01HW0000000000000000000000")
    assert (caught.value.status, caught.value.code) == (404, "not_found")
    assert caught.value.request_id.startswith("req_")


async def test_nobody_answering_is_said_after_the_retries() -> None:
    async with Mnemon("http://127.0.0.1:9", "mnk_x_y", retries=1) as m:
        with pytest.raises(Unreachable):
            await m.agents()


async def test_a_failed_expectation_is_told_as_verified(server: Served) -> None:
    async with Mnemon(server.url, await asyncio.to_thread(server.key), user_id="ann") as m:
        wish: Expectation = {"action": "create_tasks", "expected_outcome": "two tasks", "expected_count": 2}
        turn = await m.turn([{"role": "user", "content": "Make two tasks"}], expectations=[wish])
        session = turn["sessionId"]
        await m.turn(
            [{"role": "user", "content": "And?"}],
            tool_results=[{"id": "call_1", "action": "create_tasks", "count": 1}],
            session_id=session,
        )
        async for verified in m.verifications(session, after="0"):
            assert verified.confirmed is False
            break
        state = await m.agent_state(session)
        assert state["expectations"][0]["status"] == "failed"


async def test_a_server_inside_the_process_for_a_notebook(database_url: str, tmp_path: Path) -> None:
    async with Mnemon.open(database_url=database_url, data_dir=tmp_path, user_id="ann") as m:
        await m.remember("Is a morning person")
        assert (await m.recall("morning"))["results"][0]["memory"]["content"] == "Is a morning person"


async def test_a_notebook_with_nothing_set_up_starts_the_embedded_database_and_finds_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MNEMON_DATABASE_URL", raising=False)
    monkeypatch.chdir(tmp_path)
    for known in ([], ["Is a morning person"]):
        async with Mnemon.open(data_dir=tmp_path / "data", user_id="ann") as m:
            found = (await m.recall("morning"))["results"]
            assert [one["memory"]["content"] for one in found] == known
            await m.remember("Is a morning person")
    assert (tmp_path / "data" / "postgres" / "PG_VERSION").exists()


def test_a_restarted_server_loses_no_event(database_url: str, tmp_path: Path) -> None:
    with served(database_url, tmp_path) as first, SyncMnemon(first.url, first.key(), user_id="ann") as m:
        session = m.turn(
            [{"role": "user", "content": "Hi"}],
            tool_results=[{"id": "c1", "action": "a", "entities": [{"id": "t1", "kind": "task"}]}],
        )["sessionId"]
    with served(database_url, tmp_path) as second, SyncMnemon(second.url, second.key(), user_id="ann") as m:
        m.turn(
            [{"role": "user", "content": "Hi"}],
            tool_results=[{"id": "c2", "action": "a", "entities": [{"id": "t2", "kind": "task"}]}],
            session_id=session,
        )
        seen = []
        for event in m.events(session, after="0"):
            seen += [entity["id"] for entity in event.data["update"]["current_understanding"]["entities"]]
            if "t2" in seen:
                break
    assert seen == ["t1", "t2"]
