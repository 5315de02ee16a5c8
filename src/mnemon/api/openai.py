"""`/v1`: the OpenAI wire with memory applied; a program gains it by changing its base URL and key."""

import json
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Path, Response
from starlette.responses import StreamingResponse

from mnemon.access.grants import Grant
from mnemon.api.chat_events import HEADERS
from mnemon.api.door import Door, documented, needs
from mnemon.api.json_route import JsonRoute
from mnemon.api.openai_shapes import CompletionIn, calls_json, usage_json
from mnemon.api.opening import Kept, opened
from mnemon.chat.asking import Asking
from mnemon.chat.events import Delta, Done, Event, Failed, ToolCalled
from mnemon.chat.resent import taken_apart
from mnemon.chat.stream import Stream
from mnemon.errors import ModelDown, NotFound
from mnemon.llm.protocol import ToolRequest, Usage
from mnemon.memory.recall.prepare import prepare_query
from mnemon.sessions.turns import Origin

router = APIRouter(prefix="/v1", tags=["openai"], route_class=JsonRoute)
Chats = Annotated[Door, needs(Grant.CHAT)]


@router.post(
    "/chat/completions",
    response_model=None,
    responses={**documented(), 200: {"content": {"application/json": {}, "text/event-stream": {}}}},
)
async def create_completion(body: CompletionIn, door: Chats) -> Response:
    """A chat completion; only what follows the last assistant message is new and remembered."""
    reply = await opened(door, await _asking(body, door), {})
    stream = _Retold(reply) if isinstance(reply, dict) else reply
    events = await _peeked(stream)
    answer = _Completion(body, door, stream)
    if body.stream:
        return StreamingResponse(answer.chunks(events), media_type="text/event-stream", headers=answer.headers)
    return Response(json.dumps(await answer.whole(events)), media_type="application/json", headers=answer.headers)


@router.get("/models", responses=documented())
async def list_models(door: Chats) -> dict[str, Any]:
    """The model that answers; any name is taken in a request."""
    return {"object": "list", "data": [_model(door)]}


@router.get("/models/{model_id:path}", responses=documented())
async def get_model(model_id: Annotated[str, Path(max_length=200)], door: Chats) -> dict[str, Any]:
    """The model that answers."""
    if model_id != door.basement.llm.name:
        raise NotFound("model")
    return _model(door)


async def _asking(body: CompletionIn, door: Door) -> Asking:
    told = taken_apart([one.as_message() for one in body.messages])
    user = body.user or door.principal.bound_user or f"key:{door.principal.key_id}"
    named = body.metadata
    scope, ranking = door.person(user, named.persona_id if named else None), door.basement.settings.chat_ranking
    return Asking(
        scope=scope,
        user_name=user,
        messages=told.new,
        session_id=named.session_id if named else None,
        vector=await prepare_query(door.basement, scope, told.new[-1].content, ranking=ranking),
        embedder=door.basement.embedder.model,
        sees_agent_state=door.may(Grant.AGENT_STATE_READ),
        sees_engagement=door.may(Grant.ENGAGEMENT_READ),
        origin=Origin.OPENAI,
        instructions=told.instructions or None,
        resent=told.conversation if told.tells_history else None,
        tools=tuple(tool.as_spec() for tool in body.tools or ()),
        options=body.options,
    )


