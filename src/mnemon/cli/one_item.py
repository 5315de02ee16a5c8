"""`python -m mnemon.cli.one_item`: run one work item in a process of its own, for the worker that started it.

Not for people: the order comes on stdin and the result goes to stdout, in the protocol of `jobs/isolation.py`. The
order holds the worker's settings and database URL. They go over the pipe, not as arguments or variables, so that
secrets reach only this process. The embedded PostgreSQL is neither started nor stopped here.
"""

import sys
from typing import TYPE_CHECKING

import typer

from mnemon.cli.terminal import run
from mnemon.jobs.isolation import ChildOrder, Isolation
from mnemon.settings import Settings, plain_values

if TYPE_CHECKING:
    from mnemon.jobs.child import ParentWorker
    from mnemon.services import Services


def isolation_of(services: "Services") -> Isolation:
    """Return how a worker starts this module as a child: the command, and the settings to send it."""
    return Isolation(
        command=(sys.executable, "-P", "-m", "mnemon.cli.one_item"),  # -P: import nothing from the working directory
        opening={"settings": plain_values(services.settings), "database_url": services.db.url},
    )


def main() -> None:
    """Run the one work item that the parent worker sends on stdin, then exit."""
    from mnemon.jobs.child import ParentWorker

    parent = ParentWorker()
    order = parent.receive_order()
    try:
        run(_run_item(parent, order))
    except typer.Exit as refused:  # `run` has printed the reason on stderr
        sys.exit(refused.exit_code)


async def _run_item(parent: "ParentWorker", order: ChildOrder) -> None:
    """Open the services that the order describes and run its work item, reporting to the parent worker."""
    from mnemon.app import all_job_kinds
    from mnemon.cli.services import open_services_at
    from mnemon.jobs.child import run_order
    from mnemon.logs import configure_logs
    from mnemon.spans import start_spans

    settings = Settings(**order.opening["settings"])
    configure_logs(settings.log_level)
    if settings.otel:
        start_spans()
    async with open_services_at(settings, order.opening["database_url"]) as services:
        await run_order(order, parent, services.db, services.clock, all_job_kinds(services))


if __name__ == "__main__":
    main()
