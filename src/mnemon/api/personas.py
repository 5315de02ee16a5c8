"""`/api/personas`: who the agent is to the person."""

from typing import Annotated, Self

from fastapi import APIRouter, Path, Response
from pydantic import Field

from mnemon.access.grants import Grant
from mnemon.api.door import Door, documented, needs
from mnemon.api.json_route import JsonRoute
from mnemon.api.wire import HeldName, Instant, Name, Text, Wire
from mnemon.db.tx import Tx
from mnemon.errors import NotFound
from mnemon.sessions.personas import EngagementUse, Persona, find_persona, put_persona

router = APIRouter(prefix="/api/personas", tags=["personas"], route_class=JsonRoute)

NewPersonaId = Annotated[Name, Path()]
PersonaId = Annotated[HeldName, Path()]


class PersonaIn(Wire):
    """A persona as it should be."""

    name: Name
    prompt: Annotated[Text, Field(max_length=8000)] = ""
    engagement: EngagementUse = EngagementUse.SHARED


class PersonaOut(Wire):
    id: str
    name: str
    prompt: str
    engagement: EngagementUse
    updated_at: Instant

    @classmethod
    def of(cls, persona: Persona) -> Self:
        return cls(
            id=persona.id,
            name=persona.name,
            prompt=persona.prompt,
            engagement=persona.engagement,
            updated_at=persona.updated_at,
        )


@router.get("/{persona_id:any}", responses=documented(PersonaOut))
async def get_persona(persona_id: PersonaId, door: Annotated[Door, needs(Grant.MEMORY_READ)]) -> Response:
    """The persona as it was described; it belongs to the organization, so a key bound to one person may not ask."""
    door.require_unbound()
    async with door.tx() as tx:
        persona = await find_persona(tx, door.org, persona_id)
    if persona is None:
        raise NotFound("persona")
    return door.reply(PersonaOut.of(persona))


@router.put("/{persona_id:any}", responses={**documented(PersonaOut), **documented(PersonaOut, status=201)})
async def set_persona(
    persona_id: NewPersonaId, body: PersonaIn, door: Annotated[Door, needs(Grant.PERSONAS_WRITE)]
) -> Response:
    """The persona is as given; 201 when it is new."""

    async def effect(tx: Tx) -> tuple[Persona, bool]:
        return await put_persona(
            tx, door.org, persona_id, name=body.name, prompt=body.prompt, engagement=body.engagement
        )

    return await door.write(effect, lambda made: PersonaOut.of(made[0]), status=lambda made: 201 if made[1] else 200)
