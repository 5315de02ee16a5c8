"""A model behind a network: one request at a time, within bounds, every failure a `ModelDown`."""

import asyncio
import json
import random
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace

from mnemon.llm.call_log import ModelCall
from mnemon.llm.failure import RAISED, Failure, broken_off, cause_of, failure_of, too_slow, unusable
from mnemon.llm.patience import Patience
from mnemon.llm.protocol import Answer, ChatEvent, ChatRequest, Finished, Json, Question, Text, ToolRequest, Usage
from mnemon.llm.vendor import Piece, Said, Vendor
from mnemon.storable import storable, storable_json
from mnemon.way import RightOfWay


class RemoteLlm:
    """Any vendor's model."""

    offline = False

    def __init__(self, name: str, vendor: Vendor, patience: Patience, way: RightOfWay | None = None) -> None:
        self.name = name
        self._way = way or RightOfWay()
        self._vendor = vendor
        self._patience = patience

    async def close(self) -> None:
        """Its connections are closed."""
        await self._vendor.close()

    async def answer(self, question: Question) -> Answer:
        await self._way.clear()
        with ModelCall(self.name, question.purpose, question.title).logged() as call:
            said = await self._within_patience(question, call)
            text = storable(said.text)
            value = parse_object(text)
            if value is None:
                why = "it was cut at the length limit" if said.cut else "it is not a JSON object"
                raise call.failed(unusable(self.name, why))
            return Answer(value=value, text=text, usage=call.succeeded(said.usage))

    async def _within_patience(self, question: Question, call: ModelCall) -> Said:
        """The answer to the first request that succeeds."""
        timeout = self._patience.timeout
        while call.tries < self._patience.tries:
            call.tries += 1
            try:
                async with asyncio.timeout(self._left(call.began)):
                    return await self._vendor.said(question)
            except RAISED as error:
                await self._wait_or_raise(failure_of(error, self.name, timeout), call, error)
        raise call.failed(too_slow(self.name, timeout))

    async def chat(self, request: ChatRequest) -> AsyncGenerator[ChatEvent, None]:
        with ModelCall(self.name, request.purpose).logged() as call:
            while call.tries < self._patience.tries:
                call.tries += 1
                said = False
                try:
                    async with aclosing(self._once(request, call)) as events:
                        async for event in events:
                            said = True
                            yield event
                    return
                except RAISED as error:
                    if said:
                        raise call.failed(broken_off(self.name, cause_of(error)), error) from error
                    await self._wait_or_raise(failure_of(error, self.name, self._patience.timeout), call, error)

    async def _once(self, request: ChatRequest, call: ModelCall) -> AsyncGenerator[ChatEvent, None]:
        """One request's events, fit for a database; no more text than the longest reply has."""
        ended = stirred = False
        left = self._patience.longest_reply
        async with aclosing(self._in_time(self._vendor.pieces(request), call.began)) as pieces:
            async for piece in pieces:
                stirred = True
                match piece:
                    case Text(text=text) if len(text) > left:
                        yield Text(text=storable(text[:left]))
                        yield Finished(usage=call.succeeded(Usage()), reason="length", cut=True)
                        return
                    case Text(text=text):
                        left -= len(text)
                        yield Text(text=storable(text))
                    case ToolRequest():
                        yield replace(piece, arguments=storable_json(piece.arguments))
                    case Finished():
                        ended = True
                        yield replace(piece, usage=call.succeeded(piece.usage))
        if not ended:
            raise ValueError("it stopped coming" if stirred else "it is empty")

    async def _in_time(self, pieces: AsyncGenerator[Piece, None], began: float) -> AsyncGenerator[Piece, None]:
        """The pieces: the first within the timeout, the last within the bound of a whole reply.

        Only what waits for a piece is ever stopped, never the listener who has one.
        """
        now = asyncio.get_running_loop().time()
        last = now + self._patience.whole_reply
        until = min(last, now + self._left(began))
        async with aclosing(pieces):
            while True:
                try:
                    async with asyncio.timeout_at(until):
                        piece = await anext(pieces)
                except StopAsyncIteration:
                    return
                until = last
                yield piece

    def _left(self, began: float) -> float:
        """Seconds until the answer, or the first piece, is late."""
        return max(0.001, self._patience.timeout - (time.perf_counter() - began))

    async def _wait_or_raise(self, failure: Failure, call: ModelCall, error: Exception) -> None:
        """Returns when it is time to try again."""
        remaining = self._patience.timeout - (time.perf_counter() - call.began)
        wait = (
            self._patience.wait(
                tried=call.tries,
                remaining=remaining,
                asked=failure.after,
                jitter=random.random(),  # noqa: S311 spreads retries, guards nothing
            )
            if failure.again
            else None
        )
        if wait is None:
            raise call.failed(failure, error)
        call.status = failure.status
        await asyncio.sleep(wait)


def parse_object(text: str) -> Json | None:
    """The JSON object in the text, also between fences or words, as small models like to put it."""
    for candidate in (text, text[text.find("{") : text.rfind("}") + 1]):
        try:
            value = json.loads(candidate)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            mended: Json = storable_json(value)
            return mended
    return None
