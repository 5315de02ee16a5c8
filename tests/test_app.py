"""What the composition makes of the settings."""

import pytest

from mnemon.app import llm_of
from mnemon.errors import Misconfigured
from mnemon.llm.protocol import Purpose, Question
from mnemon.llm.scripted.script import Script
from mnemon.llm.scripted.server import ScriptedServer
from mnemon.settings import Settings

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
