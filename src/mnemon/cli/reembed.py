"""`mnemon reembed`: embed all stored texts with another model while the server keeps running."""

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from mnemon.cli.safe_text import safe_markup
from mnemon.cli.terminal import JsonOption, err, out, print_json, run, settings_from_flags

if TYPE_CHECKING:
    from rich.progress import Progress as Bars

    from mnemon.services import Services
    from mnemon.settings import Settings
    from mnemon.vectors.reembed import ReembedProgress, ReportProgress

EmbedderOption = Annotated[str | None, typer.Option("--to", help="The new embedder. Default: MNEMON_EMBEDDER.")]
DropOldOption = Annotated[bool, typer.Option("--drop-old", help="Then delete the vectors of all other models.")]


@dataclass(frozen=True, kw_only=True)
class ReembedResult:
    """What one run of the command did."""

    model: str
    organizations: int
    vectors: int
    """Vectors that this run made, not those it found."""
    dropped: int
    seconds: float


def register(app: typer.Typer) -> None:
    """Add the command `reembed` to the Typer app."""
    app.command("reembed")(reembed)


def reembed(to: EmbedderOption = None, drop_old: DropOldOption = False, as_json: JsonOption = False) -> None:
    """Embed all texts with another model and switch to it; the server may go on running. Run it again to resume."""
    settings = settings_from_flags(embedder=to) if to else settings_from_flags()
    moved = run(_reembed_organizations(settings, drop_old))
    if as_json:
        print_json(vars(moved))
        return
    out.print(
        f"{moved.vectors} vectors created in {moved.seconds:.1f} s; "
        f"{moved.organizations} organizations moved to {safe_markup(moved.model)}"
        + (f", {moved.dropped} old vectors deleted." if drop_old else ".")
    )
    if moved.organizations:
        out.print(f"Now restart the server with MNEMON_EMBEDDER={safe_markup(settings.embedder)}.")


async def _reembed_organizations(settings: "Settings", drop_old: bool) -> ReembedResult:
    """Re-embed every organization that has vectors of another model; return counts and the seconds taken."""
    from mnemon.access.organizations import list_organizations
    from mnemon.app import embeddable_texts
    from mnemon.cli.services import open_services, operator_tx
    from mnemon.vectors.active_model import list_other_models
    from mnemon.vectors.reembed import delete_other_vectors

    began = time.perf_counter()
    async with open_services(settings) as services:
        async with operator_tx(services) as tx:
            behind = await list_other_models(tx, services.embedder.model)
            org_ids = [organization.name for organization in await list_organizations(tx)]
        # Only organizations with vectors of another model have work; --drop-old still goes over all of them.
        made = await _reembed_with_progress(services, list(behind))
        dropped = (
            sum([await delete_other_vectors(services, embeddable_texts(), org_id) for org_id in org_ids])
            if drop_old
            else 0
        )
        return ReembedResult(
            model=services.embedder.model,
            organizations=len(behind),
            vectors=made,
            dropped=dropped,
            seconds=round(time.perf_counter() - began, 1),
        )


async def _reembed_with_progress(services: "Services", org_ids: list[str]) -> int:
    """Re-embed the organizations one after another, each with a progress bar; return how many vectors were made."""
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    from mnemon.app import embeddable_texts
    from mnemon.vectors.reembed import reembed_org

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    made = 0
    with Bars(*columns, console=err) as bars:
        for org_id in org_ids:
            made += await reembed_org(services, embeddable_texts(), org_id, _progress_reporter(bars, org_id))
    return made


def _progress_reporter(bars: "Bars", org_id: str) -> "ReportProgress":
    """Add a progress bar for the organization and return the function that updates it."""
    task = bars.add_task(org_id, total=None)

    def update_bar(progress: "ReembedProgress") -> None:
        """Show the progress in the organization's bar."""
        bars.update(task, completed=progress.done, total=progress.texts)

    return update_bar
