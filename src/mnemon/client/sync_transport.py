"""Generated from the async modules beside it by scripts/generate_sync_client.py. Do not edit."""

import random
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import httpx2

from mnemon.client.errors import ApiError, UnexpectedAnswer, Unreachable
from mnemon.client.events import Event, decode_event
from mnemon.sse import LineSplitter, SseParser

RETRIED = frozenset({429, 502, 503, 504})
_MAX_WAIT_S = 10.0
_CONNECT_TIMEOUT_S = 10.0


class Transport:
    """A connection pool to one server with one key."""

    def __init__(self, base_url: str, key: str, *, timeout: float, retries: int) -> None:
        headers = {"Authorization": f"Bearer {key}"}
        # A reply may take its time; an address that does not even accept a connection is told sooner.
        limits = httpx2.Timeout(timeout, connect=min(timeout, _CONNECT_TIMEOUT_S))
        self._http = httpx2.Client(base_url=base_url, headers=headers, timeout=limits)
        self._retries = retries

    def close(self) -> None:
        """Close the connections to the server."""
        self._http.close()

    def send(
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
        sent = {**(headers or {})}
        # One key for all attempts: the server stores the first effect and replays its reply.
        if method == "POST":
            sent.setdefault("Idempotency-Key", uuid.uuid4().hex)
        params = {name: value for name, value in (query or {}).items() if value is not None}
        for attempt in range(self._retries + 1):
            try:
                response = self._http.request(method, path, json=body, content=content, params=params, headers=sent)
            except httpx2.TransportError as error:
                if attempt == self._retries:
                    raise Unreachable(f"{self._http.base_url} did not answer: {error}") from error
                _wait_before_retry(attempt, None)
                continue
            if attempt < self._retries and _may_retry(response):
                _wait_before_retry(attempt, response.headers.get("Retry-After"))
                continue
            return _read_response(response)
        raise AssertionError("the last attempt returns or raises")

    @contextmanager
    def stream(
        self, method: str, path: str, *, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> Iterator[Iterator[Event]]:
        """Open a stream and yield its events; it is not retried. Raises Unreachable when it breaks."""
        try:
            with self._http.stream(method, path, json=body, headers=dict(headers or {})) as response:
                if not response.headers.get("content-type", "").startswith("text/event-stream"):
                    response.read()
                    _read_response(response)
                    raise UnexpectedAnswer(response.status_code)
                yield _iter_events(response)
        except httpx2.TransportError as error:
            raise Unreachable(f"the stream from {self._http.base_url} broke off: {error}") from error

    def lines(self, path: str) -> Iterator[str]:
        """Yield the lines of an NDJSON response as they arrive. Raises Unreachable when it breaks."""
        try:
            with self._http.stream("GET", path) as response:
                if response.status_code >= 300:
                    response.read()
                    _read_response(response)
                # Not by `iter_lines`, which also splits at characters that stand unescaped in JSON, such as U+2028.
                splitter = LineSplitter()
                for piece in response.iter_bytes():
                    for line in splitter.feed(piece):
                        if line:
                            yield line.decode()
                if rest := splitter.remaining_line():
                    yield rest.decode()
        except httpx2.TransportError as error:
            raise Unreachable(f"the answer of {self._http.base_url} broke off: {error}") from error


def _iter_events(response: httpx2.Response) -> Iterator[Event]:
    """Yield the events of an SSE response, without those that have no data, such as heartbeats."""
    parser = SseParser()
    for piece in response.iter_bytes():
        for event in parser.feed(piece):
            if event.data:
                yield decode_event(event)


def _wait_before_retry(attempt: int, retry_after: str | None) -> None:
    """Sleep for what Retry-After says, or 0.2 s doubled with each attempt; at most 10 s, with jitter."""
    seconds = float(retry_after) if retry_after and retry_after.isdigit() else 0.2 * 2**attempt
    # Jitter, so that clients that failed together do not come back together.
    spread = 0.5 + random.random() / 2  # noqa: S311  not a secret
    time.sleep(min(seconds, _MAX_WAIT_S) * spread)


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
