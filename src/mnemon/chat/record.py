"""A turn that the application ran itself is recorded: durable, counted, its deterministic effects applied at once."""

from dataclasses import dataclass

from mnemon.agentstate.journal import Update, record_turn
from mnemon.db.tx import Tx
from mnemon.engagement.reading import recital
from mnemon.memory.upkeep.enqueue import after_turn
from mnemon.reflection import job as reflection
from mnemon.scope import Scope
from mnemon.sessions import turns
from mnemon.sessions.close import boundary_of
from mnemon.sessions.record import Incoming
from mnemon.sessions.record import record as store_turn
from mnemon.settings import Settings
from mnemon.turn import Turn
from mnemon.vectors.work import enqueue_embedding


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """A turn in the store, with its reflection queued."""

    turn: Turn
    update: Update | None
    """What its plan and its tool results changed in the agent state."""
    job_id: str


async def record(tx: Tx, scope: Scope, incoming: Incoming, settings: Settings) -> Recorded:
    """The turn is stored in one transaction with everything that needs no model."""
    turn = await store_turn(tx, scope, incoming, boundary_of(settings))
    update = await record_turn(tx, turn)
    if turn.reply and (recited := await recital(tx, turn.scope, turn.reply)):
        await turns.flag_recital(tx, turn.scope, turn.id, recited)
    job_id = await reflection.queue(tx, turn)
    await enqueue_embedding(tx, turn.scope)
    await after_turn(tx, turn.scope)
    return Recorded(turn=turn, update=update, job_id=job_id)
