"""A real `mnemon serve` under load that is killed, or whose database is, and a ledger of what it acknowledged."""

import asyncio
import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import httpx2
import psycopg

from mnemon.db.embedded.postmaster import Postmaster, read_postmaster
from support.bounds import HANGS_S

MNEMON = str(Path(sys.executable).with_name("mnemon"))
WRITERS = 4


@dataclass(frozen=True, kw_only=True)
class Acknowledged:
    """One write that the server said it had done."""

    route: str
    key: str
    """Its Idempotency-Key."""
    content: str
    """Unique, so that a duplicate shows."""
    status: int
    id: str
    tries: int
    """Requests it took; more than one when an answer was lost."""


@dataclass
class Ledger:
    """What was acknowledged, and how often a client had to ask."""

    written: list[Acknowledged] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    lost_answers: int = 0
    """Requests whose connection broke: the client cannot know whether they took effect."""


class Server:
    """`mnemon serve` as its own process, on a data directory and a port of its own."""

    def __init__(self, folder: Path) -> None:
        self.data_dir = folder / "data"
        self._folder = folder
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.url = f"http://127.0.0.1:{probe.getsockname()[1]}"
        self._process: subprocess.Popen[bytes] | None = None
        self.key = ""

    async def start(self) -> float:
        """The server answers; how many seconds that took."""
        began = time.monotonic()
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("MNEMON_")},
            "MNEMON_DATA_DIR": str(self.data_dir),
            "MNEMON_PORT": self.url.rpartition(":")[2],
            "MNEMON_RATE_LIMIT_PER_MINUTE": "0",
        }
        with (self._folder / "serve.log").open("ab") as log:
            self._process = subprocess.Popen(  # noqa: ASYNC220 - it outlives this call
                [MNEMON, "serve"], cwd=self._folder, env=environment, stdout=log, stderr=log, start_new_session=True
            )
        await self.ready(HANGS_S)
        if not self.key:
            self.key = re.findall(r"mnk_\w+", (self._folder / "serve.log").read_text())[0]
        return time.monotonic() - began

    async def ready(self, seconds: float) -> float:
        """`/readyz` says 200; how many seconds that took."""
        began = time.monotonic()
        async with httpx2.AsyncClient(timeout=HANGS_S) as client:
            while time.monotonic() - began < seconds:
                try:
                    if (await client.get(f"{self.url}/readyz")).status_code == 200:
                        return time.monotonic() - began
                except httpx2.TransportError:
                    pass
                assert self._process is None or self._process.poll() is None, self.said()
                await asyncio.sleep(0.02)
        raise AssertionError(f"not ready within {seconds} s: {self.said()}")

    def kill(self) -> None:
        """The process is gone without a word; its database is not."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def stop(self) -> int:
        """The process was asked to end and did; its exit code."""
        assert self._process is not None
        self._process.terminate()
        return self._process.wait(60)

    def end(self) -> None:
        """Nothing is left of it, whatever happened before."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        if (server := self.postgres()) is not None:
            os.kill(server.pid, signal.SIGQUIT)

    def postgres(self) -> Postmaster | None:
        """The database server's process."""
        return read_postmaster(self.data_dir / "postgres")

    def said(self) -> str:
        return (self._folder / "serve.log").read_text()[-3000:]

    def connect(self) -> psycopg.Connection:
        """A connection to its database, past all doors."""
        return psycopg.connect(host=str(self.data_dir / "postgres"), user="mnemon", dbname="mnemon")


class Load:
    """Writers that send until told to stop, each write under its own Idempotency-Key until it is acknowledged."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._stopping = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self.ledger = Ledger()

    async def __aenter__(self) -> "Load":
        self._tasks = [asyncio.create_task(self._write_on(number)) for number in range(WRITERS)]
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._stopping.set()
        if kind is not None:  # the server may be gone, and then no write would ever be acknowledged
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            return
        await asyncio.wait_for(asyncio.gather(*self._tasks), HANGS_S)

    async def more(self, count: int) -> None:
        """So many more writes have been acknowledged."""
        enough = len(self.ledger.written) + count
        while len(self.ledger.written) < enough:
            for task in self._tasks:
                if task.done():
                    task.result()
            await asyncio.sleep(0.005)

    async def _write_on(self, number: int) -> None:
        headers = {"Authorization": f"Bearer {self._server.key}"}
        async with httpx2.AsyncClient(base_url=self._server.url, headers=headers, timeout=HANGS_S) as client:
            while not self._stopping.is_set():
                route, body, content = _something_to_write(number)
                self.ledger.written.append(await self._write(client, route, body, content))

    async def _write(
        self, client: httpx2.AsyncClient, route: str, body: dict[str, object], content: str
    ) -> Acknowledged:
        key = uuid.uuid4().hex
        tries = 0
        while True:
            tries += 1
            try:
                answer = await client.post(route, json=body, headers={"Idempotency-Key": key})
            except httpx2.TransportError:
                self.ledger.lost_answers += 1
                await asyncio.sleep(0.05)
                continue
            self.ledger.statuses[answer.status_code] += 1
            if answer.is_success:
                data = answer.json()["data"]
                id_ = data["turnId"] if route == "/api/turns" else data["id"]
                return Acknowledged(
                    route=route, key=key, content=content, status=answer.status_code, id=id_, tries=tries
                )
            assert answer.status_code in (409, 503), f"{answer.status_code} {answer.text}"
            await asyncio.sleep(0.05)


def _something_to_write(number: int) -> tuple[str, dict[str, object], str]:
    content = f"Note {uuid.uuid4().hex} of writer {number}"
    user = f"user-{number}"
    if random.random() < 0.5:
        return "/api/turns", {"userId": user, "messages": [{"role": "user", "content": content}]}, content
    return "/api/memories", {"userId": user, "type": "PROJECT", "content": content}, content


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What the database holds against what was acknowledged."""

    acknowledged: int
    lost: int
    """Acknowledged, and not there."""
    duplicated: int
    """There more than once, or applied a second time."""
    asked_again: int
    """Writes that took more than one request."""


def judge(server: Server, ledger: Ledger) -> Verdict:
    """Counts, past all doors, what became of every acknowledged write."""
    with server.connect() as connection:
        turns = Counter(row[0] for row in connection.execute("SELECT id FROM turns").fetchall())
        messages = Counter(
            row[0] for row in connection.execute("SELECT content FROM messages WHERE role = 'user'").fetchall()
        )
        memories = Counter(
            row[0] for row in connection.execute("SELECT content FROM memories WHERE source = 'api'").fetchall()
        )
        ids = {row[0] for row in connection.execute("SELECT id FROM memories").fetchall()}
    lost = duplicated = 0
    for one in ledger.written:
        if one.route == "/api/turns":
            lost += one.id not in turns or messages[one.content] == 0
            duplicated += messages[one.content] > 1
        else:
            lost += one.id not in ids or memories[one.content] == 0
            # A second application would have found the first and said 200, updated.
            duplicated += memories[one.content] > 1 or one.status != 201
    return Verdict(
        acknowledged=len(ledger.written),
        lost=lost,
        duplicated=duplicated,
        asked_again=sum(one.tries > 1 for one in ledger.written),
    )
