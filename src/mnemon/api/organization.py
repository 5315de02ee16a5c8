"""`/api/organization`: what the key's organization chooses for all its conversations."""

from typing import Annotated, Self

from fastapi import APIRouter, Response
from pydantic import Field

from mnemon.access.grants import Grant
from mnemon.api.door import Door, JsonRoute, needs, responses_for, write_responses
from mnemon.api.models import ApiModel, Instant, Text
from mnemon.sessions.organization import (
    MAX_INSTRUCTIONS_CHARS,
    EngagementSwitch,
    OrganizationSettings,
    change_organization_settings,
    load_organization_settings,
)

router = APIRouter(prefix="/api/organization", tags=["organization"], route_class=JsonRoute)


class OrganizationIn(ApiModel):
    """The settings to change; one that is left out stays as it is, null is the default again."""

    engagement: EngagementSwitch | None = None
    time_zone: Annotated[Text, Field(max_length=100)] | None = Field(
        None,
        description="An IANA name such as `Europe/Berlin`; null for the default of the server (`MNEMON_TIME_ZONE`).",
    )
    instructions: Annotated[Text, Field(max_length=MAX_INSTRUCTIONS_CHARS)] | None = Field(
        None, description="Told to every persona in every prompt."
    )


class OrganizationOut(ApiModel):
    """An organization's settings."""

    organization: str
    engagement: EngagementSwitch
    time_zone: str | None
    """None for the server's default."""
    instructions: str
    updated_at: Instant | None
    """None before anything was chosen."""

    @classmethod
    def from_settings(cls, org_id: str, held: OrganizationSettings) -> Self:
        """Return the response for an organization's settings."""
        return cls(
            organization=org_id,
            engagement=held.engagement,
            time_zone=held.time_zone or None,
            instructions=held.instructions,
            updated_at=held.updated_at,
        )


@router.get("", responses=responses_for(OrganizationOut))
async def get_organization(door: Annotated[Door, needs(Grant.MEMORY_READ)]) -> Response:
    """Return the organization's settings; a key bound to one person gets 403."""
    door.require_unbound()
    async with door.tx() as tx:
        held = await load_organization_settings(tx, door.org)
    return door.reply(OrganizationOut.from_settings(door.org.org_id, held))


@router.patch("", responses=write_responses(OrganizationOut))
async def change_organization(body: OrganizationIn, door: Annotated[Door, needs(Grant.ADMIN)]) -> Response:
    """Change the organization's settings and return all of them."""
    sent = body.model_fields_set
    engagement = (body.engagement or EngagementSwitch.ON) if "engagement" in sent else None
    time_zone = (body.time_zone or "") if "time_zone" in sent else None
    instructions = (body.instructions or "") if "instructions" in sent else None
    return await door.write(
        lambda tx: change_organization_settings(
            tx, door.org, engagement=engagement, time_zone=time_zone, instructions=instructions
        ),
        lambda held: OrganizationOut.from_settings(door.org.org_id, held),
    )
