"""Each vendor is asked in its own way, and no answer of a wrong shape leaks the vendor's errors."""

import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx2
import pytest

from mnemon.errors import ModelDown
from mnemon.llm.completions.vendor import connect_completions
from mnemon.llm.protocol import ChatEvent, LlmChatRequest, LlmMessage, LlmQuestion, Purpose, ReplyFinished, TextPiece
from mnemon.llm.pydantic_ai_vendor import connect_library
from mnemon.llm.remote import RemoteLlm
from mnemon.llm.vendor import LlmVendor, RetryPolicy
from mnemon.llm.vendor_http import http_client
from support.bounds import HANGS_S

SCHEMA = {"title": "Spine", "type": "object", "properties": {"PROFILE": {"type": "array", "items": {"type": "string"}}}}
QUESTION = LlmQuestion(
    title="Spine", schema=SCHEMA, system="Sum up.", prompt="All of it.", purpose=Purpose.SPINE, by_rule=dict
)
REQUEST = LlmChatRequest(system="Be kind.", messages=(LlmMessage(role="user", content="hi"),), by_rule=str)
VALUE = {"PROFILE": ["Lives in Austin"]}


class Pieces(httpx2.AsyncByteStream):
    """A body that comes over time, as it does from a network."""

    def __init__(self, *pieces: str) -> None:
        self._pieces = pieces

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece.encode()


def as_sent(respond: Callable[[httpx2.Request], httpx2.Response]) -> Callable[[httpx2.Request], httpx2.Response]:
    """The same responses with bodies that nobody has read yet: those made of a text or JSON are read when made."""

    def send(request: httpx2.Request) -> httpx2.Response:
        made = respond(request)
        if not made.is_stream_consumed:
            return made
        return httpx2.Response(made.status_code, headers=made.headers, stream=Pieces(made.text))

    return send


def llm_on(vendor: str, model: str, respond: Callable[[httpx2.Request], httpx2.Response]) -> RemoteLlm:
    there: Any = {"api_key": "k", "timeout": 30.0, "transport": httpx2.MockTransport(as_sent(respond))}
    made: LlmVendor
    match vendor:
        case "openai":
            made = connect_completions(vendor, model, base_url="http://model.test/v1", **there)
        case "ollama":
            made = connect_completions(vendor, model, base_url=None, **there)
        case _:
            made = connect_library(vendor, model, base_url=None, **there)  # type: ignore[arg-type]
    return RemoteLlm(f"{vendor}:{model}", made, RetryPolicy(timeout=HANGS_S, tries=1))


def anthropic_message(content: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "claude",
        "content": content,
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 7, "output_tokens": 2, "cache_read_input_tokens": 5},
    }


def anthropic_reply(request: httpx2.Request, block: dict[str, Any], *deltas: dict[str, Any]) -> httpx2.Response:
    """What the API sends for one block, streamed when the client wants it so: large answers always are."""
    if not json.loads(request.content).get("stream"):
        return httpx2.Response(200, json=anthropic_message([block]))
    end = {"stop_reason": "end_turn", "stop_sequence": None}
    opening = {"type": "text", "text": ""} if block["type"] == "text" else {**block, "input": {}}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {**anthropic_message([]), "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": opening},
        *({"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": end, "usage": {"output_tokens": 2}},
        {"type": "message_stop"},
    ]
    body = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
    return httpx2.Response(200, text=body, headers={"content-type": "text/event-stream"})


@pytest.mark.parametrize(("vendor", "model"), [("openai", "any-local-model"), ("ollama", "qwen2.5:1.5b")])
async def test_a_local_server_is_asked_by_native_schema_and_never_by_a_tool(vendor: str, model: str) -> None:
    seen: list[Any] = []

    def respond(request: httpx2.Request) -> httpx2.Response:
        seen.append(json.loads(request.content))
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": json.dumps(VALUE)}}
        usage = {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}
        whole = {"id": "c", "object": "chat.completion", "created": 1, "model": model, "choices": [choice]}
        return httpx2.Response(200, json={**whole, "usage": usage})

    llm = llm_on(vendor, model, respond)
    assert (await llm.answer(QUESTION)).value == VALUE
    await llm.close()
    [body] = seen
    assert body["model"] == model
    assert body["response_format"]["type"] == "json_schema"
    assert body["response_format"]["json_schema"]["name"] == "Spine"
    assert body["response_format"]["json_schema"]["schema"]["title"] == "Spine"
    assert "tools" not in body


