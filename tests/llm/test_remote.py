"""Patience is the same whoever serves a model: bounds, tries, and what counts as an end."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

from mnemon.errors import ModelDown
from mnemon.llm import meter, remote
from mnemon.llm.failure import AnswerDeclined, UnsupportedRequest, VendorRejected
from mnemon.llm.protocol import (
    ChatEvent,
    LlmChatRequest,
    LlmMessage,
    LlmQuestion,
    Purpose,
    ReplyFinished,
    TextPiece,
    ToolRequest,
    Usage,
)
from mnemon.llm.remote import RemoteLlm
from mnemon.llm.vendor import RawAnswer, ReplyPiece, RetryPolicy
from support.bounds import HANGS_S
from support.virtual_time import run_in_virtual_time

REQUEST = LlmChatRequest(system="", messages=(LlmMessage(role="user", content="hi"),), by_rule=str)
QUESTION = LlmQuestion(title="Spine", schema={}, system="", prompt="", purpose=Purpose.SPINE, by_rule=dict)
SPENT = Usage(input_tokens=7, output_tokens=2, cached_tokens=1)
Step = ReplyPiece | Exception | float
"""A piece that comes, an error that is raised, or seconds that pass."""


@dataclass
class Played:
    """A vendor that does as it is told: one list of steps for each request, the last for all that follow."""

    plays: list[list[Step]]
    text: str = "{}"
    asked: int = 0
    closed: list[int] = field(default_factory=list)

    def _play(self) -> list[Step]:
        self.asked += 1
        return self.plays[min(self.asked, len(self.plays)) - 1]

    async def request_answer(self, question: LlmQuestion) -> RawAnswer:
        for step in self._play():
            await _step(step)
        return RawAnswer(text=self.text, usage=SPENT)

    async def stream_reply(self, request: LlmChatRequest) -> AsyncGenerator[ReplyPiece, None]:
        play, number = self._play(), self.asked
        try:
            for step in play:
                if await _step(step):
                    yield step  # type: ignore[misc]  # a step that is left is a piece
        finally:
            self.closed.append(number)

    async def close(self) -> None:
        """Nothing is open."""


async def _step(step: Step) -> bool:
    if isinstance(step, Exception):
        raise step
    if isinstance(step, float):
        await asyncio.sleep(step)
    return not isinstance(step, float)


def llm(
    *plays: list[Step], tries: int = 3, text: str = "{}", timeout: float = HANGS_S, whole: float = HANGS_S
) -> tuple[RemoteLlm, Played]:
    vendor = Played(list(plays), text)
    patience = RetryPolicy(timeout=timeout, whole_reply=whole, tries=tries, first_wait=0.001)
    return RemoteLlm("acme:m", vendor, patience), vendor


async def heard(made: RemoteLlm, into: list[ChatEvent]) -> None:
    async for event in made.chat(REQUEST):
        into.append(event)  # noqa: PERF401 what came before a failure counts


HELLO: list[Step] = [TextPiece(text="Hello"), ReplyFinished(usage=SPENT, reason="length")]


async def test_a_reply_is_passed_on_with_its_cost_and_whose_it_is() -> None:
    made, vendor = llm([None, ToolRequest(id="a", name="t", arguments={"x": "a\0b"}), *HELLO])
    events: list[ChatEvent] = []
    await heard(made, events)
    assert events[:2] == [ToolRequest(id="a", name="t", arguments={"x": "ab"}), TextPiece(text="Hello")]
    end = events[2]
    assert isinstance(end, ReplyFinished)
    assert (end.reason, end.usage.input_tokens, end.usage.cached_tokens, end.usage.model) == ("length", 7, 1, "acme:m")
    assert end.usage.latency_ms > 0
    assert vendor.closed == [1]


@pytest.mark.parametrize(
    "error",
    [OSError("gone"), TimeoutError(), VendorRejected(500, "broke"), VendorRejected(429, "slow down", after=0.01)],
)
async def test_what_may_pass_is_tried_again_until_something_is_said(error: Exception) -> None:
    made, vendor = llm([None, error], [error], HELLO)
    events: list[ChatEvent] = []
    await heard(made, events)
    assert events[0] == TextPiece(text="Hello")
    assert vendor.closed == [1, 2, 3]
    answering, _ = llm([error], [error], [])
    assert (await answering.answer(QUESTION)).value == {}


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (VendorRejected(400, "no"), "model_refused"),
        (VendorRejected(429, "pay", spent=True), "model_unavailable"),
        (AnswerDeclined(), "model_refused"),
        (UnsupportedRequest("not so"), "model_refused"),
        (ValueError("the response is not JSON"), "model_answer_unusable"),
        (KeyError("choices"), "model_answer_unusable"),
    ],
)
async def test_what_stays_is_said_at_once(error: Exception, code: str) -> None:
    made, vendor = llm([error])
    for asked in (heard(made, []), made.answer(QUESTION)):
        with pytest.raises(ModelDown) as caught:
            await asked
        assert caught.value.code == code
    assert vendor.asked == 2


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (OSError("gone"), "the connection broke off"),
        (VendorRejected(500, "broke"), "500, broke"),
        (ValueError("x"), r"it does not have the expected form \(ValueError\)"),
        (TimeoutError("late"), "it took too long"),
    ],
)
async def test_after_the_first_word_nothing_is_asked_again(error: Exception, why: str) -> None:
    made, vendor = llm([TextPiece(text="Hel"), error])
    events: list[ChatEvent] = []
    with pytest.raises(ModelDown, match=rf"broke off in the middle of its reply \({why}\)"):
        await heard(made, events)
    assert events == [TextPiece(text="Hel")]
    assert vendor.asked == 1


@pytest.mark.parametrize(("steps", "why"), [([], "it is empty"), ([None], "the stream ended early")])
async def test_a_reply_that_nobody_ended_is_none(steps: list[Step], why: str) -> None:
    with pytest.raises(ModelDown, match=why) as caught:
        await heard(llm(steps)[0], [])
    assert caught.value.code == "model_answer_unusable"
    with pytest.raises(ModelDown, match=r"broke off .*\(the stream ended early\)"):
        await heard(llm([*steps, TextPiece(text="Hel")])[0], [])


@pytest.fixture
def virtual_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The model's patience is measured by the loop's clock too."""
    counter = SimpleNamespace(perf_counter=lambda: asyncio.get_running_loop().time())
    monkeypatch.setattr(remote, "time", counter)
    monkeypatch.setattr(meter, "time", counter)


