"""A real server on a real socket, in a thread, for tests that go through the doors."""

import asyncio
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx2
import psycopg
from fastapi import FastAPI

from mnemon.access.grants import Grant
from mnemon.access.keys import create_key, parse_key
from mnemon.access.organizations import create_organization
from mnemon.api.server import HttpServer, bind_socket
from mnemon.app import make_app, make_services
from mnemon.clock import SystemClock, format_time, parse_time
from mnemon.db.database import Database
from mnemon.llm.scripted.script import Script
from mnemon.scope import Scope
from mnemon.services import Services
from mnemon.settings import Settings
from support.bounds import HANGS_S

START = "2026-04-12T15:22:00Z"

_NO_AUTHORITIES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""For clients of plain HTTP: by default each would read the certificates of every authority anew."""
_UNDONE = """
select kind from work
where parked_at is null and kind <> 'reservation' and (lease_until is not null or due_at <= %(now)s)
"""


_UNSETTLED = """
select kind from work
where org_id = %(org_id)s and parked_at is null and (lease_until is not null or due_at <= %(now)s)
"""


@dataclass
class Served:
    """A running server and what a test needs to talk to it."""

    url: str
    database_url: str
    script: Script
    clock_file: Path
    app: FastAPI
    _loop: asyncio.AbstractEventLoop
    _keys: Database
    """Makes keys beside the server, at the system's time."""
    worker: bool = True
    """Whether it does the work that comes up."""
    suffix: str = ""
    """Behind every organization's name, where tests share a server."""
    _clients: list[httpx2.Client] = field(default_factory=list)

    @property
    def model(self) -> str:
        """The model's name, as the settings have it."""
        return str(self.app.state.services.llm.name)

    def org(self, name: str = "acme") -> str:
        """What the organization that a test calls so is called here."""
        return f"{name}{self.suffix}"

    def key(self, org: str = "acme", *, grants: frozenset[Grant] | None = None, user: str | None = None) -> str:
        """A new key, with all that its kind can have where no grants are named; its organization is made if need be."""
        named = self.org(org)

        async def make() -> str:
            async with self._keys.tx(named) as tx:
                await create_organization(tx)
                _, text = await create_key(tx, Scope(org_id=named), name="test", grants=grants, bound_user=user)
            return text

        # In the server's loop, where connections stay open from one key to the next.
        return asyncio.run_coroutine_threadsafe(make(), self._loop).result(HANGS_S)

    def client(self, org: str = "acme", **options: Any) -> httpx2.Client:
        """An HTTP client with a key of that organization."""
        headers = {"Authorization": f"Bearer {self.key(org, **options)}"}
        client = httpx2.Client(base_url=self.url, headers=headers, timeout=HANGS_S, verify=_NO_AUTHORITIES)
        self._clients.append(client)
        return client

    def leave(self) -> None:
        """The test's clients are closed."""
        for client in self._clients:
            client.close()

    def set_time(self, at: str) -> None:
        """Every process takes this for now."""
        parse_time(at)
        fresh = self.clock_file.with_suffix(".new")
        fresh.write_text(at, encoding="utf-8")
        fresh.replace(self.clock_file)

    def advance(self, **delta: float) -> None:
        """Moves time forward: `advance(minutes=35)`. Work that runs would lose its lease, so it finishes first."""
        if self.worker:
            self._let_work_finish()
        self.set_time(format_time(parse_time(self.clock_file.read_text()) + timedelta(**delta)))

    def _let_work_finish(self) -> None:
        now, end = self.clock_file.read_text(), time.monotonic() + HANGS_S
        with psycopg.connect(self.database_url, autocommit=True) as connection:
            while undone := connection.execute(_UNDONE, {"now": now}).fetchall():
                assert time.monotonic() < end, f"{undone} does not end; where it cannot, `set_time` moves the clock"
                time.sleep(0.01)

    def settled(self, client: httpx2.Client, *, seconds: float = HANGS_S) -> None:
        """Waits until nothing of the client's organization is due or running."""
        deadline = time.monotonic() + seconds
        org, _ = parse_key(client.headers["Authorization"].removeprefix("Bearer "))
        with psycopg.connect(self.database_url, autocommit=True) as connection:
            while work := self._unsettled(connection, org):
                assert time.monotonic() < deadline, f"work did not settle: {work}"
                time.sleep(0.01)

    def _unsettled(self, connection: psycopg.Connection[Any], org: str) -> list[Any]:
        """What `/api/jobs` would say is running or due: asked of the table, since it is asked often."""
        now = parse_time(self.clock_file.read_text())
        return connection.execute(_UNSETTLED, {"org_id": org, "now": now}).fetchall()


@contextmanager
def served(
    database_url: str,
    folder: Path,
    *,
    worker: bool = True,
    start: str = START,
    dress: Callable[[FastAPI, Services], None] = lambda app, services: None,
    **options: Any,
) -> Iterator[Served]:
    """A server over this database with a scripted model over HTTP; `model="offline"` for none.

    `dress` adds to the application what only a test needs.
    """
    from mnemon.llm.scripted.server import ScriptedServer

    clock_file = folder / "clock"
    clock_file.write_text(start, encoding="utf-8")
    with ScriptedServer() as scripted:
        settings = Settings(
            **{
                "data_dir": folder,
                "clock_file": clock_file,
                "model": "openai:scripted",
                "model_base_url": scripted.url,
                "model_api_key": "test-key",
                "rate_limit_per_minute": 0,
                "port": 0,
                **options,
            }
        )
        ready = threading.Event()
        box: dict[str, Any] = {}

        async def run() -> None:
            keys = Database(database_url, SystemClock(), pool_size=1)
            async with make_services(settings, database_url) as services:
                app = make_app(services, worker=worker)
                dress(app, services)
                server = HttpServer(app, bind_socket("127.0.0.1", settings.port))
                box.update(app=app, server=server, port=server.port, loop=asyncio.get_running_loop(), keys=keys)
                await server.wait_until_ready()
                await keys.open()
                ready.set()
                await server.wait_closed()
            await keys.close()

        thread = threading.Thread(target=lambda: asyncio.run(run()), daemon=True)
        thread.start()
        while not ready.wait(0.05):
            if not thread.is_alive():
                raise RuntimeError("the server did not start")
        running = Served(
            url=f"http://127.0.0.1:{box['port']}",
            database_url=database_url,
            script=scripted.script,
            clock_file=clock_file,
            app=box["app"],
            _loop=box["loop"],
            _keys=box["keys"],
            worker=worker,
        )
        try:
            yield running
        finally:
            running.leave()
            box["server"].should_exit = True
            thread.join(HANGS_S)
