"""Server-Sent Events: the events of chat turns, of runs and of agents' chats, and the shapes they share."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Annotated, Any, Self

from pydantic import Field
from starlette.responses import StreamingResponse

from mnemon.api.agentstate import event_body
from mnemon.api.models import ApiModel, line
from mnemon.api.run_shapes import RunUsageOut
from mnemon.chat.events import (
    AgentStateChanged,
    ChatEvent,
    ReplyDelta,
    ReplyDone,
    ReplyFailed,
    ToolCalled,
    ToolReturned,
    TurnStarted,
)
from mnemon.chat.stream import ReplyStream
from mnemon.clock import format_time
from mnemon.db.database import Database
from mnemon.llm.protocol import Usage
from mnemon.runs import agent_store
from mnemon.runs.run import FINAL_STATUSES
from mnemon.runs.run_events import watch_chat
from mnemon.runs.store import RecordedEvent
from mnemon.scope import Scope

# X-Accel-Buffering keeps nginx from holding events back.
SSE_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


FINISH_REASONS_TEXT = (
    "Why the reply ended: `stop`, it is complete; `length`, it was cut at the model's limit or at "
    "`MNEMON_MAX_REPLY_CHARS`; `content_filter`, the model's provider held the rest back; `interrupted`, the first "
    "request with this Idempotency-Key broke off, and this is what it had said."
)


class UsageOut(ApiModel):
    """Tokens and time of one or several model calls."""

    input_tokens: int
    output_tokens: int
    cached_tokens: int
    latency_ms: float
    calls: int
    model: str

    @classmethod
    def from_usage(cls, usage: Usage) -> Self:
        """Return the response for the tokens and time of model calls."""
        return cls(
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cached_tokens=usage.cached_tokens,
            latency_ms=round(usage.latency_ms, 1),
            calls=usage.calls,
            model=usage.model,
        )


class ReplyOut(ApiModel):
    """A reply as one JSON object."""

    turn_id: str
    session_id: str
    message_id: str | None
    reply: str
    finish_reason: Annotated[str, Field(description=FINISH_REASONS_TEXT)]
    usage: UsageOut

    @classmethod
    def from_done(cls, done: ReplyDone) -> Self:
        """Return the response for a finished reply, from the event that ends it."""
        return cls(
            turn_id=done.turn_id,
            session_id=done.session_id,
            message_id=done.message_id,
            reply=done.reply,
            finish_reason=done.reason,
            usage=UsageOut.from_usage(done.usage),
        )


def stream_response(stream: ReplyStream, *, sees_state: bool) -> StreamingResponse:
    """Return a chat reply's events as a streaming response; a client that leaves interrupts the reply."""

    async def event_lines() -> AsyncIterator[str]:
        """Yield the events as text, those that are ready together at once; interrupt the reply at the end."""
        try:
            # Events that are ready together are sent as one chunk.
            async for some in stream.event_batches():
                lines = (format_chat_event(event, sees_state=sees_state) for event in some)
                if written := "".join(line for line in lines if line is not None):
                    yield written
        finally:
            stream.interrupt_reply()

    return StreamingResponse(event_lines(), media_type="text/event-stream", headers=SSE_HEADERS)


def replay_response(reply: dict[str, Any]) -> StreamingResponse:
    """Return a stored chat reply as a streaming response of the same events."""

    async def event_lines() -> AsyncIterator[str]:
        """Yield `turn`, one `delta` with the whole text, and `done`."""
        yield line("turn", {"turnId": reply["turnId"], "sessionId": reply["sessionId"]})
        yield line("delta", {"text": reply["reply"]})
        # A reply that an earlier release stored has no finish reason.
        yield line(
            "done", {key: reply[key] for key in ("turnId", "messageId", "finishReason", "usage") if key in reply}
        )

    return StreamingResponse(
        event_lines(), media_type="text/event-stream", headers={**SSE_HEADERS, "Idempotent-Replayed": "true"}
    )


