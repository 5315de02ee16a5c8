"""HTTP requests with retries: every POST carries an Idempotency-Key, so repeating one is safe."""

import asyncio
import random
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx2

from mnemon.client.errors import ApiError, UnexpectedAnswer, Unreachable
from mnemon.client.events import Event, decode_event
from mnemon.client.loops import PerLoop
from mnemon.sse import LineSplitter, SseParser

RETRIED = frozenset({429, 502, 503, 504})
_MAX_WAIT_S = 10.0
_CONNECT_TIMEOUT_S = 10.0


class AsyncTransport:
    """A connection pool to one server with one key."""

    def __init__(self, base_url: str, key: str, *, timeout: float, retries: int) -> None:
        headers = {"Authorization": f"Bearer {key}"}
        # A reply may take its time; an address that does not even accept a connection is told sooner.
        limits = httpx2.Timeout(timeout, connect=min(timeout, _CONNECT_TIMEOUT_S))
        self._http = httpx2.AsyncClient(base_url=base_url, headers=headers, timeout=limits, transport=PerLoop())
        self._retries = retries

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def send(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        content: bytes | None = None,
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """Send a request with a JSON body, or with `content` as it is, and return the response's JSON; retry while that
        may help.

        Raises ApiError for a problem, UnexpectedAnswer for another program's answer, Unreachable when none came.
        """
        sent = {**(headers or {})}
        # One key for all attempts: the server stores the first effect and replays its reply.
        if method == "POST":
            sent.setdefault("Idempotency-Key", uuid.uuid4().hex)
        params = {name: value for name, value in (query or {}).items() if value is not None}
        for attempt in range(self._retries + 1):
            try:
                response = await self._http.request(
                    method, path, json=body, content=content, params=params, headers=sent
                )
            except httpx2.TransportError as error:
                if attempt == self._retries:
                    raise Unreachable(f"{self._http.base_url} did not answer: {error}") from error
                await _wait_before_retry(attempt, None)
                continue
            if attempt < self._retries and _may_retry(response):
                await _wait_before_retry(attempt, response.headers.get("Retry-After"))
                continue
            return _read_response(response)
        raise AssertionError("the last attempt returns or raises")

    @asynccontextmanager
    async def stream(
        self, method: str, path: str, *, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> AsyncIterator[AsyncIterator[Event]]:
        """Open a stream and yield its events; it is not retried. Raises Unreachable when it breaks."""
        try:
            async with self._http.stream(method, path, json=body, headers=dict(headers or {})) as response:
                if not response.headers.get("content-type", "").startswith("text/event-stream"):
                    await response.aread()
                    _read_response(response)
                    raise UnexpectedAnswer(response.status_code)
                yield _iter_events(response)
        except httpx2.TransportError as error:
            raise Unreachable(f"the stream from {self._http.base_url} broke off: {error}") from error

    async def lines(self, path: str) -> AsyncIterator[str]:
        """Yield the lines of an NDJSON response as they arrive. Raises Unreachable when it breaks."""
        try:
            async with self._http.stream("GET", path) as response:
                if response.status_code >= 300:
                    await response.aread()
                    _read_response(response)
                # Not by `aiter_lines`, which also splits at characters that stand unescaped in JSON, such as U+2028.
                splitter = LineSplitter()
                async for piece in response.aiter_bytes():
                    for line in splitter.feed(piece):
                        if line:
                            yield line.decode()
                if rest := splitter.remaining_line():
                    yield rest.decode()
        except httpx2.TransportError as error:
            raise Unreachable(f"the answer of {self._http.base_url} broke off: {error}") from error


async def _iter_events(response: httpx2.Response) -> AsyncIterator[Event]:
    parser = SseParser()
    async for piece in response.aiter_bytes():
        for event in parser.feed(piece):
            # A heartbeat may be an event without data.
            if event.data:
                yield decode_event(event)


async def _wait_before_retry(attempt: int, retry_after: str | None) -> None:
    seconds = float(retry_after) if retry_after and retry_after.isdigit() else 0.2 * 2**attempt
    # Jitter, so that clients that failed together do not come back together.
    spread = 0.5 + random.random() / 2  # noqa: S311  not a secret
    await asyncio.sleep(min(seconds, _MAX_WAIT_S) * spread)


def _may_retry(response: httpx2.Response) -> bool:
    """Say whether the same request may succeed in a moment."""
    if response.status_code == 409:
        # The first attempt may still be running; any other conflict would only repeat itself.
        return _problem_of(response).get("code") == "idempotency_in_progress"
    return response.status_code in RETRIED


def _read_response(response: httpx2.Response) -> Any:
    if response.status_code >= 400:
        raise ApiError(response.status_code, _problem_of(response))
    if not response.content:
        return None
    try:
        return response.json()
    except ValueError:
        raise UnexpectedAnswer(response.status_code, response.headers.get("location")) from None


def _problem_of(response: httpx2.Response) -> Mapping[str, Any]:
    """Return the problem in an error's body; `unknown` for what is not one, as from a proxy."""
    try:
        problem = response.json()
    except ValueError:
        problem = None
    return problem if isinstance(problem, dict) else {"code": "unknown", "detail": response.text[:300]}
