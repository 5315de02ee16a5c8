"""Limits on connections: how many there are, how large a request's head is, and how slow a client may be.

uvicorn closes a connection that is idle between two requests and limits nothing else: a client that opens one and
sends half a request keeps it for ever. So its protocol (httptools) gets timers here. A connection is in one of these
phases:

    head    a request's head is awaited: after accepting, and between requests     closed when late
    body    the head is complete, the body is arriving: 64 KB in every period      408 when slower
    answer  the request is complete and the application has it                     no limit here
    unread  the response is written faster than the client reads it                aborted when late
    drain   answered while the body still arrives, which is read and dropped       aborted when late or too large
    linger  the same, and no further response will be sent                         aborted when late or too large

Closing a socket that holds unread bytes from the client resets the connection, and the client loses the response that
it has not read yet. Hence the last two: a client that sends first and reads later still learns why it was refused.
"""

import asyncio
import logging
import resource
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, cast

import structlog
from prometheus_client import Counter
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from mnemon.api.problems import problem
from mnemon.clock import Clock
from mnemon.scope import new_id

log = structlog.get_logger(__name__)

CONNECTIONS_CLOSED = Counter(
    "mnemon_connections_closed", "Connections closed because they were out of bounds.", ("why",)
)
MAX_HEAD_BYTES = 64 * 1024
"""Bytes of a request's line and headers; more than any client sends, and what uvicorn's other protocol allows."""
_MIN_BODY_BYTES = 64 * 1024
"""Bytes of a body that must arrive within each period, unless fewer are left."""
_MAX_URL_BYTES = 65_535
"""Bytes of a URL that httptools can parse; it counts them in 16 bits."""
_MAX_TOLD_REFUSALS = 100
"""Connections above the limit that are still answered with 503; further ones are closed without a response."""
_RETRY_AFTER_S = 2


@dataclass(frozen=True, kw_only=True)
class ConnectionLimits:
    """The limits of one server, and its connections that wait for a request, longest first."""

    timeout_s: float
    most: int
    most_dropped: int
    """Bytes that are read and dropped of a request that has been answered."""
    clock: Clock
    silent: "OrderedDict[BoundedProtocol, None]" = field(default_factory=OrderedDict)
    """Connections in the phase `head` without one complete request so far: the first to be closed for others."""
    idle: "OrderedDict[BoundedProtocol, None]" = field(default_factory=OrderedDict)
    """Connections between two requests; closed last, since the client may be sending the next one just now."""


def protocol_class(bounds: ConnectionLimits) -> "type[BoundedProtocol]":
    """Return a subclass of the HTTP protocol with these limits; uvicorn takes a class, not an instance."""
    return type("ProtocolWithinBounds", (BoundedProtocol,), {"bounds": bounds, "uvicorn_log": _uvicorn_log()})


def _uvicorn_log() -> logging.Logger:
    """Return uvicorn's logger without its line about invalid requests; `connection_refused` reports them with an id."""
    # One of the protocol's own, since a filter on the shared logger would outlive the server.
    own = logging.Logger("uvicorn.error")  # noqa: LOG001
    own.parent = logging.getLogger("uvicorn.error")
    own.addFilter(lambda record: record.msg != "Invalid HTTP request received.")
    return own