async def seconds_until_down(asked: Awaitable[object]) -> float:
    began = asyncio.get_running_loop().time()
    with pytest.raises(ModelDown):
        await asked
    return asyncio.get_running_loop().time() - began


@pytest.mark.usefixtures("virtual_time")
def test_the_first_piece_and_an_answer_come_in_time_or_not_at_all() -> None:
    async def asked() -> None:
        made, vendor = llm([3.0, *HELLO], timeout=0.2)
        assert await seconds_until_down(heard(made, [])) == pytest.approx(0.2, abs=0.01)
        assert await seconds_until_down(made.answer(QUESTION)) == pytest.approx(0.2, abs=0.01)
        assert vendor.asked == 2
        busy, _ = llm([VendorRejected(503, "busy", after=60.0)], timeout=0.2)
        assert await seconds_until_down(heard(busy, [])) == 0

    run_in_virtual_time(asked())


@pytest.mark.usefixtures("virtual_time")
def test_one_that_is_seen_at_work_is_given_time() -> None:
    events: list[ChatEvent] = []
    run_in_virtual_time(heard(llm([0.1, None, 0.15, None, 0.15, *HELLO], timeout=0.2)[0], events))
    assert events[0] == TextPiece(text="Hello")


@pytest.mark.usefixtures("virtual_time")
def test_a_whole_reply_has_its_bound_too() -> None:
    events: list[ChatEvent] = []
    steps: list[Step] = [piece for _ in range(20) for piece in (TextPiece(text="x"), 0.06)]
    made, vendor = llm(steps, timeout=0.2, whole=0.3)
    with pytest.raises(ModelDown, match="broke off"):
        run_in_virtual_time(heard(made, events))
    assert len(events) == 5  # at 0, 0.06, 0.12, 0.18 and 0.24 s
    assert vendor.closed == [1]


@pytest.mark.usefixtures("virtual_time")
def test_a_listener_is_never_stopped_by_the_bound() -> None:
    async def listened() -> None:
        made, _ = llm([TextPiece(text="x"), 0.01, *HELLO], timeout=0.2, whole=0.1)
        stream = made.chat(REQUEST)
        await anext(stream)
        await asyncio.sleep(0.2)
        with pytest.raises(ModelDown, match="broke off"):
            await anext(stream)

    run_in_virtual_time(listened())


async def test_a_listener_who_leaves_ends_the_request() -> None:
    made, vendor = llm([TextPiece(text="x"), 3.0])
    stream = made.chat(REQUEST)
    await anext(stream)
    await stream.aclose()
    assert vendor.closed == [1]


@pytest.mark.parametrize("text", ["no", "[]", "", "{"])
async def test_an_answer_that_is_no_object_is_unusable(text: str) -> None:
    with pytest.raises(ModelDown, match="it is not a JSON object"):
        await llm([], text=text)[0].answer(QUESTION)
