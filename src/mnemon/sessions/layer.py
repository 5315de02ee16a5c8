"""What the sessions add to L6, the conversation so far, and the messages that follow the system prompt verbatim."""

from dataclasses import dataclass

from mnemon.clock import format_time
from mnemon.db.tx import Tx
from mnemon.layer import LayerItem, LayerRequest
from mnemon.sessions import messages, store
from mnemon.sessions.boundary import BeginSession, SessionBoundary, place_message
from mnemon.sessions.summary import SessionSummary
from mnemon.turn import Role, TurnMessage

_TAIL_MESSAGES = 6
"""Messages of a session taken up that are shown verbatim."""
_TAIL_LINE_CHARS = 600
_RECENT_MESSAGES = 20
_RECENT_CHARS = 16_000


@dataclass(frozen=True, kw_only=True)
class SessionPosition:
    """Where a message would stand."""

    session_id: str | None
    """The session that runs; None when the message would begin one."""
    taken_up: str | None
    """The session that it takes up."""


async def find_position(tx: Tx, ask: LayerRequest, boundary: SessionBoundary) -> SessionPosition:
    """Where the message to be answered stands, or would stand if it came now."""
    if ask.session_id is not None:
        found = await store.find_session(tx, ask.scope, ask.session_id)
        placed = place_message(ask.now, [], boundary, found[0]) if found else BeginSession(resumed_from=None)
    else:
        placed = place_message(ask.now, await store.list_sessions_around(tx, ask.scope, ask.now, boundary), boundary)
    if isinstance(placed, BeginSession):
        return SessionPosition(session_id=None, taken_up=placed.resumed_from)
    return SessionPosition(session_id=placed.session.id, taken_up=placed.session.resumed_from)


async def conversation_items(tx: Tx, ask: LayerRequest, where: SessionPosition) -> tuple[LayerItem, ...]:
    """The latest session summary, the rolling summary, and the tail of a session taken up."""
    told, tail = await tx.gather(
        store.load_conversation_summary(tx, ask.scope, apart_from=where.session_id), _tail_items(tx, ask, where)
    )
    items: list[LayerItem] = []
    if told.latest is not None and told.latest_id is not None:
        items.append(LayerItem(text=_format_summary(told.latest), sources=(told.latest_id,), value=5.0))
    if told.rolling:
        items.append(LayerItem(text=f"Summary so far: {told.rolling}", value=6.0))
    return (*items, *tail)


async def recent_messages(
    tx: Tx, ask: LayerRequest, where: SessionPosition, turn_id: str | None
) -> tuple[TurnMessage, ...]:
    """The last messages of the session that runs, oldest first, as many as fit; those of the turn itself apart."""
    if where.session_id is None:
        return ()
    said = await messages.list_recent_messages(
        tx, ask.scope, where.session_id, most=_RECENT_MESSAGES, apart_from_turn=turn_id
    )
    kept: list[TurnMessage] = []
    room = _RECENT_CHARS
    for one in reversed(said):
        room -= len(one.content)
        if room < 0:
            break
        if one.role is not Role.TOOL and one.content:
            kept.append(one)
    return tuple(reversed(kept))


async def _tail_items(tx: Tx, ask: LayerRequest, where: SessionPosition) -> list[LayerItem]:
    if where.taken_up is None:
        return []
    said = await messages.list_recent_messages(tx, ask.scope, where.taken_up, most=_TAIL_MESSAGES)
    return [
        LayerItem(
            text=f"Shortly before, {one.speaker} at {format_time(one.at)}: {one.content[:_TAIL_LINE_CHARS]}",
            sources=(one.message_id,),
            value=3.0 + place / 100,
        )
        for place, one in enumerate(said)
        if one.role is not Role.TOOL and one.content
    ]


def _format_summary(summary: SessionSummary) -> str:
    parts = [f"Last session: {summary.one_liner}"]
    for name, lines in (
        ("What mattered", summary.what_mattered),
        ("Left open", summary.open_loops),
        ("Promised", summary.commitments),
        ("People", summary.people),
    ):
        if lines:
            parts.append(f"{name}: {'; '.join(lines)}")
    if summary.tone:
        parts.append(f"Tone: {summary.tone}")
    return "\n".join(parts)
