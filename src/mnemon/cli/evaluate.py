"""`mnemon eval`: score the configured model on labelled turns, played through the whole pipeline."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mnemon.cli.safe_text import safe_markup
from mnemon.cli.terminal import JsonOption, err, out, print_json, run, settings_from_flags

if TYPE_CHECKING:
    from mnemon.cli.evaluation.labels import Scene
    from mnemon.cli.evaluation.player import PlayedTurn
    from mnemon.cli.evaluation.scoring import Score
    from mnemon.services import Services
    from mnemon.settings import Settings

TurnsOption = Annotated[
    int | None,
    typer.Option("--turns", min=1, help="Play only so many turns, the same ones each time. Default: all."),
]
FromOption = Annotated[
    Path | None,
    typer.Option(
        "--from", exists=True, dir_okay=False, help="A file with labelled turns of your own, in the same form."
    ),
]
ShowOption = Annotated[bool, typer.Option("--show", help="Print on stderr what was kept of each turn.")]


def register(app: typer.Typer) -> None:
    """Add the command `eval` to the Typer app."""
    app.command("eval")(evaluate)


def evaluate(
    turns: TurnsOption = None, own: FromOption = None, show: ShowOption = False, as_json: JsonOption = False
) -> None:
    """Score the model that reflects on turns, on labelled conversations. Uses a database of its own and removes it."""
    settings = settings_from_flags()
    model = settings.reflection_model or settings.model
    score = run(_evaluate_model(settings, turns, own, show))
    from mnemon.cli.evaluation.report import report_json, report_rows

    if as_json:
        print_json(report_json(score, model=model, calls=settings.reflection_calls))
        return
    from rich.table import Table

    table = Table("measured", "figure", "", title=f"{safe_markup(model)}, {score.turns:,} turns", title_justify="left")
    for row in report_rows(score):
        table.add_row(*row)
    out.print(table)


async def _evaluate_model(settings: "Settings", most: int | None, file: Path | None, show: bool) -> "Score":
    """Play the labelled turns, or `most` of them, in a throw-away database; return the score."""
    from tempfile import TemporaryDirectory

    from mnemon.app import make_services
    from mnemon.cli.evaluation.labels import TURNS_FILE, choose_scenes, read_scenes
    from mnemon.cli.services import ensure_database, migrate_to_current
    from mnemon.logs import configure_logs

    # The log would break the progress bar, which is on stderr too.
    configure_logs("ERROR")
    scenes = choose_scenes(read_scenes(file or TURNS_FILE), most)
    with TemporaryDirectory(prefix="mnemon-eval-") as folder:
        own = settings.model_copy(update={**_OWN_DATABASE, "data_dir": Path(folder, "data")})
        async with ensure_database(own, create=True) as url:
            await migrate_to_current(own, url)
            async with make_services(own, url) as services:
                return await _play_with_progress(services, url, scenes, show)


_OWN_DATABASE: dict[str, Any] = {
    "database_url": None,
    "migration_url": None,
    "listen_url": None,
    "prepared_statements": True,
    "clock_file": None,
}
"""Settings that lead to a database other than the embedded one, taken back."""


async def _play_with_progress(services: "Services", url: str, scenes: "Sequence[Scene]", show: bool) -> "Score":
    """Play the scenes with a progress bar on stderr; return the score."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from mnemon.cli.evaluation.player import play_scenes

    columns = (TextColumn("{task.description:<24}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=err) as progress:
        task = progress.add_task("Turns", total=sum(len(scene.turns) for scene in scenes))

        def on_turn(played: "PlayedTurn") -> None:
            """Advance the progress bar, and print the turn if that is wanted."""
            progress.update(task, advance=1, description=f"{played.scene.name}: {played.scene.domain}"[:24])
            if show:
                progress.console.print(_describe_turn(played), markup=False, soft_wrap=True)

        return await play_scenes(services, url, scenes, on_turn)


def _describe_turn(played: "PlayedTurn") -> str:
    """Return the turn and what was kept, closed and missed of it, one line each."""
    score, before, after = played.score, played.before, played.after
    lines = [f"= {played.turn.says}"]
    lines += [f"  + {one.entity or 'self'}: {one.content}" for one in after.facts if one not in before.facts]
    lines += [f"  - {one.entity or 'self'}: {one.content}" for one in before.facts if one not in after.facts]
    lines += [
        f"  {'todo' if one.open else 'done'} {one.kind}: {one.content}"
        for one in after.todos
        if one not in before.todos
    ]
    lines += [f"  {one.stance}: {one.line}" for one in after.evidence if one not in before.evidence]
    lines += [f"  unknown: {one}" for one in after.unknowns if one not in before.unknowns]
    lines += [f"  expects: {one}" for one in after.expectations if one not in before.expectations]
    lines.append(
        f"  found {score.found} of {score.told}, junk {score.junk}, rejected {score.rejected}, "
        f"repaired {score.repaired}, {score.seconds:.1f} s" + (f", failed: {played.error}" if played.error else "")
    )
    return "\n".join(lines)
