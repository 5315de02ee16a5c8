"""`mnemon jobs …`: list work that is queued, running or parked, and retry it."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from mnemon.cli.safe_text import safe_markup
from mnemon.cli.server_choice import ServerOptions, takes_server
from mnemon.cli.terminal import JsonOption, out, print_json, report_errors
from mnemon.errors import Invalid

if TYPE_CHECKING:
    from mnemon_client import Mnemon

jobs = typer.Typer(no_args_is_help=True, help="List and retry background jobs.")


def register(app: typer.Typer) -> None:
    """Add the command group `jobs` to the Typer app."""
    app.add_typer(jobs, name="jobs")


@jobs.command("list")
@takes_server
def list_jobs(
    server: ServerOptions,
    status: Annotated[str | None, typer.Option("--status", help="queued, running or parked.")] = None,
    kind: Annotated[str | None, typer.Option("--kind", help="Only jobs of this kind, such as reflection.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000)] = 50,
    as_json: JsonOption = False,
) -> None:
    """List jobs, oldest first. Finished jobs are not kept."""
    from mnemon.cli.connect import call_server, first_items

    async def load_jobs(client: "Mnemon") -> list[dict[str, Any]]:
        """Return the organization's jobs that match the options."""
        return await first_items(client.jobs(limit=min(limit, 200), status=status, kind=kind), limit)

    found = call_server(server, load_jobs)
    if as_json:
        print_json(found)
    elif found:
        _print_jobs(found)
    else:
        out.print(
            f"No {safe_markup(status or 'waiting, running or parked')} jobs"
            f"{safe_markup(f' of the kind {kind}' if kind else '')}."
        )


@jobs.command("retry")
@takes_server
def retry(
    server: ServerOptions,
    job_ids: Annotated[list[str] | None, typer.Argument(help="The jobs' ids.", metavar="[ID]...")] = None,
    parked: Annotated[bool, typer.Option("--parked", help="Retry every parked job of the organization.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Run jobs again now, with all their attempts. Fix the cause first: `mnemon jobs list` shows it."""
    from mnemon.cli.connect import call_server

    with report_errors():
        if bool(job_ids) == parked:
            raise Invalid("Name the jobs to retry, or retry every parked one: `mnemon jobs retry --parked`.")

    async def retry_jobs(client: "Mnemon") -> list[str]:
        """Make the given or all parked jobs due now and return their ids."""
        # All ids first: a job that is retried leaves the list that the pages go through.
        wanted = job_ids or [str(job["id"]) async for job in client.jobs(status="parked")]
        for job_id in wanted:
            await client.retry_job(job_id)
        return wanted

    done = call_server(server, retry_jobs)
    if as_json:
        print_json({"retried": done})
    else:
        out.print("There are no parked jobs." if not done else f"{len(done)} {_jobs_phrase(len(done))} due now.")


def _print_jobs(found: list[dict[str, Any]]) -> None:
    """Print each job on a line: id, kind, status, attempts; below it what it waits for and its last error."""
    for job in found:
        tries = f"{job['attempts']} {'try' if job['attempts'] == 1 else 'tries'}"
        kind, status = safe_markup(job["kind"].ljust(12)), safe_markup(job["status"].ljust(8))
        out.print(f"{safe_markup(job['id'])}  {kind} [bold]{status}[/] {tries}", soft_wrap=True)
        if job["waitsFor"]:
            out.print(f"     [dim]waits for {safe_markup(job['waitsFor'])}[/]", soft_wrap=True)
        if job["error"]:
            out.print(f"     [dim]{safe_markup(job['error'])}[/]", soft_wrap=True)


def _jobs_phrase(number: int) -> str:
    """Return "job is" for one and "jobs are" for any other number."""
    return "job is" if number == 1 else "jobs are"
