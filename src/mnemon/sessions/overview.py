"""Lists, counts and daily usage over an organization's conversations, for its operators. Reads only.

One person's own sessions are read through `store.py`.
"""

from dataclasses import dataclass
from datetime import date, datetime

from mnemon.db.rows import from_row
from mnemon.db.statements import load_statements
from mnemon.db.tx import Tx
from mnemon.scope import Scope
from mnemon.sessions.people import Persona
from mnemon.sessions.session import Session
from mnemon.sessions.store import session_from_row
from mnemon.turn import Role

SQL = load_statements("mnemon.sessions")


@dataclass(frozen=True, kw_only=True)
class SessionListing:
    """A session and how it began."""

    session: Session
    opening: str
    """The person's first message, cut."""


@dataclass(frozen=True, kw_only=True)
class ConversationCounts:
    """Totals over all people of an organization."""

    people: int
    sessions: int
    turns: int


@dataclass(frozen=True, kw_only=True)
class DailyUsage:
    """The usage of one day in UTC."""

    day: date
    turns: int
    input_tokens: int
    """Tokens that replies read."""
    output_tokens: int
    """Tokens that replies wrote."""


@dataclass(frozen=True, kw_only=True)
class MessageDetail:
    """A message with its session and turn."""

    id: str
    session_id: str
    turn_id: str
    role: Role
    content: str
    name: str | None
    at: datetime


async def list_sessions(
    tx: Tx, scope: Scope, *, most: int, skip: int = 0, persona_id: str | None = None, words: str | None = None
) -> list[SessionListing]:
    """Return the organization's sessions, or one person's where the scope names one, latest activity first."""
    rows = await tx.fetch_all(
        SQL["sessions"],
        org_id=scope.org_id,
        user_id=scope.user_id,
        persona_id=persona_id,
        words=like_pattern(words),
        most=most,
        skip=skip,
    )
    return [SessionListing(session=session_from_row(row), opening=row["opening"] or "") for row in rows]


async def list_successors(tx: Tx, scope: Scope, session_id: str) -> list[str]:
    """Return the ids of the sessions that resumed this one, in order."""
    rows = await tx.fetch_all(SQL["successors"], org_id=scope.org_id, user_id=scope.user, id=session_id)
    return [str(row["id"]) for row in rows]


async def list_people(tx: Tx, scope: Scope, *, most: int, words: str | None = None) -> list[str]:
    """Return the external ids of the organization's people: the names the application uses."""
    rows = await tx.fetch_all(SQL["people"], org_id=scope.org_id, words=like_pattern(words), most=most)
    return [str(row["external_id"]) for row in rows]


async def list_persona_names(tx: Tx, scope: Scope) -> list[str]:
    """Return the names of the personas that the scope's person may have spoken with."""
    rows = await tx.fetch_all(SQL["persona_names"], org_id=scope.org_id, user_id=scope.user)
    return [str(row["persona_id"]) for row in rows]


async def latest_person(tx: Tx, scope: Scope) -> str | None:
    """Return the external id of the person who spoke last in the organization; None before anyone did."""
    row = await tx.fetch_one_or_none(SQL["latest_person"], org_id=scope.org_id)
    return None if row is None else str(row["external_id"])


async def last_turn_seq(tx: Tx, scope: Scope, session_id: str) -> int:
    """Return the position of the session's last turn; 0 when there is none."""
    row = await tx.fetch_one_or_none(SQL["last_seq"], org_id=scope.org_id, user_id=scope.user, id=session_id)
    return 0 if row is None else int(row["seq"])


async def list_personas(tx: Tx, scope: Scope) -> list[Persona]:
    """Return the organization's personas that have a description."""
    return [
        from_row(Persona, row, id=row["persona_id"]) for row in await tx.fetch_all(SQL["personas"], org_id=scope.org_id)
    ]


async def count_conversations(tx: Tx, scope: Scope) -> ConversationCounts:
    """Return how many people, sessions and turns the organization has."""
    return ConversationCounts(**await tx.fetch_one(SQL["counts"], org_id=scope.org_id))


async def list_daily_usage(tx: Tx, scope: Scope, since: datetime) -> list[DailyUsage]:
    """Return turns and tokens of each day since then on which there was a turn, oldest first."""
    return [DailyUsage(**row) for row in await tx.fetch_all(SQL["days"], org_id=scope.org_id, since=since)]


async def find_message(tx: Tx, scope: Scope, message_id: str) -> MessageDetail | None:
    """Return one of the person's messages; None when there is none or it was forgotten."""
    row = await tx.fetch_one_or_none(SQL["message"], org_id=scope.org_id, user_id=scope.user, id=message_id)
    return None if row is None else MessageDetail(**{**row, "role": Role(row["role"])})


async def change_token(tx: Tx, scope: Scope) -> str:
    """Return a token that changes whenever a session of the organization is continued, ended or summarized."""
    row = await tx.fetch_one(SQL["pulse"], org_id=scope.org_id)
    return "|".join(str(value) for value in row.values())


def like_pattern(words: str | None) -> str | None:
    """Return a LIKE pattern for texts that contain the words literally; None when there are no words."""
    if not words:
        return None
    # The backslash first, or those that escape the others would be escaped themselves.
    escaped = words.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"%{escaped}%"
