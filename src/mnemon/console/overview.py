"""Overview: whether all is well, how much there is, and what happened in the last thirty days."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from fastapi import APIRouter

from mnemon.access import store as access
from mnemon.access.grants import Grant
from mnemon.console.live import pulse
from mnemon.console.shell import Shown, page
from mnemon.console.visit import Visit
from mnemon.db.tx import Tx
from mnemon.jobs import store as jobs
from mnemon.jobs.work import Status
from mnemon.memory.recall.tally import Tally
from mnemon.memory.survey import survey as memories
from mnemon.reflection import store as reflections
from mnemon.scope import Scope
from mnemon.sessions.survey import survey as sessions

router = APIRouter()
DAYS = 30
LATE = timedelta(minutes=2)
"""Work that is due for longer than this is not being taken."""


@dataclass(frozen=True, kw_only=True)
class Day:
    """One day of the charts."""

    day: date
    turns: int
    recalls: int
    tokens: int


@page(router, "/", "overview.html", grant=Grant.MEMORY_READ)
async def overview(visit: Visit) -> Shown:
    """How the organization's memory is doing."""
    async with visit.tx() as tx:
        held = await memories.counts(tx, visit.org)
        said = await sessions.counts(tx, visit.org)
        work = await jobs.standing(tx, visit.org)
        behind = await reflections.waiting(tx, visit.org)
        days = await _days(tx, visit.org)
        latest = await sessions.sessions(tx, visit.org, most=6)
        keys = [key for key in await access.keys(visit.org, tx) if key.revoked_at is None]
    models = visit.basement
    data = {
        "health": _health(work, tx.now),
        "held": held,
        "said": said,
        "jobs": {status.value: count for status, (count, _) in work.items()},
        "behind": behind,
        "days": days,
        "latest": latest,
        "steps": _steps(keys=len(keys), turns=said.turns, memories=held.active, recalls=sum(d.recalls for d in days)),
        "model": models.llm.name,
        "offline": models.llm.offline,
        "embedder": models.embedder.model,
        "now": tx.now,
    }
    return Shown(title="Overview", data=data)


@pulse("overview", grant=Grant.MEMORY_READ)
async def _pulse(tx: Tx, scope: Scope, argument: str) -> str:
    work = await jobs.standing(tx, scope)
    return f"{await sessions.pulse(tx, scope)}|{await reflections.waiting(tx, scope)}|{work}"


async def _days(tx: Tx, scope: Scope) -> list[Day]:
    """The last days, each there whether anything happened or not."""
    today = tx.now.astimezone(UTC).date()
    first = today - timedelta(days=DAYS - 1)
    since = datetime.combine(first, time(), UTC)
    said = {one.day: one for one in await sessions.days(tx, scope, since)}
    recalls = await tx.attached.get(Tally).days(tx, scope, first)
    tokens = {day: one.input_tokens + one.output_tokens for day, one in said.items()}
    for spent in await reflections.spent(tx, scope, since):
        tokens[spent.day] = tokens.get(spent.day, 0) + spent.input_tokens + spent.output_tokens
    every = [first + timedelta(days=number) for number in range(DAYS)]
    return [
        Day(
            day=day,
            turns=said[day].turns if day in said else 0,
            recalls=recalls.get(day, 0),
            tokens=tokens.get(day, 0),
        )
        for day in every
    ]


def _health(work: dict[Status, tuple[int, datetime | None]], now: datetime) -> dict[str, str]:
    """In a word and a sentence whether anything needs a hand."""
    waiting, oldest = work[Status.QUEUED]
    if waiting and oldest is not None and now - oldest > LATE:
        return {"tone": "red", "word": "stalled", "says": "Work is due and nobody takes it. Is a worker running?"}
    if work[Status.PARKED][0]:
        return {"tone": "amber", "word": "needs a look", "says": "Some jobs ran out of tries and are parked."}
    return {"tone": "green", "word": "well", "says": "The database answers and work is being taken."}


def _steps(*, keys: int, turns: int, memories: int, recalls: int) -> list[dict[str, object]]:
    """What to do first, each with the command that does it; none once something is remembered."""
    steps: list[dict[str, object]] = [
        {"done": keys > 0, "what": "Make a key for your application", "how": "mnemon keys create --name my-app"},
        {"done": turns > 0, "what": "Have a conversation", "how": "mnemon chat --user ann"},
        {"done": memories > 0, "what": "Tell it a fact", "how": "mnemon remember 'I live in Austin, Texas' --user ann"},
        {"done": recalls > 0, "what": "Ask for it back", "how": "mnemon recall 'where do I live' --user ann"},
    ]
    return [] if turns and memories else steps
