"""The line that every request leaves in the log when it ends, and a warning where a key was refused or came too often.

Runs for every request, so its cost is counted in microseconds.
"""

import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from http import HTTPStatus
from ipaddress import ip_address

import structlog
from starlette.types import Message, Scope

log = structlog.get_logger(__name__)

PROBE_ROUTES = frozenset({"/healthz", "/readyz", "/metrics"})
"""Asked every few seconds by machines: their lines are for debugging."""
QUIET_SECONDS = 60.0
"""How long one who was refused and logged is only counted."""
_MAX_TRACKED = 1_000
_UNKNOWN = "unknown"


class LoggedRequest:
    """One request and what was answered, as its line will tell it."""

    def __init__(self, scope: Scope, started: float) -> None:
        self._scope = scope
        self._started = started
        self.status: int | None = None
        self._bytes = 0
        self._complete = False
        self._left = False

    @property
    def route(self) -> str:
        """The route's template: a path may hold the name of a person."""
        route = self._scope.get("route")
        if route is None and self._scope.get("endpoint") is not None and self._scope.get("path_params") == {}:
            return str(self._scope["path"])  # a route without a name of its own, such as /openapi.json, and no variable
        return getattr(route, "path", "unmatched")

    def note_sent(self, message: Message) -> None:
        """Take account of a message to the caller."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
        else:
            self._bytes += len(message.get("body", b""))
            self._complete = self._complete or not message.get("more_body", False)

    def note_received(self, message: Message) -> None:
        """Take account of a message from the caller."""
        if message["type"] == "http.disconnect" and not self._complete:
            self._left = True

    @property
    def outcome(self) -> str:
        """How it ended: `complete`, `client_left`, or `cut` where the answer has no end or never began."""
        if self._left:
            return "client_left"
        return "complete" if self._complete else "cut"

    def write_line(self) -> None:
        """Log the request: no path, no query, no header, no body."""
        log.log(
            logging.DEBUG if self.route in PROBE_ROUTES else logging.INFO,
            "request",
            method=self._scope["method"],
            route=self.route,
            status=self.status,
            ended=self.outcome,
            ms=round((time.perf_counter() - self._started) * 1000, 2),
            bytes=self._bytes,
        )


class RefusalLog:
    """Warns of refused keys and of keys that ask too often, once a minute for each, with a count."""

    def __init__(self, seconds: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._seen: OrderedDict[tuple[str, ...], tuple[float, int]] = OrderedDict()

    def note_refusal(self, exchange: LoggedRequest, scope: Scope) -> None:
        """Log a refused request, or count it where its like was logged a moment ago."""
        if exchange.status not in (HTTPStatus.UNAUTHORIZED, HTTPStatus.TOO_MANY_REQUESTS):
            return
        key = structlog.contextvars.get_contextvars().get("key", _UNKNOWN)
        client = _client_address(scope)
        count = self._count_if_due((str(exchange.status), key, client))
        if count is None:
            return
        if exchange.status == HTTPStatus.UNAUTHORIZED:
            log.warning("key_refused", key=key, client=client, count=count)
        else:
            log.warning("rate_limited", key=key, client=client, count=count)

    def _count_if_due(self, who: tuple[str, ...]) -> int | None:
        """How often they were refused since their last line, this time included; None while it is too early for one."""
        now = self._seconds()
        at, count = self._seen.pop(who, (now - QUIET_SECONDS, 0))
        due = now - at >= QUIET_SECONDS
        self._seen[who] = (now, 0) if due else (at, count + 1)
        while len(self._seen) > _MAX_TRACKED:
            self._seen.popitem(last=False)
        return count + 1 if due else None


def _client_address(scope: Scope) -> str:
    """The caller's address; a proxy's header can put any text in its place."""
    client = scope.get("client")
    try:
        return str(ip_address(client[0])) if client else _UNKNOWN
    except ValueError:
        return _UNKNOWN
