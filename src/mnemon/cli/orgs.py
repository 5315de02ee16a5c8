"""`mnemon orgs …`: create and list organizations; show and change what one chooses for all its conversations."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from mnemon.cli.safe_text import safe_markup
from mnemon.cli.terminal import JsonOption, out, print_json, run, settings_from_flags
from mnemon.errors import Invalid

if TYPE_CHECKING:
    from mnemon.sessions.organization import OrganizationSettings

orgs = typer.Typer(no_args_is_help=True, help="Create, list and configure organizations, the tenants of a server.")


@orgs.command("create")
def create_org(name: str, as_json: JsonOption = False) -> None:
    """Create an organization."""
    from mnemon.access.organizations import check_organization_name, create_organization
    from mnemon.cli.services import open_services

    async def make_organization() -> bool:
        """Create the organization; return whether it is new."""
        # Before the database is opened, which a bad name does not need.
        check_organization_name(name)
        async with open_services(settings_from_flags(), migrated=True) as services, services.db.tx(name) as tx:
            return await create_organization(tx)

    made = run(make_organization())
    if as_json:
        print_json({"org": name, "created": made})
    else:
        out.print(f"{safe_markup(name)} is created." if made else f"{safe_markup(name)} exists already.")


@orgs.command("list")
def list_orgs(as_json: JsonOption = False) -> None:
    """List all organizations of this server."""
    from mnemon.access.organizations import list_organizations
    from mnemon.access.store import Organization
    from mnemon.cli.services import open_services, operator_tx
    from mnemon.clock import format_time

    async def load_organizations() -> list[Organization]:
        """Return all organizations."""
        async with open_services(settings_from_flags()) as services, operator_tx(services) as tx:
            return await list_organizations(tx)

    found = run(load_organizations())
    if as_json:
        print_json([{"org": org.name, "createdAt": format_time(org.created_at), "keys": org.keys} for org in found])
        return
    for org in found:
        out.print(f"{safe_markup(org.name):<40} {org.keys:>3} keys   since {org.created_at:%Y-%m-%d}")


@orgs.command("show")
def show_org(name: str, as_json: JsonOption = False) -> None:
    """Show what an organization chooses for all its conversations."""
    from mnemon.cli.services import open_services, require_organization
    from mnemon.sessions.organization import load_organization_settings

    async def load_settings() -> "OrganizationSettings":
        """Return the organization's settings."""
        async with open_services(settings_from_flags()) as services:
            scope = await require_organization(services, name)
            async with services.db.tx(scope.org_id) as tx:
                return await load_organization_settings(tx, scope)

    _print_settings(name, run(load_settings()), as_json=as_json)


@orgs.command("set")
def change_org(
    name: str,
    engagement: Annotated[
        str | None, typer.Option("--engagement", help="`on` or `off`: whether the organization has an engagement.")
    ] = None,
    time_zone: Annotated[
        str | None, typer.Option("--time-zone", help='An IANA name such as Europe/Berlin; "" for the default.')
    ] = None,
    instructions: Annotated[
        str | None, typer.Option("--instructions", help='Told to every persona in every prompt; "" for none.')
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Change what an organization chooses for all its conversations. What you do not name stays as it is."""
    from mnemon.access.audit import record_command
    from mnemon.cli.services import open_services, require_organization
    from mnemon.sessions.organization import EngagementSwitch, change_organization_settings

    async def change_settings() -> "OrganizationSettings":
        """Change the settings that are named; return all of them."""
        if engagement is None and time_zone is None and instructions is None:
            raise Invalid("Name what to change: --engagement, --time-zone or --instructions.")
        if engagement not in (None, *EngagementSwitch):
            raise Invalid("--engagement is `on` or `off`.")
        async with open_services(settings_from_flags(), migrated=True) as services:
            scope = await require_organization(services, name)
            async with services.db.tx(scope.org_id) as tx:
                held = await change_organization_settings(
                    tx,
                    scope,
                    engagement=None if engagement is None else EngagementSwitch(engagement),
                    time_zone=time_zone,
                    instructions=instructions,
                )
                record_command(tx, scope, "orgs set")
            return held

    _print_settings(name, run(change_settings()), as_json=as_json)


def _print_settings(name: str, held: "OrganizationSettings", *, as_json: bool) -> None:
    """Print an organization's settings."""
    shown: dict[str, Any] = {
        "org": name,
        "engagement": held.engagement.value,
        "timeZone": held.time_zone or None,
        "instructions": held.instructions,
    }
    if as_json:
        print_json(shown)
        return
    out.print(f"engagement    {safe_markup(held.engagement.value)}")
    out.print(f"time zone     {safe_markup(held.time_zone or 'UTC')}")
    out.print(f"instructions  {safe_markup(held.instructions or 'none')}", soft_wrap=True)
