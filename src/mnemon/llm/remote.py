"""A model behind a network: requests with retries within a time limit, and every failure as `ModelDown`."""

import asyncio
import json
import random
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace

from mnemon.event_loop import RequestPriority
from mnemon.input_checks import storable_json, storable_text
from mnemon.llm.failure import (
    REQUEST_ERRORS,
    UnusableAnswer,
    classify_failure,
    cut_answer_failure,
    cut_off_failure,
    describe_cause,
    timeout_failure,
    unusable_failure,
)
from mnemon.llm.meter import ModelCall
from mnemon.llm.outcome import ModelFailure
from mnemon.llm.protocol import (
    ChatEvent,
    Json,
    LlmAnswer,
    LlmChatRequest,
    LlmQuestion,
    ReplyFinished,
    TextPiece,
    ToolRequest,
    Usage,
)
from mnemon.llm.vendor import LlmVendor, RawAnswer, ReplyPiece, RetryPolicy


class RemoteLlm:
    """A model of any vendor. `priority` is the request priority by which questions of jobs wait for requests."""

    offline = False

    def __init__(
        self, name: str, vendor: LlmVendor, policy: RetryPolicy, priority: RequestPriority | None = None
    ) -> None:
        """Make a model of this vendor, with the limits of a call and the priority of requests over jobs."""
        self.name = name
        self._priority = priority or RequestPriority()
        self._vendor = vendor
        self._policy = policy

    async def close(self) -> None:
        """Close the vendor's HTTP connections."""
        await self._vendor.close()

    async def answer(self, question: LlmQuestion) -> LlmAnswer:
        """Return the model's structured answer; raise ModelDown when it is no JSON object or no try succeeds."""
        # A job's question waits, for 50 ms at most, while a request waits for its first word (decision 18).
        await self._priority.yield_to_requests()
        with ModelCall(self.name, question.purpose, question.title).log_when_done() as call:
            raw = await self._answer_with_retries(question, call)
            text = storable_text(raw.text)
            value = parse_object(text)
            if value is None:
                cut = cut_answer_failure(self.name)
                raise call.record_failure(cut if raw.cut else unusable_failure(self.name, "it is not a JSON object"))
            return LlmAnswer(value=value, text=text, usage=call.record_success(raw.usage))

    async def _answer_with_retries(self, question: LlmQuestion, call: ModelCall) -> RawAnswer:
        """Return the answer to the first request that succeeds; raise ModelDown when none does in time."""
        timeout = self._policy.timeout
        while call.tries < self._policy.tries:
            call.tries += 1
            try:
                async with asyncio.timeout(self._seconds_left(call.began)):
                    return await self._vendor.request_answer(question)
            except REQUEST_ERRORS as error:
                await self._delay_or_raise(classify_failure(error, self.name, timeout), call, error)
        raise call.record_failure(timeout_failure(self.name, timeout))

    async def chat(self, request: LlmChatRequest) -> AsyncGenerator[ChatEvent, None]:
        """Yield the model's reply; retry only while nothing of it was yielded, else raise ModelDown."""
        with ModelCall(self.name, request.purpose).log_when_done() as call:
            while call.tries < self._policy.tries:
                call.tries += 1
                begun = False
                try:
                    async with aclosing(self._stream_once(request, call)) as events:
                        async for event in events:
                            begun = True
                            yield event
                    return
                except REQUEST_ERRORS as error:
                    # The caller has shown the first pieces already: a second reply cannot be joined to them.
                    if begun:
                        raise call.record_failure(cut_off_failure(self.name, describe_cause(error)), error) from error
                    await self._delay_or_raise(classify_failure(error, self.name, self._policy.timeout), call, error)

    async def _stream_once(self, request: LlmChatRequest, call: ModelCall) -> AsyncGenerator[ChatEvent, None]:
        """Yield one request's reply, its text made storable and cut at the longest reply.

        Raises UnusableAnswer when the stream ends without `ReplyFinished`.
        """
        ended = any_piece = False
        left = self._policy.longest_reply
        async with aclosing(self._pieces_in_time(self._vendor.stream_reply(request), call.began)) as pieces:
            async for piece in pieces:
                any_piece = True
                match piece:
                    case TextPiece(text=text) if len(text) > left:
                        # The usage is unknown here: servers send it with the last chunk.
                        if left:
                            yield TextPiece(text=storable_text(text[:left]))
                        yield ReplyFinished(usage=call.record_success(Usage()), reason="length", cut=True)
                        return
                    case TextPiece(text=text):
                        left -= len(text)
                        yield TextPiece(text=storable_text(text))
                    case ToolRequest():
                        yield replace(piece, arguments=storable_json(piece.arguments))
                    case ReplyFinished():
                        ended = True
                        yield replace(piece, usage=call.record_success(piece.usage))
        if not ended:
            raise UnusableAnswer("the stream ended early" if any_piece else "it holds no text")

    async def _pieces_in_time(
        self, pieces: AsyncGenerator[ReplyPiece, None], began: float
    ) -> AsyncGenerator[ReplyPiece, None]:
        """Yield the reply's pieces: the first within the timeout, the last within the limit of a whole reply."""
        # The timeout covers only the wait for the next piece, never what the consumer does with one.
        now = asyncio.get_running_loop().time()
        last = now + self._policy.whole_reply
        until = min(last, now + self._seconds_left(began))
        async with aclosing(pieces):
            while True:
                try:
                    async with asyncio.timeout_at(until):
                        piece = await anext(pieces)
                except StopAsyncIteration:
                    return
                until = last
                yield piece

    def _seconds_left(self, began: float) -> float:
        """Return the seconds until the call's answer, or the first piece of its reply, is late."""
        return max(0.001, self._policy.timeout - (time.perf_counter() - began))

    async def _delay_or_raise(self, failure: ModelFailure, call: ModelCall, error: Exception) -> None:
        """Wait until the call may be retried; raise ModelDown when the failure is final or no time is left."""
        # One limit over all tries and pauses; the server's Retry-After must lie within it (decision 10).
        remaining = self._policy.timeout - (time.perf_counter() - call.began)
        wait = (
            self._policy.next_delay(
                tried=call.tries,
                remaining=remaining,
                asked=failure.after,
                jitter=random.random(),  # noqa: S311 spreads retries, guards nothing
            )
            if failure.again
            else None
        )
        if wait is None:
            raise call.record_failure(failure, error)
        call.status = failure.status
        await asyncio.sleep(wait)


def parse_object(text: str) -> Json | None:
    """Return the JSON object in a model's text, or None; small models put it between code fences or words."""
    for candidate in (text, text[text.find("{") : text.rfind("}") + 1]):
        try:
            value = json.loads(candidate)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            mended: Json = storable_json(value)
            return mended
    return None
