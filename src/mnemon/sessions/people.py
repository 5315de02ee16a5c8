"""People: the row that stands for a person, and the revision that moves with what recall can see.

Personas: who the person speaks with, by the organization's own names.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from mnemon.db.statements import load_statements
from mnemon.db.tx import Tx
from mnemon.errors import NotFound
from mnemon.scope import Scope, person_scope

SQL = load_statements("mnemon.sessions")


async def ensure_person(tx: Tx, org_id: str, external: str, persona_id: str | None = None) -> Scope:
    """The person exists and their row is locked to the transaction's end; gives their scope."""
    scope = person_scope(org_id, external, persona_id)
    await tx.execute(SQL["ensure_person"], org_id=org_id, user_id=scope.user, external_id=external, now=tx.now)
    return scope


async def bump_revision(tx: Tx, scope: Scope, *, asked_for: str = "user") -> int:
    """The person's revision is one higher and their row locked to the transaction's end: all writers queue here.

    Raises NotFound for `asked_for` when there is no such person, or they were forgotten while this waited.
    """
    row = await tx.fetch_one_or_none(SQL["bump_revision"], org_id=scope.org_id, user_id=scope.user)
    if row is None:
        raise NotFound(asked_for)
    tx.revisions.setdefault(scope.user, int(row["revision"]))
    return int(row["revision"])


async def lock_person(tx: Tx, scope: Scope) -> int | None:
    """The person's row is locked; how often something of theirs was forgotten, None for one never seen.

    Locked before the row of any work: writers hold the person and then enqueue, so a job does it in the same order.
    """
    row = await tx.fetch_one_or_none(SQL["hold_person"], org_id=scope.org_id, user_id=scope.user)
    return None if row is None else int(row["forgettings"])


async def lock_person_shared(tx: Tx, scope: Scope) -> int | None:
    """Keep the person from being forgotten until the transaction ends; give how often something of theirs was.

    For a transaction that locks a turn or its work without writing about the person: forgetting deletes those rows
    in an order of its own, so one of the two would have to give way.
    """
    row = await tx.fetch_one_or_none(SQL["keep_person"], org_id=scope.org_id, user_id=scope.user)
    return None if row is None else int(row["forgettings"])


async def count_forgettings(tx: Tx, scope: Scope) -> int | None:
    """How often something of the person's was forgotten, without a lock; None for one never seen."""
    row = await tx.fetch_one_or_none(SQL["forgettings"], org_id=scope.org_id, user_id=scope.user)
    return None if row is None else int(row["forgettings"])


async def revision_of(tx: Tx, scope: Scope) -> int:
    """The person's revision; 0 for one never seen."""
    row = await tx.fetch_one_or_none(SQL["revision"], org_id=scope.org_id, user_id=scope.user)
    return 0 if row is None else int(row["revision"])


async def external_name(tx: Tx, scope: Scope) -> str | None:
    """What the application calls the person."""
    row = await tx.fetch_one_or_none(SQL["external_name"], org_id=scope.org_id, user_id=scope.user)
    return None if row is None else str(row["external_id"])


class EngagementUse(StrEnum):
    """Whether what is said to a persona takes part in the organization's engagement."""

    SHARED = "shared"
    OFF = "off"


@dataclass(frozen=True, kw_only=True)
class Persona:
    """One way for the agent to be."""

    id: str
    name: str
    prompt: str
    """Who it is; L1 of the context."""
    engagement: EngagementUse
    updated_at: datetime


async def put_persona(
    tx: Tx, scope: Scope, persona_id: str, *, name: str, prompt: str, engagement: EngagementUse
) -> tuple[Persona, bool]:
    """The persona is as given; also whether it is new."""
    row = await tx.fetch_one(
        SQL["put_persona"],
        org_id=scope.org_id,
        persona_id=persona_id,
        name=name,
        prompt=prompt,
        engagement=engagement,
        now=tx.now,
    )
    made = Persona(id=persona_id, name=name, prompt=prompt, engagement=engagement, updated_at=tx.now)
    return made, bool(row["created"])


async def find_persona(tx: Tx, scope: Scope, persona_id: str) -> Persona | None:
    """The persona, if it was described; one that never was is only a name."""
    row = await tx.fetch_one_or_none(SQL["persona"], org_id=scope.org_id, persona_id=persona_id)
    if row is None:
        return None
    return Persona(
        id=row["persona_id"],
        name=row["name"],
        prompt=row["prompt"],
        engagement=EngagementUse(row["engagement"]),
        updated_at=row["updated_at"],
    )


async def takes_part_in_engagement(tx: Tx, scope: Scope) -> bool:
    """Whether the scope's persona shares in engagement; without a persona, or an undescribed one, it does."""
    if scope.persona_id is None:
        return True
    persona = await find_persona(tx, scope, scope.persona_id)
    return persona is None or persona.engagement is EngagementUse.SHARED
