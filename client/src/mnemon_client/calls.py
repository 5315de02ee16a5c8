"""Calls of `Mnemon`: any route, and those that run an installation: agents, runs, jobs, sources, custody."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote

from mnemon_client.errors import UnexpectedAnswer
from mnemon_client.events import Event
from mnemon_client.transport import AsyncTransport


class AsyncCalls:
    """The requests of a client; `Mnemon` adds those about a person."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def request(self, method: str, path: str, body: Any = None, **query: Any) -> Any:
        """Call any route of the API and return the `data` of its response."""
        return await self._request_data(method, path, body, query=query)

    # Agents and runs

    async def agent(self, agent_id: str) -> dict[str, Any]:
        """Return an agent with the state of its memory."""
        return await self._request_object("GET", f"/api/agents/{segment(agent_id)}")

    async def change_agent(self, agent_id: str, **changes: Any) -> dict[str, Any]:
        """Change these fields of an agent and return it; fields that are left out stay."""
        return await self._request_object("PATCH", f"/api/agents/{segment(agent_id)}", changes)

    async def delete_agent(self, agent_id: str) -> dict[str, Any]:
        """Delete an agent with its runs and its chat; return `{"id": …, "deleted": True}`."""
        return await self._request_object("DELETE", f"/api/agents/{segment(agent_id)}")

    async def reset_agent(self, agent_id: str) -> dict[str, Any]:
        """Clear the memory that the agent carries between runs; return its new state."""
        return await self._request_object("POST", f"/api/agents/{segment(agent_id)}/memory/reset")

    async def chat_with_agent(self, agent_id: str, message: str) -> dict[str, Any]:
        """Send the agent a message and return its reply; `reply` is None while the message waits for a worker."""
        body = {"message": message, "stream": False}
        return await self._request_object("POST", f"/api/agents/{segment(agent_id)}/chat", body)

    @asynccontextmanager
    async def stream_agent_chat(self, agent_id: str, message: str) -> AsyncIterator[AsyncIterator[Event]]:
        """Send the agent a message and yield the events of its reply."""
        path, body = f"/api/agents/{segment(agent_id)}/chat", {"message": message, "stream": True}
        async with self._transport.stream("POST", path, body=body) as events:
            yield events

    async def card_types(self) -> list[dict[str, Any]]:
        """Return the card types that runs can fill."""
        return [card async for card in self._iter_pages("/api/cards", {}, None)]

    async def runs(self, *, limit: int = 200, **query: Any) -> AsyncIterator[dict[str, Any]]:
        """Yield the runs that match the filters, newest first, page by page."""
        async for run in self._iter_pages("/api/runs", query, limit):
            yield run

    async def cancel_run(self, run_id: str) -> dict[str, Any]:
        """Cancel a run that is queued or running, and return it."""
        return await self._request_object("POST", f"/api/runs/{segment(run_id)}/cancel")

    async def re_examinations(self, run_id: str) -> list[dict[str, Any]]:
        """Return every re-examination of the run's decision, oldest first."""
        return [run async for run in self._iter_pages(f"/api/runs/{segment(run_id)}/re-examinations", {}, None)]

    @asynccontextmanager
    async def stream_run(self, run_id: str) -> AsyncIterator[AsyncIterator[Event]]:
        """Yield the run's events from its start until it has ended."""
        async with self._transport.stream("GET", f"/api/runs/{segment(run_id)}/events") as events:
            yield events

    # Jobs

    async def jobs(self, *, limit: int = 200, **query: Any) -> AsyncIterator[dict[str, Any]]:
        """Yield the jobs that match the filters, oldest first, page by page."""
        async for job in self._iter_pages("/api/jobs", query, limit):
            yield job

    async def retry_job(self, job_id: str) -> dict[str, Any]:
        """Make a job due at once, with all its attempts again, and return it."""
        return await self._request_object("POST", f"/api/jobs/{segment(job_id)}/retry")

    # Organization, engagement, sources and custody

    async def organization(self) -> dict[str, Any]:
        """Return the organization's settings: engagement, time zone and instructions."""
        return await self._request_object("GET", "/api/organization")

    async def change_organization(self, **changes: Any) -> dict[str, Any]:
        """Change the settings that are named: `engagement`, `timeZone`, `instructions`; return all of them."""
        return await self._request_object("PATCH", "/api/organization", changes)

    async def engagement_history(self) -> list[dict[str, Any]]:
        """Return every change of the engagement, oldest first."""
        return [change async for change in self._iter_pages("/api/engagement/history", {}, 200)]

    async def sources(self, user_id: str) -> list[dict[str, Any]]:
        """Return the sources of what is stored about a person, with counts."""
        return [source async for source in self._iter_pages("/api/sources", {"userId": user_id}, 200)]

    async def source_memories(self, user_id: str, source: str, *, limit: int = 200) -> list[dict[str, Any]]:
        """Return the latest memories of what one source said about a person, over all personas."""
        query = {"userId": user_id, "source": source, "limit": limit}
        return list(await self._request_data("GET", "/api/sources/memories", query=query))

    async def preview_withdrawal(
        self, source: str, user_id: str | None = None, *, everyone: bool = False
    ) -> dict[str, Any]:
        """Count what the same withdrawal would take back; return the counts and the source's exact name."""
        return await self._request_object("GET", "/api/sources/preview", query=_withdrawal(source, user_id, everyone))

    async def withdraw(self, source: str, user_id: str | None = None, *, everyone: bool = False) -> dict[str, Any]:
        """Withdraw what the source said about the person named, or about `everyone`; return the receipt."""
        return await self._request_object("POST", "/api/sources/withdraw", _withdrawal(source, user_id, everyone))

    async def import_person(self, export: bytes, user_id: str | None = None) -> dict[str, Any]:
        """Import a person's export, all of it or nothing; return the rows that were stored and kept."""
        headers = {"Content-Type": "application/x-ndjson"}
        answer = await self._transport.send(
            "POST", "/api/import", content=export, query={"userId": user_id}, headers=headers
        )
        return dict(_data_of(answer))

    async def _request_object(
        self, method: str, path: str, body: Any = None, *, query: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Send a request; return the `data` of the response, which the API says is an object."""
        found: dict[str, Any] = await self._request_data(method, path, body, query=query)
        return found

    async def _request_data(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """Send a request; return the `data` of the response, or all of it on a route without the envelope."""
        answer = await self._transport.send(method, path, body=body, query=query, headers=headers)
        if path.startswith("/api/"):
            return _data_of(answer)
        # `request` also reaches routes beside the API, and not all of them wrap their answer.
        return answer["data"] if isinstance(answer, dict) and "data" in answer else answer

    async def _iter_pages(self, path: str, query: Mapping[str, Any], limit: int | None) -> AsyncIterator[Any]:
        """Yield the items of a list route, page by page, `limit` to a page."""
        cursor: str | None = None
        while True:
            answer = await self._transport.send("GET", path, query={**query, "limit": limit, "cursor": cursor})
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
