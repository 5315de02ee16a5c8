"""`/api/chat`: one message in, one reply out, streamed or whole. What happens in between is in `chat/turn.py`."""

from typing import Annotated

from fastapi import APIRouter, Response

from mnemon.access.grants import Grant
from mnemon.api.door import Door, JsonRoute, needs, write_responses
from mnemon.api.models import ApiModel, Name, NonEmptyText
from mnemon.api.sse import EVENT_STREAM, ReplyOut, UsageOut, replay_response, stream_response
from mnemon.chat.request import TurnRequest
from mnemon.chat.stream import ReplyStream
from mnemon.chat.tool_calls import ToolsByName
from mnemon.chat.turn import ChatCaller, KeptReply, ReplyKey, start_chat, wait_for_reply
from mnemon.llm.protocol import Usage
from mnemon.memory.recall.search import prepare_query
from mnemon.sessions.messages import NewMessage
from mnemon.sessions.record import last_message
from mnemon.tools.registry import chat_tools
from mnemon.turn import Role, Turn


async def start_turn(door: Door, request: TurnRequest, tools: ToolsByName) -> ReplyStream | KeptReply:
    """Start the reply to a chat turn for this request's caller and return its stream, or its stored reply."""
    key = await door.idempotency_key()
    reply_key = None if key is None else ReplyKey(key=key, concerns=door.concerned, format_reply=_reply_json)
    caller = ChatCaller(org=door.org, record=door.audit_write, reply_key=reply_key)
    return await start_chat(door.services, door.request.app.state.streams, request, tools, caller)


def _reply_json(turn: Turn, reply: str, usage: Usage, reason: str) -> KeptReply:
    """Return the JSON of a finished reply, as `stream: false` sends it and a retry gets it again."""
    message = last_message(turn, Role.ASSISTANT)
    made = ReplyOut(
        turn_id=turn.id,
        session_id=turn.session_id,
        message_id=message.message_id if message else None,
        reply=reply,
        finish_reason=reason,
        usage=UsageOut.from_usage(usage),
    )
    return made.model_dump(by_alias=True)


router = APIRouter(prefix="/api/chat", tags=["turns"], route_class=JsonRoute)


class ChatIn(ApiModel):
    """A message from a person."""

    user_id: Name
    persona_id: Name | None = None
    session_id: Name | None = None
    message: NonEmptyText
    stream: bool = True


@router.post("", response_model=None, responses=write_responses(ReplyOut, also=(404,), content=EVENT_STREAM))
async def chat(body: ChatIn, door: Annotated[Door, needs(Grant.CHAT)]) -> Response:
    """Send a message; return the reply, made with the person's memory, as Server-Sent Events.

    With `stream: false` the reply is one JSON object. `finishReason`, there and in the event `done`, says why the reply
    ended: `length` means that it was cut. Of the tool calls in one reply of the model, at most 32 are run; the event
    `tool_result` of a further one has an `error` that says so.
    """
    request = await _turn_request(body, door)
    reply = await start_turn(door, request, chat_tools(door.principal.grants))
    if isinstance(reply, ReplyStream):
        if body.stream:
            return stream_response(reply, sees_state=door.has_grant(Grant.AGENT_STATE_READ))
        return door.reply(ReplyOut.from_done(await wait_for_reply(reply)))
    return replay_response(reply) if body.stream else door.reply(reply, headers={"Idempotent-Replayed": "true"})


async def _turn_request(body: ChatIn, door: Door) -> TurnRequest:
    """Return the chat request as a TurnRequest with what its key may see; its vector is None if embedding fails."""
    scope, ranking = door.person_scope(body.user_id, body.persona_id), door.services.settings.chat_ranking
    return TurnRequest(
        scope=scope,
        user_name=body.user_id,
        messages=(NewMessage(role=Role.USER, content=body.message),),
        session_id=body.session_id,
        # Embedded before the transaction opens: no connection is held while the embedder works.
        vector=await prepare_query(door.services, scope, body.message, ranking=ranking),
        embedder=door.services.embedder.model,
        sees_agent_state=door.has_grant(Grant.AGENT_STATE_READ),
        sees_engagement=door.has_grant(Grant.ENGAGEMENT_READ),
    )
