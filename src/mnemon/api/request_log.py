"""The log line of every request, and warnings about keys that were refused or rate limited.

This runs for every request, so its cost is counted in microseconds.
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
"""Routes that monitoring calls every few seconds; logged at level debug."""
QUIET_SECONDS = 60.0
"""How long refusals are only counted after one was logged."""
_MAX_TRACKED = 1_000
_UNKNOWN = "unknown"


class LoggedRequest:
    """One request and its response, as its log line will show them."""

    def __init__(self, scope: Scope, started: float) -> None:
        """Note a request that started at this time; nothing is sent yet."""
        self._scope = scope
        self._started = started
        self.status: int | None = None
        self._bytes = 0
        self._complete = False
        self._left = False

    @property
    def route(self) -> str:
        """Return the route's template for the log line; the path itself may hold a person's name."""
        route = self._scope.get("route")
        if route is None and self._scope.get("endpoint") is not None and self._scope.get("path_params") == {}:
            # A route without a template, such as /openapi.json; its path has no variable part.
            return str(self._scope["path"])
        # As the docs and the OpenAPI document write it, without the converter of `{user_id:any}`.
        return str(getattr(route, "path_format", None) or getattr(route, "path", "unmatched"))

    def note_sent(self, message: Message) -> None:
        """Note the status, size and end of the response from a message to the client."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
        else:
            self._bytes += len(message.get("body", b""))
            self._complete = self._complete or not message.get("more_body", False)

    def note_received(self, message: Message) -> None:
        """Note from a message whether the client has disconnected."""
        if message["type"] == "http.disconnect" and not self._complete:
            self._left = True

    @property
    def outcome(self) -> str:
        """Return how the request ended: `complete`, `client_left`, or `cut` if the response is not complete."""
        if self._left:
            return "client_left"
        return "complete" if self._complete else "cut"

    def write_line(self) -> None:
        """Write the request's log line, without its path, query, headers or body."""
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
    """Logs refused and rate-limited keys, for each key and address once a minute with a count."""

    def __init__(self, seconds: Callable[[], float] = time.monotonic) -> None:
        """Start with nothing seen; `seconds` gives the time."""
        self._seconds = seconds
        self._seen: OrderedDict[tuple[str, ...], tuple[float, int]] = OrderedDict()

    def note_refusal(self, exchange: LoggedRequest, scope: Scope) -> None:
        """Log a 401 or 429 response, or only count it if one of its kind was logged within the last minute."""
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

    def _count_if_due(self, refused: tuple[str, ...]) -> int | None:
        """Return the refusals since the last log line, this one included; None while no line is due."""
        now = self._seconds()
        at, count = self._seen.pop(refused, (now - QUIET_SECONDS, 0))
        due = now - at >= QUIET_SECONDS
        self._seen[refused] = (now, 0) if due else (at, count + 1)
        # Bounded, since an attacker can come from any number of addresses.
        while len(self._seen) > _MAX_TRACKED:
            self._seen.popitem(last=False)
        return count + 1 if due else None


def _client_address(scope: Scope) -> str:
    """Return the client's IP address for the log; `unknown` for other text, which a proxy's header may hold."""
    client = scope.get("client")
    try:
        return str(ip_address(client[0])) if client else _UNKNOWN
    except ValueError:
        return _UNKNOWN
