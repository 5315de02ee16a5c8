"""`mnemon sources` lists who said what about a person; `mnemon withdraw` takes back what one source said."""

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mnemon.cli.safe_text import safe_text
from mnemon.cli.terminal import JsonOption, OrgOption, err, out, print_json, report_errors, run, settings_from_flags

if TYPE_CHECKING:
    from mnemon.db.tx import Tx
    from mnemon.memory.memory import StoredMemory
    from mnemon.memory.sources.overview import SourceOverview
    from mnemon.memory.sources.withdrawal import Withdrawal

MAX_LISTED = 200


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    app.command("sources")(sources)
    app.command("withdraw")(withdraw)


def sources(
    user: Annotated[str, typer.Argument(help="The person, as your application calls them.")],
    source: Annotated[str | None, typer.Argument(help="List what this source said instead of counts.")] = None,
    org: OrgOption = "local",
    as_json: JsonOption = False,
) -> None:
    """List the sources of a person's memories, or what one of them said.

    `shadow_extraction` is the person in conversation, `seeded_profile` the profile you seeded, `curated_fold` a
    summary of several memories. Other sources have the name that the application or tool gave itself.
    """
    if source is not None:
        memories, overview = run(_load_memories(user, source, org))
        _print_memories(memories, overview, user, as_json)
        return
    found = run(_load_overviews(user, org))
    if as_json:
        print_json([_overview_json(one) for one in found])
        return
    from mnemon.memory.sources.overview import printable_name

    for one in found:
        out.print(f"{printable_name(one.origin)}  {one.trust}  {_counts_text(one)}", markup=False, soft_wrap=True)
    if found:
        err.print("[dim]List what one of them said, or withdraw it:[/] mnemon sources NAME SOURCE", soft_wrap=True)
        err.print("[dim]                                           [/] mnemon withdraw SOURCE --user NAME")
    else:
        err.print(f"No source has said anything about {safe_text(user)}.", markup=False)


def withdraw(
    source: Annotated[str, typer.Argument(help="The source, as `mnemon sources` names it.")],
    user: Annotated[str | None, typer.Option("--user", help="The person, as your application calls them.")] = None,
    everyone: Annotated[
        bool, typer.Option("--everyone", help="Withdraw it for every person of the organization.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Withdraw without asking.")] = False,
    org: OrgOption = "local",
    as_json: JsonOption = False,
) -> None:
    """Withdraw everything that one source said. Memories that it had changed get their earlier text back."""
    from mnemon.errors import Invalid

    with report_errors():
        if (user is None) != everyone:
            raise Invalid("Name the person (`--user NAME`), or withdraw the source for everybody (`--everyone`).")
        if user is not None and not user.strip():
            raise Invalid("--user is empty. Name the person, or withdraw the source for everybody (`--everyone`).")
        if not yes and not sys.stdin.isatty():
            raise Invalid("Nothing was withdrawn: there is no terminal to confirm it at. Add --yes.")
    if not yes:
        typer.confirm(safe_text(run(_confirm_question(source, user, org))), abort=True, err=True)
    _print_receipt(run(_withdraw_source(source, user, org)), as_json)


async def _load_overviews(user: str, org: str) -> "list[SourceOverview]":
    from mnemon.cli.services import open_services, require_organization
    from mnemon.memory.sources.overview import source_overviews
    from mnemon.scope import person_scope

    async with open_services(settings_from_flags()) as services:
        await require_organization(services, org)
        async with services.db.tx(org) as tx:
            return await source_overviews(tx, person_scope(org, user))


async def _load_memories(user: str, source: str, org: str) -> "tuple[list[StoredMemory], SourceOverview | None]":
    """Return the source's memories, at most MAX_LISTED, and the counts of everything it said."""
    from mnemon.cli.services import open_services, require_organization
    from mnemon.memory.sources.overview import memories_of_source, resolve_source_name, source_names, source_overviews
    from mnemon.scope import person_scope

    async with open_services(settings_from_flags()) as services:
        await require_organization(services, org)
        async with services.db.tx(org) as tx:
            scope = person_scope(org, user)
            origin = resolve_source_name(source, await source_names(tx, scope))
            found = await memories_of_source(tx, scope, origin, most=MAX_LISTED)
            overviews = {one.origin: one for one in await source_overviews(tx, scope)}
            return found, overviews.get(origin)


