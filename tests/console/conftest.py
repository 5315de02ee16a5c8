"""A server, and browsers that are signed in to its console."""

from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from support.console_door import signed_in
from support.served import Served, served


@pytest.fixture
def server(database_url: str, tmp_path: Path) -> Iterator[Served]:
    with served(database_url, tmp_path) as running:
        yield running


@pytest.fixture
def client(server: Served) -> httpx2.Client:
    return server.client("acme")


@pytest.fixture
def browser(server: Served) -> Iterator[httpx2.Client]:
    """Signed in to the console of `acme`."""
    with signed_in(server, "acme") as visitor:
        yield visitor
