"""Store a turn in the session it belongs to, and update the counters, in the caller's transaction."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from mnemon.db.statements import load_statements
from mnemon.db.tx import Tx
from mnemon.errors import Invalid, NotFound
from mnemon.jobs.store import enqueue_work
from mnemon.scope import Scope
from mnemon.sessions import messages, store, turns
from mnemon.sessions.boundary import BeginSession, SessionBoundary, has_ended, place_message, session_end
from mnemon.sessions.lifecycle import TurnStatus
from mnemon.sessions.messages import NewMessage
from mnemon.sessions.session import EndedBy, Session
from mnemon.sessions.store import EnteredSession, TurnArrival
from mnemon.sessions.turns import TurnOrigin
from mnemon.turn import Intent, Role, ToolOutcome, Turn, TurnMessage

SQL = load_statements("mnemon.sessions")
CLOSE_SESSION = "session_close"
"""The kind of job that ends a session and summarizes it; its key is the session's id."""
_CLOSE_DELAY = timedelta(minutes=1)
"""The least time between storing a turn and closing its session."""


@dataclass(frozen=True, kw_only=True)
class NewTurn:
    """A turn to be stored."""

    user_name: str
    messages: tuple[NewMessage, ...]
    session_id: str | None = None
    """The session the caller names; None for the one that its time determines."""
    status: TurnStatus = TurnStatus.ANSWERED
    origin: TurnOrigin = TurnOrigin.RECORDED
    lease_until: datetime | None = None
    tool_results: tuple[ToolOutcome, ...] = ()
    intents: tuple[Intent, ...] = ()


async def store_turn(tx: Tx, scope: Scope, incoming: NewTurn, boundary: SessionBoundary) -> Turn:
    """Store the turn in the session its time determines, after the person's earlier ones; return it with its ids.

    The person's row is locked first, so that two simultaneous messages find the same session and are stored one after
    the other.
    """
    new_messages = messages.date_messages(tx.now, incoming.messages)
    at, until = _turn_span(tx.now, new_messages)
    # One round trip: the sessions are read behind the statement that takes the person's lock.
    revision, (scope, named, known) = await tx.gather(
        ensure_person_revision(tx, scope, incoming.user_name),
        _candidate_sessions(tx, scope, incoming.session_id, at, boundary),
    )
    user_texts = tuple(message.content for message in incoming.messages if message.role is Role.USER)
    entered = await _enter_session(tx, scope, TurnArrival(at=at, until=until, said=user_texts), named, known, boundary)
    stored, rows = messages.prepare_messages(tx, new_messages)
    turn = Turn(
        id=tx.new_id("trn"),
        session_id=entered.session.id,
        seq=entered.seq,
        scope=scope,
        user_name=incoming.user_name,
        at=at,
        messages=stored,
        tool_results=incoming.tool_results,
        intents=incoming.intents,
        message_count=entered.message_count,
        carries_from=entered.carries_from,
    )
    turns.add_turn(
        tx,
        turn,
        status=incoming.status,
        origin=incoming.origin,
        lease_until=incoming.lease_until,
        rows=rows,
        revision=revision,
    )
    return turn


async def ensure_person_revision(tx: Tx, scope: Scope, user_name: str) -> int:
    """Create the person unless they exist, lock their row, and return the revision of what this transaction writes."""
    # One statement instead of `ensure_person` and `bump_revision`, since every turn passes here.
    row = await tx.fetch_one(SQL["met"], org_id=scope.org_id, user_id=scope.user, external_id=user_name, now=tx.now)
    tx.revisions.setdefault(scope.user, int(row["revision"]))
    return int(row["revision"])


