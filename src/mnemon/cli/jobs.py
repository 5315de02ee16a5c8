"""`mnemon jobs …`: list work that is queued, running or parked, and retry it."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from mnemon.cli.safe_text import safe_markup
from mnemon.cli.terminal import JsonOption, OrgOption, out, print_json, run, settings_from_flags

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mnemon.jobs.work import Job
    from mnemon.scope import Scope
    from mnemon.services import Services

jobs = typer.Typer(no_args_is_help=True, help="List and retry background jobs.")
_PAGE_SIZE = 200


def register(app: typer.Typer) -> None:
    """Add the command group to the program."""
    app.add_typer(jobs, name="jobs")


@jobs.command("list")
def list_jobs(
    status: Annotated[str | None, typer.Option("--status", help="queued, running or parked.")] = None,
    kind: Annotated[str | None, typer.Option("--kind", help="Only jobs of this kind, such as reflect.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000)] = 50,
    org: OrgOption = "local",
    as_json: JsonOption = False,
) -> None:
    """List jobs, oldest first. Finished jobs are not kept."""
    from mnemon.cli.services import open_services, require_organization
    from mnemon.errors import Invalid
    from mnemon.jobs import store
    from mnemon.jobs.work import WorkStatus

    async def load_jobs() -> "list[Job]":
        # Not an enum in the signature: that would import the jobs room for every `--help`.
        if status is not None and status not in set(WorkStatus):
            raise Invalid(f"--status takes one of: {', '.join(WorkStatus)}.")
        wanted = WorkStatus(status) if status else None
        async with open_services(settings_from_flags()) as services:
            scope = await require_organization(services, org)
            async with services.db.tx(scope.org_id) as tx:
                return await store.list_jobs(tx, scope, most=limit, status=wanted, kind=kind)

    found = run(load_jobs())
    if as_json:
        print_json([_job_json(job) for job in found])
    elif found:
        _print_jobs(found)
    else:
        out.print(
            f"No {status or 'waiting, running or parked'} jobs{safe_markup(f' of the kind {kind}' if kind else '')}."
        )


@jobs.command("retry")
def retry(
    job_ids: Annotated[list[str] | None, typer.Argument(help="The jobs' ids.", metavar="[ID]...")] = None,
    parked: Annotated[bool, typer.Option("--parked", help="Retry every parked job of the organization.")] = False,
    org: OrgOption = "local",
    as_json: JsonOption = False,
) -> None:
    """Run jobs again now, with all their attempts. Fix the cause first: `mnemon jobs list` shows it."""
    from mnemon.cli.services import open_services, require_organization
    from mnemon.errors import Invalid

    async def retry_jobs() -> list[str]:
        if bool(job_ids) == parked:
            raise Invalid("Name the jobs to retry, or retry every parked one: `mnemon jobs retry --parked`.")
        async with open_services(settings_from_flags()) as services:
            scope = await require_organization(services, org)
            wanted = job_ids or [job.id async for job in _parked_jobs(services, scope)]
            for job_id in wanted:
                await _retry_job(services, scope, job_id)
            return wanted

    done = run(retry_jobs())
    if as_json:
        print_json({"retried": done})
    else:
        out.print("There are no parked jobs." if not done else f"{len(done)} {_jobs_phrase(len(done))} due now.")


async def _parked_jobs(services: "Services", scope: "Scope") -> "AsyncIterator[Job]":
    """Yield every parked job of the organization, page by page, each page in a transaction of its own."""
    from mnemon.jobs import store
    from mnemon.jobs.work import WorkStatus

    after = ""
    while True:
        async with services.db.tx(scope.org_id) as tx:
            page = await store.list_jobs(tx, scope, after=after, most=_PAGE_SIZE, status=WorkStatus.PARKED)
        for job in page:
            yield job
        if len(page) < _PAGE_SIZE:
            return
        # By id, not by offset: workers and other commands change the list between two pages.
        after = page[-1].id


async def _retry_job(services: "Services", scope: "Scope", job_id: str) -> None:
    """Make one job due now; raise NotFound when there is none, Conflict when it is running.

    Each job has a transaction of its own, so that this never holds two rows locked and cannot deadlock with a worker.
    """
    from mnemon.errors import Conflict, NotFound
    from mnemon.jobs import store

    async with services.db.tx(scope.org_id) as tx:
        if await store.retry_job(tx, scope, job_id):
            return
        if await store.load_job(tx, scope, job_id) is None:
            raise NotFound(f"job as {job_id}")
        raise Conflict(f"{job_id} is running now. Wait for it to finish.", code="job_running")


def _job_json(job: "Job") -> dict[str, Any]:
    """Return the job in the JSON of `GET /api/jobs`."""
    from mnemon.clock import format_time

    return {
        "id": job.id,
        "kind": job.kind,
        "key": job.key,
        "status": job.status,
        "attempts": job.attempts,
        "enqueuedAt": format_time(job.enqueued_at),
        "dueAt": format_time(job.due_at),
        "parkedAt": format_time(job.parked_at) if job.parked_at else None,
        "error": job.error,
        "waitsFor": job.waits_for,
    }


def _print_jobs(found: "list[Job]") -> None:
    for job in found:
        tries = f"{job.attempts} {'try' if job.attempts == 1 else 'tries'}"
        kind, status = safe_markup(job.kind.ljust(12)), safe_markup(job.status.ljust(8))
        out.print(f"{job.id}  {kind} [bold]{status}[/] {tries}", soft_wrap=True)
        if job.waits_for:
            out.print(f"     [dim]waits for {safe_markup(job.waits_for)}[/]", soft_wrap=True)
        if job.error:
            out.print(f"     [dim]{safe_markup(job.error)}[/]", soft_wrap=True)


def _jobs_phrase(number: int) -> str:
    return "job is" if number == 1 else "jobs are"
