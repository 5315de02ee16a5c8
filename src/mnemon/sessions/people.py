"""People and personas.

A person is a row of `users`. Its lock serializes everything written about the person, and its revision increases with
every write that recall can see. A persona is a role the agent speaks in, under a name the organization chooses.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from mnemon.db.rows import from_row
from mnemon.db.statements import load_statements
from mnemon.db.tx import Tx
from mnemon.errors import NotFound
from mnemon.scope import Scope, person_scope

SQL = load_statements("mnemon.sessions")


async def ensure_person(tx: Tx, org_id: str, external: str, persona_id: str | None = None) -> Scope:
    """Create the person unless they exist, lock their row until the transaction ends, and return their scope."""
    scope = person_scope(org_id, external, persona_id)
    # The conflict branch updates the row, since only that locks an existing one: forgetting waits for it.
    await tx.execute(SQL["ensure_person"], org_id=org_id, user_id=scope.user, external_id=external, now=tx.now)
    return scope


async def bump_revision(tx: Tx, scope: Scope, *, asked_for: str = "user") -> int:
    """Increase the person's revision by one and return it; their row stays locked until the transaction ends.

    Every writer waits for this lock. Raises NotFound for `asked_for` when there is no such person, or when they were
    forgotten while this waited.
    """
    row = await tx.fetch_one_or_none(SQL["bump_revision"], org_id=scope.org_id, user_id=scope.user)
    if row is None:
        raise NotFound(asked_for)
    # The first revision of a transaction counts: later bumps in it become visible at the same commit.
    tx.revisions.setdefault(scope.user, int(row["revision"]))
    return int(row["revision"])


async def lock_person(tx: Tx, scope: Scope) -> int | None:
    """Lock the person's row; return how often something of theirs was forgotten, None for an unknown person.

    Lock it before any row of `work`: writers lock the person and then enqueue, so a job uses the same order.
    """
    row = await tx.fetch_one_or_none(SQL["hold_person"], org_id=scope.org_id, user_id=scope.user)
    return None if row is None else int(row["forgettings"])


async def lock_person_shared(tx: Tx, scope: Scope) -> int | None:
    """Lock the person's row `for key share` against forgetting; return how often something was forgotten before.

    None for an unknown person. For a transaction that locks a turn or its work without writing about the person:
    forgetting deletes those rows in another order, so that without this lock the two could deadlock.
    """
    # `for key share` conflicts with the `for update` of forgetting, and not with writers (ARCHITECTURE.md, lock
    # order).
    row = await tx.fetch_one_or_none(SQL["keep_person"], org_id=scope.org_id, user_id=scope.user)
    return None if row is None else int(row["forgettings"])


async def count_forgettings(tx: Tx, scope: Scope) -> int | None:
    """Return how often something of the person's was forgotten; None for an unknown person. Takes no lock."""
    row = await tx.fetch_one_or_none(SQL["forgettings"], org_id=scope.org_id, user_id=scope.user)
    return None if row is None else int(row["forgettings"])


async def revision_of(tx: Tx, scope: Scope) -> int:
    """Return the person's revision; 0 for an unknown person."""
    row = await tx.fetch_one_or_none(SQL["revision"], org_id=scope.org_id, user_id=scope.user)
    return 0 if row is None else int(row["revision"])


async def external_name(tx: Tx, scope: Scope) -> str | None:
    """Return the name by which the application calls the person; None for an unknown person."""
    row = await tx.fetch_one_or_none(SQL["external_name"], org_id=scope.org_id, user_id=scope.user)
    return None if row is None else str(row["external_id"])


class EngagementUse(StrEnum):
    """Whether messages to a persona contribute to the organization's engagement."""

    SHARED = "shared"
    OFF = "off"


@dataclass(frozen=True, kw_only=True)
class Persona:
    """A role that the agent speaks in."""

    id: str
    name: str
    prompt: str
    """The description of the role; L1 of the context."""
    engagement: EngagementUse
    updated_at: datetime


async def put_persona(
    tx: Tx, scope: Scope, persona_id: str, *, name: str, prompt: str, engagement: EngagementUse
) -> tuple[Persona, bool]:
    """Create or replace the organization's persona; return it and whether it is new."""
    row = await tx.fetch_one(
        SQL["put_persona"],
        org_id=scope.org_id,
        persona_id=persona_id,
        name=name,
        prompt=prompt,
        engagement=engagement,
        now=tx.now,
    )
    persona = Persona(id=persona_id, name=name, prompt=prompt, engagement=engagement, updated_at=tx.now)
    return persona, bool(row["created"])


async def find_persona(tx: Tx, scope: Scope, persona_id: str) -> Persona | None:
    """Return the persona of this id; None when it has no description and is only a name."""
    row = await tx.fetch_one_or_none(SQL["persona"], org_id=scope.org_id, persona_id=persona_id)
    return None if row is None else from_row(Persona, row, id=row["persona_id"])
