"""`/api/runs`: agents' runs, live and afterwards; re-examining a decision, and resolving it."""

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Header, Query, Response
from pydantic import Field
from starlette.responses import StreamingResponse

from mnemon.access.grants import Grant
from mnemon.api.door import Door, JsonRoute, needs, responses_for, write_responses
from mnemon.api.models import ApiModel, Name, Text, decode_cursor, error_line
from mnemon.api.run_shapes import ReExaminationOut, RunOut
from mnemon.api.sse import EVENT_STREAM, SSE_HEADERS, format_run_event
from mnemon.errors import Malformed
from mnemon.runs import store
from mnemon.runs.card import CardTypes, load_cards
from mnemon.runs.decision_outcomes import resolve_manually
from mnemon.runs.run import Run, RunStatus
from mnemon.runs.run_events import watch_run
from mnemon.runs.run_requests import cancel_run, get_run, request_re_examination
from mnemon.runs.store import RunFilter

router = APIRouter(prefix="/api/runs", tags=["runs"], route_class=JsonRoute)
ReadDoor = Annotated[Door, needs(Grant.AGENTS_READ)]
WriteDoor = Annotated[Door, needs(Grant.AGENTS_WRITE)]


class ResolveIn(ApiModel):
    """The outcome of a decision."""

    outcome: Annotated[Name, Field(max_length=60)]
    note: Annotated[Text, Field(max_length=2000)] | None = None


@router.get("", responses=responses_for(RunOut, page=True))
async def list_runs(
    door: ReadDoor,
    agent_id: Annotated[str | None, Query(alias="agentId", max_length=100)] = None,
    status: RunStatus | None = None,
    card_type: Annotated[str | None, Query(alias="cardType", max_length=100)] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    cursor: str | None = None,
) -> Response:
    """List runs, newest first, each with its latest conviction."""
    return await page_of_runs(door, RunFilter(agent_id=agent_id, status=status, card_type=card_type), limit, cursor)


@router.get("/{run_id}", responses=responses_for(RunOut))
async def read_run(run_id: str, door: ReadDoor) -> Response:
    """Return a run."""
    async with door.tx() as tx:
        run = await get_run(tx, door.org, run_id)
        again = await store.list_re_examinations(tx, door.org, [run.id])
    return door.reply(RunOut.from_run(run, cards_of(door), again))


@router.get("/{run_id}/events", response_model=None, responses=responses_for(str, content=EVENT_STREAM))
async def run_events(
    run_id: str, door: ReadDoor, last_event_id: Annotated[str | None, Header(max_length=20)] = None
) -> Response:
    """Stream the run's events as Server-Sent Events, from the start or after `Last-Event-ID`, until it has ended.

    The stream ends within seconds of the key's expiry or revocation, or when the server stops, with an event `error`
    that has `code` and `detail`.
    """
    async with door.tx() as tx:
        # Before the stream begins, so that an unknown run is a 404 and not an empty stream.
        await get_run(tx, door.org, run_id)
    after = parse_seq(last_event_id)

    async def event_lines() -> AsyncIterator[str]:
        """Yield the run's events as Server-Sent Events until the run or the caller's key ends."""
        async with door.until_key_ends() as over:
            async for event in watch_run(door.services.db, door.org, run_id, after=after, until=over):
                yield format_run_event(event)
            if over.is_set():
                yield error_line(over.reason)

    return StreamingResponse(event_lines(), media_type="text/event-stream", headers=SSE_HEADERS)


@router.post("/{run_id}/cancel", responses=write_responses(RunOut))
async def cancel(run_id: str, door: WriteDoor) -> Response:
    """Cancel a run."""
    return await door.write(lambda tx: cancel_run(tx, door.org, run_id), run_renderer(door))


@router.post("/{run_id}/re-examine", status_code=202, responses=write_responses(RunOut, status=202))
async def re_examine(run_id: str, door: WriteDoor) -> Response:
    """Queue a run that examines the decision again.

    409 `not_re_examinable` says why it cannot be; 409 `model_required`, that no language model is set.
    """
    cards, llm = cards_of(door), door.services.llm
    return await door.write(
        lambda tx: request_re_examination(tx, door.org, run_id, cards, llm), run_renderer(door), status=202
    )


@router.get("/{run_id}/re-examinations", responses=responses_for(ReExaminationOut, page=True))
async def re_examinations(run_id: str, door: ReadDoor) -> Response:
    """List every re-examination of the decision, oldest first."""
    async with door.tx() as tx:
        run = await get_run(tx, door.org, run_id)
        found = await store.list_re_examinations(tx, door.org, [run.id])
    shown = [ReExaminationOut.from_run(again, cards_of(door)) for again in found]
    # All of them on one page, so there is never a cursor.
    return door.page(shown, limit=max(1, len(shown)), position=lambda again: again.id)


@router.post("/{run_id}/resolve", responses=write_responses(RunOut))
async def resolve(run_id: str, body: ResolveIn, door: WriteDoor) -> Response:
    """Record the decision's outcome as a person judges it; the first resolution is final."""
    cards = cards_of(door)
    return await door.write(
        lambda tx: resolve_manually(tx, door.org, run_id, body.outcome, body.note, cards), run_renderer(door)
    )


class RunRenderer:
    """Renders runs with the card types in force."""

    def __init__(self, cards: CardTypes) -> None:
        """Render with these card types."""
        self._cards = cards

    def __call__(self, run: Run) -> RunOut:
        """Return the run as its response."""
        return RunOut.from_run(run, self._cards)


def run_renderer(door: Door) -> RunRenderer:
    """Return the function that turns this request's runs into responses."""
    return RunRenderer(cards_of(door))


def cards_of(door: Door) -> CardTypes:
    """Return the card types in force for this request, from the configured directory."""
    return load_cards(door.services.settings.cards_dir)


async def page_of_runs(door: Door, wanted: RunFilter, limit: int, cursor: str | None) -> Response:
    """Return a response with a page of the runs that match the filter, newest first."""
    before = parse_seq(decode_cursor(cursor)) or None
    async with door.tx() as tx:
        found = await store.list_runs(tx, door.org, wanted, before=before, most=limit + 1)
        again = await store.list_re_examinations(tx, door.org, [run.id for _, run in found])
    # A cursor carries the sequence number, which the response does not show.
    places = {run.id: str(seq) for seq, run in found}
    shown = [RunOut.from_run(run, cards_of(door), again) for _, run in found]
    return door.page(shown, limit=limit, position=lambda run: places[run.id])


def parse_seq(text: str | None) -> int:
    """Return the event number in a cursor or `Last-Event-ID`, 0 for none; raise Malformed for other text."""
    if not text:
        return 0
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise Malformed("The cursor or event id is invalid. Take it unchanged from the last page or event.")
    return int(text)
