"""The end of a session: marked when it has gone stale or was closed, then summarized by one model call."""

from dataclasses import replace
from datetime import timedelta

from mnemon.basement import Basement
from mnemon.db.tx import Tx
from mnemon.errors import NotFound
from mnemon.fence import verbatim
from mnemon.jobs.kind import Attempt, Kind, time_for_model_calls
from mnemon.jobs.store import enqueue
from mnemon.jobs.work import Retry
from mnemon.llm.protocol import Purpose
from mnemon.llm.shaped import shaped
from mnemon.scope import Scope
from mnemon.sessions import messages, store
from mnemon.sessions.boundary import Boundary, end_of, ending_by_request, has_ended
from mnemon.sessions.people import hold_person
from mnemon.sessions.record import CLOSE
from mnemon.sessions.session import EndedBy, Session
from mnemon.sessions.summary import SYSTEM, SessionSummary, summarize_by_rule, transcript
from mnemon.settings import Settings
from mnemon.turn import Said

_MOST_MESSAGES = 400


def boundary_of(settings: Settings) -> Boundary:
    """The boundary the operator chose."""
    return Boundary(idle=settings.session_boundary, resume=settings.resume_window)


async def close_session(tx: Tx, scope: Scope, session_id: str, boundary: Boundary) -> Session:
    """The session has ended, and its summary is on the way."""
    found = await store.find(tx, scope, session_id)
    if found is None:
        raise NotFound("session")
    owner = found[1]
    await hold_person(tx, owner)
    locked = await store.lock(tx, owner, session_id)
    if locked is None:
        raise NotFound("session")
    session = locked[0]
    if session.ended_at is None:
        ended_at, by = ending_by_request(session, tx.now, boundary)
        await store.end(tx, owner, session_id, ended_at, by)
        await enqueue(tx, owner, CLOSE, session_id)
        session = replace(session, ended_at=ended_at, ended_by=by)
    return replace(session, user_name=found[0].user_name)


def kinds(basement: Basement) -> tuple[Kind, ...]:
    """The work this file does."""

    async def run(attempt: Attempt) -> None:
        await _close(basement, attempt)

    retry = Retry(max_attempts=basement.settings.max_attempts)
    limit = time_for_model_calls(basement.settings.model_timeout_s)
    return (Kind(name=CLOSE, run=run, retry=retry, time_limit=limit),)


async def _close(basement: Basement, attempt: Attempt) -> None:
    boundary = boundary_of(basement.settings)
    async with basement.db.tx(attempt.scope.org_id) as tx:
        found = await store.find(tx, attempt.scope, attempt.key)
        forgettings = None if found is None else await hold_person(tx, found[1])
        await attempt.hold(tx)
        ended = await _mark(tx, attempt, boundary)
        if ended is None:
            return
        session, scope, seq = ended
        said = await _said(tx, scope, session.id)
    summary, by = await _summary(basement, session, said)
    async with basement.db.tx(scope.org_id) as tx:
        same = await hold_person(tx, scope) == forgettings
        await attempt.hold(tx)
        if not same:  # something was forgotten while the model worked, and the summary may hold it
            await attempt.repeat(tx, after=timedelta(0))
            return
        sources = [one.message_id for one in said]
        await store.summarize(tx, scope, session.id, summary, seq=seq, by=by, sources=sources)
        await attempt.settle(tx)


async def _mark(tx: Tx, attempt: Attempt, boundary: Boundary) -> tuple[Session, Scope, int] | None:
    """The session, ended, with the place its summary should reach to; None when nothing is to be summarized now."""
    found = await store.find(tx, attempt.scope, attempt.key)
    locked = None if found is None else await store.lock(tx, found[1], attempt.key)
    if found is None or locked is None:
        await attempt.settle(tx)
        return None
    session, seq, summarized = locked
    if session.ended_at is None and not has_ended(session, tx.now, boundary):
        await attempt.repeat(tx, after=end_of(session, boundary) - tx.now)
        return None
    if session.ended_at is None:
        await store.end(tx, found[1], session.id, end_of(session, boundary), EndedBy.IDLE)
    if summarized >= seq:
        await attempt.settle(tx)
        return None
    return session, found[1], seq


async def _said(tx: Tx, scope: Scope, session_id: str) -> list[Said]:
    return list(await messages.recent(tx, scope, session_id, most=_MOST_MESSAGES))


async def _summary(basement: Basement, session: Session, said: list[Said]) -> tuple[SessionSummary, str]:
    model = basement.reflector
    summary = await shaped(
        model,
        SessionSummary,
        system=SYSTEM,
        prompt=f"The session began {session.started_at:%Y-%m-%d %H:%M} UTC.\n\n"
        + verbatim("conversation", transcript(said)),
        purpose=Purpose.SUMMARY,
        by_rule=lambda: summarize_by_rule(said),
    )
    return summary.bounded(), model.name
