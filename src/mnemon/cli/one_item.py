"""`python -m mnemon.cli.one_item`: run one work item in a process of its own, for the worker that started it.

Nothing for people: the order comes on stdin and what is said on stdout is for the worker, see `jobs/isolation.py`. It
holds the worker's own settings and the address of its database, so that flags and secrets reach this process and
nobody else, and the embedded PostgreSQL is neither started nor stopped here.
"""

import sys
from typing import TYPE_CHECKING

import typer

from mnemon.cli.terminal import run
from mnemon.jobs.isolation import Isolation, Order
from mnemon.settings import Settings, plain_values

if TYPE_CHECKING:
    from mnemon.basement import Basement
    from mnemon.jobs.isolated import Parent


def isolation_of(basement: "Basement") -> Isolation:
    """How the workers of this program run an item in a process of its own."""
    return Isolation(
        command=(sys.executable, "-P", "-m", "mnemon.cli.one_item"),  # -P: nothing is imported from where we stand
        opening={"settings": plain_values(basement.settings), "database_url": basement.db.url},
    )


def main() -> None:
    """Run the item that the worker names and end."""
    from mnemon.jobs.isolated import Parent

    parent = Parent()
    order = parent.take_order()
    try:
        run(_work(parent, order))
    except typer.Exit as refused:  # in words on stderr already
        sys.exit(refused.exit_code)


async def _work(parent: "Parent", order: Order) -> None:
    from mnemon.app import kinds
    from mnemon.cli.house import opened_beside
    from mnemon.jobs.isolated import run_order
    from mnemon.logs import configure_logs
    from mnemon.spans import start_spans

    settings = Settings(**order.opening["settings"])
    configure_logs(settings.log_level)
    if settings.otel:
        start_spans()
    async with opened_beside(settings, order.opening["database_url"]) as basement:
        await run_order(order, parent, basement.db, basement.clock, kinds(basement))


if __name__ == "__main__":
    main()
