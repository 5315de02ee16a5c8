"""The page of the organization's own settings: engagement, time zone, instructions."""

from fastapi import APIRouter

from mnemon.access.grants import Grant
from mnemon.console.forms import check_fields
from mnemon.console.page_request import PageRequest
from mnemon.console.pages import ActionRedirect, PageContent, action, page
from mnemon.errors import Invalid
from mnemon.sessions.organization import (
    MAX_INSTRUCTIONS_CHARS,
    EngagementSwitch,
    change_organization_settings,
    check_time_zone,
    load_organization_settings,
)

router = APIRouter()


@page(router, "/settings/organization", "settings_organization.html", grant=Grant.MEMORY_READ)
async def organization(visit: PageRequest) -> PageContent:
    """Show the page of the organization's settings, with a form to change them."""
    async with visit.tx() as tx:
        held = await load_organization_settings(tx, visit.org_scope)
    return PageContent(title="Organization", data={"held": held, "most": MAX_INSTRUCTIONS_CHARS})


@action(router, "/settings/organization", grant=Grant.ADMIN)
async def save_organization(visit: PageRequest, form: dict[str, str]) -> ActionRedirect:
    """Store the settings that the form shows."""
    time_zone, instructions = form.get("time_zone", "").strip(), form.get("instructions", "")
    long = len(instructions) > MAX_INSTRUCTIONS_CHARS
    check_fields(
        time_zone=_time_zone_fault(time_zone),
        instructions=f"Instructions have at most {MAX_INSTRUCTIONS_CHARS} characters." if long else "",
    )
    switch = EngagementSwitch.OFF if form.get("engagement") == "off" else EngagementSwitch.ON
    async with visit.tx() as tx:
        await change_organization_settings(
            tx, visit.org_scope, engagement=switch, time_zone=time_zone, instructions=instructions
        )
        visit.audit_write(tx, "change organization")
    return ActionRedirect(to="/settings/organization", notice="Saved. It holds from the next message on.")


def _time_zone_fault(typed: str) -> str:
    """Return what is wrong with a time zone's name, empty if nothing is."""
    try:
        check_time_zone(typed)
    except Invalid as error:
        return error.detail
    return ""
