"""`mnemon reembed`: moves all embeddings to the configured model, while serving."""

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from mnemon.cli.safe_text import safe_markup
from mnemon.cli.terminal import AsJson, chosen, err, out, print_json, run

if TYPE_CHECKING:
    from rich.progress import Progress as Bars

    from mnemon.basement import Basement
    from mnemon.settings import Settings
    from mnemon.vectors.reembed import Progress, Report

To = Annotated[str | None, typer.Option("--to", help="The embedder to move to, instead of MNEMON_EMBEDDER.")]
DropOld = Annotated[bool, typer.Option("--drop-old", help="Delete vectors of other models afterwards.")]


@dataclass(frozen=True, kw_only=True)
class Moved:
    """What a run did."""

    model: str
    organizations: int
    vectors: int
    """Made by this run."""
    dropped: int
    seconds: float


def register(app: typer.Typer) -> None:
    """The command stands in the program."""
    app.command("reembed")(reembed)


def reembed(to: To = None, drop_old: DropOld = False, as_json: AsJson = False) -> None:
    """Move all embeddings to another model while serving. Can be stopped and run again."""
    settings = chosen(embedder=to) if to else chosen()
    moved = run(_moved(settings, drop_old))
    if as_json:
        print_json(vars(moved))
        return
    out.print(
        f"{moved.vectors} vectors made in {moved.seconds:.1f} s; "
        f"{moved.organizations} organizations moved to {safe_markup(moved.model)}"
        + (f", {moved.dropped} old vectors dropped." if drop_old else ".")
    )
    if moved.organizations:
        out.print(f"Now restart the server with MNEMON_EMBEDDER={safe_markup(settings.embedder)}.")


async def _moved(settings: "Settings", drop_old: bool) -> Moved:
    from mnemon.access.organizations import organizations
    from mnemon.app import texts
    from mnemon.cli.house import opened_house
    from mnemon.cli.operator import operator_tx
    from mnemon.vectors.active import others
    from mnemon.vectors.reembed import drop_others

    began = time.perf_counter()
    async with opened_house(settings) as basement:
        async with operator_tx(basement) as tx:
            behind = await others(tx, basement.embedder.model)
            everyone = [organization.name for organization in await organizations(tx)]
        made = await _with_progress(basement, list(behind))
        dropped = sum([await drop_others(basement, texts(), org_id) for org_id in everyone]) if drop_old else 0
        return Moved(
            model=basement.embedder.model,
            organizations=len(behind),
            vectors=made,
            dropped=dropped,
            seconds=round(time.perf_counter() - began, 1),
        )


async def _with_progress(basement: "Basement", org_ids: list[str]) -> int:
    """Every organization's vectors are moved, under a bar with a count; how many were made."""
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    from mnemon.app import texts
    from mnemon.vectors.reembed import reembed

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    made = 0
    with Bars(*columns, console=err) as bars:
        for org_id in org_ids:
            made += await reembed(basement, texts(), org_id, _drawn_by(bars, org_id))
    return made


def _drawn_by(bars: "Bars", org_id: str) -> "Report":
    task = bars.add_task(org_id, total=None)

    def report(progress: "Progress") -> None:
        bars.update(task, completed=progress.done, total=progress.texts)

    return report
