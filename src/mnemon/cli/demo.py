"""`mnemon demo`: an organization filled with a story of five weeks, played through the real pipeline."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import typer

from mnemon.cli.safe_text import safe_markup
from mnemon.cli.serve import DatabaseUrl, DataDir
from mnemon.cli.terminal import AsJson, Org, chosen, err, out, print_json, run

if TYPE_CHECKING:
    from mnemon.basement import Basement
    from mnemon.settings import Settings

WEEKS = 5
SATURDAY = 5
RESERVED = timedelta(minutes=5)
"""How long the organization stays the story's own without a sign of life."""
Hold = Callable[[], Awaitable[None]]


def register(app: typer.Typer) -> None:
    """The command stands in the program."""
    app.command("demo")(demo)


def demo(
    org: Org = "demo", data_dir: DataDir = None, database_url: DatabaseUrl = None, as_json: AsJson = False
) -> None:
    """Fill an organization with a story of five weeks, to see the console at work. Takes about half a minute."""
    settings = chosen(data_dir=data_dir, database_url=database_url)
    steps, link = run(_play(settings, org))
    if as_json:
        print_json({"org": org, "steps": steps, "url": link})
        return
    named = safe_markup(org)
    out.print(
        f"The organization [bold]{named}[/] has its story: {steps} steps, none of them written past the pipeline."
    )
    out.print("Kestrel's schedule is paused, Meridian wakes on the first of each month; change either on /agents.")
    out.print(f"Console, signed in (once, within 15 minutes): {link}", soft_wrap=True)
    err.print("[dim]No server yet? Start one in another terminal:[/] mnemon serve")


async def _play(settings: "Settings", org: str) -> tuple[int, str]:
    from mnemon.access.audit import record_command
    from mnemon.access.organizations import check_name
    from mnemon.access.signin import make_link
    from mnemon.app import opened
    from mnemon.cli.house import bring_up_to_date, database_url
    from mnemon.cli.operator import assert_embedder
    from mnemon.cli.serve import assert_role
    from mnemon.cli.serving import Address, running_server
    from mnemon.logs import configure_logs
    from mnemon.scope import Scope

    configure_logs("ERROR")
    check_name(org)
    async with database_url(settings, create=True) as url:
        await bring_up_to_date(settings, url)
        async with opened(settings, url) as basement:
            await assert_role(basement)
            await assert_embedder(basement)
            async with _to_ourselves(basement, org) as hold:
                steps = await _told(basement, url, org, hold)
            async with basement.db.tx(org) as tx:
                token = await make_link(tx, Scope(org_id=org), actor="operator")
                record_command(tx, Scope(org_id=org), "demo: console link")
    served = running_server(settings.data_dir) or Address(host=settings.host, port=settings.port)
    return steps, f"{served.url}/sign-in/{token}"


async def _told(basement: "Basement", url: str, org: str, hold: Hold) -> int:
    """The story is played; how many steps it had."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from mnemon.cli.story.stage import staged
    from mnemon.cli.story.steps import read_story

    now = basement.clock.now()
    begin = first_midnight(now)
    story = read_story()
    steps = [step for step in story.steps if begin + step.after <= now]
    columns = (TextColumn("{task.description:<18}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    async with staged(basement, url, org, story, begin) as stage:
        with Progress(*columns, console=err) as progress:
            task = progress.add_task("Introducing", total=len(steps))
            await stage.introduce()
            for step in steps:
                progress.update(task, description=f"{begin + step.after:%a %d %b %H:%M}")
                await stage.play(step, begin)
                await hold()
                progress.advance(task)
        await stage.close(now)
    return len(steps)


def first_midnight(now: datetime) -> datetime:
    """The Monday the story begins, so that its last Friday has passed: on a weekend it is this week's."""
    monday = now - timedelta(days=now.weekday())
    weeks = WEEKS if now.weekday() < SATURDAY else WEEKS - 1
    return monday.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(weeks=weeks)


@asynccontextmanager
async def _to_ourselves(basement: "Basement", org: str) -> AsyncIterator[Hold]:
    """The organization exists, is empty, and no other worker takes its work: it would answer without the script."""
    from mnemon.access.organizations import create_organization
    from mnemon.errors import Conflict
    from mnemon.jobs.store import renew, reserve, settle
    from mnemon.jobs.work import LeaseLost
    from mnemon.runs.agent_store import agents
    from mnemon.scope import Scope
    from mnemon.sessions.survey.survey import people

    scope = Scope(org_id=org)
    async with basement.db.tx(org) as tx:
        await create_organization(tx)
        filled = bool(await people(tx, scope, most=1) or await agents(scope, tx, most=1))
    if filled:
        raise Conflict(
            f"The organization {org} has data already, and the demo mixes with nobody's. "
            f"Look at it with `mnemon console --org {org}`, or fill another: `mnemon demo --org {org}-2`."
        )
    async with basement.db.tx(org) as tx:
        ours = await reserve(tx, scope, lease_until=tx.now + RESERVED)
    if ours is None:
        raise Conflict(f"Another `mnemon demo` is filling {org} at this moment. Wait for it.")

    async def hold() -> None:
        async with basement.db.tx(org) as tx:
            if not await renew(tx, ours, tx.now + RESERVED):
                raise LeaseLost(f"The story stood still for too long, and {org} is no longer its own. Fill another.")

    try:
        yield hold
    finally:
        with suppress(LeaseLost):
            async with basement.db.tx(org) as tx:
                await settle(tx, ours)
