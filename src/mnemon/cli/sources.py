"""`mnemon sources` lists who said what about a person; `mnemon withdraw` takes back what one source said."""

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mnemon.cli.safe_text import safe_text
from mnemon.cli.server_choice import ServerOptions, takes_server
from mnemon.cli.terminal import JsonOption, err, out, print_json, report_errors
from mnemon.errors import Invalid

if TYPE_CHECKING:
    from mnemon_client import Mnemon

MAX_LISTED = 200


def register(app: typer.Typer) -> None:
    """Add the commands `sources` and `withdraw` to the Typer app."""
    app.command("sources")(takes_server(sources))
    app.command("withdraw")(takes_server(withdraw))


def sources(
    server: ServerOptions,
    user: Annotated[str, typer.Argument(help="The person, as your application calls them.")],
    source: Annotated[str | None, typer.Argument(help="List what this source said instead of counts.")] = None,
    as_json: JsonOption = False,
) -> None:
    """List the sources of a person's memories, or what one of them said.

    `shadow_extraction` is the person in conversation, `seeded_profile` the profile you seeded, `curated_fold` a
    summary of several memories. Other sources have the name that the application or tool gave itself.
    """
    from mnemon.cli.connect import call_server

    if source is not None:
        wanted = source

        async def load_memories(client: "Mnemon") -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
            """Return the memories of the source, and the counts of the sources with its name."""
            said = await client.source_memories(user, wanted, limit=MAX_LISTED)
            names = {one["origin"] for one in said} or {wanted}
            counted = [one for one in await client.sources(user) if {one["origin"], _shown_name(one)} & names]
            return said, counted

        _print_memories(*call_server(server, load_memories), user, as_json)
        return
    found = call_server(server, lambda client: client.sources(user))
    if as_json:
        print_json(found)
        return
    for one in found:
        out.print(f"{_shown_name(one)}  {one['trustLevel']}  {_counts_text(one)}", markup=False, soft_wrap=True)
    if found:
        err.print("[dim]List what one of them said, or withdraw it:[/] mnemon sources NAME SOURCE", soft_wrap=True)
        err.print("[dim]                                           [/] mnemon withdraw SOURCE --user NAME")
    else:
        err.print(f"No source has said anything about {safe_text(user)}.", markup=False)


def withdraw(
    server: ServerOptions,
    source: Annotated[str, typer.Argument(help="The source, as `mnemon sources` names it.")],
    user: Annotated[str | None, typer.Option("--user", help="The person, as your application calls them.")] = None,
    everyone: Annotated[
        bool, typer.Option("--everyone", help="Withdraw it for every person of the organization.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Withdraw without asking.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Withdraw everything that one source said. Memories that it had changed get their earlier text back."""
    from mnemon.cli.connect import call_server

    with report_errors():
        if (user is None) != everyone:
            raise Invalid("Name the person (`--user NAME`), or withdraw the source for everybody (`--everyone`).")
        if user is not None and not user.strip():
            raise Invalid("--user is empty. Name the person, or withdraw the source for everybody (`--everyone`).")
        if not yes and not sys.stdin.isatty():
            raise Invalid("Nothing was withdrawn: there is no terminal to confirm it at. Add --yes.")

    if not yes:
        # A call of its own, so that nothing is held open while a person thinks, and Ctrl-C reaches the question.
        counted = call_server(server, lambda client: client.preview_withdrawal(source, user, everyone=everyone))
        typer.confirm(safe_text(_confirmation_question(counted, user)), abort=True, err=True)

    async def withdraw_source(client: "Mnemon") -> dict[str, Any]:
        """Withdraw the source under its exact name and return the receipt."""
        exact = (await client.preview_withdrawal(source, user, everyone=everyone))["source"]
        return await client.withdraw(exact, user, everyone=everyone)

    done = call_server(server, withdraw_source)
    if as_json:
        print_json(done)
    else:
        _print_receipt(done)


def _confirmation_question(counted: dict[str, Any], user: str | None) -> str:
    """Return the question that asks to confirm a withdrawal, with the source's name and what it would change."""
    people = f"{counted['people']:,} people" if user is None else user
    name = _shown_name({"origin": counted["source"]})
    versions = (
        f"{_count_with_noun(counted['versions'], 'past version')} and {_count_with_noun(counted['todos'], 'open todo')}"
    )
    memories = "1 memory" if counted["memories"] == 1 else f"{counted['memories']:,} memories"
    what = f"{memories}, {versions}"
    return f"{name} said {what} about {people}. Withdraw all of it?"


def _shown_name(source: dict[str, Any]) -> str:
    """Return the name of a source (the API's JSON), with control characters escaped for printing."""
    from mnemon.memory.sources.overview import printable_name

    return printable_name(source["origin"])


def _counts_text(one: dict[str, Any]) -> str:
    """Return in one line how many memories and todos a source has, by state."""
    held = f"{one['active']:,} active ({_count_with_noun(one['claims'], 'claim')}), {one['archived']:,} archived"
    return f"{held}, {one['past']:,} past, {_count_with_noun(one['todos'], 'todo')}"


def _count_with_noun(number: int, noun: str) -> str:
    """Return the number with its noun, in the plural unless it is 1."""
    return f"{number:,} {noun if number == 1 else f'{noun}s'}"


def _print_memories(found: list[dict[str, Any]], counted: list[dict[str, Any]], user: str, as_json: bool) -> None:
    """Print a source's memories, as JSON or a line each; to stderr, what the list leaves out."""
    if as_json:
        print_json(found)
    else:
        for one in found:
            state = "claim" if one["claimOf"] and one["status"] == "ACTIVE" else one["status"].lower()
            out.print(f"{one['id']}  {state:<8}  {one['content']}", markup=False, soft_wrap=True)
    if len(found) == MAX_LISTED:
        err.print(f"[dim]The latest {MAX_LISTED} are shown; GET /api/memories?source= pages through all of them.[/]")
    if unlisted := _unlisted_text(found, counted, user):
        err.print(safe_text(unlisted), markup=False, soft_wrap=True)


def _unlisted_text(found: list[dict[str, Any]], counted: list[dict[str, Any]], user: str) -> str:
    """Return a sentence about past versions and todos, which are not listed; empty when there are none to add."""
    past, todos = sum(one["past"] for one in counted), sum(one["todos"] for one in counted)
    counts = []
    if past:
        counts.append("1 past version of a memory" if past == 1 else f"{past:,} past versions")
    if todos:
        counts.append(_count_with_noun(todos, "open todo"))
    if found:
        return f"Not listed: {' and '.join(counts)}." if counts else ""
    left = f"Still on record: {' and '.join(counts)}." if counts else "What it said was withdrawn, or is done."
    return f"No memory about {user} is from this source now. {left}"


def _print_receipt(done: dict[str, Any]) -> None:
    """Print the receipt of a withdrawal: its id, and how many people, memories, versions and todos it changed."""
    gone = f"{len(done['archived']):,} archived, {len(done['restored']):,} restored to what they said before"
    people = "1 person" if done["people"] == 1 else f"{done['people']:,} people"
    left = f"Past versions: {done['versions']:,}. Todos dropped: {done['todos']:,}."
    out.print(f"Receipt {done['id']}, {people}. Memories: {gone}. {left}", markup=False, soft_wrap=True)
