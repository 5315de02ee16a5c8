"""The overview page: health, counts, and charts of the last thirty days."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from fastapi import APIRouter

from mnemon.access import store as access
from mnemon.access.grants import Grant
from mnemon.console.live import live_topic
from mnemon.console.page_request import PageRequest
from mnemon.console.pages import PageContent, page
from mnemon.db.tx import Tx
from mnemon.jobs import store as jobs
from mnemon.jobs.work import WorkStatus
from mnemon.memory import survey as memories
from mnemon.memory.recall.search import RecallCounter
from mnemon.reflection import store as reflections
from mnemon.scope import Scope
from mnemon.sessions import overview as sessions

router = APIRouter()
CHART_DAYS = 30
OVERDUE_AFTER = timedelta(minutes=2)
"""Work that has been due for longer than this means that no worker takes it."""


@dataclass(frozen=True, kw_only=True)
class OverviewDay:
    """One day of the charts."""

    day: date
    turns: int
    recalls: int
    tokens: int


@page(router, "/", "overview.html", grant=Grant.MEMORY_READ)
async def overview(visit: PageRequest) -> PageContent:
    """Show the start page: health, counts, charts, latest sessions, and the first steps of a new organization."""
    async with visit.tx() as tx:
        held = await memories.count_memories(tx, visit.org_scope)
        said = await sessions.count_conversations(tx, visit.org_scope)
        work = await jobs.status_counts(tx, visit.org_scope)
        behind = await reflections.reflection_backlog(tx, visit.org_scope)
        days = await _load_days(tx, visit.org_scope)
        latest = await sessions.list_sessions(tx, visit.org_scope, most=6)
        keys = [key for key in await access.list_keys(tx, visit.org_scope) if key.revoked_at is None]
    models = visit.services
    data = {
        "health": _health_status(work, tx.now),
        "held": held,
        "said": said,
        "jobs": {status.value: count for status, (count, _) in work.items()},
        "behind": behind,
        "days": days,
        "latest": latest,
        "steps": _first_steps(
            keys=len(keys), turns=said.turns, memories=held.active, recalls=sum(d.recalls for d in days)
        ),
        "model": models.llm.name,
        "offline": models.llm.offline,
        "embedder": models.embedder.model,
        "now": tx.now,
    }
    return PageContent(title="Overview", data=data)


@live_topic("overview", grant=Grant.MEMORY_READ)
async def _overview_version(tx: Tx, scope: Scope, argument: str) -> str:
    """Return a text that changes with sessions, reflections or jobs; a new one reloads the start page."""
    work = await jobs.status_counts(tx, scope)
    return f"{await sessions.change_token(tx, scope)}|{await reflections.reflection_backlog(tx, scope)}|{work}"


async def _load_days(tx: Tx, scope: Scope) -> list[OverviewDay]:
    """Return the chart figures of the last thirty days, zeros where nothing happened."""
    today = tx.now.astimezone(UTC).date()
    first = today - timedelta(days=CHART_DAYS - 1)
    since = datetime.combine(first, time(), UTC)
    said = {one.day: one for one in await sessions.list_daily_usage(tx, scope, since)}
    # The counter adds what this process has counted and not written yet.
    recalls = await tx.attached.get_or_create(RecallCounter).recalls_by_day(tx, scope, first)
    tokens = {day: one.input_tokens + one.output_tokens for day, one in said.items()}
    for spent in await reflections.daily_usage(tx, scope, since):
        # Reflections may run on a later day than their turn, on a day without turns.
        tokens[spent.day] = tokens.get(spent.day, 0) + spent.input_tokens + spent.output_tokens
    every = [first + timedelta(days=number) for number in range(CHART_DAYS)]
    return [
        OverviewDay(
            day=day,
            turns=said[day].turns if day in said else 0,
            recalls=recalls.get(day, 0),
            tokens=tokens.get(day, 0),
        )
        for day in every
    ]


def _health_status(work: dict[WorkStatus, tuple[int, datetime | None]], now: datetime) -> dict[str, str]:
    """Return the work queue's health as a colour, a word and a sentence."""
    waiting, oldest = work[WorkStatus.QUEUED]
    if waiting and oldest is not None and now - oldest > OVERDUE_AFTER:
        return {"tone": "red", "word": "stalled", "says": "Jobs are due and no worker takes them. Is a worker running?"}
    if work[WorkStatus.PARKED][0]:
        return {"tone": "amber", "word": "needs attention", "says": "Some jobs ran out of attempts and are parked."}
    return {"tone": "green", "word": "healthy", "says": "The database answers and no job is overdue."}


def _first_steps(*, keys: int, turns: int, memories: int, recalls: int) -> list[dict[str, object]]:
    """Return the first steps of a new organization with their commands; none once it has turns and memories."""
    steps: list[dict[str, object]] = [
        {"done": keys > 0, "what": "Create a key for your application", "how": "mnemon keys create --name my-app"},
        {"done": turns > 0, "what": "Have a conversation", "how": "mnemon chat --user ann"},
        {"done": memories > 0, "what": "Store a memory", "how": "mnemon remember 'I live in Austin, Texas' --user ann"},
        {"done": recalls > 0, "what": "Recall it", "how": "mnemon recall 'where do I live' --user ann"},
    ]
    return [] if turns and memories else steps
