"""Signing in to the console as a browser does."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import httpx2

from mnemon.access import signin
from mnemon.access.organizations import create_organization
from mnemon.clock import FileClock
from mnemon.db.database import Database
from mnemon.scope import Scope
from support.bounds import HANGS_S
from support.served import Served


async def made_link(server: Served, org: str) -> str:
    """An address that signs in to the organization's console, once."""
    db = Database(server.database_url, FileClock(server.clock_file), pool_size=2)
    await db.open()
    try:
        async with db.tx(org) as tx:
            await create_organization(tx)
            return f"{server.url}/sign-in/{await signin.create_link(tx, Scope(org_id=org), actor='operator')}"
    finally:
        await db.close()


@contextmanager
def signed_in(server: Served, org: str) -> Iterator[httpx2.Client]:
    """A browser that followed a link of the organization's console."""
    with httpx2.Client(base_url=server.url, timeout=HANGS_S) as visitor:
        answer = visitor.get(asyncio.run(made_link(server, org)))
        assert answer.status_code == 303, answer.text
        yield visitor
