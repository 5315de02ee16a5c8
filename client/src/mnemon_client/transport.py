"""HTTP requests with retries: everything but a GET carries an Idempotency-Key, so repeating it is safe."""

import asyncio
import random
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx2

from mnemon_client.errors import ApiError, UnexpectedAnswer, Unreachable
from mnemon_client.events import Event, decode_event
from mnemon_client.loops import PerLoop
from mnemon_client.sse import LineSplitter, SseParser

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
        """Close the connections to the server."""
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
        """Send JSON, or `content` as it is, and return the response's JSON; retry while that may help.

        Raises ApiError for a problem, UnexpectedAnswer for another program's answer, Unreachable when none came.
        """
        return _read_response(
            await self._send_with_retries(method, path, body=body, content=content, query=query, headers=headers)
        )

    @asynccontextmanager
    async def stream(
        self, method: str, path: str, *, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> AsyncIterator[AsyncIterator[Event]]:
        """Open a stream, with retries until it begins, and yield its events. Raises Unreachable when it breaks."""
        async with self._open_response(method, path, body=body, headers=headers) as response:
            if not response.headers.get("content-type", "").startswith("text/event-stream"):
                await response.aread()
                _read_response(response)
                raise UnexpectedAnswer(response.status_code)
            yield _iter_events(response)

    async def lines(self, path: str) -> AsyncIterator[str]:
        """Yield the lines of an NDJSON response as they arrive, with retries until it begins."""
        async with self._open_response("GET", path) as response:
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

    @asynccontextmanager
    async def _open_response(self, method: str, path: str, **sent: Any) -> AsyncIterator[httpx2.Response]:
        """Yield a response whose body is read by the caller; raise Unreachable when it breaks while it is read."""
        response = await self._send_with_retries(method, path, stream=True, **sent)
        try:
            yield response
        # Not retried: the caller has the first part already, and a second answer cannot be joined to it.
        except httpx2.TransportError as error:
            raise Unreachable(f"the answer of {self._http.base_url} broke off: {error}") from error
        finally:
            await response.aclose()

    async def _send_with_retries(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        content: bytes | None = None,
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        stream: bool = False,
    ) -> httpx2.Response:
        """Send a request until a response comes that a retry would not change; raise Unreachable when none comes.

        With `stream` the body of a success is not read yet.
        """
        sent = {**(headers or {})}
        # One key for all attempts: the server stores the first effect and replays its reply.
        if method != "GET":
            sent.setdefault("Idempotency-Key", uuid.uuid4().hex)
        params = {name: value for name, value in (query or {}).items() if value is not None}
        for attempt in range(self._retries + 1):
            request = self._http.build_request(method, path, json=body, content=content, params=params, headers=sent)
            try:
                response = await self._http.send(request, stream=stream)
                if response.status_code >= 400:
                    await response.aread()
            except httpx2.TransportError as error:
                if attempt == self._retries:
                    raise Unreachable(f"{self._http.base_url} did not answer: {error}") from error
                await asyncio.sleep(retry_delay(attempt, None, random.random()))  # noqa: S311  not a secret
                continue
            if attempt == self._retries or not _may_retry(response):
                return response
            waited = retry_delay(attempt, response.headers.get("Retry-After"), random.random())  # noqa: S311
            await asyncio.sleep(waited)
        raise AssertionError("the last attempt returns or raises")


async def _iter_events(response: httpx2.Response) -> AsyncIterator[Event]:
    """Yield the events of an SSE response, without those that have no data, such as heartbeats."""
    parser = SseParser()
    async for piece in response.aiter_bytes():
        for event in parser.feed(piece):
            if event.data:
                yield decode_event(event)


def retry_delay(attempt: int, retry_after: str | None, jitter: float) -> float:
    """Return the seconds until the next attempt: what Retry-After says, or 0.2 s doubled with each attempt.

    `jitter` between 0 and 1 adds up to a half, so that clients that failed together do not come back together; the
    sum is at most 10 s.
    """
    seconds = float(retry_after) if retry_after and retry_after.isdecimal() else 0.2 * 2**attempt
    return min(seconds * (1 + jitter / 2), _MAX_WAIT_S)


def _may_retry(response: httpx2.Response) -> bool:
    """Say whether the request may succeed if it is sent again: 429, 502, 503, 504, or a first attempt still runs."""
    if response.status_code == 409:
        # The first attempt may still be running; any other conflict would only repeat itself.
        return _problem_of(response).get("code") == "idempotency_in_progress"
    return response.status_code in RETRIED


def _read_response(response: httpx2.Response) -> Any:
    """Return the JSON of a response, None if it is empty; raise ApiError for 4xx and 5xx."""
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
