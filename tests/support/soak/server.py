"""Real `mnemon serve` and `mnemon worker` processes on a data directory of their own, to be killed and starved."""

import asyncio
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import psutil
import psycopg

from mnemon.clock import format_time, parse_time
from mnemon.db.embedded.server import Postmaster, read_postmaster
from support.processes import end_servers, servers_on

MNEMON = str(Path(sys.executable).with_name("mnemon"))
_STARTS_WITHIN_S = 120.0
_GONE_WITHIN_S = 15.0

Connection = psycopg.Connection[tuple[Any, ...]]


class Program:
    """One `mnemon` process with its own log, started, killed and asked to end."""

    def __init__(self, *arguments: str, folder: Path, environment: Mapping[str, str], log: str) -> None:
        self._arguments = arguments
        self._folder = folder
        self._environment = environment
        self._log = folder / log
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [MNEMON, *self._arguments],
                cwd=self._folder,
                env=dict(self._environment),
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def kill(self) -> None:
        """End it without a word, if it runs."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def stop(self) -> int:
        """Ask it to end and wait for it; gives its exit code."""
        assert self._process is not None
        self._process.terminate()
        return self._process.wait(60)

    def said(self) -> str:
        """The end of what it printed."""
        return self._log.read_text()[-3000:] if self._log.exists() else ""


class Server:
    """`mnemon serve` on a data directory and a port of its own, and any number of workers beside it.

    With `clock`, time stands still in all of them until `advance` moves it, so that nobody waits for a lease.
    """

    def __init__(self, folder: Path, *, worker: bool = True, clock: bool = False, **settings: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.data_dir = folder / "data"
        self._folder = folder
        self.clock_file = folder / "clock" if clock else None
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.url = f"http://127.0.0.1:{probe.getsockname()[1]}"
        self._environment = self._environment_of(settings)
        arguments = ("serve",) if worker else ("serve", "--no-worker")
        self._program = Program(*arguments, folder=folder, environment=self._environment, log="serve.log")
        self.key = ""

    def _environment_of(self, settings: Mapping[str, str]) -> dict[str, str]:
        chosen = {f"MNEMON_{name.upper()}": value for name, value in settings.items()}
        if self.clock_file is not None:
            self.clock_file.write_text(format_time(datetime.now(UTC)), encoding="utf-8")
            chosen["MNEMON_CLOCK_FILE"] = str(self.clock_file)
        return {
            **{name: value for name, value in os.environ.items() if not name.startswith("MNEMON_")},
            "MNEMON_DATA_DIR": str(self.data_dir),
            "MNEMON_PORT": self.url.rpartition(":")[2],
            "MNEMON_RATE_LIMIT_PER_MINUTE": "0",
            **chosen,
        }

    async def start(self) -> float:
        """Start it and wait until it is ready; gives the seconds that took."""
        began = time.monotonic()
        self._program.start()
        await self.ready(_STARTS_WITHIN_S)
        took = time.monotonic() - began
        if not self.key:
            self.key = await self._printed_key()
        return took

    async def _printed_key(self) -> str:
        """The key that the first start prints, a moment after it is ready."""
        end = time.monotonic() + _STARTS_WITHIN_S
        while time.monotonic() < end:
            if found := re.search(r"mnk_\w+", (self._folder / "serve.log").read_text()):
                return found[0]
            await asyncio.sleep(0.02)
        raise AssertionError(f"no key was printed: {self.said()}")

    def worker(self, name: str) -> Program:
        """A `mnemon worker` of the same installation, not started yet."""
        return Program("worker", folder=self._folder, environment=self._environment, log=f"{name}.log")

    async def ready(self, seconds: float) -> float:
        """Wait until `/readyz` says 200; gives the seconds that took."""
        began = time.monotonic()
        async with httpx2.AsyncClient(timeout=5) as client:
            while time.monotonic() - began < seconds:
                try:
                    if (await client.get(f"{self.url}/readyz")).status_code == 200:
                        return time.monotonic() - began
                except httpx2.TransportError:
                    pass
                assert self._program.alive, self.said()
                await asyncio.sleep(0.02)
        raise AssertionError(f"not ready within {seconds} s: {self.said()}")

    @property
    def pid(self) -> int:
        return self._program.pid

    def kill(self) -> None:
        """End the server without a word; its database goes on."""
        assert self._program.alive, self.said()
        self._program.kill()

    def stop(self) -> int:
        """Ask the server to end; gives its exit code."""
        return self._program.stop()

    def end(self) -> None:
        """Leave no process and no data, whatever happened before."""
        self._program.kill()
        self.go_on()
        if (server := self.postgres()) is not None:
            os.kill(server.pid, signal.SIGQUIT)  # an orderly enough end: a killed postmaster leaves shared memory
            gone = time.monotonic() + _GONE_WITHIN_S
            while self.database_pids() and time.monotonic() < gone:
                time.sleep(0.02)
        end_servers(self.data_dir)

    def advance(self, **delta: float) -> None:
        """Move the time of every process forward."""
        assert self.clock_file is not None, "this server has the machine's clock"
        later = parse_time(self.clock_file.read_text()) + timedelta(**delta)
        draft = self.clock_file.with_suffix(".new")
        draft.write_text(format_time(later), encoding="utf-8")
        draft.replace(self.clock_file)

    def now(self) -> datetime:
        """The time that its processes have."""
        return parse_time(self.clock_file.read_text()) if self.clock_file else datetime.now(UTC)

    def postgres(self) -> Postmaster | None:
        """The database server's process."""
        return read_postmaster(self.data_dir / "postgres")

    def database_pids(self) -> tuple[int, ...]:
        """Every process of the database, the postmaster first."""
        pids = servers_on(self.data_dir / "postgres")
        server = self.postgres()
        return tuple(sorted(pids, key=lambda pid: (server is None or pid != server.pid, pid)))

    @contextmanager
    def database_stopped(self) -> Iterator[None]:
        """Every process of the database stands still meanwhile."""
        # The postmaster first, so that it starts no further process; then again what it had just started.
        for _ in range(2):
            _signal_all(self.database_pids(), signal.SIGSTOP)
        try:
            yield
        finally:
            self.go_on()

    def go_on(self) -> None:
        """Let every process of the database go on."""
        _signal_all(self.database_pids(), signal.SIGCONT)

    def set_default(self, name: str, value: str) -> None:
        """Change one of PostgreSQL's settings for all new transactions."""
        with self.connect() as connection:
            connection.autocommit = True
            connection.execute("SET default_transaction_read_only = off")
            connection.execute(f"ALTER SYSTEM SET {name} = {value}".encode())
            connection.execute("SELECT pg_reload_conf()")

    def said(self) -> str:
        return self._program.said()

    def connect(self) -> Connection:
        """A connection to its database, past all doors."""
        return psycopg.connect(self.database_url)

    @property
    def database_url(self) -> str:
        """How libpq connects, as the owner of the tables."""
        server = self.postgres()
        assert server is not None, "the database is not running"
        return f"host={server.socket_dir} port={server.port} user=mnemon dbname=mnemon"


def _signal_all(pids: tuple[int, ...], number: signal.Signals) -> None:
    for pid in pids:
        try:
            psutil.Process(pid).send_signal(number)
        except psutil.NoSuchProcess:
            continue
