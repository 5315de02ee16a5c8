"""One request through the library: a structured answer, or a reply piece by piece."""

from collections.abc import AsyncGenerator
from typing import Literal, cast

import httpx2
from pydantic_ai.direct import model_request, model_request_stream
from pydantic_ai.messages import ModelResponse, PartDeltaEvent, PartStartEvent, TextPart, TextPartDelta
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from mnemon.llm.http import http_client
from mnemon.llm.library.providers import provided
from mnemon.llm.library.raised import translated
from mnemon.llm.library.transcript import settings_from, transcript
from mnemon.llm.protocol import ChatRequest, Finished, Json, Message, Question, Text, ToolRequest, Usage
from mnemon.llm.vendor import Piece, Said

_REASONS = {"tool_call": "tool_calls", "length": "length", "content_filter": "content_filter"}


def through_library(
    vendor: Literal["anthropic", "google"],
    model: str,
    *,
    base_url: str | None,
    api_key: str | None,
    timeout: float,
    transport: httpx2.AsyncBaseTransport | None = None,
) -> "LibraryVendor":
    """The model that `anthropic:…` or `google:…` names, with its own connections."""
    http = http_client(timeout, base_url=base_url, transport=transport)
    made = provided(vendor, model, base_url=base_url, api_key=api_key, http=http)
    return LibraryVendor(made, http, timeout=timeout)


class LibraryVendor:
    """A model that the library reaches."""

    def __init__(self, model: Model, http: httpx2.AsyncClient, *, timeout: float) -> None:
        self._model = model
        self._http = http
        self._timeout = timeout

    async def close(self) -> None:
        await self._http.aclose()

    async def said(self, question: Question) -> Said:
        with translated():
            response = await model_request(
                self._model,
                transcript(question.system, (Message(role="user", content=question.prompt),)),
                model_settings=self._settings({}),
                model_request_parameters=_form(self._model, question),
            )
        return Said(text=_answered(response), usage=_tokens(response), cut=response.finish_reason == "length")

    async def pieces(self, request: ChatRequest) -> AsyncGenerator[Piece, None]:
        tools = [
            ToolDefinition(name=tool.name, description=tool.description, parameters_json_schema=tool.schema)
            for tool in request.tools
        ]
        opened = model_request_stream(
            self._model,
            transcript(request.system, request.messages),
            model_settings=self._settings(request.options),
            model_request_parameters=ModelRequestParameters(function_tools=tools),
        )
        with translated():
            async with opened as stream:
                async for event in stream:
                    match event:
                        case PartStartEvent(part=TextPart(content=text)) if text:
                            yield Text(text=text)
                        case PartDeltaEvent(delta=TextPartDelta(content_delta=text)) if text:
                            yield Text(text=text)
                        case _:
                            yield None
                response = stream.get()
            calls = _calls(response)
        if response.finish_reason is None:
            return
        for call in calls:
            yield call
        reason = "tool_calls" if calls else _REASONS.get(response.finish_reason, "stop")
        yield Finished(usage=_tokens(response), reason=reason)

    def _settings(self, options: Json) -> ModelSettings:
        return cast("ModelSettings", {**settings_from(options), "timeout": self._timeout, "max_retries": 0})


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
        ToolRequest(id=call.tool_call_id, name=call.tool_name, arguments=call.args_as_dict(raise_if_invalid=True))
        for call in response.tool_calls
    ]


def _tokens(response: ModelResponse) -> Usage:
    return Usage(
        input_tokens=response.usage.input_tokens,
        output_tokens=response.usage.output_tokens,
        cached_tokens=response.usage.cache_read_tokens,
    )
