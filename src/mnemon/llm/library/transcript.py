"""A conversation in Mnemon's messages, told in the vendor library's."""

from typing import Any, cast

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.settings import ModelSettings

from mnemon.llm.protocol import Json, Message

_SAME_NAME = ("temperature", "top_p", "seed", "presence_penalty", "frequency_penalty", "parallel_tool_calls")


def transcript(system: str, messages: tuple[Message, ...]) -> list[ModelMessage]:
    """The messages in order, the system prompt first, what stands together from one side in one message."""
    told: list[ModelMessage] = []
    waiting: list[ModelRequestPart] = [SystemPromptPart(content=system)] if system else []
    for message in messages:
        if message.role == "assistant":
            if waiting:
                told.append(ModelRequest(parts=waiting))
                waiting = []
            told.append(ModelResponse(parts=_said(message)))
        else:
            waiting.append(_given(message))
    if waiting:
        told.append(ModelRequest(parts=waiting))
    return told


def settings_from(options: Json) -> ModelSettings:
    """The caller's options that every vendor knows, in the library's words; the others are dropped."""
    known: dict[str, Any] = {name: options[name] for name in _SAME_NAME if options.get(name) is not None}
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


def _said(message: Message) -> list[ModelResponsePart]:
    parts: list[ModelResponsePart] = [TextPart(content=message.content)] if message.content else []
    parts += [
        ToolCallPart(tool_name=call.name, args=call.arguments, tool_call_id=call.id) for call in message.tool_requests
    ]
    return parts or [TextPart(content="")]


def _given(message: Message) -> ModelRequestPart:
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
