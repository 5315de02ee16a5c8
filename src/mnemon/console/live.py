"""Live updates by server-sent events: a page subscribes to a topic and reloads when its version changes.

A topic's version is a short text that differs whenever what the page shows may differ. Its hash is the event's id, so
that a browser that reconnects with the last id it saw learns at once whether it missed a change.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from hashlib import sha256

from fastapi import APIRouter, Request, Response
from starlette.responses import StreamingResponse

from mnemon.access import signin
from mnemon.access.grants import Grant
from mnemon.access.keys import server_stops
from mnemon.console.page_request import PageRequest, admit_request
from mnemon.db.tx import Tx
from mnemon.errors import MnemonError, NotAllowed, NotFound, Unauthenticated, Unavailable
from mnemon.jobs import store as jobs
from mnemon.scope import Scope

router = APIRouter(include_in_schema=False)
POLL_INTERVAL_S = 1.0
KEEPALIVE_POLLS = 15

VersionQuery = Callable[[Tx, Scope, str], Awaitable[str]]
_topics: dict[str, tuple[VersionQuery, Grant]] = {}


def live_topic(topic: str, *, grant: Grant) -> Callable[[VersionQuery], VersionQuery]:
    """Return a decorator: its function gives the version of a topic that pages watch; readers need the grant."""

    def register_topic(function: VersionQuery) -> VersionQuery:
        """Add the function to the topics and return it unchanged."""
        _topics[topic] = (function, grant)
        return function

    return register_topic


def topic_names() -> frozenset[str]:
    """Return the names of all topics that pages can subscribe to."""
    return frozenset(_topics)


@live_topic("jobs", grant=Grant.JOBS)
async def _jobs_version(tx: Tx, scope: Scope, argument: str) -> str:
    """Return a text that changes when a job does; a new one reloads the page of jobs."""
    found = await jobs.list_jobs(tx, scope, most=200)
    return "|".join(f"{job.id}{job.status}{job.attempts}" for job in found)


@router.get("/live")
async def live(request: Request, topic: str = "") -> Response:
    """Stream a `changed` event whenever the topic's page should reload, until session, key or server end."""
    visit = await admit_request(request)
    name, _, argument = topic.partition(":")
    if name not in _topics:
        raise NotFound("topic", detail=f"Name one of these as `?topic=`: {', '.join(sorted(_topics))}.")
    version_query, grant = _topics[name]
    visit.require_grant(grant)
    seen = request.headers.get("Last-Event-ID", "")
    return StreamingResponse(
        _stream_changes(visit, version_query, grant, argument, seen), media_type="text/event-stream"
    )


async def _stream_changes(
    visit: PageRequest, version_query: VersionQuery, grant: Grant, argument: str, seen: str
) -> AsyncIterator[str]:
    """Yield a `changed` event whenever the topic's version changes, until the session or the server ends."""
    # Tells the browser to reconnect one second after the stream breaks.
    yield "retry: 1000\n\n"
    quiet = 0
    closing: asyncio.Event = visit.request.app.state.closing
    while not closing.is_set():
        try:
            now = await _version_digest(visit, version_query, grant, argument)
        except (Unauthenticated, NotAllowed) as error:
            yield _end_event(error)
            return
        if now is not None and now != seen:
            # A page without a last id has just been loaded: tell it the version, but do not make it reload.
            kind = "changed" if seen else "standing"
            seen, quiet = now, 0
            yield f"event: {kind}\nid: {now}\ndata: \n\n"
        quiet += 1
        if quiet % KEEPALIVE_POLLS == 0:
            # A comment, which browsers ignore: proxies close streams that stay silent.
            yield ": still here\n\n"
        with suppress(TimeoutError):
            async with asyncio.timeout(POLL_INTERVAL_S):
                await closing.wait()
    yield _end_event(server_stops())


def _end_event(error: MnemonError) -> str:
    """Return the Server-Sent Event that tells the page why the stream ends."""
    return f"event: error\ndata: {json.dumps({'code': error.code, 'detail': error.detail})}\n\n"


async def _version_digest(visit: PageRequest, version_query: VersionQuery, grant: Grant, argument: str) -> str | None:
    """Return the hash of the topic's version, for the event id; None while the database is down.

    Authenticates the session each time and raises when it has ended or lost the grant.
    """
    try:
        async with visit.tx() as tx:
            # Each time: a session that was closed, or whose key was revoked, must stop hearing.
            visit.principal = await signin.authenticate_session(tx, visit.org_scope, visit.secret)
            visit.require_grant(grant)
            return sha256((await version_query(tx, visit.org_scope, argument)).encode()).hexdigest()[:16]
    except Unavailable:
        return None