class _Completion:
    """One completion in the wire's words."""

    def __init__(self, body: CompletionIn, door: Door, stream: "Stream | _Retold") -> None:
        self._stream = stream
        self._with_usage = bool(body.stream_options and body.stream_options.include_usage)
        self._common = {
            "id": f"chatcmpl-{stream.turn_id}",
            "created": int(door.basement.clock.now().timestamp()),
            "model": body.model,
        }
        self.headers = {
            **HEADERS,
            "X-Mnemon-Turn-Id": stream.turn_id,
            "X-Mnemon-Session-Id": stream.session_id,
        }

    async def whole(self, events: AsyncIterator[Event]) -> dict[str, Any]:
        """The completion as one JSON."""
        calls: list[ToolRequest] = []
        async for event in events:
            if isinstance(event, ToolCalled):
                calls.append(event.request)
            elif isinstance(event, Failed):
                raise ModelDown(event.detail, code=event.code)
            elif isinstance(event, Done):
                message: dict[str, Any] = {"role": "assistant", "content": event.reply or None}
                if calls:
                    message["tool_calls"] = calls_json(calls)
                choice = {"index": 0, "message": message, "finish_reason": event.reason, "logprobs": None}
                kind = {"object": "chat.completion"}
                return {**self._common, **kind, "choices": [choice], "usage": usage_json(event.usage)}
        raise ModelDown("The reply ended without a word. Look at the turn.")

    async def chunks(self, events: AsyncIterator[Event]) -> AsyncIterator[str]:
        """The completion piece by piece."""
        try:
            yield self._chunk({"role": "assistant", "content": ""})
            calls: list[ToolRequest] = []
            async for event in events:
                match event:
                    case Delta():
                        yield self._chunk({"content": event.text})
                    case ToolCalled():
                        calls.append(event.request)
                    case Failed():
                        error = {"message": event.detail, "type": "server_error", "code": event.code}
                        yield _data({"error": error})
                    case Done():
                        for line in self._ending(event, calls):
                            yield line
            yield "data: [DONE]\n\n"
        finally:
            self._stream.leave()

    def _ending(self, done: Done, calls: list[ToolRequest]) -> list[str]:
        lines = [self._chunk({"tool_calls": calls_json(calls, indexed=True)})] if calls else []
        lines.append(self._chunk({}, done.reason))
        if self._with_usage:
            lines.append(self._usage(done.usage))
        return lines

    def _chunk(self, delta: dict[str, Any], reason: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": reason, "logprobs": None}
        return _data({**self._common, "object": "chat.completion.chunk", "choices": [choice]})

    def _usage(self, usage: Usage) -> str:
        kind = {"object": "chat.completion.chunk", "choices": []}
        return _data({**self._common, **kind, "usage": usage_json(usage)})


class _Retold:
    """A reply that was given before, told again."""

    def __init__(self, kept: Kept) -> None:
        self.turn_id: str = kept["turnId"]
        self.session_id: str = kept["sessionId"]
        self._kept = kept

    def leave(self) -> None:
        """Nothing is being made."""

    async def events(self) -> AsyncIterator[Event]:
        kept = self._kept
        usage = kept["usage"]
        if kept["reply"]:
            yield Delta(text=kept["reply"])
        for call in kept.get("toolCalls", ()):
            yield ToolCalled(request=ToolRequest(**call))
        yield Done(
            turn_id=self.turn_id,
            session_id=self.session_id,
            message_id=kept["messageId"],
            reply=kept["reply"],
            usage=Usage(input_tokens=usage["inputTokens"], output_tokens=usage["outputTokens"]),
            reason="tool_calls" if kept.get("toolCalls") else "stop",
        )


async def _peeked(stream: "Stream | _Retold") -> AsyncIterator[Event]:
    """The events, once the first piece is there: a model that gives nothing is an error the client can retry."""
    events = stream.events()
    first = await anext(events)
    while not isinstance(first, Delta | ToolCalled | Done | Failed):
        first = await anext(events)
    if isinstance(first, Failed):
        raise ModelDown(first.detail, code=first.code)

    async def all_of_them() -> AsyncIterator[Event]:
        yield first
        async for event in events:
            yield event

    return all_of_them()


def _model(door: Door) -> dict[str, Any]:
    return {"id": door.basement.llm.name, "object": "model", "created": 0, "owned_by": "mnemon"}


def _data(value: dict[str, Any]) -> str:
    return f"data: {json.dumps(value, ensure_ascii=False)}\n\n"
