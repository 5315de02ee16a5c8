"""`python -m mnemon.cli.one_item`: run one work item in a process of its own, for the worker that started it.

Nothing for people: the order comes on stdin and what is said on stdout is for the worker, see `jobs/isolation.py`. It
holds the worker's own settings and the address of its database, so that flags and secrets reach this process and
nobody else, and the embedded PostgreSQL is neither started nor stopped here.
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
    """How the workers of this program run an item in a process of its own."""
    return Isolation(
        command=(sys.executable, "-P", "-m", "mnemon.cli.one_item"),  # -P: nothing is imported from where we stand
        opening={"settings": plain_values(services.settings), "database_url": services.db.url},
    )


def main() -> None:
    """Run the item that the worker names and end."""
    from mnemon.jobs.child import ParentWorker

    parent = ParentWorker()
    order = parent.receive_order()
    try:
        run(_run_item(parent, order))
    except typer.Exit as refused:  # in words on stderr already
        sys.exit(refused.exit_code)


async def _run_item(parent: "ParentWorker", order: ChildOrder) -> None:
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
