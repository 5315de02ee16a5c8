"""One server with the demo's story and one Chromium for all these tests; a fresh context for each."""

from collections.abc import Iterator
from pathlib import Path

import httpx2
import psycopg
import pytest
from playwright.sync_api import Browser, Page

from support import atlas
from support.bounds import HANGS_S
from support.chromium import chromium, watched
from support.served import Served
from support.storied import signed_in, storied

REFUSED = "the server responded with a status of 422"
"""How the browser notes that a form was refused, which a test may well want."""
STATES = (
    "/recall?q=where+does+Mara+live&versus=blended",
    "/context?q=what+did+I+promise",
    "/entities?view=graph",
    "/entities?view=suggestions",
    "/entities?view=merges",
    "/memories?status=any",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def server(cluster_url: str, template: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    name = f"{template}_console"
    with psycopg.connect(cluster_url, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
    with storied(psycopg.conninfo.make_conninfo(cluster_url, dbname=name), tmp_path_factory.mktemp("told")) as running:
        yield running
    with psycopg.connect(cluster_url, autocommit=True) as connection:
        connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture(scope="session")
def browser(template: str) -> Iterator[Browser]:
    """A Chromium; after the database is made, for no other event loop starts on this thread while it runs."""
    with chromium() as running:
        yield running


@pytest.fixture(scope="session")
def cookies(server: Served) -> dict[str, str]:
    """What a session of the organization's console is known by."""
    return signed_in(server)


@pytest.fixture(scope="session")
def visitor(server: Served, cookies: dict[str, str]) -> Iterator[httpx2.Client]:
    """The console without a browser, signed in."""
    with httpx2.Client(base_url=server.url, cookies=cookies, timeout=HANGS_S) as signed_in:
        yield signed_in


@pytest.fixture(scope="session")
def everywhere(visitor: httpx2.Client) -> list[str]:
    """An address of every page."""
    return atlas.addresses(visitor, STATES)


@pytest.fixture
def page(server: Served, browser: Browser, cookies: dict[str, str]) -> Iterator[Page]:
    """A page of someone who is signed in; whatever went wrong on it fails the test."""
    context, trouble = watched(browser, base_url=server.url)
    context.add_cookies([{"name": name, "value": value, "url": server.url} for name, value in cookies.items()])
    yield context.new_page()
    context.close()
    assert [text for text in trouble.taken() if REFUSED not in text] == []
