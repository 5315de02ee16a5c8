"""What a part of the soak counts, how runs add up, and the line that says it."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class Figures:
    """What one run counted."""

    count: int
    """How many of what the part counts: kills, restarts, spells, minutes."""
    acknowledged: int
    """Writes that the server said it had done."""
    lost: int = 0
    """Acknowledged, and not in the database."""
    twice: int = 0
    """There more than once, or applied a second time."""
    stuck: int = 0
    """Work that did not end within its bound, parked work, and turns that were never reflected."""
    ready_s: float | None = None
    """Longest time until `/readyz` said 200 again; None where nothing went away."""
    summed: Mapping[str, int] = field(default_factory=dict)
    """Further counts, which runs add up."""
    longest: Mapping[str, float] = field(default_factory=dict)
    """Further figures of which the largest stays."""
    latest: Mapping[str, float] = field(default_factory=dict)
    """Further figures of which the last run's stays: medians, sizes."""

    def plus(self, other: "Figures") -> "Figures":
        """Both runs together, the other one being the later."""
        ready = [one for one in (self.ready_s, other.ready_s) if one is not None]
        names = [*self.longest, *other.longest]
        return Figures(
            count=self.count + other.count,
            acknowledged=self.acknowledged + other.acknowledged,
            lost=self.lost + other.lost,
            twice=self.twice + other.twice,
            stuck=self.stuck + other.stuck,
            ready_s=max(ready, default=None),
            summed=dict(Counter(self.summed) + Counter(other.summed)) | _zeros(self.summed, other.summed),
            longest={name: max(self.longest.get(name, 0.0), other.longest.get(name, 0.0)) for name in names},
            latest={**self.latest, **other.latest},
        )

    def assert_clean(self) -> None:
        """Fail unless nothing was lost, nothing applied twice and nothing is stuck."""
        assert (self.lost, self.twice, self.stuck) == (0, 0, 0), self.line("not clean")

    def line(self, part: str) -> str:
        """All figures in one line."""
        parts = [
            f"{self.count} done",
            f"{self.acknowledged:,} writes acknowledged",
            f"{self.lost} lost, {self.twice} twice, {self.stuck} stuck",
        ]
        if self.ready_s is not None:
            parts.append(f"ready after {self.ready_s:.2f} s at most")
        further = further_words(self)
        return f"{part}: " + "; ".join([*parts, *([further] if further else [])])


def further_words(figures: Figures) -> str:
    """The figures that only this part has, in words."""
    words = [f"{name} {value:,}" for name, value in figures.summed.items()]
    words += [f"{name} {value:,.2f} at most" for name, value in figures.longest.items()]
    words += [f"{name} {value:,.2f}" for name, value in figures.latest.items()]
    return ", ".join(words)


def _zeros(*counts: Mapping[str, int]) -> dict[str, int]:
    """Names whose sum is zero, which a Counter drops."""
    return {name: 0 for one in counts for name in one if not any(other.get(name, 0) for other in counts)}