async def test_a_new_claude_is_asked_by_its_native_schema() -> None:
    seen: list[Any] = []
    text = json.dumps(VALUE)

    def respond(request: httpx2.Request) -> httpx2.Response:
        seen.append(json.loads(request.content))
        return anthropic_reply(request, {"type": "text", "text": text}, {"type": "text_delta", "text": text})

    llm = llm_on("anthropic", "claude-sonnet-4-6", respond)
    answer = await llm.answer(QUESTION)
    assert answer.value == VALUE
    assert answer.usage.output_tokens == 2
    assert answer.usage.cached_tokens == 5
    assert "tools" not in seen[0]
    await llm.close()


async def test_an_older_claude_is_asked_by_one_tool_it_must_call() -> None:
    seen: list[Any] = []

    def respond(request: httpx2.Request) -> httpx2.Response:
        seen.append(json.loads(request.content))
        used = {"type": "tool_use", "id": "t", "name": "Spine", "input": VALUE}
        return anthropic_reply(request, used, {"type": "input_json_delta", "partial_json": json.dumps(VALUE)})

    llm = llm_on("anthropic", "claude-unlisted", respond)
    assert (await llm.answer(QUESTION)).value == VALUE
    assert [tool["name"] for tool in seen[0]["tools"]] == ["Spine"]
    assert seen[0]["tool_choice"]["type"] in ("any", "tool")
    await llm.close()


async def test_claude_streams_its_reply() -> None:
    pieces = [{"type": "text_delta", "text": text} for text in ("Good ", "day")]
    llm = llm_on(
        "anthropic",
        "claude-sonnet-4-6",
        lambda request: anthropic_reply(request, {"type": "text", "text": "Good day"}, *pieces),
    )
    *texts, last = [event async for event in llm.chat(REQUEST)]
    assert texts == [TextPiece(text="Good "), TextPiece(text="day")]
    assert isinstance(last, ReplyFinished)
    assert last.usage.output_tokens == 2
    await llm.close()


async def test_gemini_is_asked_by_its_native_schema() -> None:
    seen: list[Any] = []

    def respond(request: httpx2.Request) -> httpx2.Response:
        seen.append(json.loads(request.content))
        content = {"role": "model", "parts": [{"text": json.dumps(VALUE)}]}
        usage = {"promptTokenCount": 9, "candidatesTokenCount": 3, "totalTokenCount": 12}
        body = {"candidates": [{"content": content, "finishReason": "STOP"}], "usageMetadata": usage}
        return httpx2.Response(200, json=body)

    llm = llm_on("google", "gemini-2.5-flash", respond)
    answer = await llm.answer(QUESTION)
    assert answer.value == VALUE
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (9, 3)
    assert "json" in seen[0]["generationConfig"]["responseMimeType"]
    await llm.close()


WRONG_BODIES: list[Any] = [
    None,
    [],
    "words",
    {},
    {"choices": None},
    {"choices": []},
    {"choices": [None]},
    {"choices": [{}]},
    {"choices": [{"message": None, "finish_reason": "stop", "index": 0}]},
    {"choices": [{"message": {"role": "assistant", "content": 7}, "finish_reason": "stop", "index": 0}]},
    {"content": None},
    {"candidates": [{"content": {"parts": 3}}]},
    {"error": "overloaded"},
]


@pytest.mark.parametrize("vendor", ["openai:tiny", "anthropic:claude-sonnet-4-6", "google:gemini-2.5-flash"])
@pytest.mark.parametrize("body", WRONG_BODIES, ids=repr)
async def test_an_answer_of_a_wrong_shape_is_model_down(vendor: str, body: Any) -> None:
    name, model = vendor.split(":")
    llm = llm_on(name, model, lambda _: httpx2.Response(200, json=body))
    with pytest.raises(ModelDown):
        await llm.answer(QUESTION)
    with pytest.raises(ModelDown):
        [event async for event in llm.chat(REQUEST)]
    await llm.close()


