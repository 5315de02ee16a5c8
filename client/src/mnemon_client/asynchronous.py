"""The async client `Mnemon`. `SyncMnemon` in `sync.py` is generated from this file and does the same, blocking."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib import import_module
from types import TracebackType
from typing import Any, TypeVar

from mnemon_client.calls import AsyncCalls, segment
from mnemon_client.errors import Unreachable
from mnemon_client.events import Event, Verifications, Verified
from mnemon_client.shapes import (
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
from mnemon_client.transport import AsyncTransport

Shape = TypeVar("Shape")


class Mnemon(AsyncCalls):
    """A client of one server with one key.

    `user_id` and `persona_id` are defaults: every method that takes `**person` accepts both, and overrides them.
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
        super().__init__(AsyncTransport(base_url, key, timeout=timeout, retries=retries))
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
        """Start a server inside this process with these settings and yield its client.

        By default it has an embedded database and offline models:
        `async with Mnemon.open(data_dir="notes") as m: await m.remember("…", user_id="ann")`
        """
        # Imported by name, here: importing the client must not import the server.
        inprocess = import_module("mnemon.cli.inprocess")
        async with inprocess.serve_in_process(**settings) as (url, key):
            client = cls(url, key, user_id=user_id, persona_id=persona_id)
            async with client:
                yield client

    # async only: end
    async def close(self) -> None:
        """Close the client's connections to the server."""
        await self._transport.close()

    # Turns

    async def chat(self, message: str, *, session_id: str | None = None, **person: str) -> Reply:
        """Send a message and return the reply, made with the person's memory."""
        body = self._body_for(person, sessionId=session_id, message=message, stream=False)
        return await self._request_as(Reply, "POST", "/api/chat", body)

    @asynccontextmanager
    async def stream(
        self, message: str, *, session_id: str | None = None, **person: str
    ) -> AsyncIterator[AsyncIterator[Event]]:
        """Send a message and yield the reply's events.

        `async with m.stream("…") as events: async for event in events: …`
        """
        body = self._body_for(person, sessionId=session_id, message=message, stream=True)
        async with self._transport.stream("POST", "/api/chat", body=body) as events:
            yield events

    async def turn(
        self,
        messages: Sequence[Message],
        *,
        tool_results: Sequence[ToolResult] = (),
        expectations: Sequence[Expectation] = (),
        session_id: str | None = None,
        **person: str,
    ) -> Recorded:
        """Record a turn that the application ran itself; it is reflected later."""
        body = self._body_for(person, sessionId=session_id, messages=list(messages))
        if tool_results:
            body["toolResults"] = list(tool_results)
        if expectations:
            body["expectations"] = list(expectations)
        return await self._request_as(Recorded, "POST", "/api/turns", body)

    async def turn_report(self, turn_id: str) -> dict[str, Any]:
        """Return a turn by its id, with what its reflection stored, updated, skipped and rejected."""
        return await self._request_as(dict[str, Any], "GET", f"/api/turns/{turn_id}")

    async def context(
        self, query: str, *, session_id: str | None = None, budget_tokens: int | None = None, **person: str
    ) -> Context:
        """Return the context that a chat turn with this query would be given."""
        body = self._body_for(person, sessionId=session_id, query=query, budgetTokens=budget_tokens)
        return await self._request_as(Context, "POST", "/api/context", body)

    # Memory

    async def remember(
        self,
        content: str,
        *,
        type: MemoryType = "PROFILE",  # noqa: A002  the API's name
        entity: Entity | None = None,
        fact_type: str | None = None,
        attribute: str | None = None,
        pinned: bool | None = None,
        importance: int | None = None,
        source: str | None = None,
        **person: str,
    ) -> Memory:
        """Store a fact; one with the same key is updated and its earlier version kept."""
        body = self._body_for(
            person, type=type, content=content, entity=entity, factType=fact_type, attribute=attribute, pinned=pinned,
            importance=importance, source=source,
        )  # fmt: skip
        return await self._request_as(Memory, "POST", "/api/memories", body)

    async def recall(
        self,
        query: str,
        *,
        limit: int = 10,
        ranking: Ranking | None = None,
        kinds: Sequence[str] | None = None,
        as_of: str | None = None,
        explain: bool | None = None,
        **person: str,
    ) -> Found:
        """Search memory; return `results`, best first with the parts of each score, and `entityCards`."""
        body = self._body_for(
            person, query=query, limit=limit, ranking=ranking, kinds=list(kinds) if kinds else None, asOf=as_of,
            explain=explain,
        )  # fmt: skip
        return await self._request_as(Found, "POST", "/api/memories/search", body)

    async def memories(self, *, limit: int = 50, **query: Any) -> AsyncIterator[Memory]:
        """Yield every memory that matches the filters, page by page."""
        filters = {"userId": self.user_id, "personaId": self.persona_id, **query}
        async for memory in self._iter_pages("/api/memories", filters, limit):
            yield memory

    async def memory(self, memory_id: str) -> Memory:
        """Return the memory of this id."""
        return await self._request_as(Memory, "GET", f"/api/memories/{memory_id}")

    async def change_memory(self, memory_id: str, **changes: Any) -> Memory:
        """Change a memory: content, importance, pinned, status, with a reason."""
        return await self._request_as(Memory, "PATCH", f"/api/memories/{memory_id}", changes)

    async def forget(self, memory_id: str) -> dict[str, Any]:
        """Forget a memory everywhere; return the receipt, which counts what was removed."""
        return await self._request_as(dict[str, Any], "DELETE", f"/api/memories/{memory_id}")

    async def forget_person(self, user_id: str) -> dict[str, Any]:
        """Forget a person everywhere; return the receipt, which counts what was removed."""
        return await self._request_as(dict[str, Any], "DELETE", f"/api/users/{segment(user_id)}")

    async def todos(self, **query: Any) -> list[dict[str, Any]]:
        """Return the person's commitments, habits, threads and frictions."""
        filters = {"userId": self.user_id, "personaId": self.persona_id, **query}
        return [todo async for todo in self._iter_pages("/api/todos", filters, 100)]

    async def export(self, user_id: str) -> AsyncIterator[str]:
        """Yield everything about the person, one JSON row per line."""
        async for line in self._transport.lines(f"/api/users/{segment(user_id)}/export"):
            yield line

    # Sessions and agent state

    async def sessions(self, **query: Any) -> list[dict[str, Any]]:
        """Return the person's sessions, newest first."""
        filters = {"userId": self.user_id, "personaId": self.persona_id, **query}
        return [session async for session in self._iter_pages("/api/sessions", filters, 100)]

    async def agent_state(self, session_id: str) -> dict[str, Any]:
        """Return the agent state of a session, with its version."""
        return await self._request_as(dict[str, Any], "GET", f"/api/sessions/{session_id}/agent-state")

    async def patch_agent_state(self, session_id: str, update: Mapping[str, Any], *, version: int) -> dict[str, Any]:
        """Apply an update to the agent state if `version` is still current; raise ApiError 412 if it is not."""
        headers = {"If-Match": f'"{version}"'}
        path = f"/api/sessions/{session_id}/agent-state"
        return await self._request_as(dict[str, Any], "PATCH", path, dict(update), headers=headers)

    async def events(self, session_id: str, *, after: str | None = None) -> AsyncIterator[Event]:
        """Yield the session's agent state updates endlessly; a broken stream is resumed where it broke."""
        seen = after
        while True:
            headers = {} if seen is None else {"Last-Event-ID": seen}
            try:
                async with self._transport.stream(
                    "GET", f"/api/sessions/{session_id}/events", headers=headers
                ) as events:
                    async for event in events:
                        seen = event.id or seen
                        if event.kind != "error":  # it ends the stream; opening it again works or raises the reason
                            yield event
            except Unreachable:
                await self._wait_until_ready()

    async def verifications(self, session_id: str, *, after: str | None = None) -> AsyncIterator[Verified]:
        """Yield each expectation once, when it is confirmed or fails, endlessly."""
        known = Verifications()
        async for event in self.events(session_id, after=after):
            for verified in known.of(event):
                yield verified

    # Engagement and agents

    async def engagement(self, **query: Any) -> Engagement | None:
        """Return hypotheses, unknowns and findings; None before the first session."""
        found: Engagement | None = await self._request_data("GET", "/api/engagement", query=query)
        return found

    async def create_agent(self, **agent: Any) -> Agent:
        """Create an agent from these fields and return it."""
        return await self._request_as(Agent, "POST", "/api/agents", agent)

    async def agents(self) -> list[Agent]:
        """Return the organization's agents, oldest first."""
        return [agent async for agent in self._iter_pages("/api/agents", {}, 100)]

    async def run(self, agent_id: str, prompt: str | None = None) -> Run:
        """Queue a run of the agent, with this prompt or its default one, and return the run."""
        body = {} if prompt is None else {"prompt": prompt}
        return await self._request_as(Run, "POST", f"/api/agents/{agent_id}/runs", body)

    async def run_status(self, run_id: str) -> Run:
        """Return the run of this id as it is now."""
        return await self._request_as(Run, "GET", f"/api/runs/{run_id}")

    async def re_examine(self, run_id: str) -> Run:
        """Queue a run in which the agent re-examines this run's decision; return the new run."""
        return await self._request_as(Run, "POST", f"/api/runs/{run_id}/re-examine")

    async def resolve(self, run_id: str, outcome: str, note: str | None = None) -> Run:
        """Record the outcome of the run's decision and return the run."""
        body = {"outcome": outcome} if note is None else {"outcome": outcome, "note": note}
        return await self._request_as(Run, "POST", f"/api/runs/{run_id}/resolve", body)

    async def decisions(self, agent_id: str, limit: int = 5) -> list[dict[str, Any]]:
        """Return the agent's latest decisions, newest first."""
        path = f"/api/agents/{agent_id}/decisions"
        return await self._request_as(list[dict[str, Any]], "GET", path, query={"limit": limit})

    # Notes

    async def write_notes(self, changes: Sequence[Mapping[str, Any]], **person: str) -> list[dict[str, Any]]:
        """Apply all changes or none: `{"op": "put", "namespace": [...], "key": ..., "value": ...}` and others."""
        body = {"userId": self._notes_owner(person), "changes": list(changes)}
        answer = await self._request_as(dict[str, list[dict[str, Any]]], "POST", "/api/notes/write", body)
        return answer["results"]

    async def read_notes(
        self, addresses: Sequence[tuple[Sequence[str], str]], *, refresh: bool = False, **person: str
    ) -> list[Note | None]:
        """Return notes by namespace and key, None for one that does not exist."""
        notes = [{"namespace": list(namespace), "key": key} for namespace, key in addresses]
        body = {"userId": self._notes_owner(person), "notes": notes, "refresh": refresh}
        answer = await self._request_as(dict[str, list[Note | None]], "POST", "/api/notes/read", body)
        return answer["notes"]

    async def search_notes(
        self, namespace: Sequence[str] = (), *, user_id: str | None = None, **search: Any
    ) -> list[Note]:
        """Return the notes below a namespace that meet every condition; with a query or a vector, nearest first."""
        person = {} if user_id is None else {"user_id": user_id}
        body = {"userId": self._notes_owner(person), "namespace": list(namespace), **search}
        answer = await self._request_as(dict[str, list[Note]], "POST", "/api/notes/search", body)
        return answer["notes"]

    async def note_namespaces(self, *, user_id: str | None = None, **search: Any) -> list[list[str]]:
        """Return the namespaces that hold a note and match the patterns."""
        person = {} if user_id is None else {"user_id": user_id}
        body = {"userId": self._notes_owner(person), **search}
        answer = await self._request_as(dict[str, list[list[str]]], "POST", "/api/notes/namespaces", body)
        return answer["namespaces"]

    async def _request_as(self, shape: type[Shape], method: str, path: str, body: Any = None, **options: Any) -> Shape:
        """Return the `data` of the response, which the API says has this shape; it is not checked."""
        data: Shape = await self._request_data(method, path, body, **options)
        return data

    async def _wait_until_ready(self) -> None:
        """Return once `/readyz` answers 200; raise the last error when the retries are used up."""
        await self._transport.send("GET", "/readyz")

    def _notes_owner(self, person: Mapping[str, str]) -> str:
        """Return the user id of the call or the client; raise ValueError if neither names one."""
        owner = person.get("user_id", self.user_id)
        if owner is None:
            raise ValueError("Notes belong to a person. Pass user_id=... to the call or to Mnemon(...).")
        return owner

    def _body_for(self, person: Mapping[str, str], **fields: Any) -> dict[str, Any]:
        """Return the body with the person and persona of the call or the client, without fields that are None."""
        named = {"userId": person.get("user_id", self.user_id), "personaId": person.get("persona_id", self.persona_id)}
        return {name: value for name, value in {**named, **fields}.items() if value is not None}
