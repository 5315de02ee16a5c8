"""A server over the story that `mnemon demo` tells, and links that sign in to its console."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from mnemon.access import signin
from mnemon.access.organizations import create_organization
from mnemon.app import opened
from mnemon.cli import demo
from mnemon.clock import FileClock
from mnemon.db.database import Database
from mnemon.scope import Scope
from mnemon.settings import Settings
from support.served import Served, served

FRIDAY = "2026-05-15T16:40:00Z"
"""The story's last day: everything it tells lies before this moment."""
ORG = "demo"
T = TypeVar("T")


@contextmanager
def storied(database_url: str, folder: Path) -> Iterator[Served]:
    """A server whose organization `demo` holds the whole story."""
    clock = folder / "clock"
    clock.write_text(FRIDAY, encoding="utf-8")
    settings = Settings(data_dir=folder, clock_file=clock, model="offline")
    apart(lambda: _told(settings, database_url))
    with served(database_url, folder, start=FRIDAY) as running:
        yield running


def link(server: Served, org: str = ORG) -> str:
    """An address that signs in to the organization's console, once."""

    async def made() -> str:
        db = Database(server.database_url, FileClock(server.clock_file), pool_size=2)
        await db.open()
        try:
            async with db.tx(org) as tx:
                await create_organization(tx)
                return await signin.make_link(tx, Scope(org_id=org), actor="operator")
        finally:
            await db.close()

    return f"{server.url}/sign-in/{apart(made)}"


def apart(work: Callable[[], Awaitable[T]]) -> T:
    """The work's result, from a thread with a loop of its own: Playwright's loop occupies the test's."""

    async def whole() -> T:
        return await work()

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: asyncio.run(whole())).result()


async def _told(settings: Settings, url: str) -> int:
    async with opened(settings, url) as basement, demo._to_ourselves(basement, ORG) as hold:
        return await demo._told(basement, url, ORG, hold)
