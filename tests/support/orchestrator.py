"""An MCP server named `orchestrator` on loopback with one tool, for tests of programs that call it."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import uvicorn
from mcp.server.mcpserver import MCPServer
from starlette.types import ASGIApp, Receive, Scope, Send

from support.bounds import HANGS_S


@dataclass
class Orchestrator:
    """What a test needs to know of it."""

    url: str
    calls: int = 0
    bearers: list[str] = field(default_factory=list)


@contextmanager
def orchestrator(answer: str) -> Iterator[Orchestrator]:
    """Serves `get_my_decisions`, which gives the answer, and remembers who asked."""
    port = _free_port()
    seen = Orchestrator(url=f"http://127.0.0.1:{port}/mcp")
    server = MCPServer("orchestrator")

    @server.tool()
    def get_my_decisions() -> str:
        """Your own last decisions."""
        seen.calls += 1
        return answer

    app = _Listening(server.streamable_http_app(stateless_http=True, json_response=True), seen)
    running = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, log_level="error", lifespan="on"))
    thread = threading.Thread(target=lambda: asyncio.run(running.serve()), daemon=True)
    thread.start()
    while not running.started:
        thread.join(0.02)
    try:
        yield seen
    finally:
        running.should_exit = True
        thread.join(HANGS_S)


class _Listening:
    def __init__(self, app: ASGIApp, seen: Orchestrator) -> None:
        self._app = app
        self._seen = seen

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = dict(scope["headers"])
            self._seen.bearers.append(headers.get(b"authorization", b"").decode())
        await self._app(scope, receive, send)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
