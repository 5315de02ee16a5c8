"""Connections within bounds: how many there are, how large a request's head is, and how slow a client may be.

uvicorn closes a connection that is idle between two requests and bounds nothing else: who opens one and sends half a
request keeps it for ever. So its protocol (httptools) is given timers here. A connection is in one of four phases:

    head    a request's head is awaited: after accepting, and between requests     closed when late
    body    the head is there, the body is coming: 64 KB in every period           408 when slower
    answer  the whole request is there, the application has it                     no bound of ours
    unread  the answer is written faster than the client reads it                  cut off when late
"""

import asyncio
import resource
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from prometheus_client import Counter
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from mnemon.api.problems import problem
from mnemon.clock import Clock
from mnemon.ids import new_id

CLOSED = Counter("mnemon_connections_closed", "Connections closed because they were out of bounds.", ("why",))
LARGEST_HEAD = 64 * 1024
"""Bytes of a request's line and headers; more than any client sends, and what uvicorn's other protocol allows."""
_LEAST_BODY = 64 * 1024
"""Bytes of a body that come within each period, if there are so many."""
_REFUSED_BEYOND = 100
"""Connections beyond the bound that are still told 503; further ones are closed without a word."""
_RETRY_AFTER_S = 2


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """What one server allows, and which of its connections wait for a request, longest first."""

    timeout_s: float
    most: int
    clock: Clock
    silent: "OrderedDict[BoundedProtocol, None]" = field(default_factory=OrderedDict)
    """Those in the phase `head` that have not brought one whole request yet: the first to make room."""
    idle: "OrderedDict[BoundedProtocol, None]" = field(default_factory=OrderedDict)
    """Those between two requests. A client may be sending its next one on it just now."""


def protocol_within(bounds: Bounds) -> "type[BoundedProtocol]":
    """The protocol for a server with these bounds, as uvicorn takes it: a class."""
    return type("ProtocolWithinBounds", (BoundedProtocol,), {"bounds": bounds})


class BoundedProtocol(HttpToolsProtocol):
    """One connection, closed when its client is too slow or there is no room for it."""

    bounds: Bounds

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._timer: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None
        self._asked = False
        self._head_bytes = 0
        self._body_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self.bounds.most:
            self._make_room()
        if not transport.is_closing():
            self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._disarm()
        if self._unread is not None:
            self._unread.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._is_idle():
            self._await_head()
        self._head_bytes += len(data)
        super().data_received(data)
        if self in self._waiting and self._head_bytes > LARGEST_HEAD:
            self._refuse(431, "The request's head is larger than 64 KB. Send less in its address and headers.")

    def on_headers_complete(self) -> None:
        self._disarm()  # before it counts as one that has asked: that is another list
        self._asked = True
        self._body_bytes = 0
        self._arm(self._check_body)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._body_bytes += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        answered = self.cycle.response_complete  # before the body was there: a refusal
        super().on_message_complete()
        if answered:
            self._await_head()
        else:
            self._disarm()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.timeout_keep_alive_task is not None:
            self._disarm()
            self._waiting[self] = None  # uvicorn's own timer runs until the next byte

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread = self.loop.call_later(self.bounds.timeout_s, self.cut, "slow_reader")

    def resume_writing(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None
        super().resume_writing()

    @property
    def _waiting(self) -> "OrderedDict[BoundedProtocol, None]":
        return self.bounds.idle if self._asked else self.bounds.silent

    def _is_idle(self) -> bool:
        """Whether the next byte is the first of another request."""
        return self._asked and self.cycle.response_complete and self._timer is None

    def _await_head(self) -> None:
        self._head_bytes = 0
        self._waiting.pop(self, None)
        self._waiting[self] = None
        self._arm(self._late_head)

    def _late_head(self) -> None:
        if self._head_bytes:
            self._refuse(408, "The request's head did not come in time. Send the request again.", why="slow_head")
        else:
            self.cut("slow_head")

    def _check_body(self) -> None:
        """The body has come far enough since the last look, or waits for us; else the request is given up."""
        if self._body_bytes >= _LEAST_BODY or self.flow.read_paused:
            self._body_bytes = 0
            self._arm(self._check_body)
        elif self.cycle.response_started:
            self.cut("slow_body")
        else:
            self._refuse(408, "The request's body did not come in time. Send the request again.", why="slow_body")

    def _make_room(self) -> None:
        """Close the connection that has waited longest for a request; if none waits, refuse this one."""
        if waiting := self.bounds.silent or self.bounds.idle:
            longest, _ = waiting.popitem(last=False)
            longest.cut("made_room")
        elif len(self.connections) <= self.bounds.most + _REFUSED_BEYOND:
            CLOSED.labels("refused").inc()
            self.app = _busy(self.bounds.clock)
        else:
            self.cut("refused")

    def _arm(self, late: Callable[[], None]) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self.loop.call_later(self.bounds.timeout_s, late)

    def _disarm(self) -> None:
        self._waiting.pop(self, None)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _refuse(self, status: int, detail: str, *, why: str = "large_head") -> None:
        """Say why on the wire, where nothing has been said yet, and close."""
        CLOSED.labels(why).inc()
        self._disarm()
        response = problem(new_id("req", self.bounds.clock.now()), status, detail, why)
        first = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}".encode()
        lines = [first, *(b": ".join(one) for one in response.raw_headers)]
        self.transport.write(b"\r\n".join([*lines, b"connection: close", b"", bytes(response.body)]))
        self.transport.close()

    def cut(self, why: str) -> None:
        """Cut the connection without waiting for what is unsent: its client may never read it."""
        CLOSED.labels(why).inc()
        self._disarm()
        self.transport.abort()


def _busy(clock: Clock) -> ASGIApp:
    """The application for a connection too many."""

    async def refuse(scope: Scope, receive: Receive, send: Send) -> None:
        detail = f"The server has as many connections as it takes. Try again in {_RETRY_AFTER_S} s."
        request_id = new_id("req", clock.now())
        response = problem(request_id, 503, detail, "too_many_connections", retry_after=_RETRY_AFTER_S)
        response.headers["connection"] = "close"
        response.headers["x-request-id"] = request_id
        await response(scope, receive, send)

    return refuse


def allow_open_files(wanted: int) -> None:
    """Raise the limit on open files to so many, as far as the system lets us: each connection is one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, most), hard))
