"""Connections within bounds: how many there are, how large a request's head is, and how slow a client may be.

uvicorn closes a connection that is idle between two requests and bounds nothing else: who opens one and sends half a
request keeps it for ever. So its protocol (httptools) is given timers here. A connection is in one of these phases:

    head    a request's head is awaited: after accepting, and between requests     closed when late
    body    the head is there, the body is coming: 64 KB in every period           408 when slower
    answer  the whole request is there, the application has it                     no bound of ours
    unread  the answer is written faster than the client reads it                  cut off when late
    drain   answered while the body is still coming, which is read and dropped     cut off when late or too large
    linger  the same, and nothing further will be said                             cut off when late or too large

Closing a socket that holds unread bytes of the client's resets the connection, and the client loses the answer that it
has not read yet. Hence the last two: a client that sends first and reads then still learns why it was refused.
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
"""Bytes of a body that come within each period, if there are so many."""
_MAX_URL_BYTES = 65_535
"""Bytes of an address that httptools takes apart; it counts them in 16 bits."""
_MAX_TOLD_REFUSALS = 100
"""Connections beyond the bound that are still told 503; further ones are closed without a word."""
_RETRY_AFTER_S = 2


@dataclass(frozen=True, kw_only=True)
class ConnectionLimits:
    """What one server allows, and which of its connections wait for a request, longest first."""

    timeout_s: float
    most: int
    most_dropped: int
    """Bytes that are read and dropped of a request that is answered already."""
    clock: Clock
    silent: "OrderedDict[BoundedProtocol, None]" = field(default_factory=OrderedDict)
    """Those in the phase `head` that have not brought one whole request yet: the first to make room."""
    idle: "OrderedDict[BoundedProtocol, None]" = field(default_factory=OrderedDict)
    """Those between two requests. A client may be sending its next one on it just now."""


def protocol_class(bounds: ConnectionLimits) -> "type[BoundedProtocol]":
    """The protocol for a server with these bounds, as uvicorn takes it: a class."""
    return type("ProtocolWithinBounds", (BoundedProtocol,), {"bounds": bounds, "uvicorn_log": _uvicorn_log()})


def _uvicorn_log() -> logging.Logger:
    """uvicorn's logger without its line about what is no request: ours, `connection_refused`, tells that with an id."""
    # One of the protocol's own, since a filter on the shared logger would outlive the server.
    own = logging.Logger("uvicorn.error")  # noqa: LOG001
    own.parent = logging.getLogger("uvicorn.error")
    own.addFilter(lambda record: record.msg != "Invalid HTTP request received.")
    return own


