"""Pages of the engagement: hypotheses and their evidence, unknowns and the journal, now or at an earlier moment.

Two actions let a person decide by hand, with a note: that a contradiction is settled, or that a claim is archived.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from fastapi import APIRouter

from mnemon.access.grants import Grant
from mnemon.clock import format_time, parse_time
from mnemon.console.charts import LineChart, confidence_chart
from mnemon.console.live import live_topic
from mnemon.console.page_request import PageRequest
from mnemon.console.pages import ActionRedirect, PageContent, action, page
from mnemon.db.tx import Tx
from mnemon.engagement import reading, rulings, store
from mnemon.engagement.document import Engagement, Hypothesis, HypothesisStage
from mnemon.engagement.journal import EngagementEntry
from mnemon.engagement.lifecycle import (
    confidence_of,
    format_source,
    is_mixed,
    is_proposed_for_archive,
    outstanding_contradictions,
    resolution_text,
)
from mnemon.engagement.week import week_rules
from mnemon.errors import NotFound
from mnemon.evidence.confidence import line_weights, round_confidence
from mnemon.scope import Scope
from mnemon.sessions import turns
from mnemon.sessions.organization import engagement_is_on

router = APIRouter()
MAX_CHANGES = 5000
"""The newest changes that a page reads: its slider and its figures know no earlier ones."""
RECENT_CHANGES = 12


@dataclass(frozen=True, kw_only=True)
class HypothesisCard:
    """What a hypothesis's card shows."""

    hypothesis: Hypothesis
    confidence: float
    mixed: bool
    would_resolve: str | None
    outstanding: tuple[str, ...]
    """Ids of contradictions that nothing has resolved."""
    source: str
    """Who gave the strongest evidence, and when."""
    course: LineChart
    weights: dict[str, float]
    """The weight of each evidence line, by its id."""
    proposed_for_archive: bool


@dataclass(frozen=True, kw_only=True)
class JournalMoment:
    """The moment of the journal that is shown."""

    step: int
    """Its number among all moments of change, from 1; 0 before the first."""
    steps: int
    at: datetime | None
    """None for now."""


@page(router, "/engagement", "engagement.html", grant=Grant.ENGAGEMENT_READ)
async def board(visit: PageRequest) -> PageContent:
    """Show the page of the engagement as of the moment asked for: hypotheses by stage, unknowns, the journal."""
    async with visit.tx() as tx:
        journal = await store.list_latest_entries(tx, visit.org_scope, most=MAX_CHANGES)
        moment = _requested_moment(visit, journal)
        document = await reading.load_document(tx, visit.org_scope, moment.at)
        is_on = await engagement_is_on(tx, visit.org_scope)
    until = moment.at or tx.now
    held = [_hypothesis_card(each, until, visit, small=True) for each in document.hypotheses] if document else []
    columns = {stage.value: [one for one in held if one.hypothesis.stage is stage] for stage in HypothesisStage}
    changes = [entry for entry in journal if moment.at is None or entry.at <= moment.at]
    data = {
        "is_on": is_on,
        "columns": columns,
        "document": document,
        "week": {"work": week_rules(document.week).work, "needs": week_rules(document.week).needs}
        if document
        else None,
        "moment": moment,
        "changes": [_change_data(entry, document) for entry in reversed(changes[-RECENT_CHANGES:])],
        "count": len(changes),
        "earlier": len(journal) == MAX_CHANGES,
        "now": tx.now,
    }
    return PageContent(title="Engagement", data=data)


@page(router, "/engagement/{hypothesis_id}", "hypothesis.html", grant=Grant.ENGAGEMENT_READ)
async def hypothesis(visit: PageRequest, hypothesis_id: str) -> PageContent:
    """Show the page of one hypothesis: its confidence over time, and its evidence with quotes and turns."""
    async with visit.tx() as tx:
        journal = await store.list_latest_entries(tx, visit.org_scope, most=MAX_CHANGES)
        moment = _requested_moment(visit, journal)
        document = await reading.load_document(tx, visit.org_scope, moment.at)
        found = document.find_hypothesis(hypothesis_id) if document else None
        if document is None or found is None:
            raise NotFound("hypothesis")
        sessions = await _session_ids(tx, visit.org_scope, [line.turn_id for line in found.evidence])
    mine = [entry for entry in journal if getattr(entry.delta, "hypothesis", None) == hypothesis_id]
    data = {
        "held": _hypothesis_card(found, moment.at or tx.now, visit, small=False),
        "threshold": _promotion_threshold(visit),
        "sessions": sessions,
        "moment": moment,
        "changes": [_change_data(entry, document) for entry in mine if moment.at is None or entry.at <= moment.at],
        "now": tx.now,
    }
    return PageContent(title=found.statement, data=data)


