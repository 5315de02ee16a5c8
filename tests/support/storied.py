"""A server over the story that `mnemon demo` tells, and links that sign in to its console."""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import httpx2

from mnemon.app import make_services
from mnemon.cli import demo
from mnemon.cli.story.player import open_player
from mnemon.cli.story.steps import DemoStory, read_story
from mnemon.settings import Settings
from support.console_door import made_link
from support.served import Served, served

FRIDAY = "2026-05-15T16:40:00Z"
"""The story's last day: everything it tells lies before this moment."""
ORG = "demo"
T = TypeVar("T")


@contextmanager
def storied(database_url: str, folder: Path, *, worker: bool = True) -> Iterator[Served]:
    """A server whose organization `demo` holds the whole story; without a worker it stays as it was told."""
    clock = folder / "clock"
    clock.write_text(FRIDAY, encoding="utf-8")
    settings = Settings(data_dir=folder, clock_file=clock, model="offline")
    aside(lambda: asyncio.run(_told(settings, database_url, ORG, read_story())))
    with served(database_url, folder, start=FRIDAY, worker=worker) as running:
        yield running


def link(server: Served, org: str = ORG) -> str:
    """An address that signs in to the organization's console, once."""
    return aside(lambda: asyncio.run(made_link(server, org)))


def signed_in(server: Served, org: str = ORG) -> dict[str, str]:
    """The cookies of someone who followed such a link."""
    answer = httpx2.get(link(server, org), timeout=60)
    assert answer.status_code == 303
    return dict(answer.cookies)


def aside(work: Callable[[], T]) -> T:
    """The work's result, from another thread: Playwright's event loop occupies the test's."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()


def tell(server: Served, org: str, story: DemoStory) -> None:
    """The organization holds this story as well."""
    settings = Settings(data_dir=server.clock_file.parent, clock_file=server.clock_file, model="offline")
    aside(lambda: asyncio.run(_told(settings, server.database_url, org, story)))


async def _told(settings: Settings, url: str, org: str, story: DemoStory) -> None:
    async with make_services(settings, url) as services, demo._reserve_organization(services, org) as hold:
        now = services.clock.now()
        begin = demo.first_midnight(now)
        async with open_player(services, url, org, story, begin) as stage:
            await stage.create_participants()
            for step in story.steps:
                if begin + step.after <= now:
                    await stage.play_step(step, begin)
                    await hold()
            await stage.finish_story(now)
