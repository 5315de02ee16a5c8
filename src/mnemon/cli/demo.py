"""`mnemon demo`: fill an organization with a story of five weeks, played through the API with a scripted model."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import typer

from mnemon.cli.safe_text import safe_markup
from mnemon.cli.serve import DatabaseUrlOption, DataDirOption
from mnemon.cli.terminal import JsonOption, OrgOption, err, out, print_json, run, settings_from_flags

if TYPE_CHECKING:
    from mnemon.services import Services
    from mnemon.settings import Settings

STORY_WEEKS = 5
SATURDAY = 5
RESERVATION = timedelta(minutes=5)
"""The lease that keeps other workers away from the organization; each step renews it."""
RenewReservation = Callable[[], Awaitable[None]]


def register(app: typer.Typer) -> None:
    """Add the command `demo` to the Typer app."""
    app.command("demo")(demo)


def demo(
    org: OrgOption = "demo",
    data_dir: DataDirOption = None,
    database_url: DatabaseUrlOption = None,
    as_json: JsonOption = False,
) -> None:
    """Fill an organization with five weeks of example data to explore in the console. Takes half a minute."""
    settings = settings_from_flags(data_dir=data_dir, database_url=database_url)
    steps, link = run(_play_demo(settings, org))
    if as_json:
        print_json({"org": org, "steps": steps, "url": link})
        return
    named = safe_markup(org)
    out.print(f"The organization [bold]{named}[/] is filled: {steps} steps, each of them played through the API.")
    out.print("Kestrel's schedule is paused, Meridian wakes on the first of each month; change either on /agents.")
    out.print(f"Console, signed in (once, within 15 minutes): {link}", soft_wrap=True)
    if needs_server(settings):
        err.print("[dim]No server yet? Start one in another terminal:[/] mnemon serve")


def needs_server(settings: "Settings") -> bool:
    """Say whether the console link needs a server to be started, since none runs for this data directory."""
    from mnemon.cli.server_address import running_server

    return running_server(settings.data_dir) is None


async def _play_demo(settings: "Settings", org: str) -> tuple[int, str]:
    """Create the organization and play the demo in it; return the number of steps and a console sign-in link."""
    from mnemon.access.audit import record_command
    from mnemon.access.organizations import check_organization_name
    from mnemon.access.signin import create_link
    from mnemon.app import make_services
    from mnemon.cli.serve import assert_role
    from mnemon.cli.server_address import ServerAddress, running_server
    from mnemon.cli.services import (
        assert_embedder,
        ensure_database,
        finish_restore,
        migrate_to_current,
        print_finished_restore,
    )
    from mnemon.logs import configure_logs
    from mnemon.scope import Scope

    # The log would break the progress bar, which is on stderr too.
    configure_logs("ERROR")
    check_organization_name(org)
    async with ensure_database(settings, create=True) as url:
        await migrate_to_current(settings, url)
        print_finished_restore(await finish_restore(settings, url))
        async with make_services(settings, url) as services:
            await assert_role(services)
            await assert_embedder(services)
            async with _reserve_organization(services, org) as renew:
                steps = await _play_steps(services, url, org, renew)
            async with services.db.tx(org) as tx:
                token = await create_link(tx, Scope(org_id=org), actor="operator")
                record_command(tx, Scope(org_id=org), "demo: console link")
    served = running_server(settings.data_dir) or ServerAddress(host=settings.host, port=settings.port)
    return steps, f"{served.url}/sign-in/{token}"


async def _play_steps(services: "Services", url: str, org: str, renew: RenewReservation) -> int:
    """Play the demo's steps up to now, and return how many there were."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from mnemon.cli.story.player import open_player
    from mnemon.cli.story.steps import read_story

    now = services.clock.now()
    begin = first_midnight(now)
    story = read_story()
    steps = [step for step in story.steps if begin + step.after <= now]
    columns = (TextColumn("{task.description:<18}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    async with open_player(services, url, org, story, begin) as player:
        with Progress(*columns, console=err) as progress:
            task = progress.add_task("Introducing", total=len(steps))
            await player.create_participants()
            for step in steps:
                progress.update(task, description=f"{begin + step.after:%a %d %b %H:%M}")
                await player.play_step(step, begin)
                await renew()
                progress.advance(task)
        await player.finish_story(now)
    return len(steps)


def first_midnight(now: datetime) -> datetime:
    """Return the midnight of the Monday on which the demo's story begins, so that its last Friday has passed.

    It is chosen so that the story's last Friday has passed: last week's, and on a weekend this week's.
    """
    monday = now - timedelta(days=now.weekday())
    weeks = STORY_WEEKS if now.weekday() < SATURDAY else STORY_WEEKS - 1
    return monday.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(weeks=weeks)


@asynccontextmanager
async def _reserve_organization(services: "Services", org: str) -> AsyncIterator[RenewReservation]:
    """Create the organization and reserve it for the demo; yield a function that renews the reservation.

    Other workers leave its work alone meanwhile: they would answer without the script. Raises Conflict when the
    organization has data or another demo is filling it.
    """
    from mnemon.access.organizations import create_organization
    from mnemon.errors import Conflict
    from mnemon.jobs.store import renew_lease, reserve_organization, settle_work
    from mnemon.jobs.work import LeaseLost
    from mnemon.runs.agent_store import list_agents
    from mnemon.scope import Scope
    from mnemon.sessions.overview import list_people

    scope = Scope(org_id=org)
    async with services.db.tx(org) as tx:
        await create_organization(tx)
        filled = bool(await list_people(tx, scope, most=1) or await list_agents(tx, scope, most=1))
    if filled:
        raise Conflict(
            f"The organization {org} has data already, and the demo fills only an empty one. "
            f"Look at it with `mnemon console --org {org}`, or fill another one: `mnemon demo --org {org}-2`."
        )
    async with services.db.tx(org) as tx:
        reservation = await reserve_organization(tx, scope, lease_until=tx.now + RESERVATION)
    if reservation is None:
        raise Conflict(f"Another `mnemon demo` is filling {org}. Wait until it has finished.")

    async def renew_reservation() -> None:
        """Extend the reservation of the organization."""
        async with services.db.tx(org) as tx:
            if not await renew_lease(tx, reservation, tx.now + RESERVATION):
                raise LeaseLost(
                    f"A step took longer than 5 minutes, and {org} is no longer reserved. "
                    f"Fill another organization: `mnemon demo --org {org}-2`."
                )

    try:
        yield renew_reservation
    finally:
        # A lease that ran out may have been taken over; its new owner settles the item.
        with suppress(LeaseLost):
            async with services.db.tx(org) as tx:
                await settle_work(tx, reservation)
