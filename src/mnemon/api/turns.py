"""`/api/turns`: record turns that an application ran itself, read any turn, and run its reflection again."""

from typing import Annotated

from fastapi import APIRouter, Path, Response

from mnemon.access.grants import Grant
from mnemon.agentstate.settlement import verdict_json
from mnemon.api.agentstate import answer_body
from mnemon.api.door import Door, JsonRoute, needs, responses_for, write_responses
from mnemon.api.turn_shapes import QueuedOut, RecordedOut, ReflectionOut, TurnIn, TurnOut
from mnemon.chat.seal import RecordedTurn, record_finished_turn
from mnemon.db.tx import Tx
from mnemon.errors import NotFound
from mnemon.reflection import store as reflections
from mnemon.reflection.job import SECTION_LABELS, rerun_reflection
from mnemon.reflection.report import Reflection, ReflectionStatus
from mnemon.sessions import turns

router = APIRouter(prefix="/api/turns", tags=["turns"], route_class=JsonRoute)

TurnId = Annotated[str, Path(max_length=200)]


@router.post("", status_code=202, responses=write_responses(RecordedOut, status=202, also=(404,)))
async def record_turn(body: TurnIn, door: Annotated[Door, needs(Grant.CHAT)]) -> Response:
    """Store a turn and apply its tool results to the agent state; reflection runs after the response."""
    scope = door.person_scope(body.user_id, body.persona_id)

    async def store_turn(tx: Tx) -> RecordedTurn:
        """Store the turn, apply its tool results and queue its reflection."""
        return await record_finished_turn(tx, scope, body.as_incoming(), door.services.settings)

    return await door.write(store_turn, lambda made: _recorded_out(made, door), status=202)


def _recorded_out(made: RecordedTurn, door: Door) -> RecordedOut:
    """Return the response for a recorded turn, with the change of the agent state if the key may see it."""
    # Without that grant a turn can be recorded, but no state is shown.
    sees_state = door.has_grant(Grant.AGENT_STATE_READ)
    return RecordedOut(
        turn_id=made.turn.id,
        session_id=made.turn.session_id,
        agent_state_update=answer_body(made.update) if sees_state else None,
        verdicts=[{"resultId": one.result.id, **verdict_json(one)} for one in made.settlements] if sees_state else None,
        reflection=QueuedOut(job_id=made.job_id, status=ReflectionStatus.QUEUED),
    )


@router.get("/{turn_id}", responses=responses_for(TurnOut))
async def get_turn(turn_id: TurnId, door: Annotated[Door, needs(Grant.MEMORY_READ)]) -> Response:
    """Return a turn, and what its reflection stored, updated, skipped and rejected.

    Rejected proposals about the engagement or the agent state need the scope that opens those.
    """
    async with door.tx() as tx:
        stored = await turns.find_turn(tx, door.visible_scope, turn_id)
        if stored is None:
            raise NotFound("turn")
        reflection = await reflections.find(tx, stored.turn.scope, turn_id)
    shown = reflection.visible_to(door.principal.grants) if reflection else None
    return door.reply(TurnOut.from_turn(stored, shown, SECTION_LABELS))


@router.post("/{turn_id}/reflect", status_code=202, responses=write_responses(ReflectionOut, status=202))
async def reflect_again(turn_id: TurnId, door: Annotated[Door, needs(Grant.CHAT)]) -> Response:
    """Queue a failed or parked reflection again."""

    async def requeue_reflection(tx: Tx) -> Reflection:
        """Queue the turn's reflection again; raise unless it failed or is parked."""
        return await rerun_reflection(tx, door.visible_scope, turn_id)

    grants = door.principal.grants
    return await door.write(
        requeue_reflection,
        lambda made: ReflectionOut.from_reflection(made.visible_to(grants), SECTION_LABELS),
        status=202,
    )