async def append_messages(tx: Tx, turn: Turn, more: Sequence[NewMessage]) -> Turn:
    """Append the messages to an existing turn; return the turn with all its messages."""
    if not more:
        return turn
    # The lock is taken before the messages are counted, so that two appends never use the same positions.
    revision, known = await tx.gather(
        ensure_person_revision(tx, turn.scope, turn.user_name), messages.list_turn_messages(tx, turn.scope, turn.id)
    )
    added = messages.add_messages(
        tx,
        turn.scope,
        more,
        session_id=turn.session_id,
        turn_id=turn.id,
        first_place=len(known),
        revision=revision,
    )
    store.touch_session(tx, turn.scope, turn.session_id, at=max(one.at for one in added))
    return replace(turn, messages=known + added)


async def find_named_session(tx: Tx, scope: Scope, session_id: str | None) -> tuple[Scope, Session | None]:
    """Return the session the caller named and the scope of its turn, which takes the session's persona.

    Raises NotFound when there is no such session, Invalid when it belongs to another persona than the scope's.
    """
    if session_id is None:
        return scope, None
    found = await store.find_session(tx, scope, session_id)
    if found is None:
        raise NotFound("session")
    session, owner = found
    if scope.persona_id is not None and scope.persona_id != session.persona_id:
        raise Invalid(
            "This session belongs to another persona. Leave out `sessionId` or name its persona.",
            code="session_of_other_persona",
        )
    return owner, session


async def _candidate_sessions(
    tx: Tx, scope: Scope, session_id: str | None, at: datetime, boundary: SessionBoundary
) -> tuple[Scope, Session | None, Sequence[Session]]:
    """Return the turn's scope, the named session, and the sessions that a message of this time may belong to."""
    scope, named = await find_named_session(tx, scope, session_id)
    return scope, named, [named] if named else await store.list_sessions_around(tx, scope, at, boundary)


async def _enter_session(
    tx: Tx,
    scope: Scope,
    arrival: TurnArrival,
    named: Session | None,
    known: Sequence[Session],
    boundary: SessionBoundary,
) -> EnteredSession:
    """Add a turn to the session that its messages belong to, or to a new one; return that session."""
    placed = place_message(arrival.at, [] if named else known, boundary, named)
    if isinstance(placed, BeginSession):
        await _end_stale_sessions(tx, scope, arrival.at, known, boundary)
        # Before the new session is there: it is the latest that resumed the named one.
        source = await store.find_state_source(tx, scope, placed, named, arrival.at, boundary)
        entered = await store.begin_session(tx, scope, arrival, resumed_from=placed.resumed_from)
        entered = replace(entered, carries_from=source)
    else:
        entered = await store.continue_session(tx, scope, placed.session.id, arrival)
        # The job that closes it is queued already, and postpones itself while the session is active.
        if placed.session.ended_at is None:
            return entered
    # Imported history is past its boundary at once; wait, since more of the same session may follow within a minute.
    due_at = max(entered.session.last_activity_at + boundary.idle, tx.now + _CLOSE_DELAY)
    await enqueue_work(tx, scope, CLOSE_SESSION, entered.session.id, due_at=due_at)
    return entered


async def _end_stale_sessions(
    tx: Tx, scope: Scope, at: datetime, known: Sequence[Session], boundary: SessionBoundary
) -> None:
    """End the sessions that have gone idle by this time and queue their summaries."""
    for session in known:
        if session.ended_at is None and has_ended(session, at, boundary):
            await store.end_session(tx, scope, session.id, session_end(session, boundary), EndedBy.IDLE)
            await enqueue_work(tx, scope, CLOSE_SESSION, session.id)


def _turn_span(now: datetime, new_messages: Sequence[NewMessage]) -> tuple[datetime, datetime]:
    """Return when the turn began, by the person's first message, and when its last message came."""
    times = [message.at or now for message in new_messages]
    first = next((message.at or now for message in new_messages if message.role is Role.USER), None)
    return first or min(times, default=now), max(times, default=now)


def last_message(turn: Turn, role: Role) -> TurnMessage | None:
    """Return the turn's last message of this role; None when there is none."""
    return next((message for message in reversed(turn.messages) if message.role is role), None)
