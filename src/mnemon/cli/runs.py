"""`mnemon runs …`: list, show, watch and cancel runs; re-examine and resolve their decisions."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mnemon.cli.safe_text import safe_markup
from mnemon.cli.server_choice import ServerOptions, takes_server
from mnemon.cli.terminal import JsonOption, err, out, print_json

if TYPE_CHECKING:
    from mnemon_client import Mnemon

runs = typer.Typer(no_args_is_help=True, help="Inspect, watch and cancel runs; re-examine and resolve decisions.")
RunIdArgument = Annotated[str, typer.Argument(help="The run's id.")]
_QUEUED_HINT_S = 15.0


def register(app: typer.Typer) -> None:
    """Add the command group `runs` to the Typer app."""
    app.add_typer(runs, name="runs")


@runs.command("list")
@takes_server
def list_runs(
    server: ServerOptions,
    agent: Annotated[str | None, typer.Option("--agent", help="Only runs of this agent: its id or name.")] = None,
    status: Annotated[
        str | None, typer.Option("--status", help="queued, running, succeeded, failed, cancelled.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000)] = 20,
    as_json: JsonOption = False,
) -> None:
    """List runs, newest first."""
    from mnemon.cli.agents import find_agent
    from mnemon.cli.connect import call_server, first_items
    from mnemon.cli.run_output import runs_table

    async def load_runs(client: "Mnemon") -> tuple[list[dict[str, Any]], dict[str, str]]:
        """Return the runs that match the options, and the agents' names by id."""
        owner = (await find_agent(client, agent))["id"] if agent else None
        pages = client.runs(limit=min(limit, 200), agentId=owner, status=status)
        found = await first_items(pages, limit)
        names = {} if as_json else {one["id"]: one["name"] for one in await client.agents()}
        return found, names

    found, names = call_server(server, load_runs)
    if as_json:
        print_json(found)
    elif found:
        out.print(runs_table(found, names))
    else:
        out.print("No runs yet. Start one: [bold]mnemon agents run NAME[/]")


@runs.command("show")
@takes_server
def show(server: ServerOptions, run_id: RunIdArgument, as_json: JsonOption = False) -> None:
    """Show a run: its card, its cost and its conviction history."""
    from mnemon.cli.connect import call_server

    run, name = call_server(server, lambda client: _load_run(client, run_id))
    _print_page(run, name, as_json)


@runs.command("watch")
@takes_server
def watch(server: ServerOptions, run_id: RunIdArgument, as_json: JsonOption = False) -> None:
    """Watch a run until it ends; exit with 1 unless it succeeded. Where no server runs, run the due jobs here."""
    follow_run(server, lambda client: client.run_status(run_id), as_json=as_json)


@runs.command("cancel")
@takes_server
def cancel(server: ServerOptions, run_id: RunIdArgument, as_json: JsonOption = False) -> None:
    """Cancel a run that is queued or running."""
    from mnemon.cli.connect import call_server

    _print_run(call_server(server, lambda client: client.cancel_run(run_id)), as_json)


@runs.command("re-examine")
@takes_server
def re_examine(server: ServerOptions, run_id: RunIdArgument, as_json: JsonOption = False) -> None:
    """Ask the agent to re-examine a decision, and watch the run."""
    follow_run(server, lambda client: client.re_examine(run_id), as_json=as_json)


@runs.command("resolve")
@takes_server
def resolve(
    server: ServerOptions,
    run_id: RunIdArgument,
    outcome: Annotated[str, typer.Argument(help="The outcome: take_profit, stop_loss, exited, confirmed …")],
    note: Annotated[str | None, typer.Option("--note")] = None,
    as_json: JsonOption = False,
) -> None:
    """Record the outcome of a decision. You cannot change it afterwards."""
    from mnemon.cli.connect import call_server

    _print_run(call_server(server, lambda client: client.resolve(run_id, outcome, note)), as_json)


def follow_run(server: ServerOptions, begin: Callable[["Mnemon"], Awaitable[dict[str, Any]]], *, as_json: bool) -> None:
    """Watch the run that `begin` returns to its end, print it, and exit with 1 unless it succeeded.

    Where no server runs, a worker in this process runs it.
    """
    from mnemon.cli.connect import call_server

    async def watch_to_end(client: "Mnemon") -> tuple[dict[str, Any], str]:
        """Start the run, print its events until it ends, and return it with its agent's name."""
        run_id = (await begin(client))["id"]
        await _print_events(client, run_id)
        return await _load_run(client, run_id)

    run, name = call_server(server, watch_to_end, worker=True)
    _print_page(run, name, as_json)
    if run["status"] != "succeeded":
        raise typer.Exit(1)


async def _print_events(client: "Mnemon", run_id: str) -> None:
    """Print the run's events on stderr until it has ended, so that stdout has only the run, as a page or as JSON."""
    from mnemon.cli.run_output import event_text
    from mnemon.errors import Unavailable

    hint = asyncio.get_running_loop().call_later(_QUEUED_HINT_S, _print_queued_hint)
    try:
        async with client.stream_run(run_id) as events:
            async for event in events:
                if event.kind != "status" or event.data["status"] != "queued":
                    hint.cancel()
                if event.kind == "error" and "code" in event.data:
                    raise Unavailable(f"{event.data['detail']} The run goes on: mnemon runs watch {run_id}")
                if words := event_text(event):
                    err.print(words)
    finally:
        hint.cancel()


def _print_queued_hint() -> None:
    """Print to stderr that the run still waits for a worker, and how to start one."""
    err.print(
        "[yellow]! It still waits for a worker. `mnemon worker` starts one; Ctrl-C ends the watching, not the run.[/]",
        soft_wrap=True,
    )


async def _load_run(client: "Mnemon", run_id: str) -> tuple[dict[str, Any], str]:
    """Return the run with its re-examinations, and its agent's name."""
    run = await client.run_status(run_id)
    agent = await client.agent(run["agentId"])
    return {**run, "reExaminations": await client.re_examinations(run_id)}, agent["name"]


def _print_page(run: dict[str, Any], name: str, as_json: bool) -> None:
    """Print a run as JSON, or as a page headed by its agent's name."""
    from mnemon.cli.run_output import run_page

    if as_json:
        print_json(run)
    else:
        out.print(run_page(run, name))


def _print_run(run: dict[str, Any], as_json: bool) -> None:
    """Print a run as JSON, or as one line: its id, its state and its outcome."""
    if as_json:
        print_json(run)
    else:
        state, word = run["resolutionStatus"] or run["status"], run["outcome"] or run["status"]
        out.print(f"{safe_markup(run['id'])} is [bold]{safe_markup(state)}[/]: {safe_markup(word)}.")