@action(router, "/engagement/{hypothesis_id}/settle", grant=Grant.ADMIN, field="note")
async def settle(visit: PageRequest, form: dict[str, str], hypothesis_id: str) -> ActionRedirect:
    """Settle a contradiction of the hypothesis, with a note on why."""
    async with visit.tx() as tx:
        held = await rulings.settle_contradiction(
            tx,
            visit.org_scope,
            hypothesis_id,
            form.get("evidence", ""),
            note=form.get("note", ""),
            author=visit.principal.key_id,
            threshold=_promotion_threshold(visit),
        )
        visit.audit_write(tx, "settle contradiction", hypothesis_id)
    promoted = " It is a finding now." if held.stage is HypothesisStage.FINDING else ""
    return ActionRedirect(to=f"/engagement/{hypothesis_id}", notice=f"Settled.{promoted}")


@action(router, "/engagement/{hypothesis_id}/archive", grant=Grant.ADMIN, field="note")
async def archive(visit: PageRequest, form: dict[str, str], hypothesis_id: str) -> ActionRedirect:
    """Archive the hypothesis or finding, with a note on why."""
    async with visit.tx() as tx:
        await rulings.archive_by_hand(
            tx, visit.org_scope, hypothesis_id, note=form.get("note", ""), author=visit.principal.key_id
        )
        visit.audit_write(tx, "archive hypothesis", hypothesis_id)
    return ActionRedirect(to=f"/engagement/{hypothesis_id}", notice="Archived. Evidence can bring it back.")


@live_topic("engagement", grant=Grant.ENGAGEMENT_READ)
async def _engagement_version(tx: Tx, scope: Scope, argument: str) -> str:
    """Return the engagement journal's last number; a new one reloads the page."""
    return str((await store.load_engagement(tx, scope)).seq)


def _requested_moment(visit: PageRequest, journal: Sequence[EngagementEntry]) -> JournalMoment:
    """Return the journal's moment that the query names by `asOf` (a time) or `step` (of the slider); else now."""
    # By moments, not by entries: all entries of one turn have the same time.
    moments = sorted({entry.at for entry in journal})
    asked = _time_or_none(visit.asked("asOf"))
    if asked is not None:
        return JournalMoment(step=sum(at <= asked for at in moments), steps=len(moments), at=asked)
    step = visit.query_number("step", len(moments), most=len(moments)) if moments else 0
    if step >= len(moments):
        return JournalMoment(step=len(moments), steps=len(moments), at=None)
    return JournalMoment(step=step, steps=len(moments), at=moments[max(step, 1) - 1])


def _time_or_none(text: str) -> datetime | None:
    """Return the time in the text; None for an empty or unreadable one."""
    try:
        return parse_time(text) if text else None
    except (ValueError, OverflowError):
        return None


def _promotion_threshold(visit: PageRequest) -> float:
    """Return the confidence from which a hypothesis is promoted, as configured."""
    return visit.services.settings.promotion_threshold


def _hypothesis_card(found: Hypothesis, until: datetime, visit: PageRequest, *, small: bool) -> HypothesisCard:
    """Return what a hypothesis's card shows, with its confidence chart up to `until`."""
    size = {"width": 240, "height": 56} if small else {"width": 960, "height": 180}
    # The line of an archived hypothesis ends where it was archived.
    over = found.archived_at or until
    return HypothesisCard(
        hypothesis=found,
        confidence=round_confidence(confidence_of(found)),
        mixed=is_mixed(found.evidence),
        would_resolve=resolution_text(found),
        outstanding=tuple(line.id for line in outstanding_contradictions(found.evidence)),
        source=format_source(found),
        course=confidence_chart(found, min(until, over), threshold=_promotion_threshold(visit), **size),
        weights=line_weights(found.evidence),
        proposed_for_archive=is_proposed_for_archive(found),
    )


def _change_data(entry: EngagementEntry, document: Engagement | None) -> dict[str, Any]:
    """Return an entry of the engagement journal as the page shows it, with the hypothesis or question it concerns."""
    target = getattr(entry.delta, "hypothesis", None)
    moved = document.find_hypothesis(target) if document and target else None
    about = moved.statement if moved else _unknown_question(entry, document)
    return {
        "seq": entry.seq,
        "at": entry.at,
        "asOf": format_time(entry.at),
        "kind": entry.delta.kind,
        "who": entry.who,
        "reason": entry.reason.removeprefix(entry.delta.kind).lstrip(" ;:,"),
        "hypothesis": target,
        "about": about,
    }


def _unknown_question(entry: EngagementEntry, document: Engagement | None) -> str:
    """Return the question of the unknown that the journal entry asked or answered; empty when there is none."""
    target = getattr(entry.delta, "unknown", None)
    return next((one.question for one in document.unknowns if one.id == target), "") if document and target else ""


async def _session_ids(tx: Tx, scope: Scope, turn_ids: Sequence[str]) -> dict[str, str]:
    """Return the session id of each turn that still exists, by turn id."""
    found = {turn_id: await turns.find_turn(tx, scope, turn_id) for turn_id in dict.fromkeys(turn_ids)}
    return {turn_id: stored.turn.session_id for turn_id, stored in found.items() if stored is not None}
