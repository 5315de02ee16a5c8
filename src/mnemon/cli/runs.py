"""`mnemon runs …`: what agents did, as it happens and afterwards."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mnemon.cli.safe_text import safe_markup
from mnemon.cli.terminal import AsJson, Org, chosen, err, out, print_json, run

if TYPE_CHECKING:
    from mnemon.basement import Basement
    from mnemon.runs.run import Run

runs = typer.Typer(no_args_is_help=True, help="Runs: what agents did and decided.")
RunId = Annotated[str, typer.Argument(help="The run's id.")]


def register(app: typer.Typer) -> None:
    """Adds the group."""
    app.add_typer(runs, name="runs")


@runs.command("list")
def list_runs(
    agent: Annotated[str | None, typer.Option("--agent", help="Only this agent's: its id or name.")] = None,
    status: Annotated[
        str | None, typer.Option("--status", help="queued, running, succeeded, failed, cancelled.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000)] = 20,
    org: Org = "local",
    as_json: AsJson = False,
) -> None:
    """List runs, newest first."""
    from mnemon.cli.agent_words import named
    from mnemon.cli.run_words import run_json, runs_table
    from mnemon.errors import Invalid
    from mnemon.runs import agent_store, store
    from mnemon.runs.run import RunStatus
    from mnemon.runs.store import RunFilter

    async def work(house: "Basement", scope: Any, tx: Any) -> Any:
        if status is not None and status not in set(RunStatus):
            raise Invalid(f"--status takes one of: {', '.join(RunStatus)}.")
        owner = (await named(scope, tx, agent)).id if agent else None
        wanted = RunFilter(agent_id=owner, status=RunStatus(status) if status else None)
        found = [one for _, one in await store.runs(scope, tx, wanted, most=limit)]
        again = await store.re_examinations(scope, tx, [one.id for one in found])
        names = {one.id: one.name for one in await agent_store.agents(scope, tx, most=1000)}
        return found, again, names, tx.now

    found, again, names, now = _in_house(org, work)
    if as_json:
        print_json([run_json(one, again) for one in found])
    elif found:
        out.print(runs_table(found, again, names, now))
    else:
        out.print("No runs yet. Start one: [bold]mnemon agents run NAME[/]")


@runs.command("show")
def show(run_id: RunId, org: Org = "local", as_json: AsJson = False) -> None:
    """Show a run: its card, what it cost, and the history of conviction."""
    from mnemon.cli.run_words import run_json, run_page
    from mnemon.runs import store
    from mnemon.runs.agents import get_agent
    from mnemon.runs.ask import get_run
    from mnemon.runs.card import load_cards

    async def work(house: "Basement", scope: Any, tx: Any) -> Any:
        found = await get_run(tx, scope, run_id)
        agent = await get_agent(tx, scope, found.agent_id)
        return found, await store.re_examinations(scope, tx, [found.id]), agent.name, tx.now

    found, again, name, now = _in_house(org, work)
    if as_json:
        print_json({**run_json(found, again), "reExaminations": [run_json(one, ()) for one in again]})
    else:
        out.print(run_page(found, again, name, now, load_cards(chosen().cards_dir)))


@runs.command("watch")
def watch(run_id: RunId, org: Org = "local", as_json: AsJson = False) -> None:
    """Follow a run until it is over."""

    async def find(house: "Basement", scope: Any, tx: Any) -> str:
        from mnemon.runs.ask import get_run

        return (await get_run(tx, scope, run_id)).id

    followed(org, find, as_json=as_json)


@runs.command("cancel")
def cancel(run_id: RunId, org: Org = "local", as_json: AsJson = False) -> None:
    """Cancel a run that waits or goes on."""
    from mnemon.runs.ask import cancel_run

    async def work(house: "Basement", scope: Any, tx: Any) -> "Run":
        return await cancel_run(tx, scope, run_id)

    _tell(_in_house(org, work, writes="runs cancel"), as_json)


@runs.command("re-examine")
def re_examine(run_id: RunId, org: Org = "local", as_json: AsJson = False) -> None:
    """Have the agent look at a decision again, and watch it."""
    from mnemon.runs.ask import ask_re_examination
    from mnemon.runs.card import load_cards

    async def ask(house: "Basement", scope: Any, tx: Any) -> str:
        cards = load_cards(house.settings.cards_dir)
        return (await ask_re_examination(tx, scope, run_id, cards)).id

    followed(org, ask, as_json=as_json, writes="runs re-examine")


@runs.command("resolve")
def resolve(
    run_id: RunId,
    outcome: Annotated[str, typer.Argument(help="How it came out: take_profit, stop_loss, exited, confirmed …")],
    note: Annotated[str | None, typer.Option("--note")] = None,
    org: Org = "local",
    as_json: AsJson = False,
) -> None:
    """Say how a decision came out. The first word is final."""
    from mnemon.runs.card import load_cards
    from mnemon.runs.settlement import resolve_by_hand

    async def work(house: "Basement", scope: Any, tx: Any) -> "Run":
        cards = load_cards(house.settings.cards_dir)
        return await resolve_by_hand(tx, scope, run_id, outcome, note, cards)

    _tell(_in_house(org, work, writes="runs resolve"), as_json)


def followed(org: str, ask: Any, *, as_json: bool, writes: str | None = None) -> None:
    """The run that `ask` names is watched to its end, done here if no server does it; a failed one exits with 1.

    `writes` names the command for the audit log, where asking writes.
    """
    from mnemon.access.audit import record_command
    from mnemon.cli.house import opened_house, organization
    from mnemon.cli.run_words import event_words, run_json, run_page
    from mnemon.runs import store
    from mnemon.runs.agents import get_agent
    from mnemon.runs.ask import get_run
    from mnemon.runs.card import load_cards
    from mnemon.runs.run import RunStatus
    from mnemon.runs.watching import watch_run

    async def work() -> Any:
        async with opened_house(chosen()) as house:
            scope = await organization(house, org)
            async with house.db.tx(org) as tx:
                run_id = await ask(house, scope, tx)
                if writes is not None:
                    record_command(tx, scope, writes, run_id)
            async with working(house, org):
                async for event in watch_run(house.db, scope, run_id):
                    words = event_words(event)
                    if words:
                        err.print(words)
            async with house.db.tx(org) as tx:
                done = await get_run(tx, scope, run_id)
                agent = await get_agent(tx, scope, done.agent_id)
                return done, await store.re_examinations(scope, tx, [done.id]), agent.name, tx.now

    done, again, name, now = run(work())
    if as_json:
        print_json(run_json(done, again))
    else:
        out.print(run_page(done, again, name, now, load_cards(chosen().cards_dir)))
    if done.status is not RunStatus.SUCCEEDED:
        raise typer.Exit(1)


@asynccontextmanager
async def working(house: "Basement", org: str) -> AsyncIterator[None]:
    """The organization's agents are worked for in this process too, beside any server's."""
    from mnemon.jobs.runner import Runner
    from mnemon.runs.job import kinds

    known = {kind.name: kind for kind in kinds(house)}
    async with Runner(house.db, house.clock, known, concurrency=2, only=org).working():
        yield


def _in_house(org: str, work: Any, *, writes: str | None = None) -> Any:
    from mnemon.access.audit import record_command
    from mnemon.cli.house import opened_house, organization

    async def inside() -> Any:
        async with opened_house(chosen()) as house:
            scope = await organization(house, org)
            async with house.db.tx(scope.org_id) as tx:
                done = await work(house, scope, tx)
                if writes is not None:
                    record_command(tx, scope, writes, done.id)
                return done

    return run(inside())


def _tell(done: "Run", as_json: bool) -> None:
    from mnemon.cli.run_words import run_json

    if as_json:
        print_json(run_json(done, ()))
    else:
        word = done.outcome or done.status
        out.print(f"{done.id} is [bold]{done.resolution_status or done.status}[/]: {safe_markup(word)}.")
