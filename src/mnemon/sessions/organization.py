"""What an organization chooses for all its conversations: engagement, time zone, instructions to every agent.

All of an organization's own settings are here, in one row; a persona's are in `people.py`.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from mnemon.db.rows import from_row
from mnemon.db.statements import load_statements
from mnemon.db.tx import Tx
from mnemon.errors import Invalid
from mnemon.scope import Scope

SQL = load_statements("mnemon.sessions")
MAX_INSTRUCTIONS_CHARS = 4000


class EngagementSwitch(StrEnum):
    """Whether an organization has an engagement at all."""

    ON = "on"
    OFF = "off"


@dataclass(frozen=True, kw_only=True)
class OrganizationSettings:
    """The settings of one organization."""

    engagement: EngagementSwitch = EngagementSwitch.ON
    time_zone: str = ""
    """An IANA name such as `Europe/Berlin`; empty for the server's default, `MNEMON_TIME_ZONE`."""
    instructions: str = ""
    """Told to every persona in every prompt."""
    updated_at: datetime | None = None
    """None before anything was chosen."""


async def load_organization_settings(tx: Tx, scope: Scope) -> OrganizationSettings:
    """Return the organization's settings; the defaults where it never chose any."""
    row = await tx.fetch_one_or_none(SQL["organization_settings"], org_id=scope.org_id)
    return OrganizationSettings() if row is None else from_row(OrganizationSettings, row)


async def change_organization_settings(
    tx: Tx,
    scope: Scope,
    *,
    engagement: EngagementSwitch | None = None,
    time_zone: str | None = None,
    instructions: str | None = None,
) -> OrganizationSettings:
    """Change the settings that are not None, "" back to the default, and return all of them; raise Invalid."""
    row = await tx.fetch_one(
        SQL["change_organization_settings"],
        org_id=scope.org_id,
        engagement=engagement,
        time_zone=None if time_zone is None else check_time_zone(time_zone),
        instructions=None if instructions is None else _check_instructions(instructions),
        now=tx.now,
    )
    return from_row(OrganizationSettings, row)


def check_time_zone(name: str) -> str:
    """Return the name of a time zone, "" for none; raise Invalid for one that does not exist."""
    if not name:
        return ""
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise Invalid(
            "There is no time zone of this name. Send an IANA name such as `Europe/Berlin` or `America/New_York`.",
            code="unknown_time_zone",
        ) from None
    return name


def _check_instructions(text: str) -> str:
    """Return the instructions without blanks around them; raise Invalid if they are too long."""
    if len(text) > MAX_INSTRUCTIONS_CHARS:
        raise Invalid(
            f"Instructions have at most {MAX_INSTRUCTIONS_CHARS} characters, and these have {len(text)}. Shorten them.",
            code="instructions_too_long",
        )
    return text.strip()


async def takes_part_in_engagement(tx: Tx, scope: Scope) -> bool:
    """Say whether a conversation contributes to the engagement: the organization has one, and the persona shares it.

    A persona without a description shares it, and so does a conversation without a persona.
    """
    row = await tx.fetch_one(SQL["engagement_use"], org_id=scope.org_id, persona_id=scope.persona_id)
    return bool(row["organization"] != EngagementSwitch.OFF and row["persona"] != "off")


async def engagement_is_on(tx: Tx, scope: Scope) -> bool:
    """Say whether the organization has an engagement."""
    return await takes_part_in_engagement(tx, scope.with_persona(None))
