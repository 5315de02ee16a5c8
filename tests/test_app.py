"""What the composition makes of the settings."""

import asyncio

import httpx2
import pytest

from mnemon.app import llm_of, make_app, opened
from mnemon.errors import Misconfigured
from mnemon.llm.protocol import Purpose, Question
from mnemon.llm.scripted.script import Script
from mnemon.llm.scripted.server import ScriptedServer
from mnemon.memory.recall.shelf import Shelf
from mnemon.settings import Settings
from mnemon.way import stands_back

QUESTION = Question(
    title="Spine",
    schema={"title": "Spine", "type": "object"},
    system="",
    prompt="Sum up.",
    purpose=Purpose.SPINE,
    by_rule=dict,
)


async def test_a_second_model_of_the_same_provider_shares_the_address_and_the_key() -> None:
    script = Script()
    with ScriptedServer(script) as server:
        settings = Settings(model="openai:large", model_base_url=server.url, model_api_key="ours")
        llm = llm_of(settings, "openai:small")
        await llm.answer(QUESTION)
        await llm.close()
    [asked] = script.asked
    assert (asked.model, asked.headers["authorization"]) == ("small", "Bearer ours")


@pytest.mark.parametrize("name", ["anthropic:claude-haiku", "google:gemini-flash"])
def test_a_key_is_never_given_to_another_provider(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    vendor = name.partition(":")[0].upper()
    for variable in ("ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    settings = Settings(model="openai:large", model_base_url="http://127.0.0.1:1/v1", model_api_key="ours")
    with pytest.raises(Misconfigured, match=f"{vendor}_API_KEY"):
        llm_of(settings, name)


async def test_with_an_offline_chat_the_address_and_the_key_are_the_reflections() -> None:
    script = Script()
    with ScriptedServer(script) as server:
        settings = Settings(model="offline", model_base_url=server.url, model_api_key="ours")
        llm = llm_of(settings, "openai:small")
        await llm.answer(QUESTION)
        await llm.close()
    assert script.asked[0].headers["authorization"] == "Bearer ours"


async def test_each_application_has_an_index_of_its_own_size(database_url: str) -> None:
    async with (
        opened(Settings(index_memory_mb=7), database_url) as one,
        opened(Settings(index_memory_mb=9), database_url) as two,
    ):
        assert (one.db.attached.get(Shelf).megabytes, two.db.attached.get(Shelf).megabytes) == (7, 9)


async def test_a_jobs_question_stands_back_for_requests_to_its_own_application_only(database_url: str) -> None:
    script = Script()
    with ScriptedServer(script) as server:
        settings = Settings(model="openai:large", model_base_url=server.url, model_api_key="ours")
        async with opened(settings, database_url) as own, opened(settings, database_url) as foreign:
            stands_back.set(True)
            foreign.db.way.take()
            own.db.way.take()
            asked = asyncio.create_task(own.reflector.answer(QUESTION))
            await asyncio.sleep(0)
            assert (len(own.db.way._waiting), len(foreign.db.way._waiting)) == (1, 0)
            await asked


async def test_a_request_has_the_right_of_way_in_its_own_application(database_url: str) -> None:
    async with opened(Settings(), database_url) as own, opened(Settings(), database_url) as foreign:
        app, seen = make_app(own, worker=False), list[tuple[int, int]]()

        @app.get("/seen")
        async def look() -> None:
            seen.append((own.db.way._ahead, foreign.db.way._ahead))

        transport = httpx2.ASGITransport(app=app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://here") as http:
            await http.get("/seen")
        assert seen == [(1, 0)]
        assert own.db.way._ahead == 0
