"""A whole application in this process over a real PostgreSQL whose statements can be made to fail."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import psycopg
import structlog
from fastapi import FastAPI

from mnemon.access import signin
from mnemon.access.keys import create_key
from mnemon.access.organizations import create_organization
from mnemon.app import all_job_kinds, make_app
from mnemon.clock import ManualClock
from mnemon.console.page_request import SESSION_COOKIE
from mnemon.db.database import Database
from mnemon.embedding.fake import FakeEmbedder
from mnemon.errors import ModelDown
from mnemon.jobs.kind import JobKind
from mnemon.jobs.runner import Runner
from mnemon.llm.scripted.model import ScriptedLlm
from mnemon.llm.scripted.script import Script
from mnemon.scope import Scope, person_scope
from mnemon.services import Services
from mnemon.settings import Settings
from support.faulty_connection import Faults, faulty_class
from support.loggers import loggers_as_they_were

START = datetime(2026, 4, 12, 15, 22, tzinfo=UTC)
URL = "http://127.0.0.1:8765"
POOL = 4


class FallibleEmbedder(FakeEmbedder):
    """Embeds, unless it is down."""

    down = False

    async def embed(self, texts: Sequence[str]) -> np.ndarray:
        if self.down:
            raise ModelDown("The embedder is down.")
        return await super().embed(texts)


@dataclass(frozen=True, kw_only=True)
class Call:
    """One request, as it can be sent again."""

    method: str
    path: str
    json: Any = None
    content: bytes | None = None
    form: Mapping[str, str] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(kw_only=True)
class House:
    """The application, its mechanisms, and the faults that govern its connections."""

    app: FastAPI
    services: Services
    clock: ManualClock
    script: Script
    faults: Faults
    embedder: FallibleEmbedder
    kinds: Mapping[str, JobKind]
    admin: "psycopg.AsyncConnection[Any]"
    """Sees every row and passes no fault."""

    async def new_stage(self) -> "Stage":
        """An organization of its own, at the usual time, with nothing scripted and nothing failing."""
        self.faults.heal()
        self.clock.set_time(START)
        self.script.clear()
        self.script.set_default_reply("Understood.")
        self.embedder.down = False
        self.app.state.closing.clear()
        org = f"walk-{secrets.token_hex(6)}"
        async with self.services.db.tx(org) as tx:
            await create_organization(tx)
            _, key = await create_key(tx, Scope(org_id=org), name="walk")
        return Stage(house=self, org=org, key=key)

    @property
    def streams(self) -> int:
        """Replies that are in the making."""
        return len(self.app.state.streams._running)


@dataclass(kw_only=True)
class Stage:
    """One organization on which a scenario is played once."""

    house: House
    org: str
    key: str
    cookies: dict[str, str] = field(default_factory=dict)

    @property
    def scope(self) -> Scope:
        return Scope(org_id=self.org)

    def person(self, name: str = "ann") -> Scope:
        return person_scope(self.org, name)

    async def send(self, call: Call) -> httpx2.Response:
        """The answer of the application, reached without a socket."""
        transport = httpx2.ASGITransport(app=self.house.app)
        headers = {"Authorization": f"Bearer {self.key}", **call.headers}
        async with httpx2.AsyncClient(
            transport=transport, base_url=URL, headers=headers, cookies=self.cookies, timeout=60
        ) as client:
            given = {"json": call.json, "content": call.content, "data": call.form}
            body = {name: value for name, value in given.items() if value is not None}
            return await client.request(call.method, call.path, **body)

    async def done(self, method: str, path: str, json: Any = None, **more: Any) -> Any:
        """What a request that must succeed gives."""
        answer = await self.send(Call(method=method, path=path, json=json, **more))
        assert answer.status_code < 300, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json().get("data")

    async def sign_in(self) -> str:
        """The session's CSRF token; its cookie goes with every further request."""
        async with self.house.services.db.tx(self.org) as tx:
            cookie = await signin.redeem_link(
                tx, self.scope, signin.parse_token(await signin.create_link(tx, self.scope, actor="operator"))[1]
            )
        self.cookies[SESSION_COOKIE] = cookie
        return signin.csrf_token(signin.parse_token(cookie)[1])

    def runner(self, *names: str) -> Runner:
        """A worker of this organization that knows these kinds of work, or all."""
        known = {name: kind for name, kind in self.house.kinds.items() if not names or name in names}
        return Runner(self.house.services.db, self.house.clock, known, concurrency=1, only=self.org)

    async def drain(self, *names: str) -> None:
        """What is due of these kinds is done."""
        await self.runner(*names).drain()

    def advance(self, **delta: float) -> None:
        self.house.clock.advance(timedelta(**delta))


@asynccontextmanager
async def open_house(database_url: str, folder: Path) -> AsyncIterator[House]:
    """The application over this database, without a worker, its lifespan begun."""
    clock, faults, script, embedder = ManualClock(START), Faults(), Script(), FallibleEmbedder()
    llm = ScriptedLlm(script)
    db = Database(database_url, clock, pool_size=POOL, connection_class=faulty_class(faults))
    settings = Settings(data_dir=folder, rate_limit_per_minute=0, curator_after=3, max_attempts=5)
    services = Services(db=db, llm=llm, reflector=llm, embedder=embedder, clock=clock, settings=settings)
    await db.open()
    admin = await psycopg.AsyncConnection.connect(database_url, autocommit=True)
    loggers = ExitStack()
    try:
        loggers.enter_context(loggers_as_they_were())
        structlog.configure(processors=[_say_nothing])  # every scenario is begun with requests that succeed
        app = make_app(services, worker=False)
        async with app.router.lifespan_context(app):
            await asyncio.wait_for(app.state.mcp._ready.wait(), 60)
            yield House(
                app=app,
                services=services,
                clock=clock,
                script=script,
                faults=faults,
                embedder=embedder,
                kinds=all_job_kinds(services),
                admin=admin,
            )
    finally:
        loggers.close()
        await admin.close()
        await db.close()


def _say_nothing(logger: object, method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """Drop what is logged while nobody captures it."""
    raise structlog.DropEvent
