"""The last transaction of a chat turn: store the reply, seal the turn and make its reflection due.

A turn that the application ran itself is recorded here as well, with its deterministic effects.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta

from prometheus_client import Counter

from mnemon.agentstate.journal import StateUpdate, link_calls, record_turn
from mnemon.agentstate.verification import Settlement
from mnemon.chat.request import StartedTurn
from mnemon.db.tx import Tx
from mnemon.engagement.reading import find_recital
from mnemon.jobs.store import postpone_work
from mnemon.llm.protocol import ToolRequest, Usage
from mnemon.memory.upkeep.schedule import enqueue_after_turn
from mnemon.reflection import job as reflection
from mnemon.reflection.job import REFLECTION_KIND
from mnemon.scope import Scope
from mnemon.sessions import messages, turns
from mnemon.sessions.boundary import boundary_from_settings
from mnemon.sessions.lifecycle import TurnStatus, may_become
from mnemon.sessions.messages import NewMessage
from mnemon.sessions.people import lock_person
from mnemon.sessions.record import NewTurn, append_messages, store_turn
from mnemon.sessions.turns import TurnError
from mnemon.settings import Settings
from mnemon.turn import Role, Turn
from mnemon.vectors.text_vectors import EMBED_DELAY, enqueue_embedding

TURNS_SEALED = Counter("mnemon_turns_sealed_total", "Chat turns that ended, by how.", ("status",))


@dataclass(frozen=True, kw_only=True)
class SealedReply:
    """A turn with its stored reply."""

    turn: Turn
    message_id: str | None
    """The id of the reply's message; None for a reply without text or calls."""


@dataclass(frozen=True, kw_only=True)
class ReplyOutcome:
    """How the reply ended."""

    status: TurnStatus
    reply: str
    usage: Usage = field(default_factory=Usage)
    reason: str = "stop"
    calls: tuple[ToolRequest, ...] = ()
    """The calls that the caller is to run; the turn waits for their results."""
    links_calls: bool = False
    """Whether the model said, while it made this reply, what it expects of calls."""
    error: TurnError | None = None


OnSeal = Callable[[Tx, Turn, ReplyOutcome], Awaitable[None]]
"""What a door adds to the sealing transaction: it stores the reply for a retry of the request."""


async def seal_turn(tx: Tx, started: StartedTurn, outcome: ReplyOutcome, *, again: bool = False) -> SealedReply | None:
    """Store the reply and seal its turn, or let it wait for tool results; None if the person was forgotten.

    With `again`, first look for what an earlier try stored: the response to its COMMIT may have been lost.
    """
    turn = started.turn
    # Lock order of every writer: the person's row, then the turn's, then the work row.
    _, status = await tx.gather(lock_person(tx, turn.scope), turns.lock_turn_status(tx, turn.scope, turn.id))
    if status is None:
        return None
    if again and (stored := await _find_stored_reply(tx, turn, outcome)):
        return stored
    reply = NewMessage(role=Role.ASSISTANT, content=outcome.reply, tool_requests=outcome.calls)
    appending = append_messages(tx, turn, [reply] if outcome.reply or outcome.calls else [])
    if outcome.calls and outcome.status is TurnStatus.ANSWERED:
        turn = await appending
        await _wait_for_caller(tx, started, outcome)
    # Not so when the lease ran out and the reflection job gave the turn up; the reply is then only appended, below.
    elif may_become(status, outcome.status):
        turn, recited = await tx.gather(appending, find_recital(tx, turn.scope, outcome.reply))
        usage = started.cost_with(outcome.usage)
        turns.seal_turn(tx, turn.scope, turn.id, outcome.status, usage=usage, error=outcome.error, recited=recited)
        await reflection.enqueue_reflection(tx, turn)
        TURNS_SEALED.labels(outcome.status).inc()
    else:
        turn = await appending
    await tx.gather(enqueue_embedding(tx, turn.scope, after=EMBED_DELAY), enqueue_after_turn(tx, turn.scope))
    new = turn.messages[len(started.turn.messages) :]
    return SealedReply(turn=turn, message_id=new[-1].message_id if new else None)


async def _find_stored_reply(tx: Tx, turn: Turn, outcome: ReplyOutcome) -> SealedReply | None:
    """Return the turn with the reply that an earlier try stored; None when that try had no effect."""
    known = await messages.list_turn_messages(tx, turn.scope, turn.id)
    for message in known[len(turn.messages) :]:
        if message.role is Role.ASSISTANT and message.content == outcome.reply:
            return SealedReply(turn=replace(turn, messages=known), message_id=message.message_id)
    return None


async def _wait_for_caller(tx: Tx, started: StartedTurn, outcome: ReplyOutcome) -> None:
    """Mark the turn as waiting for the caller's tool results for 30 minutes."""
    until = tx.now + timedelta(minutes=30)
    turn = started.turn
    usage = started.cost_with(outcome.usage)
    await turns.wait_for_caller(
        tx, turn.scope, turn.id, [call.id for call in outcome.calls], lease_until=until, usage=usage
    )
    if outcome.links_calls:
        calls = [(call.id, call.name) for call in outcome.calls]
        await link_calls(tx, turn.scope, turn.session_id, calls, turn_id=turn.id)
    await postpone_work(tx, turn.scope, REFLECTION_KIND, turn.id, due_at=until)


@dataclass(frozen=True, kw_only=True)
class RecordedTurn:
    """A stored turn whose reflection is queued."""

    turn: Turn
    update: StateUpdate | None
    """What its expectations and tool results changed in the agent state; None for nothing."""
    settlements: tuple[Settlement, ...]
    """What came of each tool result."""
    job_id: str


async def record_finished_turn(tx: Tx, scope: Scope, incoming: NewTurn, settings: Settings) -> RecordedTurn:
    """Store a turn that the application ran, update the agent state, and queue the reflection."""
    turn = await store_turn(tx, scope, incoming, boundary_from_settings(settings))
    recorded = await record_turn(tx, turn)
    if turn.reply and (recited := await find_recital(tx, turn.scope, turn.reply)):
        await turns.flag_recital(tx, turn.scope, turn.id, recited)
    job_id = await reflection.enqueue_reflection(tx, turn)
    await enqueue_embedding(tx, turn.scope)
    await enqueue_after_turn(tx, turn.scope)
    return RecordedTurn(turn=turn, update=recorded.update, settlements=recorded.settlements, job_id=job_id)
