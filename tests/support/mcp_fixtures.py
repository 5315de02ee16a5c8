"""Our MCP door with the scenario tools of the protocol suite beside our own.

The suite calls tools, prompts and resources by fixed names (`test_simple_text`, `test://static-text`, …) that no
product has. They live here, in the tests: the door is ours, its server's lists are ours and theirs.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import mcp_types as types
from fastapi import FastAPI
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.streamable_http import EventCallback, EventId, EventMessage, EventStore, StreamId
from starlette.routing import Route

from mnemon.access.rate import RateLimit
from mnemon.mcp.http import McpDoor, checked_caller, session_manager
from mnemon.mcp.lazy_door import PATH, LazyMcpDoor
from mnemon.mcp.server import make_server
from mnemon.services import Services
from support.mcp_bearer import Bearer
from support.mcp_scenes import scenes

Ctx = ServerRequestContext[Any, Any]
LISTS = {"tools/list": "tools", "resources/list": "resources", "resources/templates/list": "resource_templates"}


class Remembered(EventStore):
    """Events of open streams, so that a client that comes back gets what it missed."""

    def __init__(self) -> None:
        self._events: list[tuple[StreamId, types.JSONRPCMessage | None]] = []

    async def store_event(self, stream_id: StreamId, message: types.JSONRPCMessage | None) -> EventId:
        self._events.append((stream_id, message))
        return str(len(self._events))

    async def replay_events_after(self, last_event_id: EventId, send_callback: EventCallback) -> StreamId | None:
        seen = int(last_event_id) if last_event_id.isdigit() else 0
        if not 1 <= seen <= len(self._events):
            return None
        stream = self._events[seen - 1][0]
        for place, (owner, message) in enumerate(self._events[seen:], start=seen + 1):
            if owner == stream and message is not None:
                await send_callback(EventMessage(message, str(place)))
        return stream


class Stage(LazyMcpDoor):
    """The way to a door that is there already."""

    def __init__(self, services: Services, rate_limit: RateLimit, door: McpDoor) -> None:
        super().__init__(services, rate_limit)
        self._staged = door

    async def load_and_run(self) -> None:
        async with self._staged.lifespan():
            self._door = self._staged
            self._ready.set()
            await asyncio.Event().wait()


def dressed(box: dict[str, str]) -> Callable[[FastAPI, Services], None]:
    """For `served(dress=…)`: `/mcp` with scenario tools, sessions and streams, and a key for who has none."""

    def dress(app: FastAPI, services: Services) -> None:
        server = joined(make_server(services, checked_caller))
        manager = session_manager(server, services.settings, event_store=Remembered(), retry_interval=100)
        app.state.mcp = Stage(services, app.state.rate_limit, McpDoor(services, app.state.rate_limit, manager=manager))
        app.router.routes[-1] = Route(PATH, endpoint=app.state.mcp, methods=["GET", "POST", "DELETE"])
        app.add_middleware(Bearer, box=box)

    return dress


def joined(ours: "Server[Any]") -> "Server[Any]":
    """The scenario server with our tools and resources in its lists, and our handlers behind our names."""
    theirs = scenes()._lowlevel_server
    for method, field in LISTS.items():
        _replace(theirs, method, _both(_handler(theirs, method), _handler(ours, method), field))
    names: dict[str, Callable[[Any], bool]] = {"tools/call": _ours_by_name, "resources/read": _ours_by_uri}
    for method, is_ours in names.items():
        _replace(theirs, method, _either(is_ours, _handler(ours, method), _handler(theirs, method)))
    return theirs


def _handler(server: "Server[Any]", method: str) -> Callable[[Ctx, Any], Awaitable[Any]]:
    entry = server.get_request_handler(method)
    assert entry is not None, method
    return entry.handler


def _replace(server: "Server[Any]", method: str, handler: Callable[[Ctx, Any], Awaitable[Any]]) -> None:
    entry = server.get_request_handler(method)
    assert entry is not None
    server.add_request_handler(method, entry.params_type, handler)


def _both(
    theirs: Callable[[Ctx, Any], Awaitable[Any]], ours: Callable[[Ctx, Any], Awaitable[Any]], field: str
) -> Callable[[Ctx, Any], Awaitable[Any]]:
    async def listed(ctx: Ctx, params: Any) -> Any:
        first, second = await ours(ctx, params), await theirs(ctx, params)
        return second.model_copy(update={field: [*getattr(first, field), *getattr(second, field)]})

    return listed


def _either(
    is_ours: Callable[[Any], bool],
    ours: Callable[[Ctx, Any], Awaitable[Any]],
    theirs: Callable[[Ctx, Any], Awaitable[Any]],
) -> Callable[[Ctx, Any], Awaitable[Any]]:
    async def answered(ctx: Ctx, params: Any) -> Any:
        return await (ours if is_ours(params) else theirs)(ctx, params)

    return answered


def _ours_by_name(params: types.CallToolRequestParams) -> bool:
    return not params.name.startswith(("test_", "json_schema"))


def _ours_by_uri(params: types.ReadResourceRequestParams) -> bool:
    return not str(params.uri).startswith("test://")
