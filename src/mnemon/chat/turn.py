"""One chat turn, from its request to its sealed reply. Doors only translate requests and events.

    start_chat    the first transaction (begin.py), and beside it the model (stream.py, reply.py)
    ReplyStream   what a client hears; nothing before the first transaction is committed
    seal          the last transaction (seal.py), whether the client is still there or not

A turn is stored once per Idempotency-Key. Its reply is made in a task that the application owns, so that it is
completed and stored even when the client has gone.
"""

import json
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any

from mnemon.access import idempotency
from mnemon.access.idempotency import IdempotencyKey
from mnemon.chat.begin import begin_turn
from mnemon.chat.events import ReplyDone, ReplyFailed
from mnemon.chat.request import StartedTurn, TurnPrompt, TurnRequest
from mnemon.chat.seal import OnSeal, ReplyOutcome
from mnemon.chat.stream import ReplyStream, ReplyStreams
from mnemon.chat.tool_calls import ToolsByName
from mnemon.db.tx import Tx
from mnemon.errors import Conflict, ModelDown
from mnemon.llm.protocol import Usage
from mnemon.reflection.wait import wait_until_reflected
from mnemon.scope import Scope
from mnemon.services import Services
from mnemon.sessions import turns
from mnemon.sessions.lifecycle import TurnStatus
from mnemon.turn import Turn

KeptReply = dict[str, Any]
"""The stored reply to an earlier request with the same Idempotency-Key, as JSON."""
INTERRUPTED_REASON = "interrupted"
"""The finish reason of a reply that broke off and is shown to a retry of its request."""


@dataclass(frozen=True, kw_only=True)
class ReplyKey:
    """The Idempotency-Key of a chat request, and how its door writes the reply that is stored under it."""

    key: IdempotencyKey
    concerns: Collection[str]
    """The internal ids of the people the request names; forgetting one of them clears the stored reply."""
    format_reply: Callable[[Turn, str, Usage, str], KeptReply]
    """Given the turn, the reply's text, its usage and its finish reason."""


@dataclass(frozen=True, kw_only=True)
class ChatCaller:
    """Who starts a turn, as their door knows them."""

    org: Scope
    record: Callable[[Tx, str], None]
    """Appends the turn, by its id, to the audit log with the transaction that stores it."""
    reply_key: ReplyKey | None = None
    """None: the request is not repeated."""


async def start_chat(
    services: Services, streams: ReplyStreams, request: TurnRequest, tools: ToolsByName, caller: ChatCaller
) -> ReplyStream | KeptReply:
    """Start the reply to a turn and return its stream, or the reply stored for the same Idempotency-Key."""
    # Before the stream, whose priority holds background work up, and before the transaction.
    if services.llm.offline and services.reflector.offline:
        await wait_until_reflected(services, request.scope)
    # The model is asked inside the transaction that stores the message, so that it works meanwhile.
    with streams.open_stream(services, tools) as stream:
        async with services.db.tx(caller.org.org_id) as tx:
            started = await _begin_or_replay(tx, services, request, stream.ask_model, caller)
        if not isinstance(started, StartedTurn):
            return started
        stream.confirm_stored(
            started, None if caller.reply_key is None else _reply_keeper(caller.org, caller.reply_key)
        )
    return stream


async def wait_for_reply(stream: ReplyStream) -> ReplyDone:
    """Wait for the complete reply and return it; raise ModelDown if it failed, Conflict if the person was forgotten."""
    async for event in stream.iter_events():
        if isinstance(event, ReplyDone):
            return event
        if isinstance(event, ReplyFailed):
            raise event.to_error()
    raise ModelDown("The reply ended early, without a result. Look at the turn.")


async def _begin_or_replay(
    tx: Tx, services: Services, request: TurnRequest, ask: Callable[[TurnPrompt], None], caller: ChatCaller
) -> StartedTurn | KeptReply:
    """Store the turn to be answered, or return the reply stored for its Idempotency-Key."""
    reply_key = caller.reply_key
    if reply_key is not None:
        kept = await idempotency.load_reply(tx, caller.org, reply_key.key)
        # A reply without a body has only its turn as subject: the first request has not sealed it, or it failed.
        if kept is not None and kept.body is not None:
            return _require_unforgotten(json.loads(kept.body))
        if kept is not None and kept.subject is not None:
            known = await _earlier_outcome(tx, request, kept.subject, reply_key)
            if isinstance(known, dict):
                return known
            request = known
    started = await begin_turn(tx, request, services.settings, ask)
    if reply_key is not None:
        concerns = reply_key.concerns
        await idempotency.store_reply(tx, caller.org, reply_key.key, subject=started.turn.id, concerns=concerns)
    if request.retries is None:  # a retry's first request is in the audit log already
        caller.record(tx, started.turn.id)
    return started


async def _earlier_outcome(tx: Tx, request: TurnRequest, turn_id: str, reply_key: ReplyKey) -> KeptReply | TurnRequest:
    """Return the first reply under this Idempotency-Key, or the request as a retry of a turn that got none.

    Raises Conflict while the first request is still being answered.
    """
    stored = await turns.find_turn(tx, request.scope, turn_id)
    if stored is None:
        # Forgotten meanwhile: the request begins a turn of its own.
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
    # A complete reply is stored under its key with the turn, so what the turn alone has to show was broken off.
    return reply_key.format_reply(stored.turn, stored.turn.reply, stored.usage or Usage(), INTERRUPTED_REASON)


def _require_unforgotten(body: Any) -> KeptReply:
    """Return the stored reply; raise Conflict if its content was deleted because someone or something was forgotten."""
    if not isinstance(body, dict) or "turnId" not in body:
        raise Conflict(
            "The reply to this Idempotency-Key told of something that was forgotten. Use a new key to ask again.",
            code="reply_forgotten",
        )
    return body


def _reply_keeper(org: Scope, reply_key: ReplyKey) -> OnSeal:
    """Return a callback that stores a complete reply under its Idempotency-Key when the turn is sealed.

    A failed reply is not stored, so that a retry can ask for it again.
    """

    async def keep_reply(tx: Tx, turn: Turn, outcome: ReplyOutcome) -> None:
        """Store the reply for retries if the turn was answered."""
        if outcome.status is not TurnStatus.ANSWERED:
            return
        calls = [{"id": one.id, "name": one.name, "arguments": one.arguments} for one in outcome.calls]
        reply = reply_key.format_reply(turn, outcome.reply, outcome.usage, outcome.reason)
        body = json.dumps(reply | ({"toolCalls": calls} if calls else {})).encode()
        # Forgetting this person also clears the stored reply.
        concerns = {turn.scope.user}
        await idempotency.store_reply(tx, org, reply_key.key, status=200, body=body, subject=turn.id, concerns=concerns)

    return keep_reply
