"""Calibration: what agents said they were sure of, against what happened."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

BINS = 10
ENOUGH = 10


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """A stated probability whose outcome is known."""

    stated: float
    """Between 0 and 1."""
    right: bool


@dataclass(frozen=True, kw_only=True)
class Bin:
    """The forecasts of one range of stated probability."""

    start: float
    end: float
    count: int
    mean_stated: float | None
    share_right: float | None


@dataclass(frozen=True, kw_only=True)
class Reliability:
    """How well stated probabilities match what happened."""

    count: int
    right: int
    hit_rate: float | None
    brier: float | None
    """Mean squared distance of stated from outcome: 0 is perfect, 0.25 is what always saying a half earns."""
    bins: tuple[Bin, ...]
    enough: bool
    note: str | None
    """Says so when there are too few to conclude anything."""


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A decision that came to its end, as calibration sees it."""

    agent_id: str
    card_type: str
    right: bool | None
    """None: the outcome proves neither."""
    stated: float | None
    """The confidence on its card, if it has one."""
    convictions: tuple[float, ...]
    """Conviction of its re-examinations, 0 to 1, oldest first."""


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """One agent's decisions of one card type, or all together."""

    agent_id: str | None
    card_type: str | None
    resolved: int
    judged: int
    stated: Reliability
    convictions: Reliability


def calibrate(decisions: Sequence[Judged], *, agent_id: str | None = None, card_type: str | None = None) -> Calibration:
    """The calibration of these decisions together."""
    judged = [decision for decision in decisions if decision.right is not None]
    stated = [Forecast(stated=d.stated, right=bool(d.right)) for d in judged if d.stated is not None]
    later = [Forecast(stated=score, right=bool(d.right)) for d in judged for score in d.convictions]
    return Calibration(
        agent_id=agent_id,
        card_type=card_type,
        resolved=len(decisions),
        judged=len(judged),
        stated=reliability(stated),
        convictions=reliability(later),
    )


def by_agent_and_type(decisions: Sequence[Judged]) -> tuple[Calibration, ...]:
    """One calibration per agent and card type, in that order."""
    groups: dict[tuple[str, str], list[Judged]] = {}
    for decision in decisions:
        groups.setdefault((decision.agent_id, decision.card_type), []).append(decision)
    return tuple(calibrate(groups[key], agent_id=key[0], card_type=key[1]) for key in sorted(groups))


def reliability(forecasts: Iterable[Forecast]) -> Reliability:
    """Bins, hit rate and Brier score; fewer than ten forecasts are reported as too few."""
    known = list(forecasts)
    count, right = len(known), sum(forecast.right for forecast in known)
    enough = count >= ENOUGH
    note = None if enough else f"Too few: {count} of the {ENOUGH} judged forecasts needed to conclude anything."
    parts: list[list[Forecast]] = [[] for _ in range(BINS)]
    for forecast in known:
        parts[min(int(forecast.stated * BINS), BINS - 1)].append(forecast)
    return Reliability(
        count=count,
        right=right,
        hit_rate=right / count if count else None,
        brier=sum((f.stated - f.right) ** 2 for f in known) / count if count else None,
        bins=tuple(_bin(place, inside) for place, inside in enumerate(parts)),
        enough=enough,
        note=note,
    )


def _bin(place: int, inside: Sequence[Forecast]) -> Bin:
    count = len(inside)
    return Bin(
        start=place / BINS,
        end=(place + 1) / BINS,
        count=count,
        mean_stated=sum(f.stated for f in inside) / count if count else None,
        share_right=sum(f.right for f in inside) / count if count else None,
    )
