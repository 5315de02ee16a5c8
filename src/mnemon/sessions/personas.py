"""Personas: who the person speaks with, by the organization's own names."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from mnemon.db.statements import statements
from mnemon.db.tx import Tx
from mnemon.scope import Scope

SQL = statements("mnemon.sessions")


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
    row = await tx.one(
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
    row = await tx.maybe(SQL["persona"], org_id=scope.org_id, persona_id=persona_id)
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
