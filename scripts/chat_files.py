"""Count the files of the package whose functions run while one chat request is served, with a scripted model.

A server without a worker answers `POST /api/chat`, streaming, over a socket. Two requests come before, so that nothing
of a start is counted. A function counts if it runs in the request's own context, or in a task or thread that was
started from there; so what runs on a timer meanwhile does not.
"""

import asyncio
import sys
import tempfile
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from pathlib import Path
from types import FrameType
from typing import Any

import httpx2
from starlette.types import ASGIApp, Receive, Send
from starlette.types import Scope as AsgiScope

import mnemon
from mnemon.access.keys import create_key
from mnemon.access.organizations import create_organization
from mnemon.api.server import HttpServer, bind_socket
from mnemon.app import make_app
from mnemon.cli.services import open_services
from mnemon.db.embedded.cluster import ensure_running
from mnemon.llm.scripted.server import ScriptedServer
from mnemon.scope import Scope
from mnemon.services import Services
from mnemon.settings import Settings

PACKAGE = Path(mnemon.__file__).parent
REQUESTS_BEFORE = 2
_recorded: ContextVar[set[str] | None] = ContextVar("_recorded", default=None)
"""The files that ran in the request of this context; None where nothing is counted."""


class FileRecorder:
    """ASGI middleware that notes the files that run in a request."""

    def __init__(self, app: ASGIApp, seen: list[set[str]]) -> None:
        self._app = app
        self._seen = seen

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            files: set[str] = set()
            self._seen.append(files)
            _recorded.set(files)
        await self._app(scope, receive, send)


def note_call(frame: FrameType, event: str, argument: Any) -> None:
    """Note the file of a function that is called; for `sys.setprofile`."""
    if event == "call":
        files = _recorded.get()
        if files is not None:
            files.add(frame.f_code.co_filename)


@asynccontextmanager
async def serve_chat(services: Services) -> AsyncIterator[tuple[httpx2.AsyncClient, list[set[str]]]]:
    """Serve without a worker; yield a client with a key, and the files that ran in each of its requests."""
    async with services.db.tx("acme") as tx:
        await create_organization(tx)
        _, key = await create_key(tx, Scope(org_id="acme"), name="figures")
    app, seen = make_app(services, worker=False), list[set[str]]()
    app.add_middleware(FileRecorder, seen)
    server = HttpServer(app, bind_socket("127.0.0.1", 0))
    await server.wait_until_ready()
    url, headers = f"http://127.0.0.1:{server.port}", {"Authorization": f"Bearer {key}"}
    try:
        async with httpx2.AsyncClient(base_url=url, headers=headers, timeout=60) as client:
            yield client, seen
    finally:
        server.should_exit = True
        await server.wait_closed()


async def measure_chat(database_url: str, folder: Path) -> list[str]:
    """Return the files that run in a chat request over this database, by name."""
    # Threads of the executor start later and are watched, too.
    threading.setprofile(note_call)
    sys.setprofile(note_call)
    try:
        with ScriptedServer() as model:
            given: dict[str, Any] = {
                "data_dir": folder,
                "database_url": database_url,
                "port": 0,
                "model_base_url": model.url,
            }
            settings = Settings(**given, model="openai:scripted", model_api_key="none")
            async with open_services(settings, migrated=True) as services, serve_chat(services) as (client, seen):
                fact = {"userId": "ann", "type": "PROFILE", "content": "Ann lives in Gouda."}
                (await client.post("/api/memories", json=fact)).raise_for_status()
                for number in range(REQUESTS_BEFORE + 1):
                    body = {"userId": "ann", "message": f"Where do I live, {number}?", "stream": True}
                    answer = await client.post("/api/chat", json=body)
                    assert "event: done" in answer.text, answer.text
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    inside = (Path(name) for name in seen[-1] if name.startswith(f"{PACKAGE}/"))
    return sorted(str(path.relative_to(PACKAGE)) for path in inside)


async def measure_chat_anew() -> list[str]:
    """Return the files that run in a chat request, over a new database."""
    with tempfile.TemporaryDirectory() as folder:
        cluster = await ensure_running(Path(folder))
        try:
            return await measure_chat(cluster.url, Path(folder))
        finally:
            await cluster.stop()


def main() -> None:
    """Print the files and their number."""
    found = asyncio.run(measure_chat_anew())
    sys.stdout.write("\n".join([*found, f"{len(found)} files", ""]))


if __name__ == "__main__":
    main()
