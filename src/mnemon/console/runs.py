"""Page and actions of a run: its events, card, cost and sessions; re-examine, resolve, cancel."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from fastapi import APIRouter

from mnemon.access.grants import Grant
from mnemon.console.charts import LineChart, conviction_chart
from mnemon.console.forms import check_fields
from mnemon.console.live import live_topic
from mnemon.console.page_request import PageRequest
from mnemon.console.pages import ActionRedirect, PageContent, action, page
from mnemon.console.rendering import spaced_name
from mnemon.db.tx import Tx
from mnemon.runs import store
from mnemon.runs.adapter import RunEventType
from mnemon.runs.agents import get_agent
from mnemon.runs.card import CardDefinition, CardTypes, load_cards
from mnemon.runs.decision_outcomes import resolve_manually
from mnemon.runs.re_examination import not_re_examinable_reason
from mnemon.runs.run import FINAL_STATUSES, ResolutionStatus, Run, RunStatus
from mnemon.runs.run_requests import cancel_run, get_run, request_re_examination
from mnemon.runs.store import RecordedEvent
from mnemon.scope import Scope

router = APIRouter()
MAX_EVENTS = 2000
MAX_RE_EXAMINATIONS = 200


@dataclass(frozen=True, kw_only=True)
class Conviction:
    """A re-examination as a line of its parent's conviction history."""

    run_id: str
    at: datetime
    status: RunStatus
    score: int | None
    notes: str
    action: str


@dataclass(frozen=True, kw_only=True)
class RunEventLine:
    """An event as the page shows it; the pieces of one reply are one line."""

    at: datetime
    type: str
    data: dict[str, Any]
    text: str = ""


@page(router, "/runs/{run_id}", "run.html", grant=Grant.AGENTS_READ)
async def run(visit: PageRequest, run_id: str) -> PageContent:
    """Show the page of a run with its agent, its events and the conviction history of its decision."""
    async with visit.tx() as tx:
        found = await get_run(tx, visit.org_scope, run_id)
        agent = await get_agent(tx, visit.org_scope, found.agent_id)
        events = await store.list_events(tx, visit.org_scope, run_id, most=MAX_EVENTS)
        again = await store.list_re_examinations(tx, visit.org_scope, [run_id], most=MAX_RE_EXAMINATIONS)
        parent = await store.find_run(tx, visit.org_scope, found.parent_run_id) if found.parent_run_id else None
    card = _load_cards(visit).get(found.card_type)
    history = [conviction_of(one) for one in again]
    data = {
        "run": found,
        "agent": {"id": agent.id, "name": agent.name},
        "card": card.order_values(found.result) if card and found.result else found.result,
        "tone": card.tone_of(found.result) if card and found.result else "neutral",
        "card_title": card.title if card else found.card_type,
        "lines": join_deltas(events),
        "history": history,
        "course": history_chart(history),
        "parent": parent,
        "re_examinable": not_re_examinable_reason(found, card) is None,
        "resolvable": found.resolution_status is ResolutionStatus.OPEN,
        "outcomes": _known_outcomes(card),
        "over": found.status in FINAL_STATUSES,
        "now": tx.now,
    }
    return PageContent(title=found.headline or f"{agent.name}, {found.kind.value}", data=data)


@action(router, "/runs/{run_id}/re-examine", grant=Grant.AGENTS_WRITE)
async def re_examine(visit: PageRequest, form: dict[str, str], run_id: str) -> ActionRedirect:
    """Queue a run of the same agent that re-examines this run's decision."""
    async with visit.tx() as tx:
        made = await request_re_examination(tx, visit.org_scope, run_id, _load_cards(visit), visit.services.llm)
        visit.audit_write(tx, "re-examine run", run_id)
    return ActionRedirect(
        to=return_path(form, f"/runs/{made.id}"),
        notice="Re-examination queued. Its conviction will appear in the history.",
    )


