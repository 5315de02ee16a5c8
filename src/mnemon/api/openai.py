"""`/v1`: the OpenAI API with memory applied; a program gains memory by changing its base URL and key."""

import json
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Path, Response
from starlette.responses import JSONResponse, StreamingResponse

from mnemon.access.grants import Grant
from mnemon.api.chat import start_turn
from mnemon.api.door import Door, JsonRoute, needs, write_responses
from mnemon.api.openai_shapes import CompletionIn, calls_json, usage_json
from mnemon.api.sse import SSE_HEADERS
from mnemon.chat.events import ChatEvent, ReplyDelta, ReplyDone, ReplyFailed, ToolCalled
from mnemon.chat.request import TurnRequest, split_conversation
from mnemon.chat.stream import ReplyStream
from mnemon.chat.turn import INTERRUPTED_REASON, KeptReply
from mnemon.errors import ModelDown, NotFound
from mnemon.llm.protocol import ToolRequest, Usage
from mnemon.memory.recall.search import prepare_query
from mnemon.sessions.turns import TurnOrigin
from mnemon.tools.registry import expect_beside

router = APIRouter(prefix="/v1", tags=["openai"], route_class=JsonRoute)
ChatDoor = Annotated[Door, needs(Grant.CHAT)]


@router.post(
    "/chat/completions",
    response_model=None,
    responses={**write_responses(also=(404,)), 200: {"content": {"application/json": {}, "text/event-stream": {}}}},
)
async def create_completion(body: CompletionIn, door: ChatDoor) -> Response:
    """Create a chat completion; only what follows the last assistant message is new and is remembered."""
    # Of Mnemon's tools only `expect`, whose calls are answered here: every other call goes to the client.
    offered = expect_beside([tool.function.name for tool in body.tools or ()]) if body.may_choose_tool else {}
    reply = await start_turn(door, await _turn_request(body, door), offered)
    stream = _ReplayedReply(reply) if isinstance(reply, dict) else reply
    events = await _wait_for_first(stream)
    answer = _Completion(body, door, stream)
    if body.stream:
        return StreamingResponse(answer.stream_chunks(events), media_type="text/event-stream", headers=answer.headers)
    return Response(json.dumps(await answer.as_json(events)), media_type="application/json", headers=answer.headers)


@router.get("/models", responses={200: {"model": dict[str, Any]}})
async def list_models(door: ChatDoor) -> Response:
    """List the one model that answers; a request may name any model."""
    return JSONResponse({"object": "list", "data": [_model_json(door)]})


@router.get("/models/{model_id:path}", responses={200: {"model": dict[str, Any]}})
async def get_model(model_id: Annotated[str, Path(max_length=200)], door: ChatDoor) -> Response:
    """Return the model that answers."""
    if model_id != door.services.llm.name:
        raise NotFound("model", detail="There is no such model. `GET /v1/models` lists the one that answers.")
    return JSONResponse(_model_json(door))


async def _turn_request(body: CompletionIn, door: Door) -> TurnRequest:
    """Return the completion request as a turn: what follows the last assistant message is new."""
    split = split_conversation([one.as_message() for one in body.messages])
    # A program that names no user gets one person per key, so that its memory is kept apart from other keys'.
    user = body.user or door.principal.bound_user or f"key:{door.principal.key_id}"
    named = body.metadata
    scope, ranking = door.person_scope(user, named.persona_id if named else None), door.services.settings.chat_ranking
    return TurnRequest(
        scope=scope,
        user_name=user,
        messages=split.new,
        session_id=named.session_id if named else None,
        vector=await prepare_query(door.services, scope, split.new[-1].content, ranking=ranking),
        embedder=door.services.embedder.model,
        sees_agent_state=door.has_grant(Grant.AGENT_STATE_READ),
        sees_engagement=door.has_grant(Grant.ENGAGEMENT_READ),
        origin=TurnOrigin.OPENAI,
        instructions=split.instructions or None,
        resent=split.conversation if split.tells_history else None,
        tools=tuple(tool.as_spec() for tool in body.tools or ()),
        options=body.request_options,
    )


