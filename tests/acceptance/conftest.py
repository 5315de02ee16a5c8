"""A server per test, reached only through its doors."""

from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from support.served import Served, served


@pytest.fixture
def server(database_url: str, tmp_path: Path) -> Iterator[Served]:
    """A server with a scripted model and a clock at 2026-04-12 15:22 UTC."""
    with served(database_url, tmp_path) as running:
        yield running


@pytest.fixture
def offline_server(database_url: str, tmp_path: Path) -> Iterator[Served]:
    """The same in offline mode."""
    with served(database_url, tmp_path, model="offline") as running:
        yield running


@pytest.fixture
def client(server: Served) -> httpx2.Client:
    """A client of the organization `acme` with every scope."""
    return server.client("acme")
