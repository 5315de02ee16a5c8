"""What became of an organization's decisions: calibration read from the store."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from mnemon.db.tx import Tx
from mnemon.runs import store
from mnemon.runs.calibration import Calibration, Judged, by_agent_and_type, calibrate
from mnemon.runs.card import Cards
from mnemon.runs.resolution import verdict
from mnemon.runs.run import Run, RunStatus
from mnemon.scope import Scope


@dataclass(frozen=True, kw_only=True)
class TrackRecord:
    """All decisions together, and each agent's by card type."""

    overall: Calibration
    groups: tuple[Calibration, ...]


async def track_record(tx: Tx, scope: Scope, cards: Cards, agent_id: str | None) -> TrackRecord:
    """Stated confidence and later convictions against what happened."""
    ended = await store.resolved(scope, tx, agent_id)
    again = await store.re_examinations(scope, tx, [run.id for run in ended])
    by_parent: dict[str, list[Run]] = defaultdict(list)
    for run in again:
        by_parent[str(run.parent_run_id)].append(run)
    judged = [_judged(run, by_parent[run.id], cards) for run in ended if run.card_type in cards]
    return TrackRecord(overall=calibrate(judged, agent_id=agent_id), groups=by_agent_and_type(judged))


def _judged(run: store.Ended, again: Sequence[Run], cards: Cards) -> Judged:
    card = cards[run.card_type]
    stated = (run.result or {}).get(card.confidence) if card.confidence else None
    scores = [(later.result or {}).get("conviction_score") for later in again if later.status is RunStatus.SUCCEEDED]
    return Judged(
        agent_id=run.agent_id,
        card_type=run.card_type,
        right=verdict(card, run.outcome),
        stated=float(stated) if isinstance(stated, int | float) else None,
        convictions=tuple(score / 100 for score in scores if isinstance(score, int | float)),
    )
