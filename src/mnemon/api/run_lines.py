"""Events of runs and of agents' chats as Server-Sent Events."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from mnemon.api.run_shapes import RunUsageOut
from mnemon.api.wire import line
from mnemon.clock import iso
from mnemon.db.database import Database
from mnemon.runs import agent_store
from mnemon.runs.run import OVER
from mnemon.runs.store import Recorded
from mnemon.runs.watching import watch_chat
from mnemon.scope import Scope

EVENT_STREAM = {
    "text/event-stream": {
        "schema": {"type": "object", "properties": {"event": {"type": "string"}, "data": {"type": "string"}}}
    }
}
"""How the OpenAPI document describes a stream: each event has a name and JSON data."""
CHAT_EVENTS = frozenset({"delta", "tool_call", "tool_result", "session"})
STILL_HERE = ": still here\n\n"
WAITING = "No worker has taken it up yet. The message is kept; the reply will stand in the agent's messages."

CUT = (
    "The stream ended before the reply: the key is no longer good, or the server is stopping. The message is kept; "
    "the reply will stand in the agent's messages."
)


def run_line(event: Recorded | None) -> str:
    """The event with its place, so that a reader can come back to it; a comment where nothing happened."""
    if event is None:
        return STILL_HERE
    data = json.dumps({**event.data, "at": iso(event.at)}, ensure_ascii=False)
    return f"id: {event.seq}\nevent: {event.type}\ndata: {data}\n\n"


async def chat_lines(
    db: Database, scope: Scope, turn_id: str, session_id: str | None, until: asyncio.Event
) -> AsyncIterator[str]:
    """An agent's chat turn as the chat's own events: turn, delta…, then done or error."""
    yield line("turn", {"turnId": turn_id, "sessionId": session_id})
    async for event in watch_chat(db, scope, turn_id, until=until):
        if event is None:
            yield STILL_HERE
        elif event.type in CHAT_EVENTS:
            yield line(event.type, event.data)
    ended = await chat_end(db, scope, turn_id)
    if until.is_set() and ended.get("code") == "chat_waiting":
        ended["detail"] = CUT
    yield line("error" if "code" in ended else "done", ended)


async def chat_end(db: Database, scope: Scope, turn_id: str) -> dict[str, Any]:
    """How the turn ended: the fields of `done`, or of `error` when it has no reply."""
    async with db.tx(scope.org_id) as tx:
        exchange = await agent_store.exchange(scope, tx, turn_id)
        reply = await agent_store.message_of_turn(scope, tx, turn_id, "assistant")
    if exchange is None:
        return {"code": "chat_failed", "detail": "The agent was deleted meanwhile.", "turnId": turn_id}
    if exchange.status not in OVER:
        return {"code": "chat_waiting", "detail": WAITING, "turnId": turn_id}
    if reply is None:
        return {"code": "chat_failed", "detail": exchange.error or "There is no reply.", "turnId": turn_id}
    usage = RunUsageOut.of(exchange.usage).model_dump(mode="json", by_alias=True)
    return {"turnId": turn_id, "messageId": reply.id, "sessionId": exchange.session_id_after, "usage": usage}
