"""Generated from the async modules beside it by scripts/generate_sync_client.py. Do not edit."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, TypeVar
from urllib.parse import quote

from mnemon_client.errors import UnexpectedAnswer, Unreachable
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
from mnemon_client.sync_transport import Transport


class Calls:
    """The requests of a client; `SyncMnemon` adds those about a person."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def request(self, method: str, path: str, body: Any = None, **query: Any) -> Any:
        """Call any route of the API and return the `data` of its response."""
        return self._request_data(method, path, body, query=query)

    # Agents and runs

    def agent(self, agent_id: str) -> dict[str, Any]:
        """Return an agent with the state of its memory."""
        return self._request_object("GET", f"/api/agents/{segment(agent_id)}")

    def change_agent(self, agent_id: str, **changes: Any) -> dict[str, Any]:
        """Change these fields of an agent and return it; fields that are left out stay."""
        return self._request_object("PATCH", f"/api/agents/{segment(agent_id)}", changes)

    def delete_agent(self, agent_id: str) -> dict[str, Any]:
        """Delete an agent with its runs and its chat; return `{"id": …, "deleted": True}`."""
        return self._request_object("DELETE", f"/api/agents/{segment(agent_id)}")

    def reset_agent(self, agent_id: str) -> dict[str, Any]:
        """Clear the memory that the agent carries between runs; return its new state."""
        return self._request_object("POST", f"/api/agents/{segment(agent_id)}/memory/reset")

    def chat_with_agent(self, agent_id: str, message: str) -> dict[str, Any]:
        """Send the agent a message and return its reply; `reply` is None while the message waits for a worker."""
        body = {"message": message, "stream": False}
        return self._request_object("POST", f"/api/agents/{segment(agent_id)}/chat", body)

    @contextmanager
    def stream_agent_chat(self, agent_id: str, message: str) -> Iterator[Iterator[Event]]:
        """Send the agent a message and yield the events of its reply."""
        path, body = f"/api/agents/{segment(agent_id)}/chat", {"message": message, "stream": True}
        with self._transport.stream("POST", path, body=body) as events:
            yield events

    def card_types(self) -> list[dict[str, Any]]:
        """Return the card types that runs can fill."""
        return [card for card in self._iter_pages("/api/cards", {}, None)]

    def runs(self, *, limit: int = 200, **query: Any) -> Iterator[dict[str, Any]]:
        """Yield the runs that match the filters, newest first, page by page."""
        for run in self._iter_pages("/api/runs", query, limit):
            yield run

    def cancel_run(self, run_id: str) -> dict[str, Any]:
        """Cancel a run that is queued or running, and return it."""
        return self._request_object("POST", f"/api/runs/{segment(run_id)}/cancel")

    def re_examinations(self, run_id: str) -> list[dict[str, Any]]:
        """Return every re-examination of the run's decision, oldest first."""
        return [run for run in self._iter_pages(f"/api/runs/{segment(run_id)}/re-examinations", {}, None)]

    @contextmanager
    def stream_run(self, run_id: str) -> Iterator[Iterator[Event]]:
        """Yield the run's events from its start until it has ended."""
        with self._transport.stream("GET", f"/api/runs/{segment(run_id)}/events") as events:
            yield events

    # Jobs

    def jobs(self, *, limit: int = 200, **query: Any) -> Iterator[dict[str, Any]]:
        """Yield the jobs that match the filters, oldest first, page by page."""
        for job in self._iter_pages("/api/jobs", query, limit):
            yield job

    def retry_job(self, job_id: str) -> dict[str, Any]:
        """Make a job due at once, with all its attempts again, and return it."""
        return self._request_object("POST", f"/api/jobs/{segment(job_id)}/retry")

    # Organization, engagement, sources and custody

    def organization(self) -> dict[str, Any]:
        """Return the organization's settings: engagement, time zone and instructions."""
        return self._request_object("GET", "/api/organization")

    def change_organization(self, **changes: Any) -> dict[str, Any]:
        """Change the settings that are named: `engagement`, `timeZone`, `instructions`; return all of them."""
        return self._request_object("PATCH", "/api/organization", changes)

    def engagement_history(self) -> list[dict[str, Any]]:
        """Return every change of the engagement, oldest first."""
        return [change for change in self._iter_pages("/api/engagement/history", {}, 200)]

    def sources(self, user_id: str) -> list[dict[str, Any]]:
        """Return the sources of what is stored about a person, with counts."""
        return [source for source in self._iter_pages("/api/sources", {"userId": user_id}, 200)]

    def source_memories(self, user_id: str, source: str, *, limit: int = 200) -> list[dict[str, Any]]:
        """Return the latest memories of what one source said about a person, over all personas."""
        query = {"userId": user_id, "source": source, "limit": limit}
        return list(self._request_data("GET", "/api/sources/memories", query=query))

    def preview_withdrawal(self, source: str, user_id: str | None = None, *, everyone: bool = False) -> dict[str, Any]:
        """Count what the same withdrawal would take back; return the counts and the source's exact name."""
        return self._request_object("GET", "/api/sources/preview", query=_withdrawal(source, user_id, everyone))

    def withdraw(self, source: str, user_id: str | None = None, *, everyone: bool = False) -> dict[str, Any]:
        """Withdraw what the source said about the person named, or about `everyone`; return the receipt."""
        return self._request_object("POST", "/api/sources/withdraw", _withdrawal(source, user_id, everyone))

    def import_person(self, export: bytes, user_id: str | None = None) -> dict[str, Any]:
        """Import a person's export, all of it or nothing; return the rows that were stored and kept."""
        headers = {"Content-Type": "application/x-ndjson"}
        answer = self._transport.send("POST", "/api/import", content=export, query={"userId": user_id}, headers=headers)
        return dict(_data_of(answer))

    def _request_object(
        self, method: str, path: str, body: Any = None, *, query: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Send a request; return the `data` of the response, which the API says is an object."""
        found: dict[str, Any] = self._request_data(method, path, body, query=query)
        return found

    def _request_data(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """Send a request; return the `data` of the response, or all of it on a route without the envelope."""
        answer = self._transport.send(method, path, body=body, query=query, headers=headers)
        if path.startswith("/api/"):
            return _data_of(answer)
        # `request` also reaches routes beside the API, and not all of them wrap their answer.
        return answer["data"] if isinstance(answer, dict) and "data" in answer else answer

    def _iter_pages(self, path: str, query: Mapping[str, Any], limit: int | None) -> Iterator[Any]:
        """Yield the items of a list route, page by page, `limit` to a page."""
        cursor: str | None = None
        while True:
            answer = self._transport.send("GET", path, query={**query, "limit": limit, "cursor": cursor})
            for item in _data_of(answer):
                yield item
            cursor = answer["meta"].get("nextCursor")
            if cursor is None:
                return


def _data_of(answer: Any) -> Any:
    """Return the data in the API's envelope; raise UnexpectedAnswer for JSON of another program."""
    if not isinstance(answer, dict) or "data" not in answer or "meta" not in answer:
        raise UnexpectedAnswer(200)
    return answer["data"]


def _withdrawal(source: str, user_id: str | None, everyone: bool) -> dict[str, str]:
    """Return the request body of a withdrawal; raise ValueError unless either a person or everyone is named."""
    if (user_id is None) != everyone:
        raise ValueError("Name the person, or pass everyone=True to withdraw the source for everybody.")
    return {"source": source} if user_id is None else {"source": source, "userId": user_id}


def segment(name: str) -> str:
    """Return an id quoted as one segment of a URL's path; `.` and `..` by themselves would be resolved away."""
    return quote(name, safe="") if name.strip(".") else name.replace(".", "%2E")


Shape = TypeVar("Shape")


class SyncMnemon(Calls):
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
        super().__init__(Transport(base_url, key, timeout=timeout, retries=retries))
        self.user_id = user_id
        self.persona_id = persona_id

    def __enter__(self) -> "SyncMnemon":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the client's connections to the server."""
        self._transport.close()

    # Turns

    def chat(self, message: str, *, session_id: str | None = None, **person: str) -> Reply:
        """Send a message and return the reply, made with the person's memory."""
        body = self._body_for(person, sessionId=session_id, message=message, stream=False)
        return self._request_as(Reply, "POST", "/api/chat", body)

    @contextmanager
    def stream(self, message: str, *, session_id: str | None = None, **person: str) -> Iterator[Iterator[Event]]:
        """Send a message and yield the reply's events.

        `with m.stream("…") as events: for event in events: …`
        """
        body = self._body_for(person, sessionId=session_id, message=message, stream=True)
        with self._transport.stream("POST", "/api/chat", body=body) as events:
            yield events

    def turn(
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
        return self._request_as(Recorded, "POST", "/api/turns", body)

    def turn_report(self, turn_id: str) -> dict[str, Any]:
        """Return a turn by its id, with what its reflection stored, updated, skipped and rejected."""
        return self._request_as(dict[str, Any], "GET", f"/api/turns/{turn_id}")

    def context(
        self, query: str, *, session_id: str | None = None, budget_tokens: int | None = None, **person: str
    ) -> Context:
        """Return the context that a chat turn with this query would be given."""
        body = self._body_for(person, sessionId=session_id, query=query, budgetTokens=budget_tokens)
        return self._request_as(Context, "POST", "/api/context", body)

    # Memory

    def remember(
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
        return self._request_as(Memory, "POST", "/api/memories", body)

    def recall(
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
        return self._request_as(Found, "POST", "/api/memories/search", body)

    def memories(self, *, limit: int = 50, **query: Any) -> Iterator[Memory]:
        """Yield every memory that matches the filters, page by page."""
        filters = {"userId": self.user_id, "personaId": self.persona_id, **query}
        for memory in self._iter_pages("/api/memories", filters, limit):
            yield memory

    def memory(self, memory_id: str) -> Memory:
        """Return the memory of this id."""
        return self._request_as(Memory, "GET", f"/api/memories/{memory_id}")

    def change_memory(self, memory_id: str, **changes: Any) -> Memory:
        """Change a memory: content, importance, pinned, status, with a reason."""
        return self._request_as(Memory, "PATCH", f"/api/memories/{memory_id}", changes)

    def forget(self, memory_id: str) -> dict[str, Any]:
        """Forget a memory everywhere; return the receipt, which counts what was removed."""
        return self._request_as(dict[str, Any], "DELETE", f"/api/memories/{memory_id}")

    def forget_person(self, user_id: str) -> dict[str, Any]:
        """Forget a person everywhere; return the receipt, which counts what was removed."""
        return self._request_as(dict[str, Any], "DELETE", f"/api/users/{segment(user_id)}")

    def todos(self, **query: Any) -> list[dict[str, Any]]:
        """Return the person's commitments, habits, threads and frictions."""
        filters = {"userId": self.user_id, "personaId": self.persona_id, **query}
        return [todo for todo in self._iter_pages("/api/todos", filters, 100)]

    def export(self, user_id: str) -> Iterator[str]:
        """Yield everything about the person, one JSON row per line."""
        for line in self._transport.lines(f"/api/users/{segment(user_id)}/export"):
            yield line

    # Sessions and agent state

    def sessions(self, **query: Any) -> list[dict[str, Any]]:
        """Return the person's sessions, newest first."""
        filters = {"userId": self.user_id, "personaId": self.persona_id, **query}
        return [session for session in self._iter_pages("/api/sessions", filters, 100)]

    def agent_state(self, session_id: str) -> dict[str, Any]:
        """Return the agent state of a session, with its version."""
        return self._request_as(dict[str, Any], "GET", f"/api/sessions/{session_id}/agent-state")

    def patch_agent_state(self, session_id: str, update: Mapping[str, Any], *, version: int) -> dict[str, Any]:
        """Apply an update to the agent state if `version` is still current; raise ApiError 412 if it is not."""
        headers = {"If-Match": f'"{version}"'}
        path = f"/api/sessions/{session_id}/agent-state"
        return self._request_as(dict[str, Any], "PATCH", path, dict(update), headers=headers)

    def events(self, session_id: str, *, after: str | None = None) -> Iterator[Event]:
        """Yield the session's agent state updates endlessly; a broken stream is resumed where it broke."""
        seen = after
        while True:
            headers = {} if seen is None else {"Last-Event-ID": seen}
            try:
                with self._transport.stream("GET", f"/api/sessions/{session_id}/events", headers=headers) as events:
                    for event in events:
                        seen = event.id or seen
                        if event.kind != "error":  # it ends the stream; opening it again works or raises the reason
                            yield event
            except Unreachable:
                self._wait_until_ready()

    def verifications(self, session_id: str, *, after: str | None = None) -> Iterator[Verified]:
        """Yield each expectation once, when it is confirmed or fails, endlessly."""
        known = Verifications()
        for event in self.events(session_id, after=after):
            for verified in known.of(event):
                yield verified

    # Engagement and agents

    def engagement(self, **query: Any) -> Engagement | None:
        """Return hypotheses, unknowns and findings; None before the first session."""
        found: Engagement | None = self._request_data("GET", "/api/engagement", query=query)
        return found

    def create_agent(self, **agent: Any) -> Agent:
        """Create an agent from these fields and return it."""
        return self._request_as(Agent, "POST", "/api/agents", agent)

    def agents(self) -> list[Agent]:
        """Return the organization's agents, oldest first."""
        return [agent for agent in self._iter_pages("/api/agents", {}, 100)]

    def run(self, agent_id: str, prompt: str | None = None) -> Run:
        """Queue a run of the agent, with this prompt or its default one, and return the run."""
        body = {} if prompt is None else {"prompt": prompt}
        return self._request_as(Run, "POST", f"/api/agents/{agent_id}/runs", body)

    def run_status(self, run_id: str) -> Run:
        """Return the run of this id as it is now."""
        return self._request_as(Run, "GET", f"/api/runs/{run_id}")

    def re_examine(self, run_id: str) -> Run:
        """Queue a run in which the agent re-examines this run's decision; return the new run."""
        return self._request_as(Run, "POST", f"/api/runs/{run_id}/re-examine")

    def resolve(self, run_id: str, outcome: str, note: str | None = None) -> Run:
        """Record the outcome of the run's decision and return the run."""
        body = {"outcome": outcome} if note is None else {"outcome": outcome, "note": note}
        return self._request_as(Run, "POST", f"/api/runs/{run_id}/resolve", body)

    def decisions(self, agent_id: str, limit: int = 5) -> list[dict[str, Any]]:
        """Return the agent's latest decisions, newest first."""
        path = f"/api/agents/{agent_id}/decisions"
        return self._request_as(list[dict[str, Any]], "GET", path, query={"limit": limit})

    # Notes

    def write_notes(self, changes: Sequence[Mapping[str, Any]], **person: str) -> list[dict[str, Any]]:
        """Apply all changes or none: `{"op": "put", "namespace": [...], "key": ..., "value": ...}` and others."""
        body = {"userId": self._notes_owner(person), "changes": list(changes)}
        answer = self._request_as(dict[str, list[dict[str, Any]]], "POST", "/api/notes/write", body)
        return answer["results"]

    def read_notes(
        self, addresses: Sequence[tuple[Sequence[str], str]], *, refresh: bool = False, **person: str
    ) -> list[Note | None]:
        """Return notes by namespace and key, None for one that does not exist."""
        notes = [{"namespace": list(namespace), "key": key} for namespace, key in addresses]
        body = {"userId": self._notes_owner(person), "notes": notes, "refresh": refresh}
        answer = self._request_as(dict[str, list[Note | None]], "POST", "/api/notes/read", body)
        return answer["notes"]

    def search_notes(self, namespace: Sequence[str] = (), *, user_id: str | None = None, **search: Any) -> list[Note]:
        """Return the notes below a namespace that meet every condition; with a query or a vector, nearest first."""
        person = {} if user_id is None else {"user_id": user_id}
        body = {"userId": self._notes_owner(person), "namespace": list(namespace), **search}
        answer = self._request_as(dict[str, list[Note]], "POST", "/api/notes/search", body)
        return answer["notes"]

    def note_namespaces(self, *, user_id: str | None = None, **search: Any) -> list[list[str]]:
        """Return the namespaces that hold a note and match the patterns."""
        person = {} if user_id is None else {"user_id": user_id}
        body = {"userId": self._notes_owner(person), **search}
        answer = self._request_as(dict[str, list[list[str]]], "POST", "/api/notes/namespaces", body)
        return answer["namespaces"]

    def _request_as(self, shape: type[Shape], method: str, path: str, body: Any = None, **options: Any) -> Shape:
        """Return the `data` of the response, which the API says has this shape; it is not checked."""
        data: Shape = self._request_data(method, path, body, **options)
        return data

    def _wait_until_ready(self) -> None:
        """Return once `/readyz` answers 200; raise the last error when the retries are used up."""
        self._transport.send("GET", "/readyz")

    def _notes_owner(self, person: Mapping[str, str]) -> str:
        """Return the user id of the call or the client; raise ValueError if neither names one."""
        owner = person.get("user_id", self.user_id)
        if owner is None:
            raise ValueError("Notes belong to a person. Pass user_id=... to the call or to SyncMnemon(...).")
        return owner

    def _body_for(self, person: Mapping[str, str], **fields: Any) -> dict[str, Any]:
        """Return the body with the person and persona of the call or the client, without fields that are None."""
        named = {"userId": person.get("user_id", self.user_id), "personaId": person.get("persona_id", self.persona_id)}
        return {name: value for name, value in {**named, **fields}.items() if value is not None}
