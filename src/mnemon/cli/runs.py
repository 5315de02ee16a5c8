"""`mnemon runs …`: list, show, watch and cancel runs; re-examine and resolve their decisions."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mnemon.cli.safe_text import safe_markup
from mnemon.cli.terminal import (
    JsonOption,
    OrgOption,
    err,
    out,
    print_json,
    run,
    run_in_transaction,
    settings_from_flags,
)

if TYPE_CHECKING:
    from mnemon.runs.agent import Agent
    from mnemon.runs.run import Run
    from mnemon.services import Services

runs = typer.Typer(no_args_is_help=True, help="Inspect, watch and cancel runs; re-examine and resolve decisions.")
RunIdArgument = Annotated[str, typer.Argument(help="The run's id.")]


def register(app: typer.Typer) -> None:
    """Add the command group to the program."""
    app.add_typer(runs, name="runs")


@runs.command("list")
def list_runs(
    agent: Annotated[str | None, typer.Option("--agent", help="Only runs of this agent: its id or name.")] = None,
    status: Annotated[
        str | None, typer.Option("--status", help="queued, running, succeeded, failed, cancelled.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000)] = 20,
    org: OrgOption = "local",
    as_json: JsonOption = False,
) -> None:
    """List runs, newest first."""
    from mnemon.cli.agent_output import find_agent
    from mnemon.cli.run_output import run_json, runs_table
    from mnemon.errors import Invalid
    from mnemon.runs import agent_store, store
    from mnemon.runs.run import RunStatus
    from mnemon.runs.store import RunFilter

    async def load_runs(services: "Services", tx: Any, scope: Any) -> Any:
        if status is not None and status not in set(RunStatus):
            raise Invalid(f"--status takes one of: {', '.join(RunStatus)}.")
        owner = (await find_agent(tx, scope, agent)).id if agent else None
        wanted = RunFilter(agent_id=owner, status=RunStatus(status) if status else None)
        found = [one for _, one in await store.list_runs(tx, scope, wanted, most=limit)]
        again = await store.list_re_examinations(tx, scope, [one.id for one in found])
        names = {one.id: one.name for one in await agent_store.list_agents(tx, scope, most=1000)}
        return found, again, names, tx.now

    found, again, names, now = run_in_transaction(org, load_runs)
    if as_json:
        print_json([run_json(one, again) for one in found])
    elif found:
        out.print(runs_table(found, again, names, now))
    else:
        out.print("No runs yet. Start one: [bold]mnemon agents run NAME[/]")


@runs.command("show")
def show(run_id: RunIdArgument, org: OrgOption = "local", as_json: JsonOption = False) -> None:
    """Show a run: its card, its cost and its conviction history."""
    from mnemon.cli.run_output import run_json, run_page
    from mnemon.runs import store
    from mnemon.runs.agents import get_agent
    from mnemon.runs.card import load_cards
    from mnemon.runs.run_requests import get_run

    async def load_run(services: "Services", tx: Any, scope: Any) -> Any:
        found = await get_run(tx, scope, run_id)
        agent = await get_agent(tx, scope, found.agent_id)
        return found, await store.list_re_examinations(tx, scope, [found.id]), agent.name, tx.now

    found, again, name, now = run_in_transaction(org, load_run)
    if as_json:
        print_json({**run_json(found, again), "reExaminations": [run_json(one, ()) for one in again]})
    else:
        out.print(run_page(found, again, name, now, load_cards(settings_from_flags().cards_dir)))


@runs.command("watch")
def watch(run_id: RunIdArgument, org: OrgOption = "local", as_json: JsonOption = False) -> None:
    """Watch a run until it ends."""

    async def find_run(services: "Services", tx: Any, scope: Any) -> str:
        from mnemon.runs.run_requests import get_run

        return (await get_run(tx, scope, run_id)).id

    follow_run(org, find_run, as_json=as_json)


@runs.command("cancel")
def cancel(run_id: RunIdArgument, org: OrgOption = "local", as_json: JsonOption = False) -> None:
    """Cancel a run that is queued or running."""
    from mnemon.runs.run_requests import cancel_run

    async def cancel_by_id(services: "Services", tx: Any, scope: Any) -> "Run":
        return await cancel_run(tx, scope, run_id)

    _print_run(run_in_transaction(org, cancel_by_id, writes="runs cancel"), as_json)


@runs.command("re-examine")
def re_examine(run_id: RunIdArgument, org: OrgOption = "local", as_json: JsonOption = False) -> None:
    """Ask the agent to re-examine a decision, and watch the run."""
    from mnemon.runs.card import load_cards
    from mnemon.runs.run_requests import request_re_examination

    async def submit_re_examination(services: "Services", tx: Any, scope: Any) -> str:
        cards = load_cards(services.settings.cards_dir)
        return (await request_re_examination(tx, scope, run_id, cards, services.llm)).id

    follow_run(org, submit_re_examination, as_json=as_json, writes="runs re-examine")


@runs.command("resolve")
def resolve(
    run_id: RunIdArgument,
    outcome: Annotated[str, typer.Argument(help="The outcome: take_profit, stop_loss, exited, confirmed …")],
    note: Annotated[str | None, typer.Option("--note")] = None,
    org: OrgOption = "local",
    as_json: JsonOption = False,
) -> None:
    """Record the outcome of a decision. You cannot change it afterwards."""
    from mnemon.runs.card import load_cards
    from mnemon.runs.decision_outcomes import resolve_manually

    async def resolve_run(services: "Services", tx: Any, scope: Any) -> "Run":
        cards = load_cards(services.settings.cards_dir)
        return await resolve_manually(tx, scope, run_id, outcome, note, cards)

    _print_run(run_in_transaction(org, resolve_run, writes="runs resolve"), as_json)


def follow_run(org: str, ask: Any, *, as_json: bool, writes: str | None = None) -> None:
    """Watch the run whose id `ask` returns to its end, print it, and exit with 1 unless it succeeded.

    A worker in this process runs it when no server does. `writes` is the command's name for the audit log, given when
    `ask` writes.
    """
    from mnemon.access.audit import record_command
    from mnemon.cli.run_output import event_text, run_json, run_page
    from mnemon.cli.services import open_services, require_organization
    from mnemon.runs import store
    from mnemon.runs.agents import get_agent
    from mnemon.runs.card import load_cards
    from mnemon.runs.run import RunStatus
    from mnemon.runs.run_events import watch_run
    from mnemon.runs.run_requests import get_run

    async def watch_to_end() -> Any:
        async with open_services(settings_from_flags()) as services:
            scope = await require_organization(services, org)
            async with services.db.tx(org) as tx:
                # In a transaction of its own: workers see a run only when it is committed.
                run_id = await ask(services, tx, scope)
                if writes is not None:
                    record_command(tx, scope, writes, run_id)
                agent = await get_agent(tx, scope, (await get_run(tx, scope, run_id)).agent_id)
            async with local_worker(services, org, agent):
                async for event in watch_run(services.db, scope, run_id):
                    # Events go to stderr, so that stdout has only the run, as a page or as JSON.
                    words = event_text(event)
                    if words:
                        err.print(words)
            async with services.db.tx(org) as tx:
                done = await get_run(tx, scope, run_id)
                return done, await store.list_re_examinations(tx, scope, [done.id]), agent.name, tx.now

    done, again, name, now = run(watch_to_end())
    if as_json:
        print_json(run_json(done, again))
    else:
        out.print(run_page(done, again, name, now, load_cards(settings_from_flags().cards_dir)))
    if done.status is not RunStatus.SUCCEEDED:
        raise typer.Exit(1)


@asynccontextmanager
async def local_worker(services: "Services", org: str, agent: "Agent") -> AsyncIterator[None]:
    """Run the agents' jobs of the organization in this process too, beside any server's worker.

    Runs are left to the server's worker when this process has no language model and the agent needs one.
    """
    from mnemon.jobs.runner import Runner
    from mnemon.runs.adapter import has_model
    from mnemon.runs.job import job_kinds
    from mnemon.runs.run_requests import RUN_KIND

    known = {kind.name: kind for kind in job_kinds(services)}
    if not has_model(agent, services.llm):
        # A server that has a model may be running: taken up here, its run would fail for want of one.
        known.pop(RUN_KIND)
    async with Runner(services.db, services.clock, known, concurrency=2, only=org).run_in_background():
        yield


def _print_run(done: "Run", as_json: bool) -> None:
    from mnemon.cli.run_output import run_json

    if as_json:
        print_json(run_json(done, ()))
    else:
        word = done.outcome or done.status
        out.print(f"{done.id} is [bold]{done.resolution_status or done.status}[/]: {safe_markup(word)}.")
