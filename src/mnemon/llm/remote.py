"""A model behind a network: one request at a time, within bounds, every failure a `ModelDown`."""

import asyncio
import json
import random
import time
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, aclosing
from typing import cast

import httpx2
from pydantic_ai.direct import model_request, model_request_stream
from pydantic_ai.messages import ModelResponse, PartDeltaEvent, PartStartEvent, TextPart, TextPartDelta
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from mnemon.llm.ending import Ending, current
from mnemon.llm.failure import RAISED, Failure, broken_off, failure_of, too_slow, unusable
from mnemon.llm.patience import Patience
from mnemon.llm.protocol import (
    Answer,
    ChatEvent,
    ChatRequest,
    Finished,
    Json,
    Message,
    Question,
    Text,
    ToolRequest,
    Usage,
)
from mnemon.llm.transcript import settings_from, transcript
from mnemon.storable import storable, storable_json
from mnemon.way import WAY

_REASONS = {"tool_call": "tool_calls", "length": "length", "content_filter": "content_filter"}


class RemoteLlm:
    """Any provider's model."""

    offline = False

    def __init__(self, name: str, model: Model, http: httpx2.AsyncClient, patience: Patience) -> None:
        self.name = name
        self._model = model
        self._http = http
        self._patience = patience

    async def close(self) -> None:
        """Its connections are closed."""
        await self._http.aclose()

    async def answer(self, question: Question) -> Answer:
        await WAY.clear()
        began = time.perf_counter()
        response = await self._within_patience(question, began)
        text = storable(_answered(response))
        value = parse_object(text)
        if value is None:
            cut = response.finish_reason == "length"
            why = "it was cut at the length limit" if cut else "it is not a JSON object"
            raise unusable(self.name, why).error()
        return Answer(value=value, text=text, usage=self._usage(response, began))

    async def _within_patience(self, question: Question, began: float) -> ModelResponse:
        """The response to the first request that succeeds."""
        messages = transcript(question.system, (Message(role="user", content=question.prompt),))
        form, timeout = _form(self._model, question), self._patience.timeout
        for tried in range(1, self._patience.tries + 1):
            settings = self._settings({}, began)
            try:
                return await model_request(
                    self._model, messages, model_settings=settings, model_request_parameters=form
                )
            except RAISED as error:
                await self._wait_or_raise(failure_of(error, self.name, timeout), tried, began)
        raise too_slow(self.name, timeout).error()

    async def chat(self, request: ChatRequest) -> AsyncGenerator[ChatEvent, None]:
        began = time.perf_counter()
        for tried in range(1, self._patience.tries + 1):
            said = False
            try:
                async with aclosing(self._stream(request, began)) as events:
                    async for event in events:
                        said = True
                        yield event
                return
            except RAISED as error:
                failure = failure_of(error, self.name, self._patience.timeout)
                if said:
                    raise broken_off(self.name, str(error)[:200] or type(error).__name__).error() from error
                await self._wait_or_raise(failure, tried, began)

    async def _stream(self, request: ChatRequest, began: float) -> AsyncGenerator[ChatEvent, None]:
        """One request's events."""
        tools = [
            ToolDefinition(name=tool.name, description=tool.description, parameters_json_schema=tool.schema)
            for tool in request.tools
        ]
        ending = Ending()
        opened = model_request_stream(
            self._model,
            transcript(request.system, request.messages),
            model_settings=self._settings(request.options, began, streamed=True),
            model_request_parameters=ModelRequestParameters(function_tools=tools),
        )
        async with AsyncExitStack() as closing:
            watching = current.set(ending)
            try:
                stream = await closing.enter_async_context(opened)
            finally:
                current.reset(watching)
            async for event in stream:
                match event:
                    case PartStartEvent(part=TextPart(content=text)) if text:
                        yield Text(text=storable(text))
                    case PartDeltaEvent(delta=TextPartDelta(content_delta=text)) if text:
                        yield Text(text=storable(text))
            response = stream.get()
        if not _ended(response, ending):
            raise ValueError("it stopped coming" if response.parts else "it is empty")
        calls = _calls(response)
        for call in calls:
            yield call
        reason = "tool_calls" if calls else _REASONS.get(response.finish_reason or "", "stop")
        yield Finished(usage=self._usage(response, began), reason=reason)

    async def _wait_or_raise(self, failure: Failure, tried: int, began: float) -> None:
        """Returns when it is time to try again."""
        remaining = self._patience.timeout - (time.perf_counter() - began)
        wait = (
            self._patience.wait(
                tried=tried,
                remaining=remaining,
                asked=failure.after,
                jitter=random.random(),  # noqa: S311 spreads retries, guards nothing
            )
            if failure.again
            else None
        )
        if wait is None:
            raise failure.error()
        await asyncio.sleep(wait)

    def _settings(self, options: Json, began: float, *, streamed: bool = False) -> ModelSettings:
        left = max(0.001, self._patience.timeout - (time.perf_counter() - began))
        bounds: Json = {"timeout": self._patience.timeout, "max_retries": 0}
        if streamed:
            bounds |= {"first_event_timeout": left, "request_timeout": self._patience.whole_reply}
        else:
            bounds |= {"request_timeout": left}
        return cast("ModelSettings", {**settings_from(options), **bounds})

    def _usage(self, response: ModelResponse, began: float) -> Usage:
        return Usage(
            input_tokens=response.usage.input_tokens,
            output_tokens=response.usage.output_tokens,
            cached_tokens=response.usage.cache_read_tokens,
            latency_ms=round((time.perf_counter() - began) * 1000, 1),
            model=self.name,
        )


def _ended(response: ModelResponse, ending: Ending) -> bool:
    """Whether the server ended the reply itself: by a finish reason, or by the mark that ends a stream."""
    if response.finish_reason is None:
        return False
    # Where a server of OpenAI's kind names no reason, the library makes one up.
    named = response.provider_name in ("anthropic", "google") or "finish_reason" in (response.provider_details or {})
    return named or ending.marked or response.finish_reason == "content_filter"


def _form(model: Model, question: Question) -> ModelRequestParameters:
    """How the schema is asked for: natively where the model can, else as the one tool it must call."""
    if model.profile.get("supports_json_schema_output", False):
        wanted = OutputObjectDefinition(json_schema=question.schema, name=question.title)
        return ModelRequestParameters(output_mode="native", output_object=wanted)
    tool = ToolDefinition(
        name=question.title,
        description="The answer.",
        parameters_json_schema=question.schema,
        kind="output",
    )
    return ModelRequestParameters(output_mode="tool", output_tools=[tool], allow_text_output=False)


def _answered(response: ModelResponse) -> str:
    """The text of the answer, or the arguments of the tool that carries it."""
    for call in response.tool_calls:
        return call.args_as_json_str()
    return "".join(part.content for part in response.parts if isinstance(part, TextPart))


def _calls(response: ModelResponse) -> list[ToolRequest]:
    return [
        ToolRequest(
            id=call.tool_call_id, name=call.tool_name, arguments=storable_json(call.args_as_dict(raise_if_invalid=True))
        )
        for call in response.tool_calls
    ]


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