async def _confirm_question(source: str, user: str | None, org: str) -> str:
    """Return the question that names and counts what would be withdrawn."""
    from mnemon.cli.services import open_services, require_organization
    from mnemon.memory.sources.overview import preview_withdrawal, printable_name, resolve_source_name, source_names
    from mnemon.scope import Scope, person_scope

    async with open_services(settings_from_flags(), migrated=True) as services:
        await require_organization(services, org)
        async with services.db.tx(org) as tx:
            scope = Scope(org_id=org) if user is None else person_scope(org, user)
            origin = resolve_source_name(source, await source_names(tx, scope))
            counted = await preview_withdrawal(tx, scope, origin)
    people = f"{counted.people:,} people" if user is None else user
    what = f"{counted.memories:,} memories, {counted.versions:,} past versions and {counted.todos:,} open todos"
    return f"{printable_name(origin)} said {what} about {people}. Withdraw all of it?"


async def _withdraw_source(source: str, user: str | None, org: str) -> "Withdrawal":
    from mnemon.access.audit import record_command
    from mnemon.cli.services import open_services, require_organization
    from mnemon.memory.sources.overview import resolve_source_name, source_names
    from mnemon.memory.sources.withdrawal import withdraw_from_everyone, withdraw_source
    from mnemon.scope import Scope, person_scope

    def record_withdrawal(tx: "Tx", person: Scope, receipt: str) -> None:
        record_command(tx, person, "withdraw", receipt, person.user)

    async with open_services(settings_from_flags(), migrated=True) as services:
        await require_organization(services, org)
        scope = Scope(org_id=org) if user is None else person_scope(org, user)
        async with services.db.tx(org) as tx:
            origin = resolve_source_name(source, await source_names(tx, scope))
            if user is not None:
                done = await withdraw_source(tx, scope, origin)
                record_withdrawal(tx, scope, done.id)
                return done
        # Person by person in transactions of their own, so this one is closed before.
        return await withdraw_from_everyone(services.db, scope, origin, record_withdrawal)


def _overview_json(one: "SourceOverview") -> dict[str, Any]:
    from mnemon.clock import format_time

    counts = {name: getattr(one, name) for name in ("active", "claims", "archived", "past", "todos")}
    return {"origin": one.origin, "trustLevel": one.trust, **counts, "lastAt": format_time(one.last_at)}


def _counts_text(one: "SourceOverview") -> str:
    held = f"{one.active:,} active ({one.claims:,} claims), {one.archived:,} archived"
    return f"{held}, {one.past:,} past, {one.todos:,} todos"


def _print_memories(found: "list[StoredMemory]", overview: "SourceOverview | None", user: str, as_json: bool) -> None:
    if as_json:
        print_json(
            [{"id": m.id, "content": m.content, "status": m.status, "claimOf": m.claim_of, "origin": m.origin}
             for m in found]
        )  # fmt: skip
    else:
        for m in found:
            state = "claim" if m.claim_of and m.status == "ACTIVE" else m.status.lower()
            out.print(f"{m.id}  {state:<8}  {m.content}", markup=False, soft_wrap=True)
    if len(found) == MAX_LISTED:
        err.print(f"[dim]The latest {MAX_LISTED} are shown; GET /api/memories?source= pages through all of them.[/]")
    if unlisted := _unlisted(found, overview, user):
        err.print(safe_text(unlisted), markup=False, soft_wrap=True)


def _unlisted(found: "list[StoredMemory]", overview: "SourceOverview | None", user: str) -> str:
    """Return a sentence about past versions and todos, which are not listed; empty when there are none to add."""
    counts = []
    if overview and overview.past:
        counts.append("1 past version of a memory" if overview.past == 1 else f"{overview.past:,} past versions")
    if overview and overview.todos:
        counts.append("1 open todo" if overview.todos == 1 else f"{overview.todos:,} open todos")
    if found:
        return f"Not listed: {' and '.join(counts)}." if counts else ""
    left = f"Still on record: {' and '.join(counts)}." if counts else "What it said was withdrawn, or is done."
    return f"No memory about {user} is from this source now. {left}"


def _print_receipt(done: "Withdrawal", as_json: bool) -> None:
    from mnemon.clock import format_time

    if as_json:
        print_json({**vars(done), "source": done.origin, "at": format_time(done.at), "total": done.total})
        return
    gone = f"{len(done.archived):,} archived, {len(done.restored):,} restored to what they said before"
    people = "1 person" if done.people == 1 else f"{done.people:,} people"
    out.print(
        f"Receipt {done.id}, {people}. Memories: {gone}. Past versions: {done.versions:,}. "
        f"Todos dropped: {done.todos:,}.",
        soft_wrap=True,
    )
