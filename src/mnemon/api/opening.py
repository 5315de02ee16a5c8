"""A chat turn opened at a door: stored once per Idempotency-Key, then being answered in a task the application owns."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from mnemon.access import replies
from mnemon.access.replies import Slot
from mnemon.api.chat_events import ReplyOut, UsageOut
from mnemon.api.door import Door
from mnemon.chat.asking import Asking, Begun, Prompt
from mnemon.chat.begin import begin
from mnemon.chat.events import Done, Failed
from mnemon.chat.seal import OnSeal, Outcome
from mnemon.chat.stream import Stream, Streams
from mnemon.chat.toolcall import Tools
from mnemon.db.tx import Tx
from mnemon.errors import Conflict, ModelDown
from mnemon.llm.protocol import Usage
from mnemon.sessions import turns
from mnemon.sessions.lifecycle import TurnStatus
from mnemon.sessions.record import last_said
from mnemon.sessions.turns import StoredTurn
from mnemon.turn import Role, Turn

Kept = dict[str, Any]
"""A reply that was given before, as JSON."""


async def opened(door: Door, asking: Asking, tools: Tools) -> Stream | Kept:
    """The reply is being made, or was made before for the same Idempotency-Key."""
    streams: Streams = door.request.app.state.streams
    with streams.opening(door.basement, tools) as stream:
        begun, slot = await _begun(door, asking, stream.ask)
        if not isinstance(begun, Begun):
            return begun
        stream.stored(begun, None if slot is None else _keeper(door, slot))
    return stream


async def _begun(door: Door, asking: Asking, ask: Callable[[Prompt], None]) -> tuple[Begun | Kept, Slot | None]:
    """The turn is stored and may be answered, or it was answered before."""
    slot = await door.slot()
    async with door.tx() as tx:
        if slot is not None:
            kept = await replies.earlier(tx, door.org, slot)
            if kept is not None and kept.body is not None:
                return _still_told(json.loads(kept.body)), slot
            if kept is not None and kept.subject is not None:
                known = await _known(tx, asking, kept.subject)
                if isinstance(known, dict):
                    return known, slot
                asking = known
        begun = await begin(tx, asking, door.basement.settings, ask)
        if slot is not None:
            await replies.keep(tx, door.org, slot, subject=begun.turn.id, concerns=door.concerned)
        if asking.retries is None:  # else the first request is on record
            door.audit(tx, begun.turn.id)
    return begun, slot


async def whole(stream: Stream) -> Done:
    """The complete reply; ModelDown when there is none."""
    async for event in stream.events():
        if isinstance(event, Done):
            return event
        if isinstance(event, Failed):
            raise ModelDown(event.detail, code=event.code)
    raise ModelDown("The reply ended without a word. Look at the turn.")


async def _known(tx: Tx, asking: Asking, turn_id: str) -> Kept | Asking:
    """What the first request came to: its reply, or, where it gave none, the same turn to be answered again."""
    stored = await turns.find(tx, asking.scope, turn_id)
    if stored is None:
        return asking
    if stored.status is TurnStatus.ANSWERING:
        raise Conflict(
            "The first request with this Idempotency-Key is still being answered. Try again in a moment.",
            code="idempotency_in_progress",
        )
    # The process may have died, or the commit's answer been lost, before there was a word of a reply to give again.
    wordless = stored.status is TurnStatus.INTERRUPTED and not stored.turn.reply.strip()
    if stored.status is TurnStatus.FAILED or wordless:
        return replace(asking, retries=turn_id)
    return _reply_of(stored)


def _still_told(body: Any) -> Kept:
    """The kept reply, unless forgetting left nothing of it."""
    if not isinstance(body, dict) or "turnId" not in body:
        raise Conflict(
            "The reply to this Idempotency-Key told of something that was forgotten. Use a new key to ask again.",
            code="reply_forgotten",
        )
    return body


def _keeper(door: Door, slot: Slot) -> OnSeal:
    """Keeps a complete reply in the transaction that seals its turn; a failed one may be asked for again."""

    async def keep(tx: Tx, turn: Turn, outcome: Outcome) -> None:
        if outcome.status is not TurnStatus.ANSWERED:
            return
        calls = [{"id": one.id, "name": one.name, "arguments": one.arguments} for one in outcome.calls]
        told = _reply(turn, outcome.reply, outcome.usage) | ({"toolCalls": calls} if calls else {})
        body = json.dumps(told).encode()
        concerns = {turn.scope.user}
        await replies.keep(tx, door.org, slot, status=200, body=body, subject=turn.id, concerns=concerns)

    return keep


def _reply_of(stored: StoredTurn) -> Kept:
    return _reply(stored.turn, stored.turn.reply, stored.usage or Usage())


def _reply(turn: Turn, reply: str, usage: Usage) -> Kept:
    said = last_said(turn, Role.ASSISTANT)
    made = ReplyOut(
        turn_id=turn.id,
        session_id=turn.session_id,
        message_id=said.message_id if said else None,
        reply=reply,
        usage=UsageOut.of(usage),
    )
    return made.model_dump(by_alias=True)
