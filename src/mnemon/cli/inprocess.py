"""Run the whole server inside another program: a notebook, a script, a test, or a command that finds no server.

Nothing of it outlives the process: the caller speaks as the local operator, so no key is stored.
"""

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager, nullcontext
from typing import Any

from mnemon.access.local_operator import operator_key
from mnemon.access.organizations import check_organization_name, create_organization
from mnemon.api.server import HttpServer, bind_socket
from mnemon.app import make_app, make_runner
from mnemon.cli.services import assert_embedder, open_services
from mnemon.custody import ledger
from mnemon.jobs import store as jobs
from mnemon.jobs.work import WorkStatus
from mnemon.runs.run_requests import RUN_KIND
from mnemon.scope import LOCAL_ORG, Scope
from mnemon.services import Services
from mnemon.settings import Settings, load_settings

_WORK_WAIT_S = 10


@asynccontextmanager
async def serve_in_process(org: str = LOCAL_ORG, **settings: Any) -> AsyncIterator[tuple[str, str]]:
    """Serve on a free loopback port of this process; yield the URL and a key that ends with the server."""
    chosen = load_settings(**{"host": "127.0.0.1", "port": 0, **settings})
    async with open_services(chosen, migrated=True, create=True) as services:
        await assert_embedder(services)
        async with services.db.tx(check_organization_name(org)) as tx:
            await create_organization(tx)
        async with _serve_loopback(services, org, worker=True) as served:
            yield served


@asynccontextmanager
async def serve_command(
    settings: Settings, org: str, *, worker: bool, forgets: bool = False
) -> AsyncIterator[tuple[str, str]]:
    """Serve one command over an existing database; yield the URL and a key that ends with the server.

    `worker` runs the organization's jobs, too; `forgets` brings the ledger of forgettings up to date at the end.
    """
    async with open_services(settings) as services:
        await assert_embedder(services)
        if check_organization_name(org) == LOCAL_ORG:  # as `mnemon serve` does
            async with services.db.tx(org) as tx:
                await create_organization(tx)
        async with _serve_loopback(services, org, worker=worker) as served:
            yield served
        if forgets:
            await _copy_ledger(services, org)


@asynccontextmanager
async def _serve_loopback(services: Services, org: str, *, worker: bool) -> AsyncIterator[tuple[str, str]]:
    """Serve the API alone on a loopback port, with the organization's jobs if `worker`; yield the URL and a key."""
    app = make_app(services, worker=False, api_only=True)
    server = HttpServer(app, bind_socket("127.0.0.1", 0), handle_signals=False)
    await server.wait_until_ready()
    # Another server of the same database may have a model: taken up here, its runs would fail for want of one.
    left = {RUN_KIND} if services.llm.offline and services.settings.database_url is not None else set()
    runner = make_runner(services, only=org, without=left).run_in_background() if worker else nullcontext()
    try:
        async with runner:
            yield f"http://127.0.0.1:{server.port}", operator_key(org, app.state.operator.token)
            if worker:
                await _wait_for_work(services, org, without=left)
    finally:
        server.should_exit = True
        await server.wait_closed()


async def _wait_for_work(services: Services, org: str, *, without: Collection[str]) -> None:
    """Wait up to ten seconds until no job but those kinds is due: a short chat would else end unreflected."""
    scope = Scope(org_id=org)
    for _ in range(_WORK_WAIT_S * 10):
        async with services.db.tx(org) as tx:
            waiting = await jobs.list_jobs(tx, scope, most=100)
        own = (one for one in waiting if one.kind not in without)
        if not any(one.status is not WorkStatus.PARKED and one.due_at <= tx.now for one in own):
            return
        await asyncio.sleep(0.1)


async def _copy_ledger(services: Services, org: str) -> None:
    """Append the organization's forgettings to the ledger's file, which a worker would do later."""
    async with services.db.tx(org) as tx:
        entries = await ledger.list_entries(tx, org)
    ledger.append_to_file(services.settings.data_dir / ledger.LEDGER_FILE, entries)
