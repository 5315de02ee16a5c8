"""`/api/chat`: one message in, one reply out, streamed or whole."""

from typing import Annotated

from fastapi import APIRouter, Response

from mnemon.access.grants import Grant
from mnemon.api.chat_events import ReplyOut, replayed, streamed
from mnemon.api.door import Door, documented, needs
from mnemon.api.json_route import JsonRoute
from mnemon.api.opening import opened, whole
from mnemon.api.run_lines import EVENT_STREAM
from mnemon.api.wire import Name, Wire, Words
from mnemon.chat.asking import Asking
from mnemon.chat.stream import Stream
from mnemon.memory.recall.prepare import prepare_query
from mnemon.sessions.messages import NewMessage
from mnemon.tools.offered import chat_tools
from mnemon.turn import Role

router = APIRouter(prefix="/api/chat", tags=["turns"], route_class=JsonRoute)


class ChatIn(Wire):
    """A message of the person."""

    user_id: Name
    persona_id: Name | None = None
    session_id: Name | None = None
    message: Words
    stream: bool = True


@router.post("", response_model=None, responses=documented(ReplyOut, content=EVENT_STREAM))
async def chat(body: ChatIn, door: Annotated[Door, needs(Grant.CHAT)]) -> Response:
    """The reply with memory applied: Server-Sent Events, or one JSON with `stream: false`."""
    asking = await _asking(body, door)
    reply = await opened(door, asking, chat_tools(door.principal.grants))
    if isinstance(reply, Stream):
        if body.stream:
            return streamed(reply, sees_state=door.may(Grant.AGENT_STATE_READ))
        return door.reply(ReplyOut.of(await whole(reply)))
    return replayed(reply) if body.stream else door.reply(reply, headers={"Idempotent-Replayed": "true"})


async def _asking(body: ChatIn, door: Door) -> Asking:
    scope, ranking = door.person(body.user_id, body.persona_id), door.basement.settings.chat_ranking
    return Asking(
        scope=scope,
        user_name=body.user_id,
        messages=(NewMessage(role=Role.USER, content=body.message),),
        session_id=body.session_id,
        vector=await prepare_query(door.basement, scope, body.message, ranking=ranking),
        embedder=door.basement.embedder.model,
        sees_agent_state=door.may(Grant.AGENT_STATE_READ),
        sees_engagement=door.may(Grant.ENGAGEMENT_READ),
    )