class _Completion:
    """One completion in OpenAI's format."""

    def __init__(self, body: CompletionIn, door: Door, stream: "ReplyStream | _ReplayedReply") -> None:
        """Prepare the parts that all chunks of this reply share, and the response's headers."""
        self._stream = stream
        self._with_usage = bool(body.stream_options and body.stream_options.include_usage)
        self._common = {
            "id": f"chatcmpl-{stream.turn_id}",
            "created": int(door.services.clock.now().timestamp()),
            "model": body.model,
        }
        self.headers = {
            **SSE_HEADERS,
            "X-Mnemon-Turn-Id": stream.turn_id,
            "X-Mnemon-Session-Id": stream.session_id,
        }

    async def as_json(self, events: AsyncIterator[ChatEvent]) -> dict[str, Any]:
        """Return the complete completion as one object; raise why when there is no reply."""
        calls: list[ToolRequest] = []
        async for event in events:
            if isinstance(event, ToolCalled):
                calls.append(event.request)
            elif isinstance(event, ReplyFailed):
                raise event.to_error()
            elif isinstance(event, ReplyDone):
                message: dict[str, Any] = {"role": "assistant", "content": event.reply or None}
                # To a caller who sent no tools none is handed: Mnemon answered a call that the model made up.
                if event.reason == "tool_calls":
                    message["tool_calls"] = calls_json(calls)
                choice = {"index": 0, "message": message, "finish_reason": event.reason, "logprobs": None}
                kind = {"object": "chat.completion"}
                return {**self._common, **kind, "choices": [choice], "usage": usage_json(event.usage)}
        raise ModelDown("The reply ended early, without a result. Look at the turn.")

    async def stream_chunks(self, events: AsyncIterator[ChatEvent]) -> AsyncIterator[str]:
        """Yield the reply as OpenAI's streamed chunks; a client that leaves interrupts the reply."""
        try:
            # OpenAI's own streams begin with the role and an empty text.
            yield self._format_chunk({"role": "assistant", "content": ""})
            calls: list[ToolRequest] = []
            async for event in events:
                match event:
                    case ReplyDelta():
                        yield self._format_chunk({"content": event.text})
                    case ToolCalled():
                        calls.append(event.request)
                    case ReplyFailed():
                        error = {"message": event.detail, "type": "server_error", "code": event.code}
                        yield _format_data({"error": error})
                    case ReplyDone():
                        for line in self._last_chunks(event, calls):
                            yield line
            yield "data: [DONE]\n\n"
        finally:
            self._stream.interrupt_reply()

    def _last_chunks(self, done: ReplyDone, calls: list[ToolRequest]) -> list[str]:
        """Return the chunks that end a stream: tool calls, the finish reason, and the usage if asked for."""
        waiting = calls if done.reason == "tool_calls" else []
        lines = [self._format_chunk({"tool_calls": calls_json(waiting, indexed=True)})] if waiting else []
        lines.append(self._format_chunk({}, done.reason))
        if self._with_usage:
            lines.append(self._usage_chunk(done.usage))
        return lines

    def _format_chunk(self, delta: dict[str, Any], reason: str | None = None) -> str:
        """Return one streamed chunk of OpenAI's format as a Server-Sent Event."""
        choice = {"index": 0, "delta": delta, "finish_reason": reason, "logprobs": None}
        return _format_data({**self._common, "object": "chat.completion.chunk", "choices": [choice]})

    def _usage_chunk(self, usage: Usage) -> str:
        """Return the streamed chunk that carries the token usage."""
        # As in OpenAI's streams, the chunk with the usage has no choices.
        kind = {"object": "chat.completion.chunk", "choices": []}
        return _format_data({**self._common, **kind, "usage": usage_json(usage)})


class _ReplayedReply:
    """A stored reply with the interface of a ReplyStream."""

    def __init__(self, kept: KeptReply) -> None:
        """Wrap the stored JSON of a reply."""
        self.turn_id: str = kept["turnId"]
        self.session_id: str = kept["sessionId"]
        self._kept = kept

    def interrupt_reply(self) -> None:
        """Do nothing: a stored reply is complete and cannot be interrupted."""

    async def iter_events(self) -> AsyncIterator[ChatEvent]:
        """Yield the events of the stored reply: its text, its tool calls, and the end."""
        kept = self._kept
        usage = kept["usage"]
        if kept["reply"]:
            yield ReplyDelta(text=kept["reply"])
        for call in kept.get("toolCalls", ()):
            yield ToolCalled(request=ToolRequest(**call))
        yield ReplyDone(
            turn_id=self.turn_id,
            session_id=self.session_id,
            message_id=kept["messageId"],
            reply=kept["reply"],
            usage=Usage(input_tokens=usage["inputTokens"], output_tokens=usage["outputTokens"]),
            reason=_kept_reason(kept),
        )


def _kept_reason(kept: KeptReply) -> str:
    """Return why a stored reply ended in OpenAI's words, which have none for one that broke off but `length`."""
    # A reply that an earlier release stored has no finish reason.
    reason = "tool_calls" if kept.get("toolCalls") else str(kept.get("finishReason", "stop"))
    return "length" if reason == INTERRUPTED_REASON else reason


async def _wait_for_first(stream: "ReplyStream | _ReplayedReply") -> AsyncIterator[ChatEvent]:
    """Wait for the reply's first text or tool call; return all its events, that one included.

    A model that fails before that is an error response that the client can retry, not a broken stream.
    """
    events = stream.iter_events()
    first = await anext(events)
    while not isinstance(first, ReplyDelta | ToolCalled | ReplyDone | ReplyFailed):
        first = await anext(events)
    if isinstance(first, ReplyFailed):
        raise first.to_error()

    async def all_events() -> AsyncIterator[ChatEvent]:
        """Yield the event that was waited for, then the rest."""
        yield first
        async for event in events:
            yield event

    return all_events()


def _model_json(door: Door) -> dict[str, Any]:
    """Return the configured model as OpenAI's list of models shows it."""
    return {"id": door.services.llm.name, "object": "model", "created": 0, "owned_by": "mnemon"}


def _format_data(value: dict[str, Any]) -> str:
    """Return JSON as a Server-Sent Event without a name, as OpenAI streams it."""
    return f"data: {json.dumps(value, ensure_ascii=False)}\n\n"
