"""Run the whole server inside another program: a notebook, a script, a test."""

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from mnemon.access.audit import record_command
from mnemon.access.keys import create_key, revoke_key
from mnemon.access.organizations import check_organization_name, create_organization
from mnemon.api.server import HttpServer, bind_socket
from mnemon.app import make_app
from mnemon.cli.services import assert_embedder, open_services
from mnemon.scope import Scope
from mnemon.settings import load_settings


@asynccontextmanager
async def serve_in_process(org: str = "local", **settings: Any) -> AsyncIterator[tuple[str, str]]:
    """Serve on a free loopback port of this process; yield the URL and a key, which is revoked at the end."""
    chosen = load_settings(**{"host": "127.0.0.1", "port": 0, **settings})
    async with open_services(chosen, migrated=True, create=True) as services:
        await assert_embedder(services)
        async with services.db.tx(check_organization_name(org)) as tx:
            await create_organization(tx)
            key, text = await create_key(tx, Scope(org_id=org), name=f"in process {secrets.token_hex(3)}")
            record_command(tx, Scope(org_id=org), "in process: create key", key.id)
        server = HttpServer(make_app(services), bind_socket(chosen.host, 0))
        await server.wait_until_ready()
        try:
            yield f"http://127.0.0.1:{server.port}", text
        finally:
            server.should_exit = True
            await server.wait_closed()
            async with services.db.tx(org) as tx:
                await revoke_key(tx, Scope(org_id=org), key.id)
                record_command(tx, Scope(org_id=org), "in process: revoke key", key.id)
