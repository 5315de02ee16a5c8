"""What the composition makes of the settings."""

import asyncio

import httpx2
import pytest

from mnemon.app import make_app, make_llm, make_services
from mnemon.errors import Misconfigured
from mnemon.event_loop import is_background
from mnemon.llm.protocol import LlmQuestion, Purpose
from mnemon.llm.scripted.script import Script
from mnemon.llm.scripted.server import ScriptedServer
from mnemon.memory.recall.index_cache import IndexCache
from mnemon.settings import Settings

QUESTION = LlmQuestion(
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
        llm = make_llm(settings, "openai:small")
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
        make_llm(settings, name)


async def test_with_an_offline_chat_the_address_and_the_key_are_the_reflections() -> None:
    script = Script()
    with ScriptedServer(script) as server:
        settings = Settings(model="offline", model_base_url=server.url, model_api_key="ours")
        llm = make_llm(settings, "openai:small")
        await llm.answer(QUESTION)
        await llm.close()
    assert script.asked[0].headers["authorization"] == "Bearer ours"


async def test_each_application_has_an_index_of_its_own_size(database_url: str) -> None:
    async with (
        make_services(Settings(index_memory_mb=7), database_url) as one,
        make_services(Settings(index_memory_mb=9), database_url) as two,
    ):
        assert (
            one.db.attached.get_or_create(IndexCache).megabytes,
            two.db.attached.get_or_create(IndexCache).megabytes,
        ) == (7, 9)


async def test_a_jobs_question_stands_back_for_requests_to_its_own_application_only(database_url: str) -> None:
    script = Script()
    with ScriptedServer(script) as server:
        settings = Settings(model="openai:large", model_base_url=server.url, model_api_key="ours")
        async with make_services(settings, database_url) as own, make_services(settings, database_url) as foreign:
            is_background.set(True)
            foreign.db.request_priority.begin_request()
            own.db.request_priority.begin_request()
            asked = asyncio.create_task(own.reflector.answer(QUESTION))
            await asyncio.sleep(0)
            assert (len(own.db.request_priority._waiting), len(foreign.db.request_priority._waiting)) == (1, 0)
            await asked


async def test_a_request_has_the_right_of_way_in_its_own_application(database_url: str) -> None:
    async with make_services(Settings(), database_url) as own, make_services(Settings(), database_url) as foreign:
        app, seen = make_app(own, worker=False), list[tuple[int, int]]()

        @app.get("/seen")
        async def look() -> None:
            seen.append((own.db.request_priority._ahead, foreign.db.request_priority._ahead))

        transport = httpx2.ASGITransport(app=app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://here", timeout=60) as http:
            await http.get("/seen")
        assert seen == [(1, 0)]
        assert own.db.request_priority._ahead == 0
