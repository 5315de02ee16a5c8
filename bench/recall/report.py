"""Write the figures as one Markdown page with tables and plots."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from bench.recall import plots
from bench.recall.figures import BenchmarkFigures
from bench.recall.locomo import DEPTHS, MAIN_GROUP, RetrievalQuality
from bench.recall.machine import BenchmarkMachine
from bench.recall.speed import RecallSpeed
from bench.recall.targets import HYBRID_NAME, evaluate_targets

_READING_NOTES = """
How to read it:

- Mnemon's messages carry speaker and time as fields, "as memories" gets `Speaker: text` and `validFrom`. The peers
  and the baselines get `Speaker: text`, Hindsight the time too. `similarity` and `blended` embed the bare text.
- The ranking was made on conv-26, 30, 41, 42 and 43. On these its figures are in sample; [recall](../recall.md) has
  held-out ones.
- Recall is timed as the HTTP API calls it, with its transaction, embedding apart. *Warm*: the person's index is in the
  process's cache, and no query is asked twice. *First*: it is not, and all rows are read; the database's cache is warm.
- All stores have the same vectors. The peers hold only the texts of this benchmark, Mnemon's database also the other
  people's. Peers are called in this process (Hindsight in one beside it), with their embedding; to Mnemon's time its
  embedding is added.
- mem0: `infer` off, without its optional `nlp` and `extras` packages, whose models come from elsewhere. Hindsight: its
  mode without a language model, results fused by reciprocal rank, for its reranking models come from a model hub; on
  the PostgreSQL it bundles.
- HNSW indexes are over all users, with a filter, as these stores build them; exact means a scan. The peers' tables are
  vacuumed and analyzed.
""".strip()


@dataclass(frozen=True, kw_only=True)
class BenchmarkRun:
    """When and where the figures were measured."""

    machine: BenchmarkMachine
    began: datetime
    ended: datetime
    load_before: float
    load_after: float
    embedder: str


def write_report(figures: BenchmarkFigures, folder: Path, run: BenchmarkRun) -> list[Path]:
    """Write the report and its plots into the folder; return the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    written = [folder / "README.md"]
    parts = [_heading_section(run, figures), _targets_section(figures)]
    if figures.quality:
        bars = {name: by[MAIN_GROUP].recall[10] for name, by in figures.quality.items()}
        picture = plots.bar_chart(bars, "Evidence recall at 10, adversarial questions apart")
        parts += [_quality_section(figures), _write_plot(folder, "quality", "Evidence recall at 10", picture, written)]
        parts.append(_categories_section(figures))
    if figures.speeds:
        picture = plots.line_chart(
            _speed_lines(figures.speeds), "Milliseconds of one recall, by memories of the person"
        )
        parts += [_speeds_section(figures), _write_plot(folder, "speed", "Recall as memories grow", picture, written)]
    if figures.peer_speeds and figures.speeds:
        picture = plots.line_chart(
            _peer_lines(figures), "Milliseconds of one search with its embedding, by texts of the user"
        )
        parts += [_peers_section(figures), _write_plot(folder, "peers", "Beside others", picture, written)]
    if figures.turns.number or figures.asking:
        parts.append(_writing_section(figures))
    written[0].write_text("\n".join(parts), encoding="utf-8")
    return written


def _write_plot(folder: Path, name: str, words: str, picture: str, written: list[Path]) -> str:
    path = folder / f"{name}.svg"
    path.write_text(picture, encoding="utf-8")
    written.append(path)
    return f"![{words}]({name}.svg)\n"


def _heading_section(run: BenchmarkRun, figures: BenchmarkFigures) -> str:
    minutes = (run.ended - run.began).total_seconds() / 60
    lines = [
        "# Benchmarks",
        "",
        "Written by `make bench`. What the ranking does: [recall](../recall.md).",
        "",
        f"- commit {run.machine.commit}, {run.began:%Y-%m-%d %H:%M} UTC, {minutes:.0f} minutes",
        f"- {run.machine.processor}, {run.machine.memory_gb:.0f} GB, Python {run.machine.python}",
        f"- load average {run.load_before:.1f} before the run, {run.load_after:.1f} at its end",
        f"- {run.machine.database}",
        f"- embedder, for everyone: {run.embedder}",
        *(f"- {name}: {known}" for name, known in figures.peers.items()),
        "",
        _READING_NOTES,
    ]
    return "\n".join(lines) + "\n"


def _targets_section(figures: BenchmarkFigures) -> str:
    answers = {True: "yes", False: "**no**", None: "not measured"}
    rows = [
        [
            one.name,
            ("≥ " if one.at_least else "≤ ") + f"{one.wanted:g}",
            "–" if one.measured is None else f"{one.measured:.3f}" if one.at_least else f"{one.measured:.2f}",
            answers[one.is_reached],
        ]
        for one in evaluate_targets(figures)
    ]
    return "## Targets\n\n" + _markdown_table(["", "target", "measured", "reached"], rows)


def _quality_section(figures: BenchmarkFigures) -> str:
    rows = [[name, *_quality_cells(by[MAIN_GROUP])] for name, by in figures.quality.items()]
    count = next(iter(figures.quality.values()))[MAIN_GROUP].questions
    note = f"LoCoMo, {count} questions, adversarial apart. Share of the evidence among the first so many results.\n"
    return (
        "## Quality, no LLM\n\n"
        + note
        + "\n"
        + _markdown_table(["", *(f"R@{depth}" for depth in DEPTHS), "nDCG@10"], rows)
    )


