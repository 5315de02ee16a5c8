"""The end of a session: mark it ended when it went idle or was closed, then summarize it with one model call."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import structlog

from mnemon.db.tx import Tx
from mnemon.errors import NotFound
from mnemon.event_loop import run_off_loop
from mnemon.jobs.kind import Attempt, JobKind, model_time_limit
from mnemon.jobs.store import enqueue_work
from mnemon.jobs.work import WorkRetryPolicy
from mnemon.llm.protocol import Purpose
from mnemon.llm.structured_answer import request_structured_answer
from mnemon.scope import Scope
from mnemon.services import Services
from mnemon.sessions import messages, store
from mnemon.sessions.boundary import SessionBoundary, boundary_from_settings, ending_by_request, has_ended, session_end
from mnemon.sessions.people import external_name, lock_person
from mnemon.sessions.record import CLOSE_SESSION
from mnemon.sessions.session import EndedBy, Session
from mnemon.sessions.summary import (
    SUMMARY_PROMPT,
    SUMMARY_SCHEMA,
    SessionSummary,
    format_transcript,
    keep_supported_lines,
    summarize_by_rule,
)
from mnemon.turn import TurnMessage
from mnemon.untrusted_text import quote_verbatim

log = structlog.get_logger(__name__)
_MOST_MESSAGES = 400
"""The number of messages, the latest ones, that a session summary is made from."""


async def close_session(tx: Tx, scope: Scope, session_id: str, boundary: SessionBoundary) -> Session:
    """End the session if it is running and queue its summary; return the session.

    Raises NotFound when there is no such session.
    """
    found = await store.find_session(tx, scope, session_id)
    if found is None:
        raise NotFound("session")
    owner = found[1]
    # The lock order (ARCHITECTURE.md): the person's row before the session's and before any work.
    await lock_person(tx, owner)
    locked = await store.lock_session(tx, owner, session_id)
    if locked is None:
        raise NotFound("session")
    session = locked[0]
    if session.ended_at is None:
        ended_at, by = ending_by_request(session, tx.now, boundary)
        await store.end_session(tx, owner, session_id, ended_at, by)
        await enqueue_work(tx, owner, CLOSE_SESSION, session_id)
        session = replace(session, ended_at=ended_at, ended_by=by)
    return replace(session, user_name=found[0].user_name)


def job_kinds(services: Services) -> tuple[JobKind, ...]:
    """Return the kind of job that ends sessions and summarizes them."""

    async def run(attempt: Attempt) -> None:
        """Close and summarize the session whose id is the work's key."""
        await _close_and_summarize(services, attempt)

    retry = WorkRetryPolicy(max_attempts=services.settings.max_attempts)
    limit = model_time_limit(services.settings.model_timeout_s)
    return (JobKind(name=CLOSE_SESSION, run=run, retry=retry, time_limit=limit),)


async def _close_and_summarize(services: Services, attempt: Attempt) -> None:
    """Mark the session as ended, summarize it with a model, and store the summary, in two transactions."""
    boundary = boundary_from_settings(services.settings)
    async with services.db.tx(attempt.scope.org_id) as tx:
        found = await store.find_session(tx, attempt.scope, attempt.key)
        # Read with the lock, compared after the model call: it tells whether anything was forgotten meanwhile.
        forgettings = None if found is None else await lock_person(tx, found[1])
        await attempt.lock_work(tx)
        ended = await _mark_ended(tx, attempt, boundary)
        if ended is None:
            return
        session, scope, seq = ended
        conversation = await messages.list_recent_messages(tx, scope, session.id, most=_MOST_MESSAGES)
        name = await external_name(tx, scope) or ""
    # Between the two transactions: a model call takes seconds, and no row may stay locked for that long.
    summary, by = await _make_summary(services, session, conversation, name)
    async with services.db.tx(scope.org_id) as tx:
        unchanged = await lock_person(tx, scope) == forgettings
        await attempt.lock_work(tx)
        if not unchanged:  # something was forgotten while the model worked, and the summary may hold it
            await attempt.repeat(tx, after=timedelta(0))
            return
        sources = [one.message_id for one in conversation]
        await store.store_summary(tx, scope, session.id, summary, seq=seq, by=by, sources=sources)
        await attempt.settle(tx)


async def _mark_ended(tx: Tx, attempt: Attempt, boundary: SessionBoundary) -> tuple[Session, Scope, int] | None:
    """End the session; return it with its scope and the `seq` to summarize up to, None if there is nothing to do.

    None when there is nothing to summarize now: no such session, not over yet, or summarized already. The attempt is
    then settled, or, for a session not over yet, repeated when it may end.
    """
    found = await store.find_session(tx, attempt.scope, attempt.key)
    locked = None if found is None else await store.lock_session(tx, found[1], attempt.key)
    if found is None or locked is None:
        await attempt.settle(tx)
        return None
    session, seq, summarized = locked
    if session.ended_at is None and not has_ended(session, tx.now, boundary):
        # The job is queued when the session begins; every turn since then has moved the end.
        await attempt.repeat(tx, after=session_end(session, boundary) - tx.now)
        return None
    if session.ended_at is None:
        await store.end_session(tx, found[1], session.id, session_end(session, boundary), EndedBy.IDLE)
    if summarized >= seq:
        await attempt.settle(tx)
        return None
    return session, found[1], seq


async def _make_summary(
    services: Services, session: Session, conversation: Sequence[TurnMessage], name: str
) -> tuple[SessionSummary, str]:
    """Return a session's summary, by the model or by rule, with the model's name; `name` is the person's."""
    model = services.reflector
    summary = await request_structured_answer(
        model,
        SessionSummary,
        schema=SUMMARY_SCHEMA,
        system=SUMMARY_PROMPT,
        prompt=f"The session began {session.started_at:%Y-%m-%d %H:%M} UTC.\n\n"
        + quote_verbatim("conversation", format_transcript(conversation)),
        purpose=Purpose.SUMMARY,
        by_rule=lambda: summarize_by_rule(conversation),
    )
    limited = summary.with_limits()
    size = sum(len(said.content) for said in conversation)
    checked, faults = await run_off_loop(
        size, lambda: keep_supported_lines(limited, conversation, name, session.started_at)
    )
    if faults:
        log.warning(
            "summary_lines_rejected",
            session=session.id,
            model=model.name,
            lines=len(faults),
            next_step="No action needed: the summary was kept without lines that the conversation does not say.",
        )
    return checked, model.name
