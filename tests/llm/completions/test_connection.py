"""Over a real connection: whatever the network does to the bytes, and whoever hangs up first."""

import asyncio
import gzip
import json
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from typing import Any

import pytest

from llm.completions.bytewise import END, STREAM, Wire, chunked, whole
from mnemon.errors import ModelDown
from mnemon.llm.completions.vendor import connect_completions
from mnemon.llm.protocol import (
    ChatEvent,
    LlmChatRequest,
    LlmMessage,
    LlmQuestion,
    Purpose,
    ReplyFinished,
    TextPiece,
    ToolRequest,
)
from mnemon.llm.remote import RemoteLlm
from mnemon.llm.vendor import RetryPolicy
from support.bounds import HANGS_S

KEY = "sk-very-secret-0123456789"
REQUEST = LlmChatRequest(system="", messages=(LlmMessage(role="user", content="hi"),), by_rule=str)
QUESTION = LlmQuestion(
    title="Spine", schema={"type": "object"}, system="", prompt="all", purpose=Purpose.SPINE, by_rule=dict
)
DONE = b"data: [DONE]\n\n"


def event(delta: dict[str, Any], reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return f"data: {json.dumps({'choices': [choice]}, ensure_ascii=False)}\n\n".encode()


HELLO = event({"content": "Grüß "}) + event({"content": "dich 🌿"}) + event({}, "stop") + DONE


Reach = Callable[..., RemoteLlm]


@pytest.fixture
async def reach(wire: Wire) -> AsyncIterator[Reach]:
    made: list[RemoteLlm] = []

    def reached(timeout: float = HANGS_S, tries: int = 1) -> RemoteLlm:
        vendor = connect_completions("openai", "tiny", base_url=wire.url, api_key=KEY, timeout=timeout)
        made.append(RemoteLlm("openai:tiny", vendor, RetryPolicy(timeout=timeout, tries=tries)))
        return made[-1]

    yield reached
    for one in made:
        await one.close()


async def heard(llm: RemoteLlm) -> list[ChatEvent]:
    return [one async for one in llm.chat(REQUEST)]


def said(events: list[ChatEvent]) -> str:
    return "".join(one.text for one in events if isinstance(one, TextPiece))


@pytest.mark.parametrize("size", [1, 2, 3, 7, 10_000])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
async def test_a_reply_may_be_cut_anywhere_even_inside_a_character(
    wire: Wire, reach: Reach, size: int, end: str
) -> None:
    body = b": keep-alive\n\n" + HELLO
    body = body.replace(b"\n", end.encode())
    pieces = [chunked(body[n : n + size]) for n in range(0, len(body), size)]
    wire.plays = [(STREAM, *pieces, END)]
    events = await heard(reach())
    assert said(events) == "Grüß dich 🌿"
    assert isinstance(events[-1], ReplyFinished)


async def test_the_next_reply_goes_over_the_same_connection(wire: Wire, reach: Reach) -> None:
    wire.plays = [(STREAM, chunked(HELLO), END)]
    llm = reach()
    for _ in range(3):
        await heard(llm)
    assert (len(wire.heads), wire.connections) == (3, 1)


async def test_a_body_that_does_not_end_after_its_mark_is_not_waited_for(wire: Wire, reach: Reach) -> None:
    wire.plays, wire.hangs = [(STREAM, chunked(HELLO))], True
    async with asyncio.timeout(HANGS_S / 2):
        assert isinstance((await heard(reach()))[-1], ReplyFinished)
    await wire.settled(lambda: wire.open_now == 0)


async def test_an_end_without_a_last_line_end_counts(wire: Wire, reach: Reach) -> None:
    wire.plays = [(STREAM, chunked(event({"content": "x"})), chunked(b"data: [DONE]"), END)]
    assert isinstance((await heard(reach()))[-1], ReplyFinished)


async def test_a_compressed_reply_is_understood(wire: Wire, reach: Reach) -> None:
    head = STREAM.replace(b"transfer", b"content-encoding: gzip\r\ntransfer")
    wire.plays = [(head, chunked(gzip.compress(HELLO)), END)]
    assert said(await heard(reach())) == "Grüß dich 🌿"


async def test_an_answer_or_a_reply_without_end_is_not_heard_to_its_end(
    wire: Wire, reach: Reach, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mnemon.llm.completions.vendor._MAX_ANSWER_BYTES", 10_000)
    monkeypatch.setattr("mnemon.llm.completions.vendor._MAX_STREAM_BYTES", 10_000)
    wire.plays = [(STREAM, *(chunked(b"x" * 1_000) for _ in range(20)), END)] * 2
    with pytest.raises(ModelDown, match="longer than 10,000 bytes"):
        await reach().answer(QUESTION)
    with pytest.raises(ModelDown, match="longer than 10,000 bytes"):
        await heard(reach())


async def test_a_listener_who_leaves_closes_the_connection(wire: Wire, reach: Reach) -> None:
    wire.plays, wire.hangs = [(STREAM, chunked(event({"content": "one"})))], True
    async with aclosing(reach().chat(REQUEST)) as events:
        assert await anext(events) == TextPiece(text="one")
        assert wire.open_now == 1
    await wire.settled(lambda: wire.open_now == 0)


@pytest.mark.parametrize("pieces", [(), (STREAM,), (STREAM, chunked(event({"content": "one"})))])
async def test_one_who_is_called_away_closes_it_too(wire: Wire, reach: Reach, pieces: tuple[bytes, ...]) -> None:
    wire.plays, wire.hangs = [pieces], True
    for listening in (heard(reach()), reach().answer(QUESTION)):
        task = asyncio.ensure_future(listening)
        await wire.settled(lambda: wire.open_now == 1)
        await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await wire.settled(lambda: wire.open_now == 0)


async def test_abandoned_replies_use_up_no_connections(wire: Wire, reach: Reach) -> None:
    wire.plays, wire.hangs = [(STREAM, chunked(event({"content": "one"})))], True
    llm = reach()
    for _ in range(120):
        async with aclosing(llm.chat(REQUEST)) as events:
            await anext(events)
    wire.plays, wire.hangs = [(STREAM, chunked(HELLO), END)], False
    assert isinstance((await heard(llm))[-1], ReplyFinished)
    await wire.settled(lambda: wire.open_now <= 1)


@pytest.mark.parametrize(
    "pieces", [(), (STREAM,), (STREAM, chunked(b": still here\n\n")), (STREAM, chunked(event({"role": "assistant"})))]
)
async def test_a_first_piece_that_does_not_come_is_given_up_in_time(
    wire: Wire, reach: Reach, pieces: tuple[bytes, ...]
) -> None:
    wire.plays, wire.hangs = [pieces], True
    with pytest.raises(ModelDown, match=r"did not answer within 0\.3 s"):
        async with asyncio.timeout(HANGS_S):
            await heard(reach(timeout=0.3))
    await wire.settled(lambda: wire.open_now == 0)


async def test_a_body_that_is_cut_is_a_broken_reply(wire: Wire, reach: Reach) -> None:
    closing = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 9999\r\n\r\n"
    wire.plays, wire.hangs_up = [(closing, event({"content": "one"}), b'data: {"choi')], True
    with pytest.raises(ModelDown, match="broke off"):
        await heard(reach())


async def test_before_the_first_word_a_cut_reply_is_asked_for_again(wire: Wire, reach: Reach) -> None:
    torn = STREAM + chunked(event({"role": "assistant"})) + b"zz\r\n"
    wire.plays = [(torn,), (STREAM, chunked(HELLO), END)]
    assert said(await heard(reach(tries=2))) == "Grüß dich 🌿"


async def test_an_error_in_the_midst_breaks_the_reply_off_and_before_it_asks_again(wire: Wire, reach: Reach) -> None:
    error = b'data: {"error": {"message": "overloaded", "type": "server_error"}}\n\n'
    wire.plays = [(STREAM, chunked(error), END), (STREAM, chunked(HELLO), END)]
    assert said(await heard(reach(tries=2))) == "Grüß dich 🌿"
    wire.plays = [(STREAM, chunked(event({"content": "one"}) + error), END)]
    with pytest.raises(ModelDown, match=r"broke off in the middle of its reply \(500, server_error\)"):
        await heard(reach(tries=2))


async def test_what_no_model_says_is_unusable(wire: Wire, reach: Reach) -> None:
    for body in (b"", b"<html>", b"data: {\n\n", b'data: {"choices": 7}\n\n', DONE, b"data: null\n\n"):
        wire.plays = [(STREAM, chunked(body), END)]
        with pytest.raises(ModelDown) as caught:
            await heard(reach())
        assert caught.value.code == "model_answer_unusable"


async def test_a_call_with_broken_arguments_is_unusable(wire: Wire, reach: Reach) -> None:
    call = {"index": 0, "id": "a", "function": {"name": "recall", "arguments": '{"a"'}}
    wire.plays = [(STREAM, chunked(event({"tool_calls": [call]}, "length") + DONE), END)]
    with pytest.raises(ModelDown, match="the arguments of a tool call are not JSON"):
        await heard(reach())


async def test_a_call_is_fit_for_a_database(wire: Wire, reach: Reach) -> None:
    call = {"index": 0, "id": "a", "function": {"name": "recall", "arguments": '{"q": "a\\u0000b"}'}}
    wire.plays = [(STREAM, chunked(event({"tool_calls": [call]}, "tool_calls") + DONE), END)]
    assert (await heard(reach()))[0] == ToolRequest(id="a", name="recall", arguments={"q": "ab"})


@pytest.mark.parametrize(
    ("status", "body", "code", "says"),
    [
        (400, b'{"error": {"message": "no such field"}}', "model_refused", r"rejected the request \(400\)\. Check"),
        (400, b'{"error": {"code": "too_long"}}', "model_refused", r"rejected the request \(400, too_long\)\. Check"),
        (401, b"{}", "model_refused", "refused the key"),
        (403, b"", "model_refused", "refused the key"),
        (404, b"<html>", "model_refused", "was not found"),
        (302, b"", "model_refused", r"rejected the request \(302\)"),
        (402, b"", "model_unavailable", "accepts no more requests"),
        (429, b'{"error": {"code": "insufficient_quota"}}', "model_unavailable", "accepts no more requests"),
        (500, b"<html>oh", "model_unavailable", "failed with status 500"),
        (502, b"", "model_unavailable", "failed with status 502"),
    ],
)
async def test_a_status_says_what_to_do(
    wire: Wire, reach: Reach, status: int, body: bytes, code: str, says: str
) -> None:
    wire.plays = [(whole(status, body, "location: http://elsewhere.test/"),)]
    for asked in (reach().answer(QUESTION), heard(reach())):
        with pytest.raises(ModelDown, match=says) as caught:
            await asked
        assert caught.value.code == code


async def test_a_web_page_is_no_model(wire: Wire, reach: Reach) -> None:
    page = whole(200, b"<html>Welcome</html>", "Content-Type: text/html; charset=utf-8")
    for asked in (reach().answer(QUESTION), heard(reach())):
        wire.plays = [(page,)]
        with pytest.raises(ModelDown, match="Check MNEMON_MODEL_BASE_URL: the server there is not a model") as caught:
            await asked
        assert caught.value.code == "model_answer_unusable"


async def test_a_quota_that_is_used_up_is_not_asked_again(wire: Wire, reach: Reach) -> None:
    wire.plays = [(whole(429, b'{"error": {"code": "insufficient_quota"}}'),)]
    with pytest.raises(ModelDown):
        await heard(reach(tries=4))
    assert len(wire.heads) == 1


async def test_the_key_is_in_no_error_and_in_no_log(wire: Wire, reach: Reach, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    echo = json.dumps({"error": {"message": f"bad key {KEY}!", "code": KEY}}).encode()
    for play in (whole(400, echo), STREAM + chunked(b"data: " + echo + b"\n\n") + END):
        wire.plays = [(play,)]
        with pytest.raises(ModelDown, match="…") as caught:
            await heard(reach())
        assert KEY not in caught.value.detail
    assert f"authorization: bearer {KEY}" in wire.heads[0].lower()
    assert KEY not in caplog.text


async def test_nobody_at_the_address_says_where_to_look(wire: Wire) -> None:
    vendor = connect_completions("openai", "tiny", base_url="http://127.0.0.1:9/v1", api_key=KEY, timeout=HANGS_S)
    llm = RemoteLlm("openai:tiny", vendor, RetryPolicy(timeout=HANGS_S, tries=1))
    for asked in (llm.answer(QUESTION), heard(llm)):
        with pytest.raises(ModelDown, match=r"cannot be reached .* Check MNEMON_MODEL_BASE_URL") as caught:
            await asked
        assert caught.value.code == "model_unavailable"
    await llm.close()