@pytest.mark.parametrize(
    ("status", "says"),
    [(400, "rejected"), (401, "MNEMON_MODEL_API_KEY"), (403, "MNEMON_MODEL_API_KEY"), (404, "MNEMON_MODEL")],
)
async def test_a_refusal_says_what_to_change(status: int, says: str) -> None:
    llm = llm_on("openai", "tiny", lambda _: httpx2.Response(status, json={"error": {"message": "no"}}))
    with pytest.raises(ModelDown, match=says) as caught:
        await llm.answer(QUESTION)
    assert caught.value.code == "model_refused"
    await llm.close()


async def test_an_error_inside_a_stream_is_model_down() -> None:
    body = 'data: {"error": {"message": "overloaded", "type": "server_error"}}\n\n'
    headers = {"content-type": "text/event-stream"}
    llm = llm_on("openai", "tiny", lambda _: httpx2.Response(200, text=body, headers=headers))
    with pytest.raises(ModelDown):
        [event async for event in llm.chat(REQUEST)]
    await llm.close()


def chunk(delta: dict[str, Any], reason: str | None = None) -> str:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    body = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
    return f"data: {json.dumps(body)}\n\n"


def streaming(*events: str) -> RemoteLlm:
    headers = {"content-type": "text/event-stream"}
    return llm_on("openai", "tiny", lambda _: httpx2.Response(200, stream=Pieces(*events), headers=headers))


DONE = "data: [DONE]\n\n"


@pytest.mark.parametrize("ending", [(chunk({}, "stop"),), (DONE,), (chunk({}, "stop"), DONE), ("data: [DO", "NE]\n\n")])
async def test_a_reply_is_whole_when_its_server_says_so(ending: tuple[str, ...]) -> None:
    llm = streaming(chunk({"content": "Hello"}), *ending)
    events = [event async for event in llm.chat(REQUEST)]
    assert events[0] == TextPiece(text="Hello")
    assert isinstance(events[-1], ReplyFinished)
    await llm.close()


async def heard(llm: RemoteLlm, into: list[ChatEvent]) -> None:
    async for event in llm.chat(REQUEST):
        into.append(event)  # noqa: PERF401 what came before a failure counts


async def test_a_connection_that_closes_early_is_no_whole_reply() -> None:
    llm = streaming(chunk({"content": "Hel"}), chunk({"content": "lo"}))
    came: list[ChatEvent] = []
    with pytest.raises(ModelDown, match="broke off"):
        await heard(llm, came)
    assert came == [TextPiece(text="Hel"), TextPiece(text="lo")]
    await llm.close()


async def test_other_servers_are_told_the_limit_by_its_older_name() -> None:
    seen: list[Any] = []

    def respond(request: httpx2.Request) -> httpx2.Response:
        seen.append(json.loads(request.content))
        return httpx2.Response(200, text=chunk({"content": "x"}, "stop"), headers={"content-type": "text/event-stream"})

    llm = llm_on("openai", "tiny", respond)
    request = LlmChatRequest(system="", messages=REQUEST.messages, by_rule=str, options={"max_tokens": 9})
    assert [event async for event in llm.chat(request)]
    assert seen[0]["max_tokens"] == 9
    assert seen[0]["messages"][-1] == {"role": "user", "content": "hi"}
    await llm.close()


@pytest.mark.parametrize(("url", "proxied"), [("http://127.0.0.1:1/v1", False), ("https://models.test/v1", True)])
async def test_a_server_on_this_machine_is_reached_without_a_proxy(
    url: str, proxied: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.test:1")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.test:1")
    monkeypatch.delenv("NO_PROXY", raising=False)
    client = http_client(5, base_url=url)
    assert client.trust_env is proxied
    await client.aclose()
