"""`mnemon sources` and `mnemon withdraw`."""

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mnemon.cli.safe_text import safe_text
from mnemon.cli.terminal import AsJson, Org, chosen, err, out, print_json, run, told

if TYPE_CHECKING:
    from mnemon.db.tx import Tx
    from mnemon.memory.memory import Memory
    from mnemon.memory.sources.overview import SourceOverview
    from mnemon.memory.sources.withdrawal import Withdrawal

MOST_LISTED = 200


def register(app: typer.Typer) -> None:
    """The commands stand in the program."""
    app.command("sources")(sources)
    app.command("withdraw")(withdraw)


def sources(
    user: Annotated[str, typer.Argument(help="The person, as your application calls them.")],
    source: Annotated[str | None, typer.Argument(help="List what this source said, instead of counts.")] = None,
    org: Org = "local",
    as_json: AsJson = False,
) -> None:
    """List the sources of what is held about a person, or what one of them said.

    `shadow_extraction` is the person in conversation, `seeded_profile` the profile that was seeded, `curated_fold` a
    summary of several memories of theirs. Others are named as the application or tool named itself.
    """
    if source is not None:
        said, overview = run(_said(user, source, org))
        _show_said(said, overview, user, as_json)
        return
    found = run(_overviews(user, org))
    if as_json:
        print_json([_plain_overview(one) for one in found])
        return
    from mnemon.memory.sources.names import shown_name

    for one in found:
        out.print(f"{shown_name(one.origin)}  {one.trust}  {_counts(one)}", markup=False, soft_wrap=True)
    if found:
        err.print("[dim]See what one of them said, or take it back:[/] mnemon sources NAME SOURCE", soft_wrap=True)
        err.print("[dim]                                           [/] mnemon withdraw SOURCE --user NAME")
    else:
        err.print(f"No source has said anything about {safe_text(user)}.", markup=False)


