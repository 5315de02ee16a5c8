"""Workers as processes of their own that are killed, with an item in flight that is guilty or not."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import psutil
import psycopg
import pytest

from mnemon.clock import format_time, parse_time
from mnemon.db.database import Database
from mnemon.jobs import store
from mnemon.scope import Scope
from support import lone_items
from support.bounds import HANGS_S
from support.lone_items import noted


class Workplace:
    """A worker process over the test's database, started again after every kill, and the time that it has."""

    def __init__(self, db: Database, org: str, folder: Path) -> None:
        self.db = db
        self.org = org
        self.folder = folder
        self.clock = folder / "clock"
        self.clock.write_text("2026-04-12T15:22:00Z")
        self._worker: subprocess.Popen[bytes] | None = None

    def start(self, *, grace_s: float = 0.5) -> None:
        with (self.folder / "log").open("ab") as log:
            command = [sys.executable, lone_items.__file__, "worker", self.db.url, str(self.folder), str(grace_s)]
            self._worker = subprocess.Popen(command, stdout=log, stderr=log)

    @property
    def pid(self) -> int:
        assert self._worker is not None
        return self._worker.pid

    def kill(self) -> None:
        """Kill the worker, if it lives, and let its leases run out."""
        assert self._worker is not None
        self._worker.kill()
        self._worker.wait(HANGS_S)
        self.advance()

    def wait_for_its_end(self) -> int:
        assert self._worker is not None
        return self._worker.wait(HANGS_S)

    def stop(self) -> int:
        assert self._worker is not None
        self._worker.terminate()
        return self._worker.wait(HANGS_S)

    def advance(self) -> None:
        later = parse_time(self.clock.read_text()) + timedelta(minutes=2)
        draft = self.clock.with_suffix(".new")
        draft.write_text(format_time(later))
        draft.replace(self.clock)

    async def put(self, kind: str, *keys: str) -> None:
        async with self.db.tx(self.org) as tx:
            for key in keys:
                await store.enqueue_work(tx, Scope(org_id=self.org), kind, key)

    def rows(self) -> dict[str, tuple[str, str | None, int]]:
        """What is left, as status, error and deaths."""
        with psycopg.connect(self.db.url, autocommit=True) as connection:
            found = connection.execute("select key, parked_at, lease_until, error, deaths from work").fetchall()
        return {
            key: ("parked" if parked else "running" if lease else "queued", error, deaths)
            for key, parked, lease, error, deaths in found
        }

    def begun(self, key: str) -> list[int]:
        """The processes that began with this item, in order."""
        return [pid for one, pid in noted(self.folder / "begun") if one == key]

    def ended(self) -> list[str]:
        return [key for key, _ in noted(self.folder / "ended")]

    def until(self, met: Callable[[], object]) -> None:
        end = time.monotonic() + HANGS_S
        while not met():
            assert time.monotonic() < end, (self.rows(), (self.folder / "log").read_text()[-3000:])
            time.sleep(0.02)


@pytest.fixture
def workplace(db: Database, org: str, tmp_path: Path) -> Iterator[Workplace]:
    place = Workplace(db, org, tmp_path)
    yield place
    place.kill()
    for _, pid in noted(tmp_path / "begun"):
        if not gone(pid):
            psutil.Process(pid).kill()


def gone(pid: int) -> bool:
    """Whether the process is over; a container's first process may leave what it should reap."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


async def test_an_item_that_kills_its_process_stops_one_worker_and_is_parked(workplace: Workplace) -> None:
    await workplace.put("killing", "bad")
    workplace.start()
    assert workplace.wait_for_its_end() == -9, "nobody knows it yet"
    workplace.kill()
    await workplace.put("plain", *"abcdefghijkl")
    workplace.start()
    workplace.until(lambda: workplace.rows().keys() == {"bad"} and workplace.rows()["bad"][0] == "parked")
    assert sorted(workplace.ended()) == list("abcdefghijkl")
    assert workplace.stop() == 0, "the second worker was the witness"
    assert len(workplace.begun("bad")) == 2
    assert "signal 9 (SIGKILL)" in str(workplace.rows()["bad"][1])


@pytest.mark.parametrize("kind", ["stopping", "holding"])
async def test_an_item_that_freezes_its_process_stops_one_worker_and_is_parked(workplace: Workplace, kind: str) -> None:
    await workplace.put(kind, "bad")
    workplace.start()
    workplace.until(lambda: workplace.begun("bad"))
    workplace.kill()  # as somebody does with a server that does not answer
    await workplace.put("plain", *"abcdefghijkl")
    workplace.start()
    workplace.until(lambda: workplace.rows().keys() == {"bad"} and workplace.rows()["bad"][0] == "parked")
    assert sorted(workplace.ended()) == list("abcdefghijkl")
    assert workplace.stop() == 0
    _, child = workplace.begun("bad")
    assert gone(child)


async def test_kills_from_outside_park_nothing(workplace: Workplace) -> None:
    await workplace.put("waiting", "innocent")
    for kill in range(5):
        workplace.start()
        workplace.until(lambda: len(workplace.begun("innocent")) == kill + 1)  # noqa: B023  awaited at once
        workplace.kill()
    children = workplace.begun("innocent")[1:]
    workplace.until(lambda: all(gone(pid) for pid in children))
    assert workplace.rows()["innocent"][0] == "running", "leased by nobody who lives"
    (workplace.folder / "go").touch()
    workplace.start()
    workplace.until(lambda: not workplace.rows())
    assert workplace.stop() == 0
    assert workplace.ended() == ["innocent"]


@pytest.mark.parametrize("kind", ["waiting", "holding"])
async def test_a_child_ends_with_its_worker(workplace: Workplace, kind: str) -> None:
    await workplace.put(kind, "lost")
    workplace.start()
    workplace.until(lambda: workplace.begun("lost"))
    workplace.kill()
    workplace.start(grace_s=HANGS_S)  # not the worker, which would end a frozen one by itself, but its end ends it
    workplace.until(lambda: len(workplace.begun("lost")) == 2)
    _, child = workplace.begun("lost")
    workplace.kill()
    workplace.until(lambda: gone(child))
    assert workplace.ended() == []


async def test_a_worker_that_is_asked_to_stop_hands_the_item_back(workplace: Workplace) -> None:
    await workplace.put("waiting", "lost")
    workplace.start()
    workplace.until(lambda: workplace.begun("lost"))
    workplace.kill()
    workplace.start()
    workplace.until(lambda: len(workplace.begun("lost")) == 2)
    assert workplace.stop() == 0
    assert workplace.rows()["lost"] == ("queued", None, 1), "stopping is no death, and it still runs alone"
    assert gone(workplace.begun("lost")[1])
    (workplace.folder / "go").touch()
    workplace.start()
    workplace.until(lambda: not workplace.rows())
    assert len(set(workplace.begun("lost"))) == 3
    assert workplace.begun("lost")[2] != workplace.pid
