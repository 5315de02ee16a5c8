"""Engagement: what is believed about the organization, on what evidence, now or at any moment before."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from fastapi import APIRouter

from mnemon.access.grants import Grant
from mnemon.clock import iso, parse_time
from mnemon.console.live import pulse
from mnemon.console.plot import Course, confidence_course
from mnemon.console.shell import Shown, page
from mnemon.console.visit import Visit
from mnemon.db.tx import Tx
from mnemon.engagement import reading, store
from mnemon.engagement.delta import Entry
from mnemon.engagement.document import Engagement, Hypothesis, Stage
from mnemon.engagement.lifecycle import confidence_of, is_mixed, outstanding, source_of, would_resolve
from mnemon.engagement.week import week
from mnemon.errors import NotFound
from mnemon.evidence.confidence import shown
from mnemon.scope import Scope
from mnemon.sessions import turns

router = APIRouter()
MOST_CHANGES = 5000
RECENT = 12


@dataclass(frozen=True, kw_only=True)
class Held:
    """A hypothesis as its card shows it."""

    hypothesis: Hypothesis
    confidence: float
    mixed: bool
    would_resolve: str | None
    outstanding: tuple[str, ...]
    """Ids of contradictions that nothing has settled."""
    source: str
    """Who said the strongest of it, and when."""
    course: Course


@dataclass(frozen=True, kw_only=True)
class Moment:
    """Which moment is shown."""

    step: int
    """Its place among all moments at which something changed, from 1; 0 before the first."""
    steps: int
    at: datetime | None
    """None for now."""


@page(router, "/engagement", "engagement.html", grant=Grant.ENGAGEMENT_READ)
async def board(visit: Visit) -> Shown:
    """Hypotheses by stage, unknowns, and the journal up to the moment asked for."""
    async with visit.tx() as tx:
        journal = await reading.history(tx, visit.org, after=0, most=MOST_CHANGES)
        moment = _moment(visit, journal)
        document = await reading.engagement(tx, visit.org, moment.at)
    until = moment.at or tx.now
    held = [_held(each, until, visit, small=True) for each in document.hypotheses] if document else []
    columns = {stage.value: [one for one in held if one.hypothesis.stage is stage] for stage in Stage}
    changes = [entry for entry in journal if moment.at is None or entry.at <= moment.at]
    data = {
        "columns": columns,
        "document": document,
        "week": {"work": week(document.week).work, "needs": week(document.week).needs} if document else None,
        "moment": moment,
        "changes": [_change(entry, document) for entry in reversed(changes[-RECENT:])],
        "count": len(changes),
        "now": tx.now,
    }
    return Shown(title="Engagement", data=data)


@page(router, "/engagement/{hypothesis_id}", "hypothesis.html", grant=Grant.ENGAGEMENT_READ)
async def hypothesis(visit: Visit, hypothesis_id: str) -> Shown:
    """One hypothesis: its confidence over time, and every line of evidence with its quote and its turn."""
    async with visit.tx() as tx:
        journal = await reading.history(tx, visit.org, after=0, most=MOST_CHANGES)
        moment = _moment(visit, journal)
        document = await reading.engagement(tx, visit.org, moment.at)
        found = document.hypothesis(hypothesis_id) if document else None
        if document is None or found is None:
            raise NotFound("hypothesis")
        sessions = await _sessions(tx, visit.org, [line.turn_id for line in found.evidence])
    mine = [entry for entry in journal if getattr(entry.delta, "hypothesis", None) == hypothesis_id]
    data = {
        "held": _held(found, moment.at or tx.now, visit, small=False),
        "threshold": _threshold(visit),
        "sessions": sessions,
        "moment": moment,
        "changes": [_change(entry, document) for entry in mine if moment.at is None or entry.at <= moment.at],
        "now": tx.now,
    }
    return Shown(title=found.statement, data=data)


@pulse("engagement", grant=Grant.ENGAGEMENT_READ)
async def _pulse(tx: Tx, scope: Scope, argument: str) -> str:
    return str((await store.read(tx, scope)).seq)


def _moment(visit: Visit, journal: Sequence[Entry]) -> Moment:
    """The moment of the address: `asOf`, a time, or `step`, a place on the slider; otherwise now."""
    moments = sorted({entry.at for entry in journal})
    asked = _time(visit.asked("asOf"))
    if asked is not None:
        return Moment(step=sum(at <= asked for at in moments), steps=len(moments), at=asked)
    step = visit.number("step", len(moments), most=len(moments)) if moments else 0
    if step >= len(moments):
        return Moment(step=len(moments), steps=len(moments), at=None)
    return Moment(step=step, steps=len(moments), at=moments[max(step, 1) - 1])


def _time(text: str) -> datetime | None:
    try:
        return parse_time(text) if text else None
    except (ValueError, OverflowError):
        return None


def _threshold(visit: Visit) -> float:
    return visit.basement.settings.promotion_threshold


def _held(found: Hypothesis, until: datetime, visit: Visit, *, small: bool) -> Held:
    size = {"width": 240, "height": 56} if small else {"width": 960, "height": 180}
    over = found.archived_at or until
    return Held(
        hypothesis=found,
        confidence=shown(confidence_of(found)),
        mixed=is_mixed(found.evidence),
        would_resolve=would_resolve(found),
        outstanding=tuple(line.id for line in outstanding(found.evidence)),
        source=source_of(found),
        course=confidence_course(found, min(until, over), threshold=_threshold(visit), **size),
    )


def _change(entry: Entry, document: Engagement | None) -> dict[str, Any]:
    """A change of the journal in words, with the hypothesis it moved."""
    target = getattr(entry.delta, "hypothesis", None)
    moved = document.hypothesis(target) if document and target else None
    about = moved.statement if moved else _question(entry, document)
    return {
        "seq": entry.seq,
        "at": entry.at,
        "asOf": iso(entry.at),
        "kind": entry.delta.kind,
        "who": entry.who,
        "reason": entry.reason.removeprefix(entry.delta.kind).lstrip(" ;:,"),
        "hypothesis": target,
        "about": about,
    }


def _question(entry: Entry, document: Engagement | None) -> str:
    """The question of an unknown that the change asked or answered."""
    target = getattr(entry.delta, "unknown", None)
    return next((one.question for one in document.unknowns if one.id == target), "") if document and target else ""


async def _sessions(tx: Tx, scope: Scope, turn_ids: Sequence[str]) -> dict[str, str]:
    """The session of each turn that is still there."""
    found = {turn_id: await turns.find(tx, scope, turn_id) for turn_id in dict.fromkeys(turn_ids)}
    return {turn_id: stored.turn.session_id for turn_id, stored in found.items() if stored is not None}
