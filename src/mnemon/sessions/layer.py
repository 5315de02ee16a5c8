"""The sessions' part of L6, the conversation so far, and the messages that follow the system prompt verbatim."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from mnemon.clock import format_time
from mnemon.db.tx import Tx
from mnemon.layer import LayerItem, LayerLine, LayerPart, LayerRequest
from mnemon.sessions import messages, store
from mnemon.sessions.boundary import BeginSession, SessionBoundary, place_message
from mnemon.sessions.sentences import split_sentences
from mnemon.sessions.summary import SessionSummary
from mnemon.turn import OFFLINE_OPENING, Role, TurnMessage

_TAIL_MESSAGES = 6
"""How many messages of a resumed session are shown verbatim."""
_TAIL_LINE_CHARS = 600
_RECENT_MESSAGES = 20
"""How many messages of the running session may follow the system prompt."""
_RECENT_CHARS = 16_000


@dataclass(frozen=True, kw_only=True)
class SessionPosition:
    """The session that a message would be placed in."""

    session_id: str | None
    """The running session; None when the message would begin one."""
    taken_up: str | None
    """The session that it resumes."""
    carries_from: str | None = None
    """That session again if the message would begin one that takes its agent state over."""


async def find_position(tx: Tx, request: LayerRequest, boundary: SessionBoundary) -> SessionPosition:
    """Return the session in which the message to be answered is placed, or would be if it came now."""
    named = None
    if request.session_id is not None:
        found = await store.find_session(tx, request.scope, request.session_id)
        named = found[0] if found else None
        placed = place_message(request.now, [], boundary, named)
    else:
        placed = place_message(
            request.now, await store.list_sessions_around(tx, request.scope, request.now, boundary), boundary
        )
    if isinstance(placed, BeginSession):
        source = await store.find_state_source(tx, request.scope, placed, named, request.now, boundary)
        return SessionPosition(session_id=None, taken_up=placed.resumed_from, carries_from=source)
    return SessionPosition(session_id=placed.session.id, taken_up=placed.session.resumed_from)


async def conversation_items(tx: Tx, request: LayerRequest, position: SessionPosition) -> tuple[LayerItem, ...]:
    """Return as prompt items the last session's summary, the rolling summary and a resumed session's end."""
    summaries, tail = await tx.gather(
        store.load_conversation_summary(tx, request.scope, apart_from=position.session_id),
        _tail_items(tx, request, position),
    )
    # The values decide what L6 loses first when it is over budget: messages of the resumed session (3), todos (4),
    # the spine (4.5), the session summary (5), the rolling summary (6).
    items: list[LayerItem] = []
    if summaries.latest is not None and summaries.latest_id is not None:
        lines = _summary_lines(summaries.latest)
        text = "\n".join(line.text for line in lines)
        items.append(LayerItem(text=text, sources=(summaries.latest_id,), value=5.0, lines=lines))
    if summaries.rolling:
        text = f"Summary so far: {summaries.rolling}"
        items.append(LayerItem(text=text, value=6.0, lines=(said_line("Summary so far: ", summaries.rolling),)))
    return (*items, *tail)


async def recent_messages(
    tx: Tx, request: LayerRequest, position: SessionPosition, turn_id: str | None
) -> tuple[TurnMessage, ...]:
    """Return the running session's last messages that fit, oldest first, without those of this turn."""
    if position.session_id is None:
        return ()
    latest = await messages.list_recent_messages(
        tx, request.scope, position.session_id, most=_RECENT_MESSAGES, apart_from_turn=turn_id
    )
    kept: list[TurnMessage] = []
    room = _RECENT_CHARS
    # From the newest backwards: what exceeds the limit is the oldest, and no gap is left in the middle.
    for one in reversed(latest):
        room -= len(one.content)
        if room < 0:
            break
        if one.role is not Role.TOOL and one.content:
            kept.append(one)
    return tuple(reversed(kept))


async def _tail_items(tx: Tx, request: LayerRequest, position: SessionPosition) -> list[LayerItem]:
    """Return the last messages of the resumed session as prompt items, later ones worth slightly more."""
    if position.taken_up is None:
        return []
    latest = await messages.list_recent_messages(tx, request.scope, position.taken_up, most=_TAIL_MESSAGES)
    # The later messages are worth slightly more, so that the oldest is dropped first.
    return [
        _tail_item(one, 3.0 + index / 100)
        for index, one in enumerate(latest)
        if one.role is not Role.TOOL and one.content and not one.content.startswith(OFFLINE_OPENING)
    ]


def _tail_item(one: TurnMessage, value: float) -> LayerItem:
    """Return a message of the resumed session as an item of the prompt."""
    lead, said = f"Shortly before, {one.speaker} at {format_time(one.at)}: ", one.content[:_TAIL_LINE_CHARS]
    return LayerItem(
        text=f"{lead}{said}", sources=(one.message_id,), value=value, lines=(said_line(lead, said),), said_at=one.at
    )


def said_line(lead: str, said: str) -> LayerLine:
    """Return a line that quotes somebody, sentence by sentence."""
    return LayerLine(lead=lead, parts=tuple(LayerPart(text=one) for one in split_sentences(said)), joiner=" ")


def _entry_parts(entry: str) -> Iterator[LayerPart]:
    """Yield an entry of a summary, sentence by sentence, so that one of them can be left out."""
    *before, last = split_sentences(entry) or [entry]
    yield from (LayerPart(text=one.rstrip(".")) for one in before)
    if last:
        yield LayerPart(text=last)


def _summary_lines(summary: SessionSummary) -> tuple[LayerLine, ...]:
    """Return a session's summary as lines of the prompt, without its empty parts."""
    named = (
        ("Last session", [summary.one_liner]),
        ("What mattered", summary.what_mattered),
        ("Left open", summary.open_loops),
        ("Promised", summary.commitments),
        ("People", summary.people),
        ("Tone", [summary.tone]),
    )
    return tuple(
        LayerLine(lead=f"{name}: ", parts=tuple(chain.from_iterable(map(_entry_parts, lines))))
        for name, lines in named
        if any(lines)
    )
