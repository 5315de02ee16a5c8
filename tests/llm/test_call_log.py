"""Every call to a model leaves one line: what for, what it cost, how it ended, and what to do about it."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import httpx2
import pytest
from pydantic import BaseModel
from structlog.testing import capture_logs

from mnemon.errors import ModelDown
from mnemon.llm.answer_schema import INTEGER, closed_object, titled
from mnemon.llm.failure import AnswerDeclined, NotAModel, VendorRejected
from mnemon.llm.protocol import LlmChatRequest, LlmMessage, LlmQuestion, Purpose, ReplyFinished, TextPiece, Usage
from mnemon.llm.remote import RemoteLlm
from mnemon.llm.structured_answer import request_structured_answer
from mnemon.llm.vendor import RawAnswer, ReplyPiece, RetryPolicy

SECRET = "my locker word is zoltup"
REQUEST = LlmChatRequest(system="", messages=(LlmMessage(role="user", content=SECRET),), by_rule=str)
QUESTION = LlmQuestion(title="Spine", schema={}, system="", prompt=SECRET, purpose=Purpose.SPINE, by_rule=dict)
SPENT = Usage(input_tokens=7, output_tokens=2, cached_tokens=1)


class Vendor:
    """Raises these, one for each request, then answers."""

    def __init__(self, *errors: Exception, text: str = "{}", broken: bool = False) -> None:
        self._errors = list(errors)
        self._text = text
        self._broken = broken

    async def request_answer(self, question: LlmQuestion) -> RawAnswer:
        if self._errors:
            raise self._errors.pop(0)
        return RawAnswer(text=self._text, usage=SPENT)

    async def stream_reply(self, request: LlmChatRequest) -> AsyncGenerator[ReplyPiece, None]:
        if self._errors and not self._broken:
            raise self._errors.pop(0)
        yield TextPiece(text=SECRET)
        if self._broken:
            raise self._errors.pop(0)
        yield ReplyFinished(usage=SPENT)

    async def close(self) -> None:
        """Nothing is open."""


def llm(*errors: Exception, tries: int = 3, **options: Any) -> RemoteLlm:
    return RemoteLlm(
        "acme:m", Vendor(*errors, **options), RetryPolicy(timeout=5.0, whole_reply=5.0, tries=tries, first_wait=0.0)
    )


async def line_of(made: RemoteLlm, *, chat: bool = False) -> Any:
    with capture_logs() as lines:
        try:
            if chat:
                [event async for event in made.chat(REQUEST)]
            else:
                await made.answer(QUESTION)
        except ModelDown:
            pass
    assert SECRET not in str([{**line, "exc_info": None} for line in lines])
    (line,) = lines
    return line


@pytest.mark.parametrize("chat", [True, False])
async def test_a_call_that_succeeds_tells_what_it_was_for_and_what_it_cost(chat: bool) -> None:
    line = await line_of(llm(VendorRejected(503, SECRET), OSError(SECRET)), chat=chat)
    assert line.pop("ms") > 0
    about = {"purpose": "chat", "title": None} if chat else {"purpose": "spine", "title": "Spine"}
    assert line == {
        "event": "model_call", "log_level": "info", "model": "acme:m", **about, "outcome": "ok", "tries": 3,
        "status": None, "input_tokens": 7, "output_tokens": 2, "cached_tokens": 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("error", "outcome", "status", "step"),
    [
        (VendorRejected(401, SECRET), "refused", 401, "check MNEMON_MODEL_API_KEY"),
        (VendorRejected(404, SECRET), "refused", 404, "check MNEMON_MODEL and MNEMON_MODEL_BASE_URL"),
        (VendorRejected(400, SECRET), "refused", 400, "check that MNEMON_MODEL takes a JSON schema"),
        (VendorRejected(429, SECRET, spent=True), "unavailable", 429, "raise the quota"),
        (VendorRejected(500, SECRET), "unavailable", 500, "look at the model's server"),
        (AnswerDeclined(SECRET), "refused", None, "use another model"),
        (TimeoutError(SECRET), "timeout", None, "or check that the model's server answers at all"),
        (NotAModel(SECRET), "bad_answer", None, "check MNEMON_MODEL_BASE_URL: the server there is not a model"),
        (httpx2.ConnectError(SECRET), "unavailable", None, "check MNEMON_MODEL_BASE_URL"),
        (ValueError(SECRET), "bad_answer", None, "JSON schema"),
    ],
)
@pytest.mark.parametrize("chat", [True, False])
async def test_a_call_that_fails_warns_with_the_next_step(
    error: Exception, outcome: str, status: int | None, step: str, chat: bool
) -> None:
    line = await line_of(llm(error, tries=1), chat=chat)
    assert (line["log_level"], line["outcome"], line["status"], line["tries"]) == ("warning", outcome, status, 1)
    assert step in line["next_step"]
    assert line["exc_info"] is None


async def test_what_may_be_a_fault_of_ours_is_told_with_its_lines() -> None:
    line = await line_of(llm(KeyError("choices")))
    assert line["outcome"] == "bad_answer"
    assert isinstance(line["exc_info"], KeyError)


async def test_an_answer_that_is_no_object_is_a_bad_answer() -> None:
    assert (await line_of(llm(text=SECRET)))["outcome"] == "bad_answer"


async def test_a_reply_that_breaks_off_is_cut() -> None:
    line = await line_of(llm(OSError(SECRET), broken=True), chat=True)
    assert (line["outcome"], line["log_level"]) == ("cut", "warning")


async def test_a_reply_nobody_waits_for_is_cancelled_and_no_warning() -> None:
    with capture_logs() as lines:
        async with aclosing(llm().chat(REQUEST)) as events:
            await anext(events)
    (line,) = lines
    assert (line["outcome"], line["log_level"]) == ("cancelled", "info")
    with capture_logs() as lines:
        task = asyncio.create_task(llm(*[VendorRejected(429, "", after=4.0)] * 3).answer(QUESTION))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert [line["outcome"] for line in lines] == ["cancelled"]


async def test_an_answer_of_the_wrong_shape_is_told_by_a_count_and_warned_of_the_second_time() -> None:
    class Shape(BaseModel):
        number: int

    made = llm(text=f'{{"number": "{SECRET}"}}')
    with capture_logs() as lines, pytest.raises(ModelDown):
        await request_structured_answer(
            made,
            Shape,
            schema=titled("Shape", closed_object(number=INTEGER)),
            system="",
            prompt="",
            purpose=Purpose.SPINE,
            by_rule=lambda: Shape(number=1),
        )
    rejected = [line for line in lines if line["event"] == "answer_rejected"]
    assert [(line["log_level"], line["title"], line["faults"]) for line in rejected] == [
        ("info", "Shape", 1),
        ("warning", "Shape", 1),
    ]
    assert SECRET not in str(lines)
