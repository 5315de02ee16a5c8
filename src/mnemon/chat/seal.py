"""The last transaction of a chat turn: what was said is stored, the turn sealed, its reflection due."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta

from mnemon.chat.asking import Begun
from mnemon.chat.meter import SEALED
from mnemon.db.tx import Tx
from mnemon.engagement.reading import recital
from mnemon.jobs.store import postpone
from mnemon.llm.protocol import ToolRequest, Usage
from mnemon.memory.upkeep.enqueue import after_turn
from mnemon.reflection import job as reflection
from mnemon.reflection.job import REFLECTION
from mnemon.sessions import messages, turns
from mnemon.sessions.lifecycle import TurnStatus, may_become
from mnemon.sessions.messages import NewMessage
from mnemon.sessions.people import hold_person
from mnemon.sessions.record import append
from mnemon.sessions.turns import TurnError
from mnemon.turn import Role, Turn
from mnemon.vectors.work import SHORTLY, enqueue_embedding


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How the answering ended."""

    status: TurnStatus
    reply: str
    usage: Usage = field(default_factory=Usage)
    reason: str = "stop"
    calls: tuple[ToolRequest, ...] = ()
    """Calls that the caller is to run; the turn waits for their results."""
    error: TurnError | None = None


OnSeal = Callable[[Tx, Turn, Outcome], Awaitable[None]]
"""Something the door writes in the sealing transaction: the reply kept for a retry."""


async def seal(tx: Tx, begun: Begun, outcome: Outcome, *, again: bool = False) -> tuple[Turn, str | None]:
    """The turn holds the reply and is over, or waits for its caller; also the reply's message id.

    Tried again, it first looks for what an earlier try stored: the answer to its COMMIT may have been lost.
    """
    turn = begun.turn
    # The person's row before the turn's and the work's, as every writer does.
    _, status = await tx.together(hold_person(tx, turn.scope), turns.locked_status(tx, turn.scope, turn.id))
    if status is None:
        return turn, None
    if again and (stored := await _find_stored(tx, turn, outcome)):
        return stored
    reply = NewMessage(role=Role.ASSISTANT, content=outcome.reply, tool_requests=outcome.calls)
    appending = append(tx, turn, [reply] if outcome.reply or outcome.calls else [])
    if outcome.calls and outcome.status is TurnStatus.ANSWERED:
        turn = await appending
        await _wait(tx, begun, outcome)
    elif may_become(status, outcome.status):
        turn, recited = await tx.together(appending, recital(tx, turn.scope, outcome.reply))
        usage = begun.cost_with(outcome.usage)
        turns.seal(tx, turn.scope, turn.id, outcome.status, usage=usage, error=outcome.error, recited=recited)
        await reflection.queue(tx, turn)
        SEALED.labels(outcome.status).inc()
    else:
        turn = await appending
    await tx.together(enqueue_embedding(tx, turn.scope, after=SHORTLY), after_turn(tx, turn.scope))
    new = turn.messages[len(begun.turn.messages) :]
    return turn, new[-1].message_id if new else None


async def _find_stored(tx: Tx, turn: Turn, outcome: Outcome) -> tuple[Turn, str] | None:
    """The turn with the reply that an earlier try stored; None when that try took no effect."""
    known = await messages.of_turn(tx, turn.scope, turn.id)
    for said in known[len(turn.messages) :]:
        if said.role is Role.ASSISTANT and said.content == outcome.reply:
            return replace(turn, messages=known), said.message_id
    return None


async def _wait(tx: Tx, begun: Begun, outcome: Outcome) -> None:
    """The turn waits for the caller as long as a session would for a message."""
    until = tx.now + timedelta(minutes=30)
    calls = [call.id for call in outcome.calls]
    turn = begun.turn
    usage = begun.cost_with(outcome.usage)
    await turns.wait_for_caller(tx, turn.scope, turn.id, calls, lease_until=until, usage=usage)
    await postpone(tx, turn.scope, REFLECTION, turn.id, due_at=until)
