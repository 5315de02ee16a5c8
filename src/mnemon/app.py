"""The composition: settings in, a running application out. The only place that knows every room and every door."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from importlib import import_module
from importlib.metadata import version

from fastapi import FastAPI
from starlette.routing import Route

from mnemon.access.rate import RateLimit
from mnemon.access.watch import KeyWatch
from mnemon.api import boundary, documented_problems, problems
from mnemon.api.health import Readiness
from mnemon.basement import Basement
from mnemon.chat.stream import Streams
from mnemon.clock import Clock, FileClock, SystemClock
from mnemon.console.squeeze import Squeeze
from mnemon.db.attached import Attached
from mnemon.db.database import Database
from mnemon.embedding.connect import connect as connect_embedder
from mnemon.embedding.protocol import Embedder
from mnemon.errors import Misconfigured
from mnemon.jobs.isolation import Isolation
from mnemon.jobs.kind import Kind
from mnemon.jobs.runner import Runner
from mnemon.llm.connect import connect as connect_llm
from mnemon.llm.offline import NAME as OFFLINE
from mnemon.llm.protocol import Llm
from mnemon.mcp.gate import PATH as MCP_PATH
from mnemon.mcp.gate import McpGate
from mnemon.memory.recall.shelf import Shelf
from mnemon.settings import Settings
from mnemon.supervisor import supervise
from mnemon.vectors.texts import Texts
from mnemon.way import RightOfWay

ROUTERS = (
    "agents",
    "agentstate",
    "chat",
    "context",
    "custody",
    "engagement",
    "entities",
    "health",
    "jobs",
    "memories",
    "notes",
    "openai",
    "personas",
    "recall",
    "results",
    "runs",
    "sessions",
    "sources",
    "todos",
    "turns",
    "users",
)
"""Modules of `mnemon.api` whose `router` is served."""

PAGES = (
    "agent_state",
    "agents",
    "calibration",
    "context",
    "doorway",
    "engagement",
    "entities",
    "jobs",
    "live",
    "memories",
    "overview",
    "recall",
    "results",
    "runs",
    "sessions",
    "settings",
    "sources",
)
"""Modules of `mnemon.console` whose `router` is served."""


def kinds(basement: Basement) -> dict[str, Kind]:
    """Every kind of work the rooms know, by name."""
    from mnemon.custody.outbox import kinds as ledger
    from mnemon.memory.entities.job import kinds as matching
    from mnemon.memory.upkeep.curator_job import kinds as curating
    from mnemon.memory.upkeep.spine_job import kinds as spines
    from mnemon.notes.sweep import kinds as sweeping
    from mnemon.reflection.sections import kinds as reflecting
    from mnemon.runs.job import kinds as running
    from mnemon.sessions.close import kinds as closing
    from mnemon.vectors.job import kinds as embedding

    rooms: tuple[tuple[Kind, ...], ...] = (
        curating(basement),
        embedding(basement, texts()),
        ledger(basement),
        matching(basement),
        closing(basement),
        reflecting(basement),
        running(basement),
        spines(basement),
        sweeping(basement),
    )
    return {kind.name: kind for room in rooms for kind in room}


def texts() -> tuple[Texts, ...]:
    """The texts of every room that can be found by meaning."""
    from mnemon.memory.vectors.store import MemoryTexts
    from mnemon.notes.vectors import NoteTexts

    return (MemoryTexts(), NoteTexts())


def clock_of(settings: Settings) -> Clock:
    """The machine's clock, or the file's where the server can be reached from this machine only and a time is in it."""
    if settings.clock_file is None:
        return SystemClock()
    if not settings.loopback:
        raise Misconfigured(
            "MNEMON_CLOCK_FILE is for tests and demos and needs a server that listens on loopback only. "
            "Unset it, or listen on 127.0.0.1."
        )
    clock = FileClock(settings.clock_file)
    clock.now()
    return clock


@asynccontextmanager
async def opened(settings: Settings, database_url: str) -> AsyncIterator[Basement]:
    """The mechanisms, made from the settings over a database that is migrated already."""
    clock = clock_of(settings)
    shelf = Shelf(megabytes=settings.index_memory_mb)
    db = database_of(settings, database_url, clock, attached=Attached(shelf))
    embedder = embedder_of(settings)
    async with AsyncExitStack() as closing:
        await db.open()
        closing.push_async_callback(db.close)
        closing.callback(shelf.close)
        closing.push_async_callback(embedder.close)
        llm = llm_of(settings, settings.model, db.way)
        closing.push_async_callback(llm.close)
        reflector = llm
        if settings.reflection_model is not None:
            reflector = llm_of(settings, settings.reflection_model, db.way)
            closing.push_async_callback(reflector.close)
        yield Basement(db=db, llm=llm, reflector=reflector, embedder=embedder, clock=clock, settings=settings)


def database_of(settings: Settings, url: str, clock: Clock, *, attached: Attached | None = None) -> Database:
    """The database that the URL names, used as the settings say."""
    listen_url = settings.listen_url.get_secret_value() if settings.listen_url else None
    return Database(
        url,
        clock,
        pool_size=settings.pool_size,
        timeout_s=settings.database_timeout_s,
        prepared=settings.prepared_statements,
        listen_url=listen_url,
        attached=attached,
    )


def llm_of(settings: Settings, name: str, way: RightOfWay | None = None) -> Llm:
    """The model of that name. The address and the key in the settings are for one provider: another's gets neither."""
    meant = settings.model == OFFLINE or name.partition(":")[0] == settings.model.partition(":")[0]
    key = settings.model_api_key if meant else None
    return connect_llm(
        name,
        base_url=settings.model_base_url if meant else None,
        api_key=key.get_secret_value() if key else None,
        timeout=settings.model_timeout_s,
        longest_reply=settings.max_reply_chars,
        way=way,
    )


