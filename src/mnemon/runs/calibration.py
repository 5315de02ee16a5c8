"""Calibration: how well the confidence that agents stated matches the outcomes of their decisions."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from mnemon.db.tx import Tx
from mnemon.runs import store
from mnemon.runs.card import CardTypes
from mnemon.runs.resolution import is_right
from mnemon.runs.run import Run, RunStatus
from mnemon.scope import Scope

BIN_COUNT = 10
"""Ranges of stated probability in a reliability table, of equal width."""
MIN_FORECASTS = 10
"""Fewest forecasts from which anything can be concluded."""


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """A stated probability whose outcome is known."""

    stated: float
    """Between 0 and 1."""
    right: bool


@dataclass(frozen=True, kw_only=True)
class ReliabilityBin:
    """The forecasts within one range of stated probability."""

    start: float
    end: float
    count: int
    mean_stated: float | None
    share_right: float | None


@dataclass(frozen=True, kw_only=True)
class Reliability:
    """How well stated probabilities match the outcomes."""

    count: int
    right: int
    hit_rate: float | None
    brier: float | None
    """Brier score, the mean of (stated - outcome)²: 0 is perfect, always saying one half scores 0.25."""
    bins: tuple[ReliabilityBin, ...]
    enough: bool
    note: str | None
    """Set when there are too few forecasts to conclude anything."""


@dataclass(frozen=True, kw_only=True)
class JudgedDecision:
    """A resolved or expired decision with what calibration needs of it."""

    agent_id: str
    card_type: str
    right: bool | None
    """Whether the outcome proves the decision right; None when it proves neither."""
    stated: float | None
    """The confidence on its card, 0 to 1, if it has one."""
    convictions: tuple[float, ...]
    """Conviction scores of its re-examinations, 0 to 1, oldest first."""


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """The calibration of one agent's decisions of one card type, or of all decisions together."""

    agent_id: str | None
    card_type: str | None
    resolved: int
    judged: int
    stated: Reliability
    convictions: Reliability


def calibration_of(
    decisions: Sequence[JudgedDecision], *, agent_id: str | None = None, card_type: str | None = None
) -> Calibration:
    """Return how well these decisions' stated confidence and later convictions match their outcomes."""
    judged = [decision for decision in decisions if decision.right is not None]
    stated = [Forecast(stated=d.stated, right=bool(d.right)) for d in judged if d.stated is not None]
    later = [Forecast(stated=score, right=bool(d.right)) for d in judged for score in d.convictions]
    return Calibration(
        agent_id=agent_id,
        card_type=card_type,
        resolved=len(decisions),
        judged=len(judged),
        stated=reliability_of(stated),
        convictions=reliability_of(later),
    )


def calibrations_by_group(decisions: Sequence[JudgedDecision]) -> tuple[Calibration, ...]:
    """Return one calibration per agent and card type, sorted by both."""
    groups: dict[tuple[str, str], list[JudgedDecision]] = {}
    for decision in decisions:
        groups.setdefault((decision.agent_id, decision.card_type), []).append(decision)
    return tuple(calibration_of(groups[key], agent_id=key[0], card_type=key[1]) for key in sorted(groups))


def reliability_of(forecasts: Iterable[Forecast]) -> Reliability:
    """Return bins, hit rate and Brier score of forecasts, with a note if they are fewer than ten."""
    known = list(forecasts)
    count, right = len(known), sum(forecast.right for forecast in known)
    enough = count >= MIN_FORECASTS
    note = None if enough else f"Too few: {count} of the {MIN_FORECASTS} judged forecasts needed to conclude anything."
    parts: list[list[Forecast]] = [[] for _ in range(BIN_COUNT)]
    for forecast in known:
        # A stated probability of exactly 1 belongs to the last bin.
        parts[min(int(forecast.stated * BIN_COUNT), BIN_COUNT - 1)].append(forecast)
    return Reliability(
        count=count,
        right=right,
        hit_rate=right / count if count else None,
        brier=sum((f.stated - f.right) ** 2 for f in known) / count if count else None,
        bins=tuple(_make_bin(place, inside) for place, inside in enumerate(parts)),
        enough=enough,
        note=note,
    )


def _make_bin(place: int, inside: Sequence[Forecast]) -> ReliabilityBin:
    """Return one bin of probabilities with its forecasts: how many, their mean, and the share that came true."""
    count = len(inside)
    return ReliabilityBin(
        start=place / BIN_COUNT,
        end=(place + 1) / BIN_COUNT,
        count=count,
        mean_stated=sum(f.stated for f in inside) / count if count else None,
        share_right=sum(f.right for f in inside) / count if count else None,
    )


@dataclass(frozen=True, kw_only=True)
class TrackRecord:
    """The calibration of all decisions, and of each agent by card type."""

    overall: Calibration
    groups: tuple[Calibration, ...]


async def load_track_record(tx: Tx, scope: Scope, cards: CardTypes, agent_id: str | None) -> TrackRecord:
    """Return the calibration of the ended decisions of the organization, or of one agent.

    Decisions whose card type is no longer known are left out.
    """
    ended = await store.list_resolved(tx, scope, agent_id)
    re_examinations = await store.list_re_examinations(tx, scope, [run.id for run in ended])
    by_parent: dict[str, list[Run]] = defaultdict(list)
    for run in re_examinations:
        by_parent[str(run.parent_run_id)].append(run)
    judged = judge_decisions(ended, by_parent, cards)
    return TrackRecord(overall=calibration_of(judged, agent_id=agent_id), groups=calibrations_by_group(judged))


def judge_decisions(
    ended: Sequence[store.EndedDecision], re_examinations: Mapping[str, Sequence[Run]], cards: CardTypes
) -> list[JudgedDecision]:
    """Return the ended decisions whose card type is known, each judged with its own re-examinations."""
    return [_judge_decision(run, re_examinations.get(run.id, ()), cards) for run in ended if run.card_type in cards]


def _judge_decision(run: store.EndedDecision, re_examinations: Sequence[Run], cards: CardTypes) -> JudgedDecision:
    """Return the ended decision with whether it was right, its stated confidence and later convictions."""
    card = cards[run.card_type]
    stated = (run.result or {}).get(card.confidence) if card.confidence else None
    scores = [
        (later.result or {}).get("conviction_score") for later in re_examinations if later.status is RunStatus.SUCCEEDED
    ]
    return JudgedDecision(
        agent_id=run.agent_id,
        card_type=run.card_type,
        right=is_right(card, run.outcome),
        stated=float(stated) if isinstance(stated, int | float) else None,
        # A re-examination states its conviction from 0 to 100.
        convictions=tuple(score / 100 for score in scores if isinstance(score, int | float)),
    )
