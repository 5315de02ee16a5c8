"""A remote model answers and chats over real HTTP, and whatever breaks is a ModelDown within its bounds."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator

import pytest

from mnemon.errors import Misconfigured, ModelDown
from mnemon.llm.connect import connect_llm
from mnemon.llm.protocol import (
    ChatEvent,
    Json,
    Llm,
    LlmChatRequest,
    LlmMessage,
    LlmQuestion,
    Purpose,
    ReplyFinished,
    TextPiece,
    ToolRequest,
    ToolSpec,
    Usage,
)
from mnemon.llm.scripted.script import FaultKind, ScriptedReply, tool_calls_reply
from mnemon.llm.scripted.server import ScriptedServer
from support.bounds import HANGS_S

SCHEMA: Json = {
    "title": "Reflection",
    "type": "object",
    "properties": {
        "memories": {
            "type": "array",
            "items": {"type": "object", "properties": {"quote": {"type": "string", "title": "Quote"}}},
        },
        "title": {"type": "string"},
    },
}


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        yield running


@pytest.fixture
async def llm(server: ScriptedServer) -> AsyncIterator[Llm]:
    made = connect_llm("openai:tiny", base_url=server.url, timeout=HANGS_S)
    yield made
    await made.close()


@pytest.fixture
async def hasty(server: ScriptedServer) -> AsyncIterator[Llm]:
    made = connect_llm("openai:tiny", base_url=server.url, timeout=0.3)
    yield made
    await made.close()


def question(title: str = "Reflection") -> LlmQuestion:
    return LlmQuestion(
        title=title,
        schema={**SCHEMA, "title": title},
        system="You reflect.",
        prompt="What was said?",
        purpose=Purpose.REFLECTION,
        by_rule=dict,
    )


def request(*messages: LlmMessage, **more: object) -> LlmChatRequest:
    said = messages or (LlmMessage(role="user", content="hi"),)
    return LlmChatRequest(system="Be kind.", messages=said, by_rule=str, **more)  # type: ignore[arg-type]


async def heard(llm: Llm, asked: LlmChatRequest, into: list[ChatEvent]) -> None:
    async for event in llm.chat(asked):
        into.append(event)  # noqa: PERF401 what came before a failure counts


async def test_an_answer_carries_the_schemas_title_to_the_wire(server: ScriptedServer, llm: Llm) -> None:
    server.script.add_answers("Reflection", {"memories": [{"quote": "x"}]})
    answer = await llm.answer(question())
    assert answer.value == {"memories": [{"quote": "x"}]}
    asked = server.script.asked[0]
    form = asked.body["response_format"]["json_schema"]
    assert (form["name"], form["schema"]["title"]) == ("Reflection", "Reflection")
    assert form["schema"]["properties"]["title"] == {"type": "string"}
    assert (asked.system, asked.prompt, asked.stream) == ("You reflect.", "What was said?", False)


async def test_ollama_is_asked_by_native_schema_too(server: ScriptedServer) -> None:
    llm = connect_llm("ollama:qwen3", base_url=server.url, timeout=HANGS_S)
    assert (await llm.answer(question("Spine"))).value == {}
    assert server.script.asked[0].title == "Spine"
    assert "tools" not in server.script.asked[0].body
    await llm.close()


async def test_an_answer_says_what_it_cost(server: ScriptedServer, llm: Llm) -> None:
    usage = (await llm.answer(question())).usage
    assert (usage.model, usage.calls) == ("openai:tiny", 1)
    assert usage.input_tokens > 0
    assert usage.output_tokens > 0
    assert usage.latency_ms > 0


async def test_a_reply_is_streamed_in_pieces_with_its_usage(server: ScriptedServer, llm: Llm) -> None:
    spent = Usage(input_tokens=10, output_tokens=3, cached_tokens=4)
    server.script.add_replies(ScriptedReply(pieces=("Good ", "morning"), usage=spent))
    events: list[ChatEvent] = []
    await heard(llm, request(), events)
    *texts, last = events
    assert texts == [TextPiece(text="Good "), TextPiece(text="morning")]
    assert isinstance(last, ReplyFinished)
    assert (last.reason, last.usage.input_tokens, last.usage.cached_tokens) == ("stop", 10, 4)
    assert server.script.asked[0].system == "Be kind."


async def test_tool_calls_go_out_and_come_back(server: ScriptedServer, llm: Llm) -> None:
    server.script.add_replies(tool_calls_reply(("recall", {"query": "tea"}), ("forget", {"id": "m1"})))
    tool = ToolSpec(name="recall", description="Search.", schema={"type": "object", "properties": {}})
    events: list[ChatEvent] = []
    await heard(llm, request(tools=(tool,)), events)
    *made, last = events
    assert made == [
        ToolRequest(id="call_1_recall", name="recall", arguments={"query": "tea"}),
        ToolRequest(id="call_2_forget", name="forget", arguments={"id": "m1"}),
    ]
    assert isinstance(last, ReplyFinished)
    assert last.reason == "tool_calls"
    assert server.script.asked[0].tools == ("recall",)


async def test_a_tool_round_trip_reaches_the_model_in_order(server: ScriptedServer, llm: Llm) -> None:
    call = ToolRequest(id="c1", name="recall", arguments={"query": "tea"})
    told = (
        LlmMessage(role="user", content="what do I drink?"),
        LlmMessage(role="assistant", content="Let me see.", tool_requests=(call,)),
        LlmMessage(role="tool", content="tea", tool_id="c1", tool_name="recall"),
    )
    await heard(llm, request(*told), [])
    seen = server.script.asked[0].messages
    assert [m.role for m in seen] == ["user", "assistant", "tool"]
    assert seen[1].tool_requests == (call,)
    assert (seen[2].content, seen[2].tool_id) == ("tea", "c1")


async def test_the_callers_options_reach_the_wire(server: ScriptedServer, llm: Llm) -> None:
    options = {"temperature": 0.2, "max_tokens": 50, "stop": "END", "tool_choice": "none", "nonsense": 1}
    await heard(llm, request(options=options), [])
    body = server.script.asked[0].body
    assert (body["temperature"], body["stop"]) == (0.2, ["END"])
    assert body.get("max_completion_tokens", body.get("max_tokens")) == 50
    assert "nonsense" not in body


@pytest.mark.parametrize("kind", ["dead", "error"])
async def test_a_short_failure_is_retried(server: ScriptedServer, llm: Llm, kind: FaultKind) -> None:
    server.script.add_fault(kind)
    assert (await llm.answer(question())).value == {}
    server.script.add_fault(kind)
    events: list[ChatEvent] = []
    await heard(llm, request(), events)
    assert isinstance(events[-1], ReplyFinished)
    assert len(server.script.asked) == 4


async def test_retry_after_is_honoured_within_the_bound(server: ScriptedServer, llm: Llm) -> None:
    server.script.add_fault("rate_limited", seconds=1)
    began = time.perf_counter()
    await llm.answer(question())
    assert time.perf_counter() - began >= 1


async def test_a_retry_after_beyond_the_bound_fails_at_once(server: ScriptedServer, llm: Llm) -> None:
    server.script.add_fault("rate_limited", seconds=10 * HANGS_S)
    with pytest.raises(ModelDown, match="429"):
        async with asyncio.timeout(HANGS_S):
            await llm.answer(question())


async def test_a_dead_endpoint_is_a_clear_error_within_the_bound(server: ScriptedServer, hasty: Llm) -> None:
    server.stop()
    async with asyncio.timeout(HANGS_S):
        with pytest.raises(ModelDown, match="MNEMON_MODEL_BASE_URL"):
            await hasty.answer(question())
        with pytest.raises(ModelDown, match="MNEMON_MODEL_BASE_URL"):
            await heard(hasty, request(), [])


@pytest.mark.parametrize("kind", ["slow", "hang"])
async def test_a_slow_endpoint_ends_at_the_timeout(server: ScriptedServer, hasty: Llm, kind: FaultKind) -> None:
    server.script.add_fault(kind, times=None, after=0, seconds=10 * HANGS_S)
    for call in (hasty.answer(question()), heard(hasty, request(), [])):
        with pytest.raises(ModelDown) as caught:
            async with asyncio.timeout(HANGS_S):
                await call
        assert caught.value.code == "model_unavailable"


async def test_a_reply_that_stops_coming_ends_at_the_timeout(server: ScriptedServer, hasty: Llm) -> None:
    server.script.add_replies("one two three")
    server.script.add_fault("hang", after=2, times=None)
    events: list[ChatEvent] = []
    with pytest.raises(ModelDown) as caught:
        async with asyncio.timeout(HANGS_S):
            await heard(hasty, request(), events)
    # A machine that is very busy may deliver less within the timeout.
    assert events == [TextPiece(text="one "), TextPiece(text="two ")][: len(events)]
    assert ("broke off" in caught.value.detail) == bool(events)


async def test_a_cut_reply_gives_what_came_and_then_fails(server: ScriptedServer, llm: Llm) -> None:
    server.script.add_replies("one two three")
    server.script.add_fault("cut", after=2)
    events: list[ChatEvent] = []
    with pytest.raises(ModelDown, match="broke off"):
        await heard(llm, request(), events)
    assert events == [TextPiece(text="one "), TextPiece(text="two ")]
    assert len(server.script.asked) == 1


async def test_a_cut_answer_is_asked_for_again(server: ScriptedServer, llm: Llm) -> None:
    server.script.add_fault("cut")
    assert (await llm.answer(question())).value == {}


async def test_garbage_is_unusable(server: ScriptedServer, llm: Llm) -> None:
    for call in (llm.answer(question()), heard(llm, request(), [])):
        server.script.add_fault("garbage")
        with pytest.raises(ModelDown) as caught:
            await call
        assert caught.value.code == "model_answer_unusable"


@pytest.mark.parametrize("raw", ["I cannot do that.", "", "[1, 2]", "null", '{"memories": [', "{" * 5000])
async def test_an_answer_that_is_no_object_is_unusable(server: ScriptedServer, llm: Llm, raw: str) -> None:
    server.script.add_answers("Reflection", raw)
    with pytest.raises(ModelDown) as caught:
        await llm.answer(question())
    assert caught.value.code == "model_answer_unusable"


async def test_an_object_between_fences_is_taken(server: ScriptedServer, llm: Llm) -> None:
    server.script.add_answers("Reflection", 'Sure!\n```json\n{"memories": []}\n```')
    answer = await llm.answer(question())
    assert answer.value == {"memories": []}
    assert answer.text.startswith("Sure!")


async def test_leaving_a_reply_early_closes_its_connection(server: ScriptedServer, llm: Llm) -> None:
    server.script.add_replies("one two three")
    server.script.add_fault("hang", after=1)
    stream = llm.chat(request())
    assert await anext(stream) == TextPiece(text="one ")
    await stream.aclose()
    assert isinstance((await collected(llm))[-1], ReplyFinished)


async def collected(llm: Llm) -> list[ChatEvent]:
    events: list[ChatEvent] = []
    await heard(llm, request(), events)
    return events


@pytest.mark.parametrize("name", ["gpt-5", "openai:", "acme:x"])
def test_a_name_without_a_known_provider_says_what_to_set(name: str) -> None:
    with pytest.raises(Misconfigured, match="MNEMON_MODEL"):
        connect_llm(name)


@pytest.mark.parametrize("vendor", ["openai", "anthropic", "google"])
def test_a_missing_key_says_what_to_set(vendor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(Misconfigured, match="MNEMON_MODEL_API_KEY"):
        connect_llm(f"{vendor}:m")


async def test_another_endpoint_never_sees_the_key_meant_for_openai(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-mine")
    llm = connect_llm("openai:tiny", base_url=server.url, timeout=HANGS_S)
    await llm.answer(question())
    await llm.close()
    assert "sk-mine" not in str(server.script.asked[0].headers)


async def test_what_no_database_takes_is_left_out(server: ScriptedServer, llm: Llm) -> None:
    server.script.add_answers("Reflection", '{"memories": [{"quote": "a\\u0000b \\ud800 c"}]}')
    answer = await llm.answer(question())
    assert answer.value == {"memories": [{"quote": "ab ? c"}]}
    server.script.add_replies("x\x00y ü")
    texts = [event.text for event in await collected(llm) if isinstance(event, TextPiece)]
    assert "".join(texts) == "xy ü"
