"""Generated from transport.py and asynchronous.py by scripts/generate_sync_client.py. Do not edit."""

import random
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, cast
from urllib.parse import quote

import httpx2

from mnemon.client.errors import ApiError, Unreachable
from mnemon.client.events import Event, Reader, Verifications, Verified
from mnemon.client.shapes import (
    Agent,
    Context,
    Engagement,
    Entity,
    Expectation,
    Found,
    Memory,
    MemoryType,
    Message,
    Note,
    Ranking,
    Recorded,
    Reply,
    Run,
    ToolResult,
)

RETRIED = frozenset({429, 502, 503, 504})
_MAX_WAIT_S = 10.0


class Transport:
    """One connection pool to one server with one key."""

    def __init__(self, base_url: str, key: str, *, timeout: float, retries: int) -> None:
        headers = {"Authorization": f"Bearer {key}"}
        self._http = httpx2.Client(base_url=base_url, headers=headers, timeout=timeout)
        self._retries = retries

    def close(self) -> None:
        """The connections are closed."""
        self._http.close()

    def send(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """The answer's JSON; tried again while that may help."""
        sent = {**(headers or {})}
        if method == "POST":
            sent.setdefault("Idempotency-Key", uuid.uuid4().hex)
        known = {name: value for name, value in (query or {}).items() if value is not None}
        for attempt in range(self._retries + 1):
            try:
                response = self._http.request(method, path, json=body, params=known, headers=sent)
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
        """The events of an open stream."""
        try:
            with self._http.stream(method, path, json=body, headers=dict(headers or {})) as response:
                if response.status_code >= 400:
                    response.read()
                    _read_response(response)
                yield _iter_events(response)
        except httpx2.TransportError as error:
            raise Unreachable(f"the stream from {self._http.base_url} broke off: {error}") from error

    def lines(self, path: str) -> Iterator[str]:
        """The lines of an NDJSON answer, as they come."""
        with self._http.stream("GET", path) as response:
            if response.status_code >= 400:
                response.read()
                _read_response(response)
            for line in response.iter_lines():
                if line:
                    yield line


def _iter_events(response: httpx2.Response) -> Iterator[Event]:
    reader = Reader()
    for line in response.iter_lines():
        event = reader.take(line)
        if event is not None:
            yield event


def _wait_before_retry(attempt: int, told: str | None) -> None:
    seconds = float(told) if told and told.isdigit() else 0.2 * 2**attempt
    spread = 0.5 + random.random() / 2  # noqa: S311  jitter, not a secret
    time.sleep(min(seconds, _MAX_WAIT_S) * spread)


def _may_retry(response: httpx2.Response) -> bool:
    """Whether the same request may succeed in a moment."""
    if response.status_code == 409:
        return bool(response.json().get("code") == "idempotency_in_progress")
    return response.status_code in RETRIED


def _read_response(response: httpx2.Response) -> Any:
    if response.status_code >= 400:
        kind = response.headers.get("content-type", "")
        problem = response.json() if "json" in kind else {"code": "unknown", "detail": response.text[:300]}
        raise ApiError(response.status_code, problem)
    return response.json() if response.content else None


class SyncMnemon:
    """A server, spoken to with one key.

    `user_id` and `persona_id` are what calls use that name none of their own.
    """

    def __init__(
        self,
        base_url: str = "http://127.0.0.1:8765",
        key: str = "",
        *,
        user_id: str | None = None,
        persona_id: str | None = None,
        timeout: float = 60.0,
        retries: int = 4,
    ) -> None:
        self._transport = Transport(base_url, key, timeout=timeout, retries=retries)
        self.user_id = user_id
        self.persona_id = persona_id

    def __enter__(self) -> "SyncMnemon":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """The connections are closed."""
        self._transport.close()

    # Turns

    def chat(self, message: str, *, session_id: str | None = None, **who: str) -> Reply:
        """The reply, with memory applied."""
        body = self._body_for(who, sessionId=session_id, message=message, stream=False)
        return cast("Reply", self._request_data("POST", "/api/chat", body))

    @contextmanager
    def stream(self, message: str, *, session_id: str | None = None, **who: str) -> Iterator[Iterator[Event]]:
        """The reply as it comes: `with m.stream("…") as events: for event in events: …`."""
        body = self._body_for(who, sessionId=session_id, message=message, stream=True)
        with self._transport.stream("POST", "/api/chat", body=body) as events:
            yield events

    def turn(
        self,
        messages: Sequence[Message],
        *,
        tool_results: Sequence[ToolResult] = (),
        expectations: Sequence[Expectation] = (),
        session_id: str | None = None,
        **who: str,
    ) -> Recorded:
        """A turn that the application ran itself is recorded and will be reflected."""
        body = self._body_for(who, sessionId=session_id, messages=list(messages))
        if tool_results:
            body["toolResults"] = list(tool_results)
        if expectations:
            body["expectations"] = list(expectations)
        return cast("Recorded", self._request_data("POST", "/api/turns", body))

    def turn_report(self, turn_id: str) -> dict[str, Any]:
        """The turn and what reflection did with it."""
        return cast("dict[str, Any]", self._request_data("GET", f"/api/turns/{turn_id}"))

    def context(
        self, query: str, *, session_id: str | None = None, budget_tokens: int | None = None, **who: str
    ) -> Context:
        """Exactly what a chat turn would be given."""
        body = self._body_for(who, sessionId=session_id, query=query, budgetTokens=budget_tokens)
        return cast("Context", self._request_data("POST", "/api/context", body))

    # Memory

    def remember(
        self,
        content: str,
        *,
        type: MemoryType = "PROFILE",  # noqa: A002  the wire's word
        entity: Entity | None = None,
        fact_type: str | None = None,
        attribute: str | None = None,
        pinned: bool | None = None,
        importance: int | None = None,
        **who: str,
    ) -> Memory:
        """The fact is stored; one with the same key is updated and its earlier version kept."""
        body = self._body_for(
            who, type=type, content=content, entity=entity, factType=fact_type, attribute=attribute, pinned=pinned,
            importance=importance,
        )  # fmt: skip
        return cast("Memory", self._request_data("POST", "/api/memories", body))

    def recall(
        self,
        query: str,
        *,
        limit: int = 10,
        ranking: Ranking | None = None,
        kinds: Sequence[str] | None = None,
        as_of: str | None = None,
        **who: str,
    ) -> Found:
        """What memory knows about the query, best first, with the parts of each score."""
        body = self._body_for(
            who, query=query, limit=limit, ranking=ranking, kinds=list(kinds) if kinds else None, asOf=as_of
        )
        return cast("Found", self._request_data("POST", "/api/memories/search", body))

    def memories(self, *, limit: int = 50, **query: Any) -> Iterator[Memory]:
        """Every memory that the filters let through, page by page."""
        asked = {"userId": self.user_id, "personaId": self.persona_id, **query}
        for memory in self._iter_pages("/api/memories", asked, limit):
            yield cast("Memory", memory)

    def memory(self, memory_id: str) -> Memory:
        """One memory."""
        return cast("Memory", self._request_data("GET", f"/api/memories/{memory_id}"))

    def change_memory(self, memory_id: str, **changes: Any) -> Memory:
        """The memory is changed: content, importance, pinned, status, with a reason."""
        return cast("Memory", self._request_data("PATCH", f"/api/memories/{memory_id}", changes))

    def forget(self, memory_id: str) -> dict[str, Any]:
        """The memory is gone, everywhere; the receipt counts what went."""
        return cast("dict[str, Any]", self._request_data("DELETE", f"/api/memories/{memory_id}"))

    def forget_person(self, user_id: str) -> dict[str, Any]:
        """The person is gone, everywhere; the receipt counts what went."""
        return cast("dict[str, Any]", self._request_data("DELETE", f"/api/users/{quote(user_id, safe='')}"))

    def todos(self, **query: Any) -> list[dict[str, Any]]:
        """Commitments, habits, threads and frictions."""
        asked = {"userId": self.user_id, "personaId": self.persona_id, **query}
        return [todo for todo in self._iter_pages("/api/todos", asked, 100)]

    def export(self, user_id: str) -> Iterator[str]:
        """Everything about the person, a line of JSON each."""
        for line in self._transport.lines(f"/api/users/{quote(user_id, safe='')}/export"):
            yield line

    # Sessions and agent state

    def sessions(self, **query: Any) -> list[dict[str, Any]]:
        """The person's sessions."""
        asked = {"userId": self.user_id, "personaId": self.persona_id, **query}
        return [session for session in self._iter_pages("/api/sessions", asked, 100)]

    def agent_state(self, session_id: str) -> dict[str, Any]:
        """What the agent holds true in this session, with its version."""
        return cast("dict[str, Any]", self._request_data("GET", f"/api/sessions/{session_id}/agent-state"))

    def patch_agent_state(self, session_id: str, update: Mapping[str, Any], *, version: int) -> dict[str, Any]:
        """The delta is applied, if this version is still current."""
        headers = {"If-Match": f'"{version}"'}
        path = f"/api/sessions/{session_id}/agent-state"
        return cast("dict[str, Any]", self._request_data("PATCH", path, dict(update), headers=headers))

    def events(self, session_id: str, *, after: str | None = None) -> Iterator[Event]:
        """Agent state updates of the session, endlessly; a broken stream is taken up where it broke."""
        seen = after
        while True:
            headers = {} if seen is None else {"Last-Event-ID": seen}
            try:
                with self._transport.stream("GET", f"/api/sessions/{session_id}/events", headers=headers) as events:
                    for event in events:
                        seen = event.id or seen
                        if event.kind != "error":  # the stream's last: opening it again works, or raises the reason
                            yield event
            except Unreachable:
                self._wait_until_ready()

    def verifications(self, session_id: str, *, after: str | None = None) -> Iterator[Verified]:
        """`expectation_verified`, endlessly: each expectation once, when it is confirmed or fails."""
        known = Verifications()
        for event in self.events(session_id, after=after):
            for verified in known.of(event):
                yield verified

    # Organization and career

    def engagement(self, **query: Any) -> Engagement | None:
        """Hypotheses, unknowns and findings; None before the first session."""
        return cast("Engagement | None", self._request_data("GET", "/api/engagement", query=query))

    def create_agent(self, **agent: Any) -> Agent:
        """An agent is made."""
        return cast("Agent", self._request_data("POST", "/api/agents", agent))

    def agents(self) -> list[Agent]:
        """The organization's agents."""
        return [agent for agent in self._iter_pages("/api/agents", {}, 100)]

    def run(self, agent_id: str, prompt: str | None = None) -> Run:
        """A run is queued."""
        body = {} if prompt is None else {"prompt": prompt}
        return cast("Run", self._request_data("POST", f"/api/agents/{agent_id}/runs", body))

    def run_status(self, run_id: str) -> Run:
        """The run as it stands."""
        return cast("Run", self._request_data("GET", f"/api/runs/{run_id}"))

    def re_examine(self, run_id: str) -> Run:
        """A run that looks at the decision again is queued."""
        return cast("Run", self._request_data("POST", f"/api/runs/{run_id}/re-examine"))

    def resolve(self, run_id: str, outcome: str, note: str | None = None) -> Run:
        """What came of the decision is recorded."""
        body = {"outcome": outcome} if note is None else {"outcome": outcome, "note": note}
        return cast("Run", self._request_data("POST", f"/api/runs/{run_id}/resolve", body))

    def decisions(self, agent_id: str, limit: int = 5) -> list[dict[str, Any]]:
        """The agent's last decisions, a line each."""
        return cast(
            "list[dict[str, Any]]",
            self._request_data("GET", f"/api/agents/{agent_id}/decisions", query={"limit": limit}),
        )

    # Notes

    def write_notes(self, changes: Sequence[Mapping[str, Any]], **who: str) -> list[dict[str, Any]]:
        """All changes are made, or none: `{"op": "put", "namespace": [...], "key": ..., "value": ...}` and others."""
        body = {"userId": self._notes_owner(who), "changes": list(changes)}
        return cast("list[dict[str, Any]]", (self._request_data("POST", "/api/notes/write", body))["results"])

    def read_notes(
        self, addresses: Sequence[tuple[Sequence[str], str]], *, refresh: bool = False, **who: str
    ) -> list[Note | None]:
        """The notes by namespace and key, None for one that is not there."""
        asked = [{"namespace": list(namespace), "key": key} for namespace, key in addresses]
        body = {"userId": self._notes_owner(who), "notes": asked, "refresh": refresh}
        return cast("list[Note | None]", (self._request_data("POST", "/api/notes/read", body))["notes"])

    def search_notes(self, namespace: Sequence[str] = (), *, user_id: str | None = None, **asked: Any) -> list[Note]:
        """Notes below the namespace that meet every condition; with a query or a vector, nearest first."""
        who = {} if user_id is None else {"user_id": user_id}
        body = {"userId": self._notes_owner(who), "namespace": list(namespace), **asked}
        return cast("list[Note]", (self._request_data("POST", "/api/notes/search", body))["notes"])

    def note_namespaces(self, *, user_id: str | None = None, **asked: Any) -> list[list[str]]:
        """The namespaces that hold something and fit the patterns."""
        who = {} if user_id is None else {"user_id": user_id}
        body = {"userId": self._notes_owner(who), **asked}
        return cast("list[list[str]]", (self._request_data("POST", "/api/notes/namespaces", body))["namespaces"])

    # The wire

    def request(self, method: str, path: str, body: Any = None, **query: Any) -> Any:
        """Any route of the API; gives its `data`."""
        return self._request_data(method, path, body, query=query)

    def _request_data(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        answer = self._transport.send(method, path, body=body, query=query, headers=headers)
        return answer["data"] if isinstance(answer, dict) and "data" in answer else answer

    def _iter_pages(self, path: str, query: Mapping[str, Any], limit: int) -> Iterator[Any]:
        cursor: str | None = None
        while True:
            answer = self._transport.send("GET", path, query={**query, "limit": limit, "cursor": cursor})
            for item in answer["data"]:
                yield item
            cursor = answer["meta"].get("nextCursor")
            if cursor is None:
                return

    def _wait_until_ready(self) -> None:
        self._transport.send("GET", "/readyz")

    def _notes_owner(self, who: Mapping[str, str]) -> str:
        owner = who.get("user_id", self.user_id)
        if owner is None:
            raise ValueError("Whose notes? Name a person: SyncMnemon(..., user_id=...) or user_id=... with the call.")
        return owner

    def _body_for(self, who: Mapping[str, str], **fields: Any) -> dict[str, Any]:
        """The body with the person and persona that are meant, and without what was not given."""
        named = {"userId": who.get("user_id", self.user_id), "personaId": who.get("persona_id", self.persona_id)}
        return {name: value for name, value in {**named, **fields}.items() if value is not None}