class BoundedProtocol(HttpToolsProtocol):
    """One connection, closed when its client is too slow or there is no room for it."""

    bounds: ConnectionLimits
    uvicorn_log: logging.Logger

    def __init__(self, *args: Any, **options: Any) -> None:
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
        self.url = b""  # uvicorn sets it when a request's first byte is read; what is refused may not have one

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self.bounds.most:
            self._make_room()
        if not transport.is_closing():
            self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        if self._unread is not None:
            self._unread.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._is_dropping():
            self._dropped += len(data)
            if self._dropped > self.bounds.most_dropped:
                self.abort_connection("large_body")
                return
        if self._lingers:
            return
        if self._is_idle():
            self._await_head()
        self._head_bytes += len(data)
        super().data_received(data)
        if self in self._waiting_list and self._head_bytes > MAX_HEAD_BYTES and not self._is_dropping():
            self._refuse_head()

    def send_400_response(self, msg: str) -> None:
        """Refuse what the parser does not take; uvicorn calls this."""
        cycle = self._last_cycle
        if cycle is not None and cycle.response_started and (self._body_expected or not cycle.response_complete):
            self.abort_connection("bad_request")  # an answer is on the wire already
        elif len(self.url) > _MAX_URL_BYTES or self._head_is_large():
            self._refuse_head()
        else:
            self._refuse(400, "This is not a request in HTTP/1.1. Check what the client sends.", why="bad_request")
            self._start_lingering()

    def on_headers_complete(self) -> None:
        if self._head_is_large():
            raise OverflowError  # httptools passes it on as a parser's error, and `send_400_response` is called
        self._stop_waiting()  # before it counts as one that has asked: that is another list
        self._asked = True
        self._body_bytes = 0
        self._dropped = 0
        self._start_timer(self._check_body)
        super().on_headers_complete()  # raises for an address that cannot be read: there is no request then
        self._body_expected = True
        self.cycle.transport = cast("asyncio.Transport", _CycleTransport(self))

    def on_body(self, body: bytes) -> None:
        self._body_bytes += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        answered = self._is_answered()  # before the body was there: a refusal
        self._body_expected = False
        super().on_message_complete()
        if answered:
            self._await_head()
        else:
            self._stop_waiting()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._lingers:
            self._unset_keepalive_if_required()
        elif self.timeout_keep_alive_task is not None:
            self._stop_waiting()
            self._waiting_list[self] = None  # uvicorn's own timer runs until the next byte
            if self._body_expected:
                self._start_timer(lambda: self.abort_connection("slow_body"))

    def close_when_read(self) -> None:
        """Close, but not before the client has sent its body and can read what it was told."""
        if self._body_expected:
            self._start_lingering()
        else:
            self.transport.close()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread = self.loop.call_later(self.bounds.timeout_s, self.abort_connection, "slow_reader")

    def resume_writing(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None
        super().resume_writing()

    @property
    def _waiting_list(self) -> "OrderedDict[BoundedProtocol, None]":
        return self.bounds.idle if self._asked else self.bounds.silent

    def _is_idle(self) -> bool:
        """Whether the next byte is the first of another request."""
        return self._asked and self._is_answered() and self._timer is None

    @property
    def _last_cycle(self) -> RequestResponseCycle | None:
        """The last request and its answer; None before the first, which uvicorn's types do not know."""
        return cast("RequestResponseCycle | None", self.cycle)

    def _is_answered(self) -> bool:
        """Whether the last request that came has been answered in full."""
        return self._last_cycle is not None and self._last_cycle.response_complete

    def _is_dropping(self) -> bool:
        """Whether what comes is of no use: we said our last word, or it is the body of an answered request."""
        return self._lingers or (self._body_expected and self._is_answered())

    def _start_lingering(self) -> None:
        """Say that nothing follows, and drop what comes until the client has closed, too."""
        self._stop_waiting()
        self._lingers = True
        self._waiting_list[self] = None  # it may make room for others
        self._start_timer(lambda: self.abort_connection("slow_body"))
        self.flow.resume_reading()
        if self._last_cycle is not None and not self._is_answered():
            self._last_cycle.disconnected = True  # the application's own answer has nowhere to go
            self._last_cycle.message_event.set()
        self.transport.write_eof()

    def _await_head(self) -> None:
        self._head_bytes = 0
        self._waiting_list.pop(self, None)
        self._waiting_list[self] = None
        self._start_timer(self._on_head_timeout)

    def _on_head_timeout(self) -> None:
        if self._head_bytes:
            self._refuse(408, "The request's head did not come in time. Send the request again.", why="slow_head")
            self.transport.close()
        else:
            self.abort_connection("slow_head")

    def _check_body(self) -> None:
        """The body has come far enough since the last look, or waits for us; else the request is given up."""
        if self._body_bytes >= _MIN_BODY_BYTES or self.flow.read_paused:
            self._body_bytes = 0
            self._start_timer(self._check_body)
        elif self.cycle.response_started:
            self.abort_connection("slow_body")
        else:
            self._refuse(408, "The request's body did not come in time. Send the request again.", why="slow_body")
            self.transport.close()

    def _make_room(self) -> None:
        """Close the connection that has waited longest for a request; if none waits, refuse this one."""
        if waiting := self.bounds.silent or self.bounds.idle:
            longest, _ = waiting.popitem(last=False)
            longest.abort_connection("made_room")
        elif len(self.connections) <= self.bounds.most + _MAX_TOLD_REFUSALS:
            CONNECTIONS_CLOSED.labels("refused").inc()
            self.app = _busy_app(self.bounds.clock)
        else:
            self.abort_connection("refused")

    def _start_timer(self, late: Callable[[], None]) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self.loop.call_later(self.bounds.timeout_s, late)

    def _stop_waiting(self) -> None:
        self._waiting_list.pop(self, None)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _head_is_large(self) -> bool:
        """Whether the head that was just parsed is too large, though it may have come in one piece."""
        headers = getattr(self, "headers", ())  # uvicorn sets them when a request's first byte is read
        return len(self.url) + sum(len(name) + len(value) + 4 for name, value in headers) > MAX_HEAD_BYTES

    def _refuse_head(self) -> None:
        said = "The request's head is larger than 64 KB. Send less in its address and headers."
        self._refuse(431, said, why="large_head")
        self._start_lingering()

    def _refuse(self, status: int, detail: str, *, why: str) -> None:
        """Say why on the wire, where nothing has been said yet; the caller then closes."""
        CONNECTIONS_CLOSED.labels(why).inc()
        self._stop_waiting()
        request_id = new_id("req", self.bounds.clock.now())
        log.info("connection_refused", request_id=request_id, status=status, code=why)
        response = problem(request_id, status, detail, why)
        response.headers["x-request-id"] = request_id
        response.headers["connection"] = "close"
        first = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}".encode()
        lines = [first, *(b": ".join(one) for one in response.raw_headers)]
        self.transport.write(b"\r\n".join([*lines, b"", bytes(response.body)]))

    def abort_connection(self, why: str) -> None:
        """Cut the connection without waiting for what is unsent: its client may never read it."""
        CONNECTIONS_CLOSED.labels(why).inc()
        self._stop_waiting()
        self.transport.abort()


class _CycleTransport:
    """The transport as uvicorn's cycle of request and answer uses it; it closes when the client can have read."""

    def __init__(self, protocol: BoundedProtocol) -> None:
        self._protocol = protocol
        self.write = protocol.transport.write
        self.is_closing = protocol.transport.is_closing

    def close(self) -> None:
        self._protocol.close_when_read()


def _busy_app(clock: Clock) -> ASGIApp:
    """The application for a connection too many."""

    async def refuse_connection(scope: Scope, receive: Receive, send: Send) -> None:
        detail = f"The server has as many connections as it takes. Try again in {_RETRY_AFTER_S} s."
        request_id = new_id("req", clock.now())
        response = problem(request_id, 503, detail, "too_many_connections", retry_after=_RETRY_AFTER_S)
        response.headers["connection"] = "close"
        response.headers["x-request-id"] = request_id
        await response(scope, receive, send)

    return refuse_connection


def allow_open_files(wanted: int) -> None:
    """Raise the limit on open files to so many, as far as the system lets us: each connection is one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, most), hard))
