"""The organization's sessions, people, personas and days."""

from dataclasses import dataclass
from datetime import date, datetime

from mnemon.db.statements import statements
from mnemon.db.tx import Tx
from mnemon.scope import Scope
from mnemon.sessions.personas import EngagementUse, Persona
from mnemon.sessions.session import Session
from mnemon.sessions.store import session_of
from mnemon.turn import Role

SQL = statements("mnemon.sessions.survey")


@dataclass(frozen=True, kw_only=True)
class Listed:
    """A session and how it began."""

    session: Session
    opening: str
    """The person's first words, cut."""


@dataclass(frozen=True, kw_only=True)
class Counts:
    """How much there is, over everyone."""

    people: int
    sessions: int
    turns: int


@dataclass(frozen=True, kw_only=True)
class Day:
    """What happened on one day of UTC."""

    day: date
    turns: int
    input_tokens: int
    """What replies read."""
    output_tokens: int
    """What replies wrote."""


@dataclass(frozen=True, kw_only=True)
class Placed:
    """A message and where it stands."""

    id: str
    session_id: str
    turn_id: str
    role: Role
    content: str
    name: str | None
    at: datetime


async def sessions(
    tx: Tx, scope: Scope, *, most: int, skip: int = 0, persona_id: str | None = None, words: str | None = None
) -> list[Listed]:
    """Sessions of the organization, or of one person where the scope names one, latest activity first."""
    rows = await tx.all(
        SQL["sessions"],
        org_id=scope.org_id,
        user_id=scope.user_id,
        persona_id=persona_id,
        words=containing(words),
        most=most,
        skip=skip,
    )
    return [Listed(session=session_of(row), opening=row["opening"] or "") for row in rows]


async def successors(tx: Tx, scope: Scope, session_id: str) -> list[str]:
    """The sessions that took this one up, in order."""
    rows = await tx.all(SQL["successors"], org_id=scope.org_id, user_id=scope.user, id=session_id)
    return [str(row["id"]) for row in rows]


async def people(tx: Tx, scope: Scope, *, most: int, words: str | None = None) -> list[str]:
    """The people the organization knows, as the application calls them."""
    rows = await tx.all(SQL["people"], org_id=scope.org_id, words=containing(words), most=most)
    return [str(row["external_id"]) for row in rows]


async def persona_names(tx: Tx, scope: Scope) -> list[str]:
    """The personas the scope's person may have spoken with."""
    rows = await tx.all(SQL["persona_names"], org_id=scope.org_id, user_id=scope.user)
    return [str(row["persona_id"]) for row in rows]


async def latest_person(tx: Tx, scope: Scope) -> str | None:
    """Who of the organization spoke last; None before anyone did."""
    row = await tx.maybe(SQL["latest_person"], org_id=scope.org_id)
    return None if row is None else str(row["external_id"])


async def last_seq(tx: Tx, scope: Scope, session_id: str) -> int:
    """The place of the session's last turn."""
    row = await tx.maybe(SQL["last_seq"], org_id=scope.org_id, user_id=scope.user, id=session_id)
    return 0 if row is None else int(row["seq"])


async def personas(tx: Tx, scope: Scope) -> list[Persona]:
    """The personas that were described."""
    return [
        Persona(
            id=row["persona_id"],
            name=row["name"],
            prompt=row["prompt"],
            engagement=EngagementUse(row["engagement"]),
            updated_at=row["updated_at"],
        )
        for row in await tx.all(SQL["personas"], org_id=scope.org_id)
    ]


async def counts(tx: Tx, scope: Scope) -> Counts:
    """How many people, sessions and turns there are."""
    return Counts(**await tx.one(SQL["counts"], org_id=scope.org_id))


async def days(tx: Tx, scope: Scope, since: datetime) -> list[Day]:
    """The days since then on which something was said, oldest first."""
    return [Day(**row) for row in await tx.all(SQL["days"], org_id=scope.org_id, since=since)]


async def message(tx: Tx, scope: Scope, message_id: str) -> Placed | None:
    """One of the person's messages; None once it was forgotten."""
    row = await tx.maybe(SQL["message"], org_id=scope.org_id, user_id=scope.user, id=message_id)
    return None if row is None else Placed(**{**row, "role": Role(row["role"])})


async def pulse(tx: Tx, scope: Scope) -> str:
    """A text that differs whenever a session was spoken in, ended or summarized."""
    row = await tx.one(SQL["pulse"], org_id=scope.org_id)
    return "|".join(str(value) for value in row.values())


def containing(words: str | None) -> str | None:
    """A pattern for texts that contain the words as they are."""
    if not words:
        return None
    plain = words.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"%{plain}%"
