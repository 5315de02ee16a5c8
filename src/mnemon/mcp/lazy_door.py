"""Loads the MCP door in the background: its libraries take a second to import, and the server must not start later
for that.
"""

import asyncio
from importlib import import_module
from typing import TYPE_CHECKING

from starlette.types import Receive, Scope, Send

from mnemon.access.rate import RateLimit
from mnemon.errors import Unavailable
from mnemon.services import Services

if TYPE_CHECKING:
    from mnemon.mcp.http import McpDoor


PATH = "/mcp"


class LazyMcpDoor:
    """Passes requests to the MCP door once it is loaded."""

    path = PATH
    """The route's template in metrics and log lines, which read it from the route."""

    def __init__(self, services: Services, rate_limit: RateLimit) -> None:
        """Make a door that imports the MCP door later; nothing is imported yet."""
        self._services = services
        self._rate_limit = rate_limit
        self._door: McpDoor | None = None
        self._ready = asyncio.Event()

    async def load_and_run(self) -> None:
        """Import the MCP door in a thread, open it, and keep it open until this is cancelled."""
        try:
            module = await asyncio.to_thread(import_module, "mnemon.mcp.http")
            door: McpDoor = module.McpDoor(self._services, self._rate_limit)
            async with door.lifespan():
                self._door = door
                self._ready.set()
                await asyncio.Event().wait()
        finally:
            self._door = None
            self._ready.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request to the MCP door once it is loaded; raise Unavailable when it is closed."""
        scope["route"] = self
        await self._ready.wait()
        if self._door is None:
            raise Unavailable("The MCP door is closed: the server is stopping, or its log says why it did not open.")
        await self._door(scope, receive, send)
