"""A caller of the OpenAI wire sends the whole conversation every time: only what follows the last reply is new."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mnemon.errors import Invalid
from mnemon.json_limits import parse_json
from mnemon.llm.protocol import Message
from mnemon.sessions.messages import NewMessage
from mnemon.turn import Role, ToolOutcome


@dataclass(frozen=True, kw_only=True)
class Resent:
    """A conversation taken apart."""

    instructions: str
    """What the calling program tells the model, from its system and developer messages."""
    conversation: tuple[Message, ...]
    """Everything else, as the caller tells it."""
    new: tuple[NewMessage, ...]
    """What we have not heard before."""
    tells_history: bool
    """Whether the caller told of earlier replies; otherwise the telling is left to us."""


def taken_apart(messages: Sequence[Message]) -> Resent:
    """The conversation with what is new in it."""
    instructions = [one.content for one in messages if one.role in ("system", "developer") and one.content]
    spoken = tuple(one for one in messages if one.role not in ("system", "developer"))
    replies = [place for place, one in enumerate(spoken) if one.role == "assistant"]
    following = spoken[replies[-1] + 1 :] if replies else spoken
    if not following:
        raise Invalid(
            "There is nothing new to answer: the last message is the assistant's. Append a user or tool message.",
            code="nothing_to_answer",
        )
    names = {call.id: call.name for one in spoken for call in one.tool_requests}
    return Resent(
        instructions="\n\n".join(instructions),
        conversation=spoken,
        new=tuple(_new(one, names) for one in following),
        tells_history=bool(replies),
    )


def outcomes_of(messages: Sequence[NewMessage]) -> tuple[ToolOutcome, ...]:
    """The tool results among new messages. Where one is a JSON object, its `ids`, `types` and `count` can be verified.

    What it says stands in its message, so the outcome does not say it again.
    """
    return tuple(_outcome(one) for one in messages if one.role is Role.TOOL)


def _outcome(message: NewMessage) -> ToolOutcome:
    given = _object(message.content)
    count = given.get("count")
    return ToolOutcome(
        id=message.tool_id or message.name or "tool",
        action=message.name or "tool",
        ids=_texts(given.get("ids")),
        types=_texts(given.get("types")),
        count=count if isinstance(count, int) and not isinstance(count, bool) else None,
    )


def _new(message: Message, names: dict[str, str]) -> NewMessage:
    called = names.get(message.tool_id or "")
    return NewMessage(
        role=Role(message.role),
        content=message.content,
        name=message.tool_name or called,
        tool_id=message.tool_id,
    )


def _object(text: str) -> dict[str, Any]:
    try:
        value = parse_json(text)
    except Invalid:
        return {}
    return value if isinstance(value, dict) else {}


def _texts(value: Any) -> tuple[str, ...] | None:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        return None
    return tuple(value)
