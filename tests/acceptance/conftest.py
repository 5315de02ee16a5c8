"""Servers reached only through their doors, with a scripted model and with none.

A test that takes `server` holds whatever the model: it runs against a scripted OpenAI-compatible server over HTTP and
in offline mode, each time as an organization apart on one server that such tests share. A test about what the model
says or hears is marked `scripted` and has a server of its own; offline there is nothing to script, and trying fails.
One that looks at a whole database is marked `alone` and has a server of its own, in both modes.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any, NoReturn

import httpx2
import pytest

from support.databases import new_database
from support.served import START, Served, served

MODES = ("scripted", "offline")
OFFLINE = {"model": "offline"}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """What holds with any model is tried with both."""
    if "server" in metafunc.fixturenames and metafunc.definition.get_closest_marker("scripted") is None:
        metafunc.parametrize("server", MODES, indirect=True)


class Unscripted:
    """In the place of a script where there is no model."""

    def __getattr__(self, name: str) -> NoReturn:
        raise AssertionError("offline there is no model to script; mark the test `scripted`")


class Shared:
    """One server a mode, started when it is first wanted."""

    def __init__(self, cluster_url: str, template: str, folder: Path) -> None:
        self._cluster, self._template, self._folder = cluster_url, template, folder
        self._open = ExitStack()
        self._running: dict[str, Served] = {}
        self._numbers = count(1)

    def apart(self, mode: str) -> Served:
        """The mode's server at the usual time, for organizations that nobody else has."""
        if mode not in self._running:
            url = self._open.enter_context(new_database(self._cluster, self._template))
            folder = self._folder / mode
            folder.mkdir(exist_ok=True)
            self._running[mode] = self._open.enter_context(served(url, folder, **options_of(mode)))
        running = replace(self._running[mode], suffix=f"-{next(self._numbers)}", _clients=[])
        running.set_time(START)
        return running

    def close(self) -> None:
        self._open.close()


def options_of(mode: str) -> dict[str, Any]:
    return OFFLINE if mode == "offline" else {}


def without_script(running: Served, mode: str) -> Served:
    return replace(running, script=Unscripted()) if mode == "offline" else running  # type: ignore[arg-type]


@pytest.fixture(scope="session")
def shared(cluster_url: str, template: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared]:
    """The servers that model-independent tests share."""
    servers = Shared(cluster_url, template, tmp_path_factory.mktemp("shared"))
    yield servers
    servers.close()


@pytest.fixture
def server(request: pytest.FixtureRequest, tmp_path: Path, shared: Shared) -> Iterator[Served]:
    """A server whose clock stands at 2026-04-12 15:22 UTC, with a scripted model or with none."""
    mode = getattr(request, "param", "scripted")
    if request.node.get_closest_marker("scripted") or request.node.get_closest_marker("alone"):
        with served(request.getfixturevalue("database_url"), tmp_path, **options_of(mode)) as running:
            yield without_script(running, mode)
        return
    running = shared.apart(mode)
    yield without_script(running, mode)
    running.leave()


@pytest.fixture
def offline_server(database_url: str, tmp_path: Path) -> Iterator[Served]:
    """A server of its own in offline mode, for what is about that mode."""
    with served(database_url, tmp_path, model="offline") as running:
        yield running


@pytest.fixture
def client(server: Served) -> httpx2.Client:
    """A client of the organization `acme` with every scope."""
    return server.client("acme")