def format_chat_event(event: ChatEvent, *, sees_state: bool) -> str | None:
    """Return a chat event as a Server-Sent Event; None for one that this client may not see."""
    match event:
        case TurnStarted():
            return line("turn", {"turnId": event.turn_id, "sessionId": event.session_id})
        case ReplyDelta():
            return line("delta", {"text": event.text})
        case ToolCalled():
            request = event.request
            return line("tool_call", {"id": request.id, "name": request.name, "arguments": request.arguments})
        case ToolReturned():
            return line("tool_result", {"id": event.id, "name": event.name, "content": event.content})
        case AgentStateChanged():
            return line("agent_state_update", event_body(event.update)) if sees_state else None
        case ReplyDone():
            usage = UsageOut.from_usage(event.usage).model_dump(by_alias=True)
            ended = {"turnId": event.turn_id, "messageId": event.message_id, "finishReason": event.reason}
            return line("done", {**ended, "usage": usage})
        case ReplyFailed():
            return line("error", {"code": event.code, "detail": event.detail, "turnId": event.turn_id})


EVENT_STREAM = {
    "text/event-stream": {
        "schema": {"type": "object", "properties": {"event": {"type": "string"}, "data": {"type": "string"}}}
    }
}
"""How the OpenAPI document describes a stream: each event has a name and JSON data."""
CHAT_EVENTS = frozenset({"delta", "tool_call", "tool_result", "session"})
KEEPALIVE = ": still here\n\n"
WAITING_DETAIL = "No worker has taken it up yet. The message is kept; the reply will appear in the agent's messages."

STREAM_CUT_DETAIL = (
    "The stream ended before the reply: the key is no longer valid, or the server is stopping. The message is kept; "
    "the reply will appear in the agent's messages."
)


def format_run_event(event: RecordedEvent | None) -> str:
    """Return a run's event as a Server-Sent Event with its id for resuming; a keep-alive comment for None."""
    if event is None:
        return KEEPALIVE
    data = json.dumps({**event.data, "at": format_time(event.at)}, ensure_ascii=False)
    return f"id: {event.seq}\nevent: {event.type}\ndata: {data}\n\n"


async def stream_chat_turn(
    db: Database, scope: Scope, turn_id: str, session_id: str | None, until: asyncio.Event
) -> AsyncIterator[str]:
    """Yield an agent's chat turn as Server-Sent Events: turn, delta…, then done or error."""
    yield line("turn", {"turnId": turn_id, "sessionId": session_id})
    async for event in watch_chat(db, scope, turn_id, until=until):
        if event is None:
            yield KEEPALIVE
        elif event.type in CHAT_EVENTS:
            yield line(event.type, event.data)
    # Read from the database and not from the events: the stream may have been cut before the last one.
    ended = await chat_outcome(db, scope, turn_id)
    if until.is_set() and ended.get("code") == "chat_waiting":
        ended["detail"] = STREAM_CUT_DETAIL
    yield line("error" if "code" in ended else "done", ended)


async def chat_outcome(db: Database, scope: Scope, turn_id: str) -> dict[str, Any]:
    """Return the data of the event `done` for an agent's chat turn, or of `error` when it has no reply."""
    async with db.tx(scope.org_id) as tx:
        exchange = await agent_store.find_exchange(tx, scope, turn_id)
        reply = await agent_store.find_turn_message(tx, scope, turn_id, "assistant")
    if exchange is None:
        return {"code": "chat_failed", "detail": "The agent was deleted meanwhile.", "turnId": turn_id}
    if exchange.status not in FINAL_STATUSES:
        return {"code": "chat_waiting", "detail": WAITING_DETAIL, "turnId": turn_id}
    if reply is None:
        return {"code": "chat_failed", "detail": exchange.error or "There is no reply.", "turnId": turn_id}
    usage = RunUsageOut.from_usage(exchange.usage).model_dump(mode="json", by_alias=True)
    return {"turnId": turn_id, "messageId": reply.id, "sessionId": exchange.session_id_after, "usage": usage}
