"""The figures as tables and plots."""

import os
import platform
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from datetime import datetime
from html import escape
from pathlib import Path

from mnemon.cli.benchmarks.figures import Figures
from mnemon.cli.benchmarks.locomo import DEPTHS, Quality

_MAIN = "all but adversarial"


def write(figures: Figures, folder: Path, *, now: datetime, embedder: str) -> list[Path]:
    """The report and its plots stand in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    written = [folder / "README.md"]
    parts = [_heading(now, embedder, figures)]
    if figures.quality:
        parts += [_quality(figures), "![Evidence recall at 10](quality.svg)\n", _categories(figures)]
        bars = {name: by[_MAIN].recall[10] for name, by in figures.quality.items()}
        written.append(folder / "quality.svg")
        written[-1].write_text(_bars(bars, "Evidence recall at 10, adversarial questions apart"), encoding="utf-8")
    if figures.speeds:
        parts += [_speeds(figures), "![Recall as memories grow](speed.svg)\n"]
        lines = {"Mnemon hybrid, warm": {one.memories: one.warm.p50 for one in figures.speeds}}
        lines |= {name: {size: one.p50 for size, one in by.items()} for name, by in figures.peer_speeds.items()}
        written.append(folder / "speed.svg")
        written[-1].write_text(_curves(lines, "Median milliseconds of one recall"), encoding="utf-8")
    if figures.turns_per_s:
        parts.append(_ingest(figures))
    written[0].write_text("\n".join(parts), encoding="utf-8")
    return written


def _heading(now: datetime, embedder: str, figures: Figures) -> str:
    words = [shutil.which("git") or "git", "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(words, capture_output=True, text=True, check=False)  # noqa: S603 (words of our own)
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    load = os.getloadavg()[0]
    lines = [
        "# Benchmarks",
        "",
        "Written by `mnemon bench`; `make bench` makes it anew. What the figures mean: [recall](../recall.md).",
        "",
        f"- commit: {commit.stdout.strip() or 'unknown'}, {now:%Y-%m-%d %H:%M} UTC",
        f"- machine: {machine}, load average {load:.1f} at the end of the run",
        f"- embedder, for everyone: {embedder}",
    ]
    lines += [f"- {name}: {known}" for name, known in figures.peers.items()]
    return "\n".join(lines) + "\n"


def _quality(figures: Figures) -> str:
    rows = [[name, *_cells(by[_MAIN])] for name, by in figures.quality.items()]
    count = next(iter(figures.quality.values()))[_MAIN].questions
    note = f"LoCoMo, {count} questions, adversarial apart. Share of the evidence among the first so many results.\n"
    return "## Quality, no LLM\n\n" + note + "\n" + _table(["", *(f"R@{depth}" for depth in DEPTHS), "nDCG@10"], rows)


def _categories(figures: Figures) -> str:
    names = [name for name in next(iter(figures.quality.values())) if name != _MAIN]
    rows = [
        [way, *(f"{by[name].recall[10]:.3f} / {by[name].ndcg:.3f}" for name in names)]
        for way, by in figures.quality.items()
    ]
    return "### By category: R@10 / nDCG@10\n\n" + _table(["", *names], rows)


def _speeds(figures: Figures) -> str:
    rows = [
        [f"{one.memories:,}", *(f"{value:.2f}" for value in (
            one.warm.p50, one.warm.p95, one.cpu_ms, one.cold_ms, one.in_sql.p50, one.layer.p50, one.embedding.p50))]
        for one in figures.speeds
    ]  # fmt: skip
    heads = ["memories", "warm p50", "warm p95", "warm, CPU", "cold", "SQL path p50", "layer L5 p50", "embedding p50"]
    text = (
        f"## Speed, milliseconds\n\nHybrid recall of one person among {figures.rows:,} memories, ten results, from the "
        "transaction's begin to its commit, embedding apart. CPU is this process's own time without the database's.\n\n"
    ) + _table(heads, rows)
    if not figures.peer_speeds:
        return text
    ours = {one.memories: one.warm.p50 + one.embedding.p50 for one in figures.speeds}
    rows = [
        [name, *(f"{one.p50:.2f} ({one.p50 / ours[size]:.1f}×)" for size, one in by.items())]
        for name, by in figures.peer_speeds.items()
    ]
    rows.insert(0, ["Mnemon hybrid", *(f"{ours[size]:.2f} (1×)" for size in next(iter(figures.peer_speeds.values())))])
    sizes = [f"{size:,} texts" for size in next(iter(figures.peer_speeds.values()))]
    return (
        text + "\nMedian of one search with its embedding, and the ratio to Mnemon's:\n\n" + _table(["", *sizes], rows)
    )


def _ingest(figures: Figures) -> str:
    rows = [
        ["turns per second, one client, two messages each", f"{figures.turns_per_s:.0f}"],
        ["memories per second, batches of 500", f"{figures.memories_per_s:.0f}"],
        ["database per 1,000 turns, stored also as memories", f"{figures.bytes_per_1000_turns / 1e6:.1f} MB"],
    ]
    answers = [
        [f"{name}: one LoCoMo answer, p50 / p95", f"{one.p50:.1f} / {one.p95:.1f} ms"]
        for name, one in figures.asking.items()
    ]
    return "## Writing and asking through the doors\n\n" + _table(["", "measured"], rows + answers)


def _cells(one: Quality) -> list[str]:
    return [*(f"{one.recall[depth]:.3f}" for depth in DEPTHS), f"{one.ndcg:.3f}"]


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] + ["---:"] * (len(heads) - 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def _svg(width: int, height: int, title: str, body: Sequence[str]) -> str:
    style = "font-family:system-ui,sans-serif;font-size:13px"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" style="{style}">'
    paper = f'<rect width="{width}" height="{height}" fill="#fff"/>'
    name = f'<text x="16" y="24" font-weight="600">{escape(title)}</text>'
    return "\n".join([head, paper, name, *body, "</svg>"]) + "\n"


def _bars(values: Mapping[str, float], title: str) -> str:
    body = []
    for place, (name, value) in enumerate(sorted(values.items(), key=lambda pair: -pair[1])):
        top, colour = 44 + 28 * place, "#2563eb" if name.startswith("Mnemon hybrid") else "#94a3b8"
        body.append(f'<text x="230" y="{top + 14}" text-anchor="end">{escape(name)}</text>')
        body.append(f'<rect x="240" y="{top}" width="{360 * value:.1f}" height="18" rx="2" fill="{colour}"/>')
        body.append(f'<text x="{246 + 360 * value:.1f}" y="{top + 14}">{value:.3f}</text>')
    return _svg(680, 60 + 28 * len(values), title, body)


def _curves(lines: Mapping[str, Mapping[int, float]], title: str) -> str:
    """Both axes by powers of ten."""
    from math import log10

    sizes = sorted({size for line in lines.values() for size in line})
    left, right = log10(sizes[0]), max(log10(sizes[-1]), log10(sizes[0]) + 1)

    def at(size: float, value: float) -> tuple[float, float]:
        x = 70 + 400 * (log10(size) - left) / (right - left)
        return x, 260 - 200 * (log10(max(0.05, value)) - log10(0.05)) / (log10(1000) - log10(0.05))

    body = [f'<text x="{at(size, 1)[0]:.0f}" y="284" text-anchor="middle">{size:,}</text>' for size in sizes]
    for value in (0.1, 1, 10, 100, 1000):
        y = at(sizes[0], value)[1]
        body.append(f'<line x1="70" x2="470" y1="{y:.0f}" y2="{y:.0f}" stroke="#e2e8f0"/>')
        body.append(f'<text x="62" y="{y + 4:.0f}" text-anchor="end">{value:g}</text>')
    for place, (name, line) in enumerate(lines.items()):
        colour = ("#2563eb", "#d97706", "#059669", "#7c3aed", "#dc2626")[place % 5]
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in (at(size, value) for size, value in sorted(line.items())))
        body.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        body.append(f'<text x="484" y="{70 + 22 * place}" fill="{colour}">{escape(name)}</text>')
    return _svg(680, 300, title, body)
