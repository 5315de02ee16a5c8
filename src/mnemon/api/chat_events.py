"""A turn's events as Server-Sent Events, and the shapes that chat and the agents' chat share."""

from collections.abc import AsyncIterator
from typing import Any, Self

from starlette.responses import StreamingResponse

from mnemon.api.agentstate import event_body
from mnemon.api.wire import Wire, line
from mnemon.chat.events import Began, Delta, Done, Event, Failed, StateChanged, ToolCalled, ToolReturned
from mnemon.chat.stream import Stream
from mnemon.llm.protocol import Usage

HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


class UsageOut(Wire):
    """What a model call, or several together, cost."""

    input_tokens: int
    output_tokens: int
    cached_tokens: int
    latency_ms: float
    calls: int
    model: str

    @classmethod
    def of(cls, usage: Usage) -> Self:
        return cls(
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cached_tokens=usage.cached_tokens,
            latency_ms=round(usage.latency_ms, 1),
            calls=usage.calls,
            model=usage.model,
        )


class ReplyOut(Wire):
    """A reply as one JSON."""

    turn_id: str
    session_id: str
    message_id: str | None
    reply: str
    usage: UsageOut

    @classmethod
    def of(cls, done: Done) -> Self:
        return cls(
            turn_id=done.turn_id,
            session_id=done.session_id,
            message_id=done.message_id,
            reply=done.reply,
            usage=UsageOut.of(done.usage),
        )


def streamed(stream: Stream, *, sees_state: bool) -> StreamingResponse:
    """The stream as Server-Sent Events; a client that leaves ends the reply there."""

    async def lines() -> AsyncIterator[str]:
        try:
            async for some in stream.by_and_by():
                told = (sse(event, sees_state=sees_state) for event in some)
                if written := "".join(line for line in told if line is not None):
                    yield written
        finally:
            stream.leave()

    return StreamingResponse(lines(), media_type="text/event-stream", headers=HEADERS)


def replayed(reply: dict[str, Any]) -> StreamingResponse:
    """A reply that was given before, as the same kind of stream."""

    async def lines() -> AsyncIterator[str]:
        yield line("turn", {"turnId": reply["turnId"], "sessionId": reply["sessionId"]})
        yield line("delta", {"text": reply["reply"]})
        yield line("done", {key: reply[key] for key in ("turnId", "messageId", "usage")})

    return StreamingResponse(
        lines(), media_type="text/event-stream", headers={**HEADERS, "Idempotent-Replayed": "true"}
    )


def sse(event: Event, *, sees_state: bool) -> str | None:
    """The event on the wire; None for what this listener may not see."""
    match event:
        case Began():
            return line("turn", {"turnId": event.turn_id, "sessionId": event.session_id})
        case Delta():
            return line("delta", {"text": event.text})
        case ToolCalled():
            request = event.request
            return line("tool_call", {"id": request.id, "name": request.name, "arguments": request.arguments})
        case ToolReturned():
            return line("tool_result", {"id": event.id, "name": event.name, "content": event.content})
        case StateChanged():
            return line("agent_state_update", event_body(event.update)) if sees_state else None
        case Done():
            usage = UsageOut.of(event.usage).model_dump(by_alias=True)
            return line("done", {"turnId": event.turn_id, "messageId": event.message_id, "usage": usage})
        case Failed():
            return line("error", {"code": event.code, "detail": event.detail, "turnId": event.turn_id})
