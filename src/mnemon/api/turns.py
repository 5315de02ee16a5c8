"""`/api/turns`: turns that were run elsewhere come in here, and every turn can be looked at."""

from typing import Annotated

from fastapi import APIRouter, Path, Response

from mnemon.access.grants import Grant
from mnemon.api.agentstate import answer_body
from mnemon.api.door import Door, documented, needs
from mnemon.api.json_route import JsonRoute
from mnemon.api.turn_shapes import QueuedOut, RecordedOut, ReflectionOut, TurnIn, TurnOut
from mnemon.chat.record import Recorded, record
from mnemon.db.tx import Tx
from mnemon.errors import NotFound
from mnemon.reflection import store as reflections
from mnemon.reflection.job import run_again
from mnemon.reflection.lifecycle import ReflectionStatus
from mnemon.reflection.report import Reflection
from mnemon.reflection.sections import LABELS
from mnemon.scope import Scope
from mnemon.sessions import turns

router = APIRouter(prefix="/api/turns", tags=["turns"], route_class=JsonRoute)

TurnId = Annotated[str, Path(max_length=200)]


@router.post("", status_code=202, responses=documented(RecordedOut, status=202))
async def record_turn(body: TurnIn, door: Annotated[Door, needs(Grant.CHAT)]) -> Response:
    """The turn is durable, its tool results are in the agent state; what needs a model comes after the answer."""
    scope = door.person(body.user_id, body.persona_id)
    sees_state = door.may(Grant.AGENT_STATE_READ)

    async def effect(tx: Tx) -> Recorded:
        return await record(tx, scope, body.as_incoming(), door.basement.settings)

    def render(made: Recorded) -> RecordedOut:
        return RecordedOut(
            turn_id=made.turn.id,
            session_id=made.turn.session_id,
            agent_state_update=answer_body(made.update) if sees_state else None,
            reflection=QueuedOut(job_id=made.job_id, status=ReflectionStatus.QUEUED),
        )

    return await door.write(effect, render, status=202)


@router.get("/{turn_id}", responses=documented(TurnOut))
async def get_turn(turn_id: TurnId, door: Annotated[Door, needs(Grant.MEMORY_READ)]) -> Response:
    """The turn, and what its reflection stored, updated, skipped and rejected."""
    async with door.tx() as tx:
        stored = await turns.find(tx, _scope(door), turn_id)
        if stored is None:
            raise NotFound("turn")
        reflection = await reflections.find(tx, stored.turn.scope, turn_id)
    return door.reply(TurnOut.of(stored, reflection, LABELS))


@router.post("/{turn_id}/reflect", status_code=202, responses=documented(ReflectionOut, status=202))
async def reflect_again(turn_id: TurnId, door: Annotated[Door, needs(Grant.CHAT)]) -> Response:
    """A failed or parked reflection is queued again."""

    async def effect(tx: Tx) -> Reflection:
        return await run_again(tx, _scope(door), turn_id)

    return await door.write(effect, lambda made: ReflectionOut.of(made, LABELS), status=202)


def _scope(door: Door) -> Scope:
    """The organization, or the one person of it that a bound key may see."""
    return Scope(org_id=door.org.org_id, user_id=door.bound_user_id)
