"""The composition root: turns settings into a running application. Only this module knows every room and every door."""

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.metadata import version

from fastapi import APIRouter, FastAPI
from starlette.routing import Route

from mnemon.access.keys import KeyWatch
from mnemon.access.local_operator import LocalOperator
from mnemon.access.rate import RateLimit
from mnemon.api import middleware, problems
from mnemon.api.health import Readiness
from mnemon.chat.stream import ReplyStreams
from mnemon.clock import Clock, FileClock, SystemClock
from mnemon.db.database import Database
from mnemon.db.tx import SharedObjects
from mnemon.embedding.connect import connect_embedder
from mnemon.embedding.embedder import Embedder
from mnemon.errors import Misconfigured
from mnemon.event_loop import RequestPriority
from mnemon.jobs.isolation import Isolation
from mnemon.jobs.kind import JobKind
from mnemon.jobs.runner import Runner
from mnemon.llm.connect import connect_llm
from mnemon.llm.offline import OFFLINE_NAME as OFFLINE
from mnemon.llm.protocol import Llm
from mnemon.mcp.lazy_door import PATH as MCP_PATH
from mnemon.mcp.lazy_door import LazyMcpDoor
from mnemon.memory.recall.index_cache import IndexCache
from mnemon.memory.relative_dates import DefaultTimeZone
from mnemon.services import Services
from mnemon.settings import Settings
from mnemon.supervisor import supervise
from mnemon.vectors.embed_job import TextSource


def all_job_kinds(services: Services) -> dict[str, JobKind]:
    """Return every kind of background job, by name."""
    # Imported when used: a command that runs no jobs need not load every room.
    from mnemon.custody.ledger import job_kinds as ledger
    from mnemon.memory.entities.merge import job_kinds as matching
    from mnemon.memory.upkeep.curator_job import job_kinds as curating
    from mnemon.memory.upkeep.spine_job import job_kinds as spines
    from mnemon.notes.upkeep import job_kinds as sweeping
    from mnemon.reflection.job import job_kinds as reflecting
    from mnemon.runs.job import job_kinds as running
    from mnemon.sessions.close import job_kinds as closing
    from mnemon.vectors.embed_job import job_kinds as embedding

    rooms: tuple[tuple[JobKind, ...], ...] = (
        curating(services),
        embedding(services, embeddable_texts()),
        ledger(services),
        matching(services),
        closing(services),
        reflecting(services),
        running(services),
        spines(services),
        sweeping(services),
    )
    return {kind.name: kind for room in rooms for kind in room}


def embeddable_texts() -> tuple[TextSource, ...]:
    """Return the sources of all texts that get a vector, one per package that stores such texts."""
    from mnemon.memory.vector_store import MemoryTexts
    from mnemon.notes.upkeep import NoteTexts

    return (MemoryTexts(), NoteTexts())


def make_clock(settings: Settings) -> Clock:
    """Return the machine's clock, or that of MNEMON_CLOCK_FILE.

    Raises Misconfigured where the file holds no time, or where the server can be reached from other machines.
    """
    if settings.clock_file is None:
        return SystemClock()
    if not settings.is_loopback:
        raise Misconfigured(
            "MNEMON_CLOCK_FILE is for tests and demos and needs a server that listens on loopback only. "
            "Unset it, or listen on 127.0.0.1."
        )
    clock = FileClock(settings.clock_file)
    clock.now()
    return clock


@asynccontextmanager
async def make_services(settings: Settings, database_url: str) -> AsyncIterator[Services]:
    """Open the services for these settings over a migrated database, and close them when the block ends."""
    clock = make_clock(settings)
    index_cache = IndexCache(megabytes=settings.index_memory_mb)
    db = make_database(
        settings, database_url, clock, attached=SharedObjects(index_cache, DefaultTimeZone(settings.time_zone))
    )
    embedder = make_embedder(settings)
    # Closed in the reverse order: the models first, the database last.
    async with AsyncExitStack() as closing:
        await db.open()
        closing.push_async_callback(db.close)
        closing.callback(index_cache.close)
        closing.push_async_callback(embedder.close)
        llm = make_llm(settings, settings.model, db.request_priority)
        closing.push_async_callback(llm.close)
        reflector = llm
        if settings.reflection_model is not None:
            reflector = make_llm(settings, settings.reflection_model, db.request_priority)
            closing.push_async_callback(reflector.close)
        yield Services(db=db, llm=llm, reflector=reflector, embedder=embedder, clock=clock, settings=settings)


def make_database(settings: Settings, url: str, clock: Clock, *, attached: SharedObjects | None = None) -> Database:
    """Return the database of this URL, configured by the settings; it is not opened yet."""
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


