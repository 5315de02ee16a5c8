"""The organization's sessions, people, personas and days.

An organization's conversations at a glance, for the people who look after them: lists, counts and days. Reads only;
one person's own sessions are read in the folder above.
"""

from dataclasses import dataclass
from datetime import date, datetime

from mnemon.db.statements import load_statements
from mnemon.db.tx import Tx
from mnemon.scope import Scope
from mnemon.sessions.people import EngagementUse, Persona
from mnemon.sessions.session import Session
from mnemon.sessions.store import session_from_row
from mnemon.turn import Role

SQL = load_statements("mnemon.sessions")


@dataclass(frozen=True, kw_only=True)
class SessionListing:
    """A session and how it began."""

    session: Session
    opening: str
    """The person's first words, cut."""


@dataclass(frozen=True, kw_only=True)
class ConversationCounts:
    """How much there is, over everyone."""

    people: int
    sessions: int
    turns: int


@dataclass(frozen=True, kw_only=True)
class DailyUsage:
    """What happened on one day of UTC."""

    day: date
    turns: int
    input_tokens: int
    """What replies read."""
    output_tokens: int
    """What replies wrote."""


@dataclass(frozen=True, kw_only=True)
class MessageDetail:
    """A message and where it stands."""

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
    """Sessions of the organization, or of one person where the scope names one, latest activity first."""
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
    """The sessions that took this one up, in order."""
    rows = await tx.fetch_all(SQL["successors"], org_id=scope.org_id, user_id=scope.user, id=session_id)
    return [str(row["id"]) for row in rows]


async def list_people(tx: Tx, scope: Scope, *, most: int, words: str | None = None) -> list[str]:
    """The people the organization knows, as the application calls them."""
    rows = await tx.fetch_all(SQL["people"], org_id=scope.org_id, words=like_pattern(words), most=most)
    return [str(row["external_id"]) for row in rows]


async def list_persona_names(tx: Tx, scope: Scope) -> list[str]:
    """The personas the scope's person may have spoken with."""
    rows = await tx.fetch_all(SQL["persona_names"], org_id=scope.org_id, user_id=scope.user)
    return [str(row["persona_id"]) for row in rows]


async def latest_person(tx: Tx, scope: Scope) -> str | None:
    """Who of the organization spoke last; None before anyone did."""
    row = await tx.fetch_one_or_none(SQL["latest_person"], org_id=scope.org_id)
    return None if row is None else str(row["external_id"])


async def last_turn_seq(tx: Tx, scope: Scope, session_id: str) -> int:
    """The place of the session's last turn."""
    row = await tx.fetch_one_or_none(SQL["last_seq"], org_id=scope.org_id, user_id=scope.user, id=session_id)
    return 0 if row is None else int(row["seq"])


async def list_personas(tx: Tx, scope: Scope) -> list[Persona]:
    """The personas that were described."""
    return [
        Persona(
            id=row["persona_id"],
            name=row["name"],
            prompt=row["prompt"],
            engagement=EngagementUse(row["engagement"]),
            updated_at=row["updated_at"],
        )
        for row in await tx.fetch_all(SQL["personas"], org_id=scope.org_id)
    ]


async def count_conversations(tx: Tx, scope: Scope) -> ConversationCounts:
    """How many people, sessions and turns there are."""
    return ConversationCounts(**await tx.fetch_one(SQL["counts"], org_id=scope.org_id))


async def list_daily_usage(tx: Tx, scope: Scope, since: datetime) -> list[DailyUsage]:
    """The days since then on which something was said, oldest first."""
    return [DailyUsage(**row) for row in await tx.fetch_all(SQL["days"], org_id=scope.org_id, since=since)]


async def find_message(tx: Tx, scope: Scope, message_id: str) -> MessageDetail | None:
    """One of the person's messages; None once it was forgotten."""
    row = await tx.fetch_one_or_none(SQL["message"], org_id=scope.org_id, user_id=scope.user, id=message_id)
    return None if row is None else MessageDetail(**{**row, "role": Role(row["role"])})


async def change_token(tx: Tx, scope: Scope) -> str:
    """A text that differs whenever a session was spoken in, ended or summarized."""
    row = await tx.fetch_one(SQL["pulse"], org_id=scope.org_id)
    return "|".join(str(value) for value in row.values())


def like_pattern(words: str | None) -> str | None:
    """A pattern for texts that contain the words as they are."""
    if not words:
        return None
    plain = words.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"%{plain}%"