def embedder_of(settings: Settings) -> Embedder:
    """The embedder in the settings."""
    key = settings.embedder_api_key.get_secret_value() if settings.embedder_api_key else None
    return connect_embedder(settings.embedder, base_url=settings.embedder_base_url, api_key=key)


async def check_models(settings: Settings) -> None:
    """Refuse models that cannot be set up: a wrong name, or a key that is missing. Nothing is sent."""
    await embedder_of(settings).close()
    for name in filter(None, (settings.model, settings.reflection_model)):
        await llm_of(settings, name).close()


def make_app(basement: Basement, *, worker: bool = True, isolation: Isolation | None = None) -> FastAPI:
    """The HTTP application over an open basement; with a worker inside unless told otherwise."""
    app = FastAPI(
        title="Mnemon",
        version=version("mnemon"),
        summary="A memory and state server for AI agents.",
        docs_url=None,
        redoc_url=None,
        lifespan=lambda app: _lifespan(app, make_runner(basement, isolation=isolation) if worker else None),
        redirect_slashes=False,
    )
    app.state.basement = basement
    app.state.closing = asyncio.Event()  # set when the server is asked to stop: endless streams end by themselves
    app.state.streams = Streams()
    app.state.worker = None  # the presence of the worker in this process, when there is one
    app.state.readiness = Readiness(basement.db, lambda: app.state.worker)
    app.state.rate_limit = RateLimit(basement.settings.rate_limit_per_minute)
    app.state.key_watch = KeyWatch(basement.db)
    problems.install(app)
    documented_problems.document_problems(app)
    for name in ROUTERS:
        app.include_router(import_module(f"mnemon.api.{name}").router)
    for name in PAGES:
        app.include_router(import_module(f"mnemon.console.{name}").router)
    app.state.mcp = McpGate(basement, app.state.rate_limit)
    app.router.routes.append(Route(MCP_PATH, endpoint=app.state.mcp, methods=["GET", "POST", "DELETE"]))
    app.add_middleware(Squeeze)
    app.add_middleware(
        boundary.Boundary,
        clock=basement.clock,
        way=basement.db.way,
        max_body_bytes=basement.settings.max_body_bytes,
    )
    return app


def make_runner(basement: Basement, *, isolation: Isolation | None = None) -> Runner:
    """A runner of everything the rooms can do."""
    concurrency = basement.settings.worker_concurrency
    return Runner(basement.db, basement.clock, kinds(basement), concurrency=concurrency, isolation=isolation)


@asynccontextmanager
async def _lifespan(app: FastAPI, runner: Runner | None) -> AsyncIterator[None]:
    async with _kept(app.state.mcp), _answering(app), _working(app, runner):
        yield


@asynccontextmanager
async def _kept(gate: McpGate) -> AsyncIterator[None]:
    """The MCP door opens beside the start and closes with the application."""
    async with supervise("mcp", gate.keep):
        yield


@asynccontextmanager
async def _answering(app: FastAPI) -> AsyncIterator[None]:
    """Replies in the making are sealed as far as they came when the application ends."""
    try:
        yield
    finally:
        await app.state.streams.close()


@asynccontextmanager
async def _working(app: FastAPI, runner: Runner | None) -> AsyncIterator[None]:
    if runner is None:
        yield
        return
    app.state.worker = runner.presence
    async with runner.working():
        yield
