"""The OpenAI wire: requests as their clients send them, completions and chunks as they expect them."""

import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from mnemon.api.wire import Json, Name, Text
from mnemon.llm.protocol import Message, ToolRequest, ToolSpec, Usage

_PASSED_ON = (
    "temperature",
    "top_p",
    "max_tokens",
    "max_completion_tokens",
    "stop",
    "presence_penalty",
    "frequency_penalty",
    "seed",
    "tool_choice",
    "parallel_tool_calls",
    "response_format",
    "logit_bias",
)
"""Options of a request that the model decides about."""


class _Lenient(BaseModel):
    """Clients send more than we read; what we do not read is left alone."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class FunctionIn(_Lenient):
    name: Name
    arguments: Text = "{}"


class ToolCallIn(_Lenient):
    id: Name
    function: FunctionIn

    def as_request(self) -> ToolRequest:
        try:
            arguments = json.loads(self.function.arguments or "{}")
        except ValueError:
            arguments = {"arguments": self.function.arguments}
        given = arguments if isinstance(arguments, dict) else {"arguments": arguments}
        return ToolRequest(id=self.id, name=self.function.name, arguments=given)


class MessageIn(_Lenient):
    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: Text | None = None
    name: Name | None = None
    tool_calls: Annotated[list[ToolCallIn], Field(max_length=200)] | None = None
    tool_call_id: Name | None = None

    @field_validator("content", mode="before")
    @classmethod
    def _joined(cls, content: Any) -> Any:
        """Text parts become one text; Mnemon remembers text only."""
        if not isinstance(content, list):
            return content
        parts = [part for part in content if isinstance(part, dict)]
        if len(parts) != len(content) or any(part.get("type") not in ("text", "refusal") for part in parts):
            raise ValueError("only text parts can be answered; leave images and audio out")
        return "\n".join(str(part.get("text") or part.get("refusal") or "") for part in parts)

    def as_message(self) -> Message:
        return Message(
            role=self.role,
            content=self.content or "",
            tool_requests=tuple(call.as_request() for call in self.tool_calls or ()),
            tool_id=self.tool_call_id,
            tool_name=self.name if self.role == "tool" else None,
        )


class FunctionSpecIn(_Lenient):
    name: Name
    description: Text = ""
    parameters: Json = Field(default_factory=dict)


class ToolIn(_Lenient):
    type: Literal["function"] = "function"
    function: FunctionSpecIn

    def as_spec(self) -> ToolSpec:
        schema = self.function.parameters or {"type": "object", "properties": {}}
        return ToolSpec(name=self.function.name, description=self.function.description, schema=schema)


class MetadataIn(_Lenient):
    persona_id: Name | None = Field(None, alias="personaId")
    session_id: Name | None = Field(None, alias="sessionId")


class StreamOptionsIn(_Lenient):
    include_usage: bool = False


class CompletionIn(_Lenient):
    """A request for a chat completion."""

    model_config = ConfigDict(extra="allow", frozen=True)

    model: Name
    messages: Annotated[list[MessageIn], Field(min_length=1, max_length=10_000)]
    user: Name | None = None
    metadata: MetadataIn | None = None
    stream: bool | None = False
    stream_options: StreamOptionsIn | None = None
    tools: Annotated[list[ToolIn], Field(max_length=200)] | None = None
    n: Literal[1] | None = None

    @property
    def options(self) -> dict[str, Any]:
        """What is passed on to the model."""
        given = self.model_extra or {}
        return {name: given[name] for name in _PASSED_ON if given.get(name) is not None}


def usage_json(usage: Usage) -> dict[str, Any]:
    """Usage in the wire's words."""
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
    }


def calls_json(calls: list[ToolRequest], *, indexed: bool = False) -> list[dict[str, Any]]:
    """Tool calls in the wire's words; numbered in a chunk."""
    return [
        {
            **({"index": place} if indexed else {}),
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": json.dumps(call.arguments, ensure_ascii=False)},
        }
        for place, call in enumerate(calls)
    ]
