"""The client. `Mnemon` is async; `SyncMnemon` in `sync.py` is generated from this file and does the same, blocking."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib import import_module
from types import TracebackType
from typing import Any, cast
from urllib.parse import quote

from mnemon.client.errors import Unreachable
from mnemon.client.events import Event, Verifications, Verified
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
from mnemon.client.transport import AsyncTransport


class Mnemon:
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
        self._transport = AsyncTransport(base_url, key, timeout=timeout, retries=retries)
        self.user_id = user_id
        self.persona_id = persona_id

    async def __aenter__(self) -> "Mnemon":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    # async only: begin
    @classmethod
    @asynccontextmanager
    async def open(
        cls, *, user_id: str | None = None, persona_id: str | None = None, **settings: Any
    ) -> AsyncIterator["Mnemon"]:
        """A client of a server inside this process, made from the settings: embedded database, offline models.

        `async with Mnemon.open(data_dir="notes") as m: await m.remember("…", user_id="ann")`
        """
        # By name, when it is wanted: importing the client must not import the server.
        inprocess = import_module("mnemon.cli.inprocess")
        async with inprocess.serve_in_process(**settings) as (url, key):
            client = cls(url, key, user_id=user_id, persona_id=persona_id)
            async with client:
                yield client

    # async only: end
    async def close(self) -> None:
        """The connections are closed."""
        await self._transport.close()

    # Turns

    async def chat(self, message: str, *, session_id: str | None = None, **who: str) -> Reply:
        """The reply, with memory applied."""
        body = self._body_for(who, sessionId=session_id, message=message, stream=False)
        return cast("Reply", await self._request_data("POST", "/api/chat", body))

    @asynccontextmanager
    async def stream(
        self, message: str, *, session_id: str | None = None, **who: str
    ) -> AsyncIterator[AsyncIterator[Event]]:
        """The reply as it comes: `async with m.stream("…") as events: async for event in events: …`."""
        body = self._body_for(who, sessionId=session_id, message=message, stream=True)
        async with self._transport.stream("POST", "/api/chat", body=body) as events:
            yield events

    async def turn(
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
        return cast("Recorded", await self._request_data("POST", "/api/turns", body))

    async def turn_report(self, turn_id: str) -> dict[str, Any]:
        """The turn and what reflection did with it."""
        return cast("dict[str, Any]", await self._request_data("GET", f"/api/turns/{turn_id}"))

    async def context(
        self, query: str, *, session_id: str | None = None, budget_tokens: int | None = None, **who: str
    ) -> Context:
        """Exactly what a chat turn would be given."""
        body = self._body_for(who, sessionId=session_id, query=query, budgetTokens=budget_tokens)
        return cast("Context", await self._request_data("POST", "/api/context", body))

    # Memory

    async def remember(
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
        return cast("Memory", await self._request_data("POST", "/api/memories", body))

    async def recall(
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
        return cast("Found", await self._request_data("POST", "/api/memories/search", body))

    async def memories(self, *, limit: int = 50, **query: Any) -> AsyncIterator[Memory]:
        """Every memory that the filters let through, page by page."""
        asked = {"userId": self.user_id, "personaId": self.persona_id, **query}
        async for memory in self._iter_pages("/api/memories", asked, limit):
            yield cast("Memory", memory)

    async def memory(self, memory_id: str) -> Memory:
        """One memory."""
        return cast("Memory", await self._request_data("GET", f"/api/memories/{memory_id}"))

    async def change_memory(self, memory_id: str, **changes: Any) -> Memory:
        """The memory is changed: content, importance, pinned, status, with a reason."""
        return cast("Memory", await self._request_data("PATCH", f"/api/memories/{memory_id}", changes))

    async def forget(self, memory_id: str) -> dict[str, Any]:
        """The memory is gone, everywhere; the receipt counts what went."""
        return cast("dict[str, Any]", await self._request_data("DELETE", f"/api/memories/{memory_id}"))

    async def forget_person(self, user_id: str) -> dict[str, Any]:
        """The person is gone, everywhere; the receipt counts what went."""
        return cast("dict[str, Any]", await self._request_data("DELETE", f"/api/users/{quote(user_id, safe='')}"))

    async def todos(self, **query: Any) -> list[dict[str, Any]]:
        """Commitments, habits, threads and frictions."""
        asked = {"userId": self.user_id, "personaId": self.persona_id, **query}
        return [todo async for todo in self._iter_pages("/api/todos", asked, 100)]

    async def export(self, user_id: str) -> AsyncIterator[str]:
        """Everything about the person, a line of JSON each."""
        async for line in self._transport.lines(f"/api/users/{quote(user_id, safe='')}/export"):
            yield line

    # Sessions and agent state

    async def sessions(self, **query: Any) -> list[dict[str, Any]]:
        """The person's sessions."""
        asked = {"userId": self.user_id, "personaId": self.persona_id, **query}
        return [session async for session in self._iter_pages("/api/sessions", asked, 100)]

    async def agent_state(self, session_id: str) -> dict[str, Any]:
        """What the agent holds true in this session, with its version."""
        return cast("dict[str, Any]", await self._request_data("GET", f"/api/sessions/{session_id}/agent-state"))

    async def patch_agent_state(self, session_id: str, update: Mapping[str, Any], *, version: int) -> dict[str, Any]:
        """The delta is applied, if this version is still current."""
        headers = {"If-Match": f'"{version}"'}
        path = f"/api/sessions/{session_id}/agent-state"
        return cast("dict[str, Any]", await self._request_data("PATCH", path, dict(update), headers=headers))

    async def events(self, session_id: str, *, after: str | None = None) -> AsyncIterator[Event]:
        """Agent state updates of the session, endlessly; a broken stream is taken up where it broke."""
        seen = after
        while True:
            headers = {} if seen is None else {"Last-Event-ID": seen}
            try:
                async with self._transport.stream(
                    "GET", f"/api/sessions/{session_id}/events", headers=headers
                ) as events:
                    async for event in events:
                        seen = event.id or seen
                        if event.kind != "error":  # the stream's last: opening it again works, or raises the reason
                            yield event
            except Unreachable:
                await self._wait_until_ready()

    async def verifications(self, session_id: str, *, after: str | None = None) -> AsyncIterator[Verified]:
        """`expectation_verified`, endlessly: each expectation once, when it is confirmed or fails."""
        known = Verifications()
        async for event in self.events(session_id, after=after):
            for verified in known.of(event):
                yield verified

    # Organization and career

    async def engagement(self, **query: Any) -> Engagement | None:
        """Hypotheses, unknowns and findings; None before the first session."""
        return cast("Engagement | None", await self._request_data("GET", "/api/engagement", query=query))

    async def create_agent(self, **agent: Any) -> Agent:
        """An agent is made."""
        return cast("Agent", await self._request_data("POST", "/api/agents", agent))

    async def agents(self) -> list[Agent]:
        """The organization's agents."""
        return [agent async for agent in self._iter_pages("/api/agents", {}, 100)]

    async def run(self, agent_id: str, prompt: str | None = None) -> Run:
        """A run is queued."""
        body = {} if prompt is None else {"prompt": prompt}
        return cast("Run", await self._request_data("POST", f"/api/agents/{agent_id}/runs", body))

    async def run_status(self, run_id: str) -> Run:
        """The run as it stands."""
        return cast("Run", await self._request_data("GET", f"/api/runs/{run_id}"))

    async def re_examine(self, run_id: str) -> Run:
        """A run that looks at the decision again is queued."""
        return cast("Run", await self._request_data("POST", f"/api/runs/{run_id}/re-examine"))

    async def resolve(self, run_id: str, outcome: str, note: str | None = None) -> Run:
        """What came of the decision is recorded."""
        body = {"outcome": outcome} if note is None else {"outcome": outcome, "note": note}
        return cast("Run", await self._request_data("POST", f"/api/runs/{run_id}/resolve", body))

    async def decisions(self, agent_id: str, limit: int = 5) -> list[dict[str, Any]]:
        """The agent's last decisions, a line each."""
        return cast(
            "list[dict[str, Any]]",
            await self._request_data("GET", f"/api/agents/{agent_id}/decisions", query={"limit": limit}),
        )

    # Notes

    async def write_notes(self, changes: Sequence[Mapping[str, Any]], **who: str) -> list[dict[str, Any]]:
        """All changes are made, or none: `{"op": "put", "namespace": [...], "key": ..., "value": ...}` and others."""
        body = {"userId": self._notes_owner(who), "changes": list(changes)}
        return cast("list[dict[str, Any]]", (await self._request_data("POST", "/api/notes/write", body))["results"])

    async def read_notes(
        self, addresses: Sequence[tuple[Sequence[str], str]], *, refresh: bool = False, **who: str
    ) -> list[Note | None]:
        """The notes by namespace and key, None for one that is not there."""
        asked = [{"namespace": list(namespace), "key": key} for namespace, key in addresses]
        body = {"userId": self._notes_owner(who), "notes": asked, "refresh": refresh}
        return cast("list[Note | None]", (await self._request_data("POST", "/api/notes/read", body))["notes"])

    async def search_notes(
        self, namespace: Sequence[str] = (), *, user_id: str | None = None, **asked: Any
    ) -> list[Note]:
        """Notes below the namespace that meet every condition; with a query or a vector, nearest first."""
        who = {} if user_id is None else {"user_id": user_id}
        body = {"userId": self._notes_owner(who), "namespace": list(namespace), **asked}
        return cast("list[Note]", (await self._request_data("POST", "/api/notes/search", body))["notes"])

    async def note_namespaces(self, *, user_id: str | None = None, **asked: Any) -> list[list[str]]:
        """The namespaces that hold something and fit the patterns."""
        who = {} if user_id is None else {"user_id": user_id}
        body = {"userId": self._notes_owner(who), **asked}
        return cast("list[list[str]]", (await self._request_data("POST", "/api/notes/namespaces", body))["namespaces"])

    # The wire

    async def request(self, method: str, path: str, body: Any = None, **query: Any) -> Any:
        """Any route of the API; gives its `data`."""
        return await self._request_data(method, path, body, query=query)

    async def _request_data(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        answer = await self._transport.send(method, path, body=body, query=query, headers=headers)
        return answer["data"] if isinstance(answer, dict) and "data" in answer else answer

    async def _iter_pages(self, path: str, query: Mapping[str, Any], limit: int) -> AsyncIterator[Any]:
        cursor: str | None = None
        while True:
            answer = await self._transport.send("GET", path, query={**query, "limit": limit, "cursor": cursor})
            for item in answer["data"]:
                yield item
            cursor = answer["meta"].get("nextCursor")
            if cursor is None:
                return

    async def _wait_until_ready(self) -> None:
        await self._transport.send("GET", "/readyz")

    def _notes_owner(self, who: Mapping[str, str]) -> str:
        owner = who.get("user_id", self.user_id)
        if owner is None:
            raise ValueError("Whose notes? Name a person: Mnemon(..., user_id=...) or user_id=... with the call.")
        return owner

    def _body_for(self, who: Mapping[str, str], **fields: Any) -> dict[str, Any]:
        """The body with the person and persona that are meant, and without what was not given."""
        named = {"userId": who.get("user_id", self.user_id), "personaId": who.get("persona_id", self.persona_id)}
        return {name: value for name, value in {**named, **fields}.items() if value is not None}
