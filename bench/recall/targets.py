"""The targets set for recall, and whether a run reached them."""

from collections.abc import Sequence
from dataclasses import dataclass

from bench.recall.figures import BenchmarkFigures
from bench.recall.locomo import MAIN_GROUP

HYBRID_NAME = "Mnemon hybrid"


@dataclass(frozen=True, kw_only=True)
class BenchmarkTarget:
    """One figure with its target."""

    name: str
    wanted: float
    measured: float | None
    """None when the run did not measure it."""
    at_least: bool = False
    """Whether more is better; otherwise the target is an upper limit."""

    @property
    def is_reached(self) -> bool | None:
        """Whether the target is reached; None when it was not measured."""
        if self.measured is None:
            return None
        return self.measured >= self.wanted if self.at_least else self.measured <= self.wanted


def evaluate_targets(figures: BenchmarkFigures) -> Sequence[BenchmarkTarget]:
    """Return all targets with this run's figures."""
    by_size = {one.memories: one for one in figures.speeds}
    quality = figures.quality.get(HYBRID_NAME)
    found = [
        BenchmarkTarget(
            name="evidence recall at 10, LoCoMo, no language model",
            wanted=0.80,
            measured=quality[MAIN_GROUP].recall[10] if quality else None,
            at_least=True,
        )
    ]
    for size, wanted in ((1_000, 1.5), (10_000, 4.0), (100_000, 25.0)):
        one = by_size.get(size)
        name = f"hybrid recall, warm, {size:,} memories, p50 ms"
        found.append(BenchmarkTarget(name=name, wanted=wanted, measured=one.warm.p50 if one else None))
    cold, context = by_size.get(10_000), by_size.get(1_000)
    found.append(
        BenchmarkTarget(
            name="first recall, 10,000 memories, p50 ms", wanted=250.0, measured=cold.cold.p50 if cold else None
        )
    )
    found.append(
        BenchmarkTarget(
            name="context, all layers, 1,000 memories, p50 ms",
            wanted=10.0,
            measured=context.context.p50 if context else None,
        )
    )
    return found
