"""What the sessions add to L6, the conversation so far, and the messages that follow the system prompt verbatim."""

from dataclasses import dataclass

from mnemon.clock import iso
from mnemon.db.tx import Tx
from mnemon.layer import Ask, Item
from mnemon.sessions import messages, store
from mnemon.sessions.boundary import Begin, Boundary, place
from mnemon.sessions.summary import SessionSummary
from mnemon.turn import Role, Said

_TAIL = 6
"""Messages of a session taken up that are shown verbatim."""
_TAIL_LINE = 600
_RECENT = 20
_RECENT_CHARS = 16_000


@dataclass(frozen=True, kw_only=True)
class Situation:
    """Where a message would stand."""

    session_id: str | None
    """The session that runs; None when the message would begin one."""
    taken_up: str | None
    """The session that it takes up."""


async def situation(tx: Tx, ask: Ask, boundary: Boundary) -> Situation:
    """Where the message to be answered stands, or would stand if it came now."""
    if ask.session_id is not None:
        found = await store.find(tx, ask.scope, ask.session_id)
        placed = place(ask.now, [], boundary, found[0]) if found else Begin(resumed_from=None)
    else:
        placed = place(ask.now, await store.around(tx, ask.scope, ask.now, boundary), boundary)
    if isinstance(placed, Begin):
        return Situation(session_id=None, taken_up=placed.resumed_from)
    return Situation(session_id=placed.session.id, taken_up=placed.session.resumed_from)


async def conversation(tx: Tx, ask: Ask, where: Situation) -> tuple[Item, ...]:
    """The latest session summary, the rolling summary, and the tail of a session taken up."""
    told, tail = await tx.together(store.so_far(tx, ask.scope, apart_from=where.session_id), _tail(tx, ask, where))
    items: list[Item] = []
    if told.latest is not None and told.latest_id is not None:
        items.append(Item(text=_told(told.latest), sources=(told.latest_id,), value=5.0))
    if told.rolling:
        items.append(Item(text=f"Summary so far: {told.rolling}", value=6.0))
    return (*items, *tail)


async def recent_messages(tx: Tx, ask: Ask, where: Situation, turn_id: str | None) -> tuple[Said, ...]:
    """The last messages of the session that runs, oldest first, as many as fit; those of the turn itself apart."""
    if where.session_id is None:
        return ()
    said = await messages.recent(tx, ask.scope, where.session_id, most=_RECENT, apart_from_turn=turn_id)
    kept: list[Said] = []
    room = _RECENT_CHARS
    for one in reversed(said):
        room -= len(one.content)
        if room < 0:
            break
        if one.role is not Role.TOOL and one.content:
            kept.append(one)
    return tuple(reversed(kept))


async def _tail(tx: Tx, ask: Ask, where: Situation) -> list[Item]:
    if where.taken_up is None:
        return []
    said = await messages.recent(tx, ask.scope, where.taken_up, most=_TAIL)
    return [
        Item(
            text=f"Shortly before, {one.speaker} at {iso(one.at)}: {one.content[:_TAIL_LINE]}",
            sources=(one.message_id,),
            value=3.0 + place / 100,
        )
        for place, one in enumerate(said)
        if one.role is not Role.TOOL and one.content
    ]


def _told(summary: SessionSummary) -> str:
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
