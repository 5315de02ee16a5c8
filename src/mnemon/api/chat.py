"""`/api/chat`: one message in, one reply out, streamed or whole.

A turn is stored once per Idempotency-Key, then answered in a task that the application owns: the reply is completed
and stored even when the client has gone. `/v1` (openai.py) starts its turns here, too.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Response

from mnemon.access import idempotency
from mnemon.access.grants import Grant
from mnemon.access.idempotency import IdempotencyKey
from mnemon.api.door import Door, JsonRoute, needs, responses_for
from mnemon.api.models import ApiModel, Name, NonEmptyText
from mnemon.api.sse import EVENT_STREAM, ReplyOut, UsageOut, replay_response, stream_response
from mnemon.chat.begin import begin_turn
from mnemon.chat.events import ReplyDone, ReplyFailed
from mnemon.chat.request import StartedTurn, TurnPrompt, TurnRequest
from mnemon.chat.seal import OnSeal, ReplyOutcome
from mnemon.chat.stream import ReplyStream, ReplyStreams
from mnemon.chat.tool_calls import ToolsByName
from mnemon.db.tx import Tx
from mnemon.errors import Conflict, ModelDown
from mnemon.llm.protocol import Usage
from mnemon.memory.recall.search import prepare_query
from mnemon.sessions import turns
from mnemon.sessions.lifecycle import TurnStatus
from mnemon.sessions.messages import NewMessage
from mnemon.sessions.record import last_message
from mnemon.sessions.turns import StoredTurn
from mnemon.tools.registry import chat_tools
from mnemon.turn import Role, Turn

KeptReply = dict[str, Any]
"""The stored reply to an earlier request with the same Idempotency-Key, as JSON."""


async def start_chat(door: Door, request: TurnRequest, tools: ToolsByName) -> ReplyStream | KeptReply:
    """Start the reply to a turn, or return the reply that was made before for the same Idempotency-Key."""
    streams: ReplyStreams = door.request.app.state.streams
    # The model is asked inside the transaction that stores the message, so that it works meanwhile.
    with streams.open_stream(door.services, tools) as stream:
        started, key = await _begin_or_replay(door, request, stream.ask_model)
        if not isinstance(started, StartedTurn):
            return started
        stream.confirm_stored(started, None if key is None else _reply_keeper(door, key))
    return stream


async def _begin_or_replay(
    door: Door, request: TurnRequest, ask: Callable[[TurnPrompt], None]
) -> tuple[StartedTurn | KeptReply, IdempotencyKey | None]:
    """Store the turn so that it can be answered, or return the reply it has already."""
    key = await door.idempotency_key()
    async with door.tx() as tx:
        if key is not None:
            kept = await idempotency.load_reply(tx, door.org, key)
            # A reply without a body has only its turn as subject: the first request has not sealed it, or it failed.
            if kept is not None and kept.body is not None:
                return _require_unforgotten(json.loads(kept.body)), key
            if kept is not None and kept.subject is not None:
                known = await _earlier_outcome(tx, request, kept.subject)
                if isinstance(known, dict):
                    return known, key
                request = known
        started = await begin_turn(tx, request, door.services.settings, ask)
        if key is not None:
            await idempotency.store_reply(tx, door.org, key, subject=started.turn.id, concerns=door.concerned)
        if request.retries is None:  # a retry's first request is in the audit log already
            door.audit_write(tx, started.turn.id)
    return started, key


async def wait_for_reply(stream: ReplyStream) -> ReplyDone:
    """Return the complete reply; raise ModelDown when there is none."""
    async for event in stream.iter_events():
        if isinstance(event, ReplyDone):
            return event
        if isinstance(event, ReplyFailed):
            raise ModelDown(event.detail, code=event.code)
    raise ModelDown("The reply ended early, without a result. Look at the turn.")


async def _earlier_outcome(tx: Tx, request: TurnRequest, turn_id: str) -> KeptReply | TurnRequest:
    """Return the reply to the first request with this key, or the request as a retry of a turn that got no reply.

    Raises Conflict while the first request is still being answered.
    """
    stored = await turns.find_turn(tx, request.scope, turn_id)
    if stored is None:
        return request
    if stored.status is TurnStatus.ANSWERING:
        raise Conflict(
            "The first request with this Idempotency-Key is still being answered. Try again in a moment.",
            code="idempotency_in_progress",
        )
    # Such a turn has nothing to replay: the process died, or the commit's response was lost, before the first token.
    wordless = stored.status is TurnStatus.INTERRUPTED and not stored.turn.reply.strip()
    if stored.status is TurnStatus.FAILED or wordless:
        return replace(request, retries=turn_id)
    return _stored_reply(stored)


def _require_unforgotten(body: Any) -> KeptReply:
    """Return the stored reply; raise Conflict when its content was deleted because a person or memory was forgotten."""
    if not isinstance(body, dict) or "turnId" not in body:
        raise Conflict(
            "The reply to this Idempotency-Key told of something that was forgotten. Use a new key to ask again.",
            code="reply_forgotten",
        )
    return body


def _reply_keeper(door: Door, key: IdempotencyKey) -> OnSeal:
    """Return a callback that stores a complete reply in the transaction that seals its turn.

    A failed reply is not stored, so that a retry can ask for it again.
    """

    async def keep_reply(tx: Tx, turn: Turn, outcome: ReplyOutcome) -> None:
        if outcome.status is not TurnStatus.ANSWERED:
            return
        calls = [{"id": one.id, "name": one.name, "arguments": one.arguments} for one in outcome.calls]
        reply = _reply_json(turn, outcome.reply, outcome.usage) | ({"toolCalls": calls} if calls else {})
        body = json.dumps(reply).encode()
        # Forgetting this person also clears the stored reply.
        concerns = {turn.scope.user}
        await idempotency.store_reply(tx, door.org, key, status=200, body=body, subject=turn.id, concerns=concerns)

    return keep_reply


def _stored_reply(stored: StoredTurn) -> KeptReply:
    return _reply_json(stored.turn, stored.turn.reply, stored.usage or Usage())


def _reply_json(turn: Turn, reply: str, usage: Usage) -> KeptReply:
    message = last_message(turn, Role.ASSISTANT)
    made = ReplyOut(
        turn_id=turn.id,
        session_id=turn.session_id,
        message_id=message.message_id if message else None,
        reply=reply,
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


@router.post("", response_model=None, responses=responses_for(ReplyOut, content=EVENT_STREAM))
async def chat(body: ChatIn, door: Annotated[Door, needs(Grant.CHAT)]) -> Response:
    """Send a message; return the reply, made with the person's memory, as Server-Sent Events.

    With `stream: false` the reply is one JSON object.
    """
    request = await _turn_request(body, door)
    reply = await start_chat(door, request, chat_tools(door.principal.grants))
    if isinstance(reply, ReplyStream):
        if body.stream:
            return stream_response(reply, sees_state=door.has_grant(Grant.AGENT_STATE_READ))
        return door.reply(ReplyOut.from_done(await wait_for_reply(reply)))
    return replay_response(reply) if body.stream else door.reply(reply, headers={"Idempotent-Replayed": "true"})


async def _turn_request(body: ChatIn, door: Door) -> TurnRequest:
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