def _categories_section(figures: BenchmarkFigures) -> str:
    names = [name for name in next(iter(figures.quality.values())) if name != MAIN_GROUP]
    rows = [
        [method, *(f"{by[name].recall[10]:.3f} / {by[name].ndcg:.3f}" for name in names)]
        for method, by in figures.quality.items()
    ]
    heads = [f"{name} ({next(iter(figures.quality.values()))[name].questions})" for name in names]
    return "### By category: R@10 / nDCG@10\n\n" + _markdown_table(["", *heads], rows)


def _speeds_section(figures: BenchmarkFigures) -> str:
    heads = ["memories", "warm p50", "warm p95", "first p50", "first p95", "SQL path p50", "context p50", "context p95",
             "embedding p50", "embedding p95", "warm, CPU"]  # fmt: skip
    rows = [
        [f"{one.memories:,}", *(_format_ms(value) for value in (
            one.warm.p50, one.warm.p95, one.cold.p50, one.cold.p95, one.in_sql.p50, one.context.p50, one.context.p95,
            one.embedding.p50, one.embedding.p95, one.cpu_ms))]
        for one in figures.speeds
    ]  # fmt: skip
    note = (
        f"## Speed, milliseconds\n\nHybrid recall of one person's memories, ten results, among {figures.rows:,} of "
        "everyone. Context is the whole assembly, what `POST /api/context` calls: all layers, for a person with a "
        "profile, todos, four earlier sessions and one that runs. CPU is this process's own time, without the "
        "database's.\n\n"
    )
    times = ", ".join(
        f"{one.memories:,}: {one.warm.times}/{one.cold.times}/{one.in_sql.times}" for one in figures.speeds
    )
    return (
        note + _markdown_table(heads, rows) + f"\nMeasured so often, warm/first/SQL: {times}.\n" + _http_table(figures)
    )


def _http_table(figures: BenchmarkFigures) -> str:
    rows = [
        [f"`POST {path}`", *(f"{by[one.memories].p50:.1f} / {by[one.memories].p95:.1f}" for one in figures.speeds)]
        for path, by in figures.doors.items()
    ]
    if not rows:
        return ""
    heads = ["", *(f"{one.memories:,}" for one in figures.speeds)]
    return "\nThrough HTTP, one client, embedding included, p50 / p95:\n\n" + _markdown_table(heads, rows)


def _peers_section(figures: BenchmarkFigures) -> str:
    ours = _mnemon_times(figures)
    sizes = sorted({size for by in figures.peer_speeds.values() for size in by} & set(ours))
    rows = [[HYBRID_NAME, *(f"{ours[size]:.2f} (1×)" for size in sizes), "–"]]
    for name, by in figures.peer_speeds.items():
        cells = [f"{by[size].p50:.2f} ({by[size].p50 / ours[size]:.1f}×)" if size in by else "–" for size in sizes]
        added = figures.peer_written[name]
        rows.append([name, *cells, " / ".join(f"{added[size].per_s:.0f}" for size in sizes if size in added)])
    heads = ["", *(f"{size:,} texts" for size in sizes), "texts per second, filling"]
    return (
        "## Beside others\n\nMedian milliseconds of one search for ten results with its embedding, warm, and how many "
        "times Mnemon's that is.\n\n" + _markdown_table(heads, rows)
    )


def _writing_section(figures: BenchmarkFigures) -> str:
    rows = []
    if figures.turns.number:
        rows = [
            ["turns per second, one client, two messages each, reflection apart", f"{figures.turns.per_s:.0f}"],
            ["memories per second, batches of 500, embedded", f"{figures.memories.per_s:.0f}"],
            ["database per 1,000 turns, with vectors", f"{figures.bytes_per_1000_turns / 1e6:.1f} MB"],
        ]
    rows += [
        [f"{name}: one LoCoMo answer of 50, p50 / p95", f"{one.p50:.1f} / {one.p95:.1f} ms"]
        for name, one in figures.asking.items()
    ]
    return "## Writing and asking over HTTP\n\n" + _markdown_table(["", "measured"], rows)


def _speed_lines(speeds: Sequence[RecallSpeed]) -> dict[str, dict[int, float]]:
    return {
        "warm p50": {one.memories: one.warm.p50 for one in speeds},
        "warm p95": {one.memories: one.warm.p95 for one in speeds},
        "context, all layers, p50": {one.memories: one.context.p50 for one in speeds},
        "first recall p50": {one.memories: one.cold.p50 for one in speeds},
        "SQL path p50": {one.memories: one.in_sql.p50 for one in speeds},
    }


def _peer_lines(figures: BenchmarkFigures) -> dict[str, dict[int, float]]:
    others = {name: {size: one.p50 for size, one in by.items()} for name, by in figures.peer_speeds.items()}
    sizes = {size for by in others.values() for size in by}
    return {HYBRID_NAME: {size: one for size, one in _mnemon_times(figures).items() if size in sizes}, **others}


def _mnemon_times(figures: BenchmarkFigures) -> dict[int, float]:
    return {one.memories: one.warm.p50 + one.embedding.p50 for one in figures.speeds}


def _quality_cells(one: RetrievalQuality) -> list[str]:
    return [*(f"{one.recall[depth]:.3f}" for depth in DEPTHS), f"{one.ndcg:.3f}"]


def _format_ms(value: float) -> str:
    return f"{value:.2f}" if value < 100 else f"{value:,.0f}"


def _markdown_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] + ["---:"] * (len(heads) - 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"
