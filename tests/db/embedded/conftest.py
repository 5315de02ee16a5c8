"""A cluster made once; each test gets its own copy, which is quicker than making another."""

import asyncio
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from mnemon.db.embedded.cluster import ensure_running
from support.bounds import HANGS_S
from support.holder import Holder
from support.processes import end_servers


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory with a stopped cluster that has the table `kept` with one row; for copying only."""
    data_dir = tmp_path_factory.mktemp("made") / "data"

    async def make() -> None:
        cluster = await ensure_running(data_dir)
        with psycopg.connect(cluster.url) as connection:
            connection.execute("CREATE TABLE kept (word text)")
            connection.execute("INSERT INTO kept VALUES ('before')")
        await cluster.stop()

    asyncio.run(make())
    return data_dir


@pytest.fixture
def data_dir(made: Path, tmp_path: Path) -> Iterator[Path]:
    """A copy of the made cluster."""
    copy = tmp_path / "data"
    subprocess.run(["cp", "-a", str(made), str(copy)], check=True)
    yield copy
    end_servers(copy)


@pytest.fixture
def new_dir(tmp_path: Path) -> Iterator[Path]:
    """A data directory that does not exist yet."""
    folder = tmp_path / "new"
    yield folder
    end_servers(folder)


@pytest.fixture
def holder() -> Iterator[Callable[..., Holder]]:
    """Starts other processes that use the cluster; what is left of them is killed at the end."""
    started: list[Holder] = []

    def start(data_dir: Path, grace_seconds: float = 60.0) -> Holder:
        started.append(Holder(data_dir, grace_seconds))
        return started[-1]

    yield start
    for one in started:
        one.kill()


def wait_for(true: Callable[[], bool], seconds: float = HANGS_S) -> bool:
    """True as soon as it is, False when it is not within the time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if true():
            return True
        time.sleep(0.05)
    return False


@pytest.fixture
def eventually() -> Callable[..., bool]:
    return wait_for