@action(router, "/runs/{run_id}/resolve", grant=Grant.AGENTS_WRITE, field="outcome")
async def resolve(visit: PageRequest, form: dict[str, str], run_id: str) -> ActionRedirect:
    """Store the form's outcome as the resolution of the run's decision."""
    outcome, note = form.get("outcome", "").strip(), form.get("note", "").strip()
    check_fields(
        outcome="" if 1 <= len(outcome) <= 60 else "Name the outcome, in at most 60 characters.",
        note="" if len(note) <= 2000 else "A note has at most 2000 characters.",
    )
    async with visit.tx() as tx:
        found = await get_run(tx, visit.org_scope, run_id)
        outcome = known_outcome(outcome, _known_outcomes(_load_cards(visit).get(found.card_type)))
        await resolve_manually(tx, visit.org_scope, run_id, outcome, note or None, _load_cards(visit))
        visit.audit_write(tx, "resolve run", run_id)
    return ActionRedirect(to=return_path(form, f"/runs/{run_id}"), notice=f"Resolved: {spaced_name(outcome)}.")


@action(router, "/runs/{run_id}/cancel", grant=Grant.AGENTS_WRITE)
async def cancel(visit: PageRequest, form: dict[str, str], run_id: str) -> ActionRedirect:
    """Cancel the run of this id, and redirect to its page."""
    async with visit.tx() as tx:
        await cancel_run(tx, visit.org_scope, run_id)
        visit.audit_write(tx, "cancel run", run_id)
    return ActionRedirect(to=f"/runs/{run_id}", notice="Cancelled. The agent's memory keeps nothing of this run.")


@live_topic("run", grant=Grant.AGENTS_READ)
async def _run_version(tx: Tx, scope: Scope, argument: str) -> str:
    """Return a text that changes with the run, its events or re-examinations; a new one reloads its page."""
    found = await store.find_run(tx, scope, argument)
    if found is None:
        return "gone"
    again = await store.list_re_examinations(tx, scope, [argument], most=MAX_RE_EXAMINATIONS)
    # A finished run gets no more events: its status says enough.
    events = [] if found.status in FINAL_STATUSES else await store.list_events(tx, scope, argument, most=MAX_EVENTS)
    last = events[-1].seq if events else 0
    return "|".join([found.status, str(found.outcome), str(last), *(f"{one.id}{one.status}" for one in again)])


def conviction_of(again: Run) -> Conviction:
    """Return a re-examination's run as a line of its parent's conviction history."""
    result = again.result or {}
    score = result.get("conviction_score")
    return Conviction(
        run_id=again.id,
        at=again.finished_at or again.created_at,
        status=again.status,
        score=int(score) if isinstance(score, int | float) else None,
        notes=str(result.get("notes") or again.error or ""),
        action=str(result.get("suggested_action") or ""),
    )


def history_chart(history: Sequence[Conviction]) -> LineChart | None:
    """Return a decision's convictions as a line chart; None for fewer than two scores."""
    scores = [(f"{one.score}: {one.notes}", one.score / 100) for one in history if one.score is not None]
    return conviction_chart(scores) if len(scores) > 1 else None


def join_deltas(events: Sequence[RecordedEvent]) -> list[RunEventLine]:
    """Return a run's events with consecutive pieces of a reply joined into one line."""
    lines: list[RunEventLine] = []
    for event in events:
        piece = str(event.data.get("text", "")) if event.type == RunEventType.DELTA else ""
        if piece and lines and lines[-1].type == RunEventType.DELTA:
            before = lines.pop()
            lines.append(RunEventLine(at=before.at, type=before.type, data={}, text=before.text + piece))
        else:
            lines.append(RunEventLine(at=event.at, type=event.type, data={} if piece else event.data, text=piece))
    return lines


def return_path(form: dict[str, str], otherwise: str) -> str:
    """Return the results page that the form names to go back to, else the other path."""
    # Only a results page: the field comes from the browser, and a redirect must not leave the console.
    asked = form.get("back", "")
    return asked if asked.startswith("/results/") else otherwise


def known_outcome(outcome: str, known: Sequence[str]) -> str:
    """Return the known outcome typed with spaces or capitals (Take profit for `take_profit`), else the text."""
    return next((one for one in known if spaced_name(one) == spaced_name(outcome.lower())), outcome)


def _known_outcomes(card: CardDefinition | None) -> list[str]:
    """Return the outcomes that the card type counts as right or wrong; none without a card type."""
    return [*card.resolution.right, *card.resolution.wrong] if card else []


def _load_cards(visit: PageRequest) -> CardTypes:
    """Return the card types of the configured directory."""
    return load_cards(visit.services.settings.cards_dir)
