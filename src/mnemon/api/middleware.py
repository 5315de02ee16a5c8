"""The outermost layers of the server: request ids, size limit, metrics, the log line, uncaught errors, compression."""

import asyncio
import time
from urllib.parse import unquote_to_bytes

import structlog
from prometheus_client import Counter, Histogram
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from structlog.contextvars import bind_contextvars, clear_contextvars

from mnemon.api.problems import problem
from mnemon.api.request_log import LoggedRequest, RefusalLog
from mnemon.clock import Clock
from mnemon.errors import TooLarge
from mnemon.event_loop import RequestPriority
from mnemon.scope import new_id
from mnemon.spans import span

log = structlog.get_logger(__name__)

REQUESTS = Counter("mnemon_http_requests_total", "HTTP requests answered.", ("method", "route", "status"))
REQUEST_SECONDS = Histogram(
    "mnemon_http_request_seconds",
    "Time to the first byte of the answer.",
    ("method", "route"),
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
)

UNCOMPRESSED_PATHS = ("/api", "/v1", "/mcp", "/metrics", "/live", "/openapi.json")
"""Responses for programs, and event streams."""


class RequestMiddleware:
    """Gives every response a request id, and turns every uncaught error into a problem instead of a traceback."""

    def __init__(self, app: ASGIApp, clock: Clock, priority: RequestPriority, max_body_bytes: int) -> None:
        """Wrap this application; requests go before background jobs, and bodies are limited to this size."""
        self._app = app
        self._priority = priority
        self._clock = clock
        self._max_body_bytes = max_body_bytes
        self._refusals = RefusalLog()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run one HTTP request with its id, limits, metrics and log line; answer every uncaught error."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = new_id("req", self._clock.now())
        scope.setdefault("state", {})["request_id"] = request_id
        # A pipelined request runs in a copy of the context of the request before it, log fields included.
        clear_contextvars()
        bind_contextvars(request_id=request_id)
        started = time.perf_counter()
        exchange = LoggedRequest(scope, started)
        ahead = self._priority.begin_request()

        async def send_with_id(message: Message) -> None:
            """Send a message to the client, with the request id added to the response's headers."""
            exchange.note_sent(message)
            if message["type"] == "http.response.start":
                # From the first byte on, background jobs need not wait for this request any longer.
                ahead.release_priority()
                REQUEST_SECONDS.labels(scope["method"], exchange.route).observe(time.perf_counter() - started)
                message["headers"] = [*message.get("headers", []), (b"x-request-id", request_id.encode())]
            await send(message)

        try:
            refused = self._early_refusal(scope, request_id)
            with span("http", method=scope["method"], request_id=request_id) as traced:
                try:
                    await (refused or self._app)(
                        scope, _limit_body(receive, self._max_body_bytes, exchange), send_with_id
                    )
                finally:
                    # The route's template, known only now: a path may hold a person's name.
                    if traced is not None:
                        traced.set_attribute("route", exchange.route)
        except TooLarge as error:
            await _body_refusal(request_id, error)(scope, receive, send_with_id)
        except ClientDisconnect:
            # In the middle of its body: there is nobody to answer, and the log line says so.
            pass
        except asyncio.CancelledError:
            # The server stops, and this request outlasted its grace period.
            if exchange.status is None:
                detail = "The server is being stopped. Try again in a moment, under the same Idempotency-Key."
                await problem(request_id, 503, detail, "stopping", retry_after=5)(scope, receive, send_with_id)
            raise
        except Exception:
            # The API's boundary: the caller gets a problem, the log the traceback.
            log.exception("request_failed", method=scope["method"], route=exchange.route)
            if exchange.status is None:
                detail = "The server failed to handle this request. Its log has the cause under this requestId."
                await problem(request_id, 500, detail, "internal")(scope, receive, send_with_id)
        finally:
            ahead.release_priority()
            REQUESTS.labels(scope["method"], exchange.route, str(exchange.status or "none")).inc()
            self._refusals.note_refusal(exchange, scope)
            exchange.write_line()

    def _early_refusal(self, scope: Scope, request_id: str) -> ASGIApp | None:
        """Return the 413 or 422 for a request that its size or address rules out; None for any other."""
        length = dict(scope["headers"]).get(b"content-length", b"0")
        if length.isdigit() and int(length) > self._max_body_bytes:
            return _body_refusal(request_id, TooLarge(_too_large_detail(self._max_body_bytes)))
        # PostgreSQL's text cannot hold NUL; refused here for every route at once.
        if "\0" in scope["path"] or "%00" in scope.get("query_string", b"").decode("latin-1"):
            detail = "The address has a NUL character. Remove it."
            return problem(request_id, 422, detail, "invalid_request")
        # The decoders below would put U+FFFD in its place, so that two addresses would name one person.
        if not (_is_utf8(scope.get("raw_path") or b"") and _is_utf8(scope.get("query_string", b""))):
            detail = "The address is not valid UTF-8. Encode it as UTF-8, each byte as %XX."
            return problem(request_id, 422, detail, "invalid_request")
        return None


def _is_utf8(address: bytes) -> bool:
    """Say whether a part of the address, with its %XX decoded, is UTF-8."""
    if b"%" not in address and address.isascii():
        return True
    try:
        unquote_to_bytes(address).decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


class PageCompression:
    """ASGI middleware that compresses pages and static files, and nothing under UNCOMPRESSED_PATHS."""

    def __init__(self, app: ASGIApp) -> None:
        self._plain = app
        self._compressed = GZipMiddleware(app, minimum_size=800, compresslevel=6)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Compress the pages of the console; pass every other response through unchanged."""
        programs = scope["type"] != "http" or scope["path"].startswith(UNCOMPRESSED_PATHS)
        await (self._plain if programs else self._compressed)(scope, receive, send)


def _body_refusal(request_id: str, error: TooLarge) -> Response:
    """Return the 413 response for a body that is too large; it also closes the connection."""
    response = problem(request_id, 413, error.detail, error.code)
    response.headers["connection"] = "close"
    return response


def _limit_body(receive: Receive, most: int, exchange: LoggedRequest) -> Receive:
    """Return an ASGI `receive` that raises TooLarge once the request's body exceeds the limit."""
    seen = 0

    async def receive_limited() -> Message:
        """Return the next message of the request; raise TooLarge once the body exceeds the limit."""
        nonlocal seen
        message = await receive()
        exchange.note_received(message)
        seen += len(message.get("body", b""))
        if seen > most:
            raise TooLarge(_too_large_detail(most))
        return message

    return receive_limited


def _too_large_detail(most: int) -> str:
    """Return the error text for a body over this many bytes."""
    return f"The body is larger than {most:,} bytes. Send less at once; MNEMON_MAX_BODY_BYTES sets the limit."