def make_llm(settings: Settings, name: str, priority: RequestPriority | None = None) -> Llm:
    """Return the language model of that name, with the settings' base URL and key only if it is of their provider."""
    same_provider = settings.model == OFFLINE or name.partition(":")[0] == settings.model.partition(":")[0]
    key = settings.model_api_key if same_provider else None
    return connect_llm(
        name,
        base_url=settings.model_base_url if same_provider else None,
        api_key=key.get_secret_value() if key else None,
        timeout=settings.model_timeout_s,
        longest_reply=settings.max_reply_chars,
        priority=priority,
    )


def make_embedder(settings: Settings) -> Embedder:
    """Return the embedder that the settings name."""
    key = settings.embedder_api_key.get_secret_value() if settings.embedder_api_key else None
    return connect_embedder(settings.embedder, base_url=settings.embedder_base_url, api_key=key)


async def check_models(settings: Settings) -> None:
    """Raise Misconfigured for a model that cannot be set up: a wrong name or a missing key. Nothing is sent."""
    await make_embedder(settings).close()
    for name in filter(None, (settings.model, settings.reflection_model)):
        await make_llm(settings, name).close()


def make_app(
    services: Services, *, worker: bool = True, isolation: Isolation | None = None, api_only: bool = False
) -> FastAPI:
    """Make the HTTP application over open services, with a background worker in it unless told otherwise.

    `api_only` leaves out the console and MCP, which a command that serves itself does not need.
    """
    # Here and not above: a worker has this module too, and needs none of the doors.
    from mnemon.api.routers import API_ROUTERS

    routers: tuple[APIRouter, ...] = API_ROUTERS
    missing_page = None
    if not api_only:
        from mnemon.console.pages import show_missing_page
        from mnemon.console.routers import CONSOLE_ROUTERS

        routers += CONSOLE_ROUTERS
        missing_page = show_missing_page

    app = FastAPI(
        title="Mnemon",
        version=version("mnemon-server"),
        summary="A memory and state server for AI agents.",
        docs_url=None,
        redoc_url=None,
        lifespan=lambda app: _lifespan(app, make_runner(services, isolation=isolation) if worker else None),
        redirect_slashes=False,
    )
    app.state.services = services
    # Set when the server stops, so that endless streams end.
    app.state.closing = asyncio.Event()
    app.state.streams = ReplyStreams()
    # The presence of the worker in this process, when there is one.
    app.state.worker = None
    app.state.readiness = Readiness(services.db, lambda: app.state.worker)
    app.state.rate_limit = RateLimit(services.settings.rate_limit_per_minute)
    app.state.key_watch = KeyWatch(services.db)
    app.state.operator = LocalOperator()
    # Doors do not import each other: the API's handler of unknown paths shows the console's page by this.
    app.state.missing_page = missing_page
    problems.install_handlers(app)
    problems.document_problems(app)
    for router in routers:
        app.include_router(router)
    app.state.mcp = None if api_only else LazyMcpDoor(services, app.state.rate_limit)
    if app.state.mcp is not None:
        app.router.routes.append(Route(MCP_PATH, endpoint=app.state.mcp, methods=["GET", "POST", "DELETE"]))
    # The middleware added last is the outermost and sees each request first.
    app.add_middleware(middleware.PageCompression)
    app.add_middleware(
        middleware.RequestMiddleware,
        clock=services.clock,
        priority=services.db.request_priority,
        max_body_bytes=services.settings.max_body_bytes,
    )
    return app


def make_runner(
    services: Services,
    *,
    isolation: Isolation | None = None,
    only: str | None = None,
    without: Collection[str] = (),
) -> Runner:
    """Return a runner of all kinds of work but those named, of every organization or of `only` one."""
    concurrency = services.settings.worker_concurrency
    kinds = {name: kind for name, kind in all_job_kinds(services).items() if name not in without}
    return Runner(services.db, services.clock, kinds, concurrency=concurrency, isolation=isolation, only=only)


@asynccontextmanager
async def _lifespan(app: FastAPI, runner: Runner | None) -> AsyncIterator[None]:
    """Run the MCP door, the replies' streams and the worker while the application runs."""
    async with _run_mcp_gate(app.state.mcp), _close_streams_at_end(app), _run_worker(app, runner):
        yield


@asynccontextmanager
async def _run_mcp_gate(gate: LazyMcpDoor | None) -> AsyncIterator[None]:
    """Load the MCP door, where there is one, in the background, and close it with the application."""
    if gate is None:
        yield
        return
    async with supervise("mcp", gate.load_and_run):
        yield


@asynccontextmanager
async def _close_streams_at_end(app: FastAPI) -> AsyncIterator[None]:
    """Interrupt unfinished replies at the application's end, and store their text so far."""
    try:
        yield
    finally:
        await app.state.streams.close()


@asynccontextmanager
async def _run_worker(app: FastAPI, runner: Runner | None) -> AsyncIterator[None]:
    """Run the background worker, if there is one, while the application runs."""
    if runner is None:
        yield
        return
    app.state.worker = runner.presence
    async with runner.run_in_background():
        yield
