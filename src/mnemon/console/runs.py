"""A run: its events as they come, the card it filled, what it carried and cost, and what became of its decision."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from fastapi import APIRouter

from mnemon.access.grants import Grant
from mnemon.console.live import pulse
from mnemon.console.paper import plain
from mnemon.console.plot import Course, conviction_course
from mnemon.console.sheet import check
from mnemon.console.shell import Shown, Went, action, page
from mnemon.console.visit import Visit
from mnemon.db.tx import Tx
from mnemon.runs import store
from mnemon.runs.adapter import EventType
from mnemon.runs.agents import get_agent
from mnemon.runs.ask import ask_re_examination, cancel_run, get_run
from mnemon.runs.card import CardDefinition, Cards, load_cards
from mnemon.runs.re_examination import why_not
from mnemon.runs.run import OVER, ResolutionStatus, Run, RunStatus
from mnemon.runs.settlement import resolve_by_hand
from mnemon.runs.store import Recorded
from mnemon.scope import Scope

router = APIRouter()
MOST_EVENTS = 2000
MOST_AGAIN = 200


@dataclass(frozen=True, kw_only=True)
class Conviction:
    """A re-examination in its parent's history."""

    run_id: str
    at: datetime
    status: RunStatus
    score: int | None
    notes: str
    action: str


@dataclass(frozen=True, kw_only=True)
class Line:
    """An event as it is read; pieces of one reply stand together."""

    at: datetime
    type: str
    data: dict[str, Any]
    text: str = ""


@page(router, "/runs/{run_id}", "run.html", grant=Grant.AGENTS_READ)
async def run(visit: Visit, run_id: str) -> Shown:
    """The run with its agent, its events and the history of its decision."""
    async with visit.tx() as tx:
        found = await get_run(tx, visit.org, run_id)
        agent = await get_agent(tx, visit.org, found.agent_id)
        events = await store.events(visit.org, tx, run_id, most=MOST_EVENTS)
        again = await store.re_examinations(visit.org, tx, [run_id], most=MOST_AGAIN)
        parent = await store.run(visit.org, tx, found.parent_run_id) if found.parent_run_id else None
    card = _cards(visit).get(found.card_type)
    history = [conviction(one) for one in again]
    data = {
        "run": found,
        "agent": {"id": agent.id, "name": agent.name},
        "card": card.in_order(found.result) if card and found.result else found.result,
        "tone": card.tone_of(found.result) if card and found.result else "neutral",
        "card_title": card.title if card else found.card_type,
        "lines": together(events),
        "history": history,
        "course": course_of(history),
        "parent": parent,
        "re_examinable": why_not(found, card) is None,
        "resolvable": found.resolution_status is ResolutionStatus.OPEN,
        "outcomes": _outcomes(card),
        "over": found.status in OVER,
        "now": tx.now,
    }
    return Shown(title=found.headline or f"{agent.name}, {found.kind.value}", data=data)


@action(router, "/runs/{run_id}/re-examine", grant=Grant.AGENTS_WRITE)
async def re_examine(visit: Visit, form: dict[str, str], run_id: str) -> Went:
    """A run of the same agent waits that looks at the decision again."""
    async with visit.tx() as tx:
        made = await ask_re_examination(tx, visit.org, run_id, _cards(visit))
        visit.note(tx, "re-examine run", run_id)
    return Went(to=back(form, f"/runs/{made.id}"), notice="Queued. Its conviction joins the history when it is done.")


@action(router, "/runs/{run_id}/resolve", grant=Grant.AGENTS_WRITE, field="outcome")
async def resolve(visit: Visit, form: dict[str, str], run_id: str) -> Went:
    """The decision has ended with the outcome of the form."""
    outcome, note = form.get("outcome", "").strip(), form.get("note", "").strip()
    check(
        outcome="" if 1 <= len(outcome) <= 60 else "Name the outcome, in at most 60 characters.",
        note="" if len(note) <= 2000 else "A note has at most 2000 characters.",
    )
    async with visit.tx() as tx:
        found = await get_run(tx, visit.org, run_id)
        outcome = named(outcome, _outcomes(_cards(visit).get(found.card_type)))
        await resolve_by_hand(tx, visit.org, run_id, outcome, note or None, _cards(visit))
        visit.note(tx, "resolve run", run_id)
    return Went(to=back(form, f"/runs/{run_id}"), notice=f"Resolved: {plain(outcome)}.")


@action(router, "/runs/{run_id}/cancel", grant=Grant.AGENTS_WRITE)
async def cancel(visit: Visit, form: dict[str, str], run_id: str) -> Went:
    """The run is cancelled."""
    async with visit.tx() as tx:
        await cancel_run(tx, visit.org, run_id)
        visit.note(tx, "cancel run", run_id)
    return Went(to=f"/runs/{run_id}", notice="Cancelled. Nothing of it is kept in the agent's memory.")


@pulse("run", grant=Grant.AGENTS_READ)
async def _pulse(tx: Tx, scope: Scope, argument: str) -> str:
    found = await store.run(scope, tx, argument)
    if found is None:
        return "gone"
    again = await store.re_examinations(scope, tx, [argument], most=MOST_AGAIN)
    events = [] if found.status in OVER else await store.events(scope, tx, argument, most=MOST_EVENTS)
    last = events[-1].seq if events else 0
    return "|".join([found.status, str(found.outcome), str(last), *(f"{one.id}{one.status}" for one in again)])


def conviction(again: Run) -> Conviction:
    """The re-examination as a line of its parent's history."""
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


def course_of(history: Sequence[Conviction]) -> Course | None:
    """The convictions as a line; None for fewer than two."""
    scores = [(f"{one.score}: {one.notes}", one.score / 100) for one in history if one.score is not None]
    return conviction_course(scores) if len(scores) > 1 else None


def together(events: Sequence[Recorded]) -> list[Line]:
    """The events, with the pieces of one reply joined to what they say."""
    lines: list[Line] = []
    for event in events:
        piece = str(event.data.get("text", "")) if event.type == EventType.DELTA else ""
        if piece and lines and lines[-1].type == EventType.DELTA:
            before = lines.pop()
            lines.append(Line(at=before.at, type=before.type, data={}, text=before.text + piece))
        else:
            lines.append(Line(at=event.at, type=event.type, data={} if piece else event.data, text=piece))
    return lines


def back(form: dict[str, str], otherwise: str) -> str:
    """The results page the form came from, or elsewhere."""
    asked = form.get("back", "")
    return asked if asked.startswith("/results/") else otherwise


def named(outcome: str, known: Sequence[str]) -> str:
    """The known outcome that was said in other words, take profit for `take_profit`; otherwise what was said."""
    return next((one for one in known if plain(one) == plain(outcome.lower())), outcome)


def _outcomes(card: CardDefinition | None) -> list[str]:
    return [*card.resolution.right, *card.resolution.wrong] if card else []


def _cards(visit: Visit) -> Cards:
    return load_cards(visit.basement.settings.cards_dir)
