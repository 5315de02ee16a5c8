"""The page that a run of the benchmarks writes."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from bench.recall import report
from bench.recall.doors import WriteThroughput
from bench.recall.figures import BenchmarkFigures
from bench.recall.locomo import LocomoQuestion, quality_by_category
from bench.recall.machine import BenchmarkMachine
from bench.recall.speed import RecallSpeed, Timing, timing_of
from bench.recall.targets import evaluate_targets

BEGAN = datetime(2026, 5, 1, 12, tzinfo=UTC)
RUN = report.BenchmarkRun(
    machine=BenchmarkMachine(commit="abc1234", processor="one", memory_gb=8, python="3.11", database="PostgreSQL"),
    began=BEGAN,
    ended=BEGAN + timedelta(minutes=20),
    load_before=0.1,
    load_after=1.2,
    embedder="local",
)


def took(ms: float) -> Timing:
    return Timing(p50=ms, p95=2 * ms, times=10)


def speed(memories: int, warm: float) -> RecallSpeed:
    return RecallSpeed(
        memories=memories,
        cold=took(100),
        warm=took(warm),
        cpu_ms=warm / 2,
        in_sql=took(50),
        embedding=took(0.5),
        context=took(9),
    )


@pytest.fixture
def figures() -> BenchmarkFigures:
    asked = [LocomoQuestion(text="?", category="single-hop", evidence=frozenset({"a", "b"}))]
    return BenchmarkFigures(
        quality={
            "Mnemon hybrid": quality_by_category(asked, [["a", "b"]]),
            "other": quality_by_category(asked, [["a", "c"]]),
        },
        turns=WriteThroughput(number=10, seconds=2.0),
        speeds=[speed(1_000, 1.0), speed(10_000, 5.0)],
        rows=11_000,
        peers={"other": "other 1.0", "gone": "not run: gone is not installed"},
        peer_speeds={"other": {1_000: took(6.0)}},
        peer_written={"other": {1_000: WriteThroughput(number=1_000, seconds=4.0)}},
    )


def test_targets_tell_what_is_reached_and_what_was_not_measured(figures: BenchmarkFigures) -> None:
    reached = {one.name: one.is_reached for one in evaluate_targets(figures)}
    assert list(reached.values()) == [True, True, False, None, True, True]


def test_a_peer_stands_beside_us_with_its_ratio(figures: BenchmarkFigures, tmp_path: Path) -> None:
    report.write_report(figures, tmp_path, RUN)
    page = (tmp_path / "README.md").read_text(encoding="utf-8")
    # 6 ms beside 1.0 of recall and 0.5 of embedding.
    assert "| other | 6.00 (4.0×) | 250 |" in page
    assert "- gone: not run: gone is not installed" in page
    assert "commit abc1234" in page
    assert "load average 0.1 before the run, 1.2 at its end" in page


def test_every_plot_is_a_picture(figures: BenchmarkFigures, tmp_path: Path) -> None:
    pictures = [path for path in report.write_report(figures, tmp_path, RUN) if path.suffix == ".svg"]
    assert [path.stem for path in pictures] == ["quality", "speed", "peers"]
    for path in pictures:
        assert ET.fromstring(path.read_text(encoding="utf-8")).tag.endswith("svg")


def test_a_run_that_measured_nothing_says_so(tmp_path: Path) -> None:
    (page,) = report.write_report(BenchmarkFigures(), tmp_path, RUN)
    assert page.read_text(encoding="utf-8").count("not measured") == 6


def test_the_median_and_the_95th_percentile_are_of_what_was_measured() -> None:
    made = timing_of([0.001 * number for number in range(1, 101)])
    assert (made.p50, made.p95) == pytest.approx((50.5, 95.0))
    assert made.times == 100