def withdraw(
    source: Annotated[str, typer.Argument(help="The source, as `mnemon sources` names it.")],
    user: Annotated[str | None, typer.Option("--user", help="The person, as your application calls them.")] = None,
    everyone: Annotated[bool, typer.Option("--everyone", help="From every person of the organization.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    org: Org = "local",
    as_json: AsJson = False,
) -> None:
    """Take back everything one source said; what it had replaced is held again."""
    from mnemon.errors import Invalid

    with told():
        if (user is None) != everyone:
            raise Invalid("Name the person (`--user NAME`), or take it back from everybody (`--everyone`).")
        if user is not None and not user.strip():
            raise Invalid("--user is empty. Name the person, or take it back from everybody (`--everyone`).")
        if not yes and not sys.stdin.isatty():
            raise Invalid("Nothing was taken back: there is no terminal to ask at. Add --yes.")
    if not yes:
        typer.confirm(safe_text(run(_question(source, user, org))), abort=True, err=True)
    _show_receipt(run(_withdraw(source, user, org)), as_json)


async def _overviews(user: str, org: str) -> "list[SourceOverview]":
    from mnemon.cli.house import opened_house, organization
    from mnemon.memory.sources.overview import source_overviews
    from mnemon.scope import person

    async with opened_house(chosen()) as house:
        await organization(house, org)
        async with house.db.tx(org) as tx:
            return await source_overviews(tx, person(org, user))


async def _said(user: str, source: str, org: str) -> "tuple[list[Memory], SourceOverview | None]":
    """What the source said that can be listed, and the counts of all it said."""
    from mnemon.cli.house import opened_house, organization
    from mnemon.memory.sources.names import meant_name
    from mnemon.memory.sources.overview import said_by, source_names, source_overviews
    from mnemon.scope import person

    async with opened_house(chosen()) as house:
        await organization(house, org)
        async with house.db.tx(org) as tx:
            scope = person(org, user)
            meant = meant_name(source, await source_names(tx, scope))
            found = await said_by(tx, scope, meant, most=MOST_LISTED)
            overviews = {one.origin: one for one in await source_overviews(tx, scope)}
            return found, overviews.get(meant)


async def _question(source: str, user: str | None, org: str) -> str:
    """What is about to be taken back, counted, and whether to."""
    from mnemon.cli.house import opened_house, organization
    from mnemon.memory.sources.names import meant_name, shown_name
    from mnemon.memory.sources.overview import source_names, what_stands
    from mnemon.scope import Scope, person

    async with opened_house(chosen(), migrated=True) as house:
        await organization(house, org)
        async with house.db.tx(org) as tx:
            scope = Scope(org_id=org) if user is None else person(org, user)
            meant = meant_name(source, await source_names(tx, scope))
            counted = await what_stands(tx, scope, meant)
    of_whom = f"{counted.people:,} people" if user is None else user
    what = f"{counted.memories:,} memories, {counted.versions:,} past versions and {counted.todos:,} open todos"
    return f"{shown_name(meant)} said {what} about {of_whom}. Take them back?"


async def _withdraw(source: str, user: str | None, org: str) -> "Withdrawal":
    from mnemon.access.audit import record_command
    from mnemon.cli.house import opened_house, organization
    from mnemon.memory.sources.everyone import withdraw_from_everyone
    from mnemon.memory.sources.names import meant_name
    from mnemon.memory.sources.overview import source_names
    from mnemon.memory.sources.withdrawal import withdraw_source
    from mnemon.scope import Scope, person

    def record(tx: "Tx", whose: Scope, receipt: str) -> None:
        record_command(tx, whose, "withdraw", receipt, whose.user)

    async with opened_house(chosen(), migrated=True) as house:
        await organization(house, org)
        scope = Scope(org_id=org) if user is None else person(org, user)
        async with house.db.tx(org) as tx:
            meant = meant_name(source, await source_names(tx, scope))
            if user is not None:
                done = await withdraw_source(tx, scope, meant)
                record(tx, scope, done.id)
                return done
        return await withdraw_from_everyone(house.db, scope, meant, record)


def _plain_overview(one: "SourceOverview") -> dict[str, Any]:
    from mnemon.clock import iso

    counts = {name: getattr(one, name) for name in ("active", "claims", "archived", "past", "todos")}
    return {"origin": one.origin, "trustLevel": one.trust, **counts, "lastAt": iso(one.last_at)}


def _counts(one: "SourceOverview") -> str:
    held = f"{one.active:,} active ({one.claims:,} claims), {one.archived:,} archived"
    return f"{held}, {one.past:,} past, {one.todos:,} todos"


def _show_said(found: "list[Memory]", overview: "SourceOverview | None", user: str, as_json: bool) -> None:
    if as_json:
        print_json(
            [{"id": m.id, "content": m.content, "status": m.status, "claimOf": m.claim_of, "origin": m.origin}
             for m in found]
        )  # fmt: skip
    else:
        for m in found:
            state = "claim" if m.claim_of and m.status == "ACTIVE" else m.status.lower()
            out.print(f"{m.id}  {state:<8}  {m.content}", markup=False, soft_wrap=True)
    if len(found) == MOST_LISTED:
        err.print(f"[dim]The latest {MOST_LISTED} are shown; GET /api/memories?source= pages through all of them.[/]")
    if unlisted := _unlisted(found, overview, user):
        err.print(safe_text(unlisted), markup=False, soft_wrap=True)


def _unlisted(found: "list[Memory]", overview: "SourceOverview | None", user: str) -> str:
    """Say what else the source said that is not among its memories; empty where there is nothing to add."""
    counts = []
    if overview and overview.past:
        counts.append("1 past version of a memory" if overview.past == 1 else f"{overview.past:,} past versions")
    if overview and overview.todos:
        counts.append("1 open todo" if overview.todos == 1 else f"{overview.todos:,} open todos")
    if found:
        return f"Not listed: {' and '.join(counts)}." if counts else ""
    left = f"Still on record: {' and '.join(counts)}." if counts else "What it said was taken back, or is done."
    return f"No memory about {user} is from this source now. {left}"


def _show_receipt(done: "Withdrawal", as_json: bool) -> None:
    from mnemon.clock import iso

    if as_json:
        print_json({**vars(done), "source": done.origin, "at": iso(done.at), "total": done.total})
        return
    gone = f"{len(done.archived):,} archived, {len(done.restored):,} restored to what they said before"
    people = "1 person" if done.people == 1 else f"{done.people:,} people"
    out.print(
        f"Receipt {done.id}, {people}. Memories: {gone}. Past versions: {done.versions:,}. "
        f"Todos dropped: {done.todos:,}.",
        soft_wrap=True,
    )