class BoundedProtocol(HttpToolsProtocol):
    """One connection, closed when its client is too slow or the server has too many."""

    bounds: ConnectionLimits
    uvicorn_log: logging.Logger

    def __init__(self, *args: Any, **options: Any) -> None:
        """Start with no request and no timer running."""
        super().__init__(*args, **options)
        self.logger = self.uvicorn_log
        self._timer: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None
        self._asked = False
        self._body_expected = False
        self._lingers = False
        self._head_bytes = 0
        self._body_bytes = 0
        self._dropped = 0
        # uvicorn sets the address at a request's first byte; a refused one may lack it.
        self.url = b""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start waiting for the connection's first request; answer 503 if there are too many connections."""
        super().connection_made(transport)
        if len(self.connections) > self.bounds.most:
            self._make_room()
        # `_make_room` may have closed this very connection.
        if not transport.is_closing():
            self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the connection's timers and take it off the lists of waiting connections."""
        self._stop_waiting()
        if self._unread is not None:
            self._unread.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse arriving bytes up to the limit on a request's head; drop them once the request is answered."""
        if self._is_dropping():
            self._dropped += len(data)
            if self._dropped > self.bounds.most_dropped:
                self.abort_connection("large_body")
                return
        if self._lingers:
            return
        if self._is_idle():
            self._wait_for_head()
        self._head_bytes += len(data)
        super().data_received(data)
        if self in self._waiting_list and self._head_bytes > MAX_HEAD_BYTES and not self._is_dropping():
            self._refuse_head()

    def send_400_response(self, msg: str) -> None:
        """Refuse a request that the parser rejects, or whose head is too large; uvicorn calls this."""
        cycle = self._last_cycle
        if cycle is not None and cycle.response_started and (self._body_expected or not cycle.response_complete):
            # A response has begun, so none can be written.
            self.abort_connection("bad_request")
        elif len(self.url) > _MAX_URL_BYTES or self._head_is_large():
            self._refuse_head()
        else:
            detail = "This is no valid HTTP/1.1, which has one Host, and no HTTP/1.0. Check what the client sends."
            self._refuse(400, detail, why="bad_request")
            self._start_lingering()

    def on_headers_complete(self) -> None:
        """Start the timer for the request's body; a head that is refused is handled as a parser error."""
        if self._head_is_large() or not self._head_is_valid():
            # httptools passes it on as a parser's error, and `send_400_response` is called.
            raise OverflowError
        # Before `_asked` is set: it decides which list the connection is in.
        self._stop_waiting()
        self._asked = True
        self._body_bytes = 0
        self._dropped = 0
        self._start_timer(self._check_body)
        # This raises for an address that cannot be read: there is no request then.
        super().on_headers_complete()
        self._body_expected = True
        self.cycle.transport = cast("asyncio.Transport", _CycleTransport(self))

    def on_body(self, body: bytes) -> None:
        """Count the bytes of the request's body for the check of its minimum rate."""
        self._body_bytes += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Stop the timer for the request's body; if the response came before its end, wait for the next request."""
        answered = self._is_answered()  # before the body was there: a refusal
        self._body_expected = False
        super().on_message_complete()
        if answered:
            self._wait_for_head()
        else:
            self._stop_waiting()

    def on_response_complete(self) -> None:
        """Wait for the next request; if this one's body is still arriving, limit the time it may take."""
        super().on_response_complete()
        if self._lingers:
            self._unset_keepalive_if_required()
        elif self.timeout_keep_alive_task is not None:
            self._stop_waiting()
            self._waiting_list[self] = None  # uvicorn's own timer runs until the next byte
            if self._body_expected:
                self._start_timer(lambda: self.abort_connection("slow_body"))

    def close_when_read(self) -> None:
        """Close the connection, but not before the client has sent its body and can read the response."""
        if self._body_expected:
            self._start_lingering()
        else:
            self.transport.close()

    def pause_writing(self) -> None:
        """Start the timer for a client that does not read its response."""
        super().pause_writing()
        self._unread = self.loop.call_later(self.bounds.timeout_s, self.abort_connection, "slow_reader")

    def resume_writing(self) -> None:
        """Cancel the timer for a client that does not read its response."""
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None
        super().resume_writing()

    @property
    def _waiting_list(self) -> "OrderedDict[BoundedProtocol, None]":
        """Return the server's list that this connection waits in: `silent` before its first request, `idle` after."""
        return self.bounds.idle if self._asked else self.bounds.silent

    def _is_idle(self) -> bool:
        """Say whether the connection is between requests, so that the next byte begins one."""
        return self._asked and self._is_answered() and self._timer is None

    @property
    def _last_cycle(self) -> RequestResponseCycle | None:
        """Return the connection's last request with its response; None before the first, unlike uvicorn's types say."""
        return cast("RequestResponseCycle | None", self.cycle)

    def _is_answered(self) -> bool:
        """Say whether the connection's last request has been answered in full."""
        return self._last_cycle is not None and self._last_cycle.response_complete

    def _is_dropping(self) -> bool:
        """Say whether arriving bytes are dropped: the connection is closing, or their request is answered."""
        return self._lingers or (self._body_expected and self._is_answered())

    def _start_lingering(self) -> None:
        """Close the connection's sending side and drop what arrives until the client closes as well."""
        self._stop_waiting()
        self._lingers = True
        self._waiting_list[self] = None  # it may be closed to make room
        self._start_timer(lambda: self.abort_connection("slow_body"))
        # While reading is paused the bytes stay in the socket, and closing it would reset the connection.
        self.flow.resume_reading()
        if self._last_cycle is not None and not self._is_answered():
            # The application's response can no longer be sent.
            self._last_cycle.disconnected = True
            self._last_cycle.message_event.set()
        # Half a close: the client sees the end of the response and can still send the rest of its request.
        self.transport.write_eof()

    def _wait_for_head(self) -> None:
        """Add the connection to those that wait for a request, and start the timer for the request's head."""
        self._head_bytes = 0
        self._waiting_list.pop(self, None)
        self._waiting_list[self] = None
        self._start_timer(self._on_head_timeout)

    def _on_head_timeout(self) -> None:
        """Answer 408 and close where part of a request's head came; abort an idle connection."""
        if self._head_bytes:
            self._refuse(408, "The request's head did not come in time. Send the request again.", why="slow_head")
            self.transport.close()
        else:
            self.abort_connection("slow_head")

    def _check_body(self) -> None:
        """Keep waiting if enough of the body arrived or reading is paused; otherwise refuse the request."""
        # uvicorn pauses reading while the application is slow to take the body: that is not the client's fault.
        if self._body_bytes >= _MIN_BODY_BYTES or self.flow.read_paused:
            self._body_bytes = 0
            self._start_timer(self._check_body)
        elif self.cycle.response_started:
            self.abort_connection("slow_body")
        else:
            self._refuse(408, "The request's body did not come in time. Send the request again.", why="slow_body")
            self.transport.close()

    def _make_room(self) -> None:
        """Close the connection that has waited longest for a request; if none waits, answer this one 503."""
        if waiting := self.bounds.silent or self.bounds.idle:
            longest, _ = waiting.popitem(last=False)
            longest.abort_connection("made_room")
        elif len(self.connections) <= self.bounds.most + _MAX_TOLD_REFUSALS:
            CONNECTIONS_CLOSED.labels("refused").inc()
            # Read and then answered 503, so that the client learns why.
            self.app = _busy_app(self.bounds.clock)
        else:
            self.abort_connection("refused")

    def _start_timer(self, late: Callable[[], None]) -> None:
        """Call `late` after the timeout, in place of the timer that runs."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self.loop.call_later(self.bounds.timeout_s, late)

    def _stop_waiting(self) -> None:
        """Take the connection off the waiting lists and stop its timer."""
        self._waiting_list.pop(self, None)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _head_is_large(self) -> bool:
        """Say whether the request head just parsed exceeds the limit, even if it came in one piece."""
        # uvicorn sets them when a request's first byte is read.
        headers = getattr(self, "headers", ())
        return len(self.url) + sum(len(name) + len(value) + 4 for name, value in headers) > MAX_HEAD_BYTES

    def _head_is_valid(self) -> bool:
        """Say whether the head just parsed is HTTP/1.0, or HTTP/1.1 with the one Host that RFC 9112 demands.

        httptools lets `HTTP/2.0` pass, and leaves the headers to the server.
        """
        hosts = sum(name == b"host" for name, _ in self.headers)
        return {"1.0": hosts <= 1, "1.1": hosts == 1}.get(self.parser.get_http_version(), False)

    def _refuse_head(self) -> None:
        """Answer 431 for a head over 64 KB, and drop what the client still sends."""
        detail = "The request's head is larger than 64 KB. Send less in its address and headers."
        self._refuse(431, detail, why="large_head")
        self._start_lingering()

    def _refuse(self, status: int, detail: str, *, why: str) -> None:
        """Log the refusal and write a problem as the response, which must not have begun; the caller then closes."""
        CONNECTIONS_CLOSED.labels(why).inc()
        self._stop_waiting()
        request_id = new_id("req", self.bounds.clock.now())
        log.info("connection_refused", request_id=request_id, status=status, code=why)
        response = problem(request_id, status, detail, why)
        response.headers["x-request-id"] = request_id
        response.headers["connection"] = "close"
        # Written by hand: a refused request may have no cycle that uvicorn could respond through.
        first = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}".encode()
        lines = [first, *(b": ".join(one) for one in response.raw_headers)]
        self.transport.write(b"\r\n".join([*lines, b"", bytes(response.body)]))

    def abort_connection(self, why: str) -> None:
        """Abort the connection without sending what is buffered: its client may never read it."""
        CONNECTIONS_CLOSED.labels(why).inc()
        self._stop_waiting()
        self.transport.abort()


class _CycleTransport:
    """The transport that uvicorn's request cycle uses; its close waits until the client can have read the response."""

    def __init__(self, protocol: BoundedProtocol) -> None:
        """Pass writes straight to the connection's transport; only `close` differs."""
        self._protocol = protocol
        self.write = protocol.transport.write
        self.is_closing = protocol.transport.is_closing

    def close(self) -> None:
        """Close the connection once the client can have read the response."""
        self._protocol.close_when_read()


def _busy_app(clock: Clock) -> ASGIApp:
    """Return an application that answers every request with 503, for a connection above the limit."""

    async def refuse_connection(scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request 503 `too_many_connections` and have the connection closed."""
        detail = f"The server has as many connections as it takes. Try again in {_RETRY_AFTER_S} s."
        request_id = new_id("req", clock.now())
        response = problem(request_id, 503, detail, "too_many_connections", retry_after=_RETRY_AFTER_S)
        response.headers["connection"] = "close"
        response.headers["x-request-id"] = request_id
        await response(scope, receive, send)

    return refuse_connection


def allow_open_files(wanted: int) -> None:
    """Raise the process's limit on open files towards `wanted` as far as permitted: each connection needs one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, most), hard))
