"""Anthropic's and Google's models through pydantic-ai: its direct requests only, none of its agents or retries.

The file creates the library's model, translates Mnemon's messages and options into the library's, sends one request and
translates errors back into those of `failure`. Importing it takes seconds, so only `connect` does, when such a model is
named.
"""

from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from typing import Any, Literal, cast

import httpx2
from pydantic_ai import exceptions as library
from pydantic_ai.direct import model_request, model_request_stream
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    PartDeltaEvent,
    PartStartEvent,
    SystemPromptPart,
    TextPart,
    TextPartDelta,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from mnemon.llm.answer_schema import is_strict
from mnemon.llm.failure import AnswerDeclined, UnsupportedRequest, UnusableAnswer, VendorRejected, error_identifier
from mnemon.llm.protocol import (
    MOST_TOKENS,
    Json,
    LlmChatRequest,
    LlmMessage,
    LlmQuestion,
    ReplyFinished,
    TextPiece,
    ToolRequest,
    Usage,
)
from mnemon.llm.vendor import RawAnswer, ReplyPiece
from mnemon.llm.vendor_http import http_client, missing_key_error

_PASSED_OPTIONS = ("temperature", "top_p", "seed", "presence_penalty", "frequency_penalty", "parallel_tool_calls")
"""Options that have the same name in the library."""
_FINISH_REASONS = {"tool_call": "tool_calls", "length": "length", "content_filter": "content_filter"}
"""Mnemon's finish reasons by the library's; any other is `stop`."""


def make_library_model(
    vendor: Literal["anthropic", "google"],
    model: str,
    *,
    base_url: str | None,
    api_key: str | None,
    http: httpx2.AsyncClient,
) -> Model:
    """Return the library's model of this vendor; raise Misconfigured when its key is missing."""
    try:
        if vendor == "anthropic":
            return _anthropic_model(model, base_url, api_key, http)
        return _google_model(model, base_url, api_key, http)
    except UserError as error:
        raise missing_key_error(vendor, model) from error


def _anthropic_model(model: str, base_url: str | None, api_key: str | None, http: httpx2.AsyncClient) -> Model:
    """Return the library's model of Anthropic, which uses our HTTP client."""
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    return AnthropicModel(model, provider=AnthropicProvider(api_key=api_key, base_url=base_url, http_client=http))


def _google_model(model: str, base_url: str | None, api_key: str | None, http: httpx2.AsyncClient) -> Model:
    """Return the library's model of Google, which uses our HTTP client."""
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.providers.google import GoogleProvider

    return GoogleModel(model, provider=GoogleProvider(api_key=api_key, base_url=base_url, http_client=http))


@contextmanager
def translate_errors() -> Iterator[None]:
    """Turn whatever pydantic-ai raises inside the block into one of `failure.REQUEST_ERRORS`."""
    try:
        yield
    except (library.AgentRunError, library.UserError, AssertionError) as error:
        raise _translate_error(error) from error


def _translate_error(error: Exception) -> Exception:
    """Return the exception of `failure` that an exception of pydantic-ai means."""
    match error:
        case library.ModelRequestTimeout() | library.ModelTimeoutError():
            return TimeoutError()
        case library.ModelConnectionError():
            return ConnectionError()
        case library.ModelHTTPError():
            spent = isinstance(error, library.ModelQuotaExceededError)
            return VendorRejected(error.status_code, _error_code(error.body), after=error.retry_after, spent=spent)
        case library.ContentFilterError():
            return AnswerDeclined()
        case library.UserError():
            return UnsupportedRequest(str(error))
        case _:
            return UnusableAnswer(f"it does not have the expected form ({type(error).__name__})")


def _error_code(body: object) -> str:
    """Return the error code in the body of a rejection by Anthropic or Google, or "" when it has none."""
    error = body.get("error", body) if isinstance(body, dict) else None
    if not isinstance(error, dict):
        return ""
    return next(filter(None, (error_identifier(error.get(name)) for name in ("code", "type", "status"))), "")


def to_library_messages(system: str, messages: tuple[LlmMessage, ...]) -> list[ModelMessage]:
    """Return the conversation as the library's messages, the system prompt first.

    Messages in a row that do not come from the assistant become parts of one request.
    """
    result: list[ModelMessage] = []
    waiting: list[ModelRequestPart] = [SystemPromptPart(content=system)] if system else []
    for message in messages:
        if message.role == "assistant":
            if waiting:
                result.append(ModelRequest(parts=waiting))
                waiting = []
            result.append(ModelResponse(parts=_response_parts(message)))
        else:
            waiting.append(_request_part(message))
    if waiting:
        result.append(ModelRequest(parts=waiting))
    return result


def to_library_settings(options: Json) -> ModelSettings:
    """Return the caller's options that every vendor knows, as pydantic-ai's settings; others are dropped."""
    known: dict[str, Any] = {name: options[name] for name in _PASSED_OPTIONS if options.get(name) is not None}
    limit = options.get("max_completion_tokens") or options.get("max_tokens")
    if limit is not None:
        known["max_tokens"] = limit
    if stop := options.get("stop"):
        known["stop_sequences"] = [stop] if isinstance(stop, str) else list(stop)
    match options.get("tool_choice"):
        case "auto" | "none" | "required" as choice:
            known["tool_choice"] = choice
        case {"function": {"name": str(name)}}:
            known["tool_choice"] = [name]
    return cast("ModelSettings", known)


def _response_parts(message: LlmMessage) -> list[ModelResponsePart]:
    """Return an assistant's message as parts of pydantic-ai's response."""
    parts: list[ModelResponsePart] = [TextPart(content=message.content)] if message.content else []
    parts += [
        ToolCallPart(tool_name=call.name, args=call.arguments, tool_call_id=call.id) for call in message.tool_requests
    ]
    # A response needs at least one part.
    return parts or [TextPart(content="")]


