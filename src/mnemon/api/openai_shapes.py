"""The JSON shapes of the OpenAI API: requests as its clients send them, completions and chunks as they expect them."""

import json
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, WithJsonSchema, field_validator, model_validator

from mnemon.api.models import Json, Label, Name, Text
from mnemon.errors import Invalid
from mnemon.input_checks import parse_json
from mnemon.llm.protocol import LlmMessage, ToolRequest, ToolSpec, Usage


def _require_object(value: Any) -> Any:
    """Return the value unchanged; raise ValueError unless it is a JSON object."""
    if not isinstance(value, dict):
        raise ValueError("must be an object")
    return value


JsonObject = Annotated[Json, AfterValidator(_require_object), WithJsonSchema({"type": "object"})]
"""A JSON object that a database can hold."""
PositiveCount = Annotated[int, Field(ge=1, le=2**31 - 1)]


class _Lenient(BaseModel):
    """A model that ignores unknown fields: OpenAI clients send more than Mnemon reads."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class FunctionIn(_Lenient):
    """The function of a tool call, its arguments as JSON text."""

    name: Label
    arguments: Text = "{}"


class ToolCallIn(_Lenient):
    """A tool call of an earlier assistant message."""

    id: Label
    function: FunctionIn

    def as_request(self) -> ToolRequest:
        """Return the tool call with its arguments parsed; text that is no JSON object is passed on as `arguments`."""
        try:
            arguments = parse_json(self.function.arguments or "{}")
        except Invalid:
            # A model may have written invalid JSON; the conversation must still be accepted.
            arguments = {"arguments": self.function.arguments}
        given = arguments if isinstance(arguments, dict) else {"arguments": arguments}
        return ToolRequest(id=self.id, name=self.function.name, arguments=given)


class ChatMessageIn(_Lenient):
    """A message of the conversation."""

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: Text | None = None
    name: Label | None = None
    tool_calls: Annotated[list[ToolCallIn], Field(max_length=200)] | None = None
    tool_call_id: Label | None = None

    @field_validator("content", mode="before")
    @classmethod
    def _join_parts(cls, content: Any) -> Any:
        """Return the text of a message's parts joined; raise ValueError for images and other parts."""
        if not isinstance(content, list):
            return content
        parts = [part for part in content if isinstance(part, dict)]
        if len(parts) != len(content) or any(part.get("type") not in ("text", "refusal") for part in parts):
            raise ValueError("only text parts can be answered; leave images and audio out")
        return "\n".join(str(part.get("text") or part.get("refusal") or "") for part in parts)

    @model_validator(mode="after")
    def _require_words(self) -> Self:
        """Refuse a user's message without content, which would become a turn in which nothing was said."""
        if self.role == "user" and self.content is None:
            raise ValueError("a message of the user needs content")
        return self

    def as_message(self) -> LlmMessage:
        """Return the posted message in the form the model client takes."""
        return LlmMessage(
            role=self.role,
            content=self.content or "",
            tool_requests=tuple(call.as_request() for call in self.tool_calls or ()),
            tool_id=self.tool_call_id,
            tool_name=self.name if self.role == "tool" else None,
        )


class FunctionSpecIn(_Lenient):
    """A function that the model may call."""

    name: Label
    description: Text = ""
    parameters: JsonObject = Field(default_factory=dict)


class ToolIn(_Lenient):
    """A tool that the model may call."""

    type: Literal["function"] = "function"
    function: FunctionSpecIn

    def as_spec(self) -> ToolSpec:
        """Return the posted tool in the form the model client takes."""
        schema = self.function.parameters or {"type": "object", "properties": {}}
        return ToolSpec(name=self.function.name, description=self.function.description, schema=schema)


class MetadataIn(_Lenient):
    """Mnemon's own options in OpenAI's `metadata`."""

    persona_id: Name | None = Field(None, alias="personaId")
    session_id: Name | None = Field(None, alias="sessionId")


class StreamOptionsIn(_Lenient):
    """Options of a streamed completion."""

    include_usage: bool = False


class OptionsIn(_Lenient):
    """Sampling options, passed on to the model where they are given."""

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: PositiveCount | None = None
    max_completion_tokens: PositiveCount | None = None
    stop: Text | Annotated[list[Text], Field(max_length=16)] | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    seed: Annotated[int, Field(ge=-(2**63), lt=2**63)] | None = None
    tool_choice: Text | JsonObject | None = None
    parallel_tool_calls: bool | None = None


class CompletionIn(OptionsIn):
    """A request for a chat completion."""

    model: Name
    messages: Annotated[list[ChatMessageIn], Field(min_length=1, max_length=10_000)]
    user: Name | None = None
    metadata: MetadataIn | None = None
    stream: bool | None = False
    stream_options: StreamOptionsIn | None = None
    tools: Annotated[list[ToolIn], Field(max_length=200)] | None = None
    # A turn has one reply, so more than one choice is refused.
    n: Literal[1] | None = None

    @property
    def may_choose_tool(self) -> bool:
        """Say whether `tool_choice` leaves it to the model which tool it calls: unset, `auto` or `required`."""
        return self.tool_choice in (None, "auto", "required")

    @property
    def request_options(self) -> dict[str, Any]:
        """Return the sampling options that the request set, to pass on to the model."""
        return self.model_dump(include=set(OptionsIn.model_fields), exclude_none=True)


def usage_json(usage: Usage) -> dict[str, Any]:
    """Return token usage in OpenAI's format."""
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
    }


def calls_json(calls: list[ToolRequest], *, indexed: bool = False) -> list[dict[str, Any]]:
    """Return tool calls in OpenAI's format; with `indexed`, numbered for a streamed chunk."""
    return [
        {
            # Only chunks number the calls: a client joins the pieces of a call by this index.
            **({"index": place} if indexed else {}),
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": json.dumps(call.arguments, ensure_ascii=False)},
        }
        for place, call in enumerate(calls)
    ]
