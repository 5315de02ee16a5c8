"""`/api/personas`: the personas in which an agent meets a person."""

from typing import Annotated, Self

from fastapi import APIRouter, Path, Response
from pydantic import Field

from mnemon.access.grants import Grant
from mnemon.api.door import Door, JsonRoute, needs, responses_for, write_responses
from mnemon.api.models import ApiModel, ExistingName, Instant, Name, Text
from mnemon.db.tx import Tx
from mnemon.errors import NotFound
from mnemon.sessions.people import EngagementUse, Persona, find_persona, put_persona

router = APIRouter(prefix="/api/personas", tags=["personas"], route_class=JsonRoute)

NewPersonaId = Annotated[Name, Path()]
PersonaId = Annotated[ExistingName, Path()]


class PersonaIn(ApiModel):
    """A persona to store."""

    name: Name
    prompt: Annotated[Text, Field(max_length=8000)] = ""
    engagement: EngagementUse = EngagementUse.SHARED


class PersonaOut(ApiModel):
    """A persona."""

    id: str
    name: str
    prompt: str
    engagement: EngagementUse
    updated_at: Instant

    @classmethod
    def from_persona(cls, persona: Persona) -> Self:
        """Return the response for a persona."""
        return cls(
            id=persona.id,
            name=persona.name,
            prompt=persona.prompt,
            engagement=persona.engagement,
            updated_at=persona.updated_at,
        )


@router.get("/{persona_id:any}", responses=responses_for(PersonaOut, also=(404,)))
async def get_persona(persona_id: PersonaId, door: Annotated[Door, needs(Grant.MEMORY_READ)]) -> Response:
    """Return a persona. It belongs to the organization, so a key bound to one person gets 403."""
    # A persona's prompt is told to everyone who speaks with it; a bound key is one person's.
    door.require_unbound()
    async with door.tx() as tx:
        persona = await find_persona(tx, door.org, persona_id)
    if persona is None:
        raise NotFound("persona")
    return door.reply(PersonaOut.from_persona(persona))


@router.put("/{persona_id:any}", responses={**write_responses(PersonaOut), **write_responses(PersonaOut, status=201)})
async def set_persona(
    persona_id: NewPersonaId, body: PersonaIn, door: Annotated[Door, needs(Grant.PERSONAS_WRITE)]
) -> Response:
    """Create or replace a persona; 201 when it is new."""

    async def store_persona(tx: Tx) -> tuple[Persona, bool]:
        """Insert or replace the persona; return it and whether it is new."""
        return await put_persona(
            tx, door.org, persona_id, name=body.name, prompt=body.prompt, engagement=body.engagement
        )

    return await door.write(
        store_persona, lambda made: PersonaOut.from_persona(made[0]), status=lambda made: 201 if made[1] else 200
    )