def _request_part(message: LlmMessage) -> ModelRequestPart:
    """Return a message that is not the assistant's as a part of pydantic-ai's request."""
    match message.role:
        case "tool":
            return ToolReturnPart(
                tool_name=message.tool_name or "tool",
                content=message.content,
                tool_call_id=message.tool_id or "",
            )
        case "system":
            return SystemPromptPart(content=message.content)
        case _:
            return UserPromptPart(content=message.content)


def connect_library(
    vendor: Literal["anthropic", "google"],
    model: str,
    *,
    base_url: str | None,
    api_key: str | None,
    timeout: float,
    transport: httpx2.AsyncBaseTransport | None = None,
) -> "LibraryVendor":
    """Return the model that `anthropic:…` or `google:…` names, with its own HTTP client."""
    http = http_client(timeout, base_url=base_url, transport=transport)
    made = make_library_model(vendor, model, base_url=base_url, api_key=api_key, http=http)
    # Google's models count their thoughts as part of the answer, and would be cut before it.
    return LibraryVendor(made, http, timeout=timeout, limits_answers=vendor == "anthropic")


class LibraryVendor:
    """A model that is reached through the library."""

    def __init__(self, model: Model, http: httpx2.AsyncClient, *, timeout: float, limits_answers: bool = False) -> None:
        """Keep pydantic-ai's model and the HTTP client that it uses, to close it."""
        self._limits_answers = limits_answers
        self._model = model
        self._http = http
        self._timeout = timeout

    async def close(self) -> None:
        """Close the model's HTTP connections."""
        await self._http.aclose()

    async def request_answer(self, question: LlmQuestion) -> RawAnswer:
        """Send one request for a structured answer and return it unparsed."""
        limit = {"max_tokens": question.max_tokens} if question.max_tokens and self._limits_answers else {}
        with translate_errors():
            response = await model_request(
                self._model,
                to_library_messages(question.system, (LlmMessage(role="user", content=question.prompt),)),
                model_settings=self._request_settings(limit),
                model_request_parameters=_answer_parameters(self._model, question),
            )
        return RawAnswer(
            text=_answer_text(response), usage=_response_usage(response), cut=response.finish_reason == "length"
        )

    async def stream_reply(self, request: LlmChatRequest) -> AsyncGenerator[ReplyPiece, None]:
        """Send one chat request and yield its reply; end without `ReplyFinished` when the stream broke off."""
        tools = [
            ToolDefinition(name=tool.name, description=tool.description, parameters_json_schema=tool.schema)
            for tool in request.tools
        ]
        opened = model_request_stream(
            self._model,
            to_library_messages(request.system, request.messages),
            model_settings=self._request_settings(request.options),
            model_request_parameters=ModelRequestParameters(function_tools=tools),
        )
        with translate_errors():
            async with opened as stream:
                async for event in stream:
                    match event:
                        case PartStartEvent(part=TextPart(content=text)) if text:
                            yield TextPiece(text=text)
                        case PartDeltaEvent(delta=TextPartDelta(content_delta=text)) if text:
                            yield TextPiece(text=text)
                        case _:
                            yield None
                response = stream.get()
            calls = _tool_requests(response)
        # Without a finish reason the stream broke off; the caller notices that no `ReplyFinished` came.
        if response.finish_reason is None:
            return
        for call in calls:
            yield call
        reason = "tool_calls" if calls else _FINISH_REASONS.get(response.finish_reason, "stop")
        yield ReplyFinished(usage=_response_usage(response), reason=reason)

    def _request_settings(self, options: Json) -> ModelSettings:
        """Return the library's settings for a request: the caller's options, our timeout, and no retries."""
        # The library's own retries are off: `RemoteLlm` retries within one time limit over all tries.
        return cast("ModelSettings", {**to_library_settings(options), "timeout": self._timeout, "max_retries": 0})


def _answer_parameters(model: Model, question: LlmQuestion) -> ModelRequestParameters:
    """Return the request parameters for the schema: native output if the model has it, else one tool it must call."""
    strict = is_strict(question.schema) or None
    # Natively first: a local model of 1.5 billion parameters failed every answer by tool (decision 10).
    if model.profile.get("supports_json_schema_output", False):
        wanted = OutputObjectDefinition(json_schema=question.schema, name=question.title, strict=strict)
        return ModelRequestParameters(output_mode="native", output_object=wanted)
    tool = ToolDefinition(
        name=question.title,
        description="The answer.",
        parameters_json_schema=question.schema,
        kind="output",
        strict=strict,
    )
    return ModelRequestParameters(output_mode="tool", output_tools=[tool], allow_text_output=False)


def _answer_text(response: ModelResponse) -> str:
    """Return the text of pydantic-ai's response, or the arguments of the tool call that carries the answer."""
    for call in response.tool_calls:
        return call.args_as_json_str()
    return "".join(part.content for part in response.parts if isinstance(part, TextPart))


def _tool_requests(response: ModelResponse) -> list[ToolRequest]:
    """Return the tool calls of the library's response; raise where their arguments are no JSON object."""
    return [
        ToolRequest(id=call.tool_call_id, name=call.tool_name, arguments=call.args_as_dict(raise_if_invalid=True))
        for call in response.tool_calls
    ]


def _response_usage(response: ModelResponse) -> Usage:
    """Return the tokens that the library's response cost."""
    counted = (response.usage.input_tokens, response.usage.output_tokens, response.usage.cache_read_tokens)
    sent, received, cached = (number if 0 <= number <= MOST_TOKENS else 0 for number in counted)
    return Usage(input_tokens=sent, output_tokens=received, cached_tokens=cached)
