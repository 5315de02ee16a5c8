"""Clients that write without pause, each write under its own Idempotency-Key until it is acknowledged."""

import asyncio
import random
import time
import uuid
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import httpx2

from support.soak.server import Server

WRITERS = 4
_ACKNOWLEDGED_WITHIN_S = 600.0
"""A write that nobody acknowledges for so long ends the run: the server will not come back."""


@dataclass(frozen=True, kw_only=True)
class Write:
    """A request to be sent until it is acknowledged."""

    route: str
    body: object
    contents: tuple[str, ...]
    """The texts it brings, each unique, so that a loss or a duplicate shows."""


@dataclass(frozen=True, kw_only=True)
class Acknowledged:
    """One write that the server said it had done."""

    write: Write
    status: int
    id: str
    """The turn's, or the memory's; empty for a batch."""
    tries: int
    """Requests it took; more than one when an answer was lost."""


@dataclass
class Ledger:
    """What was acknowledged, and how often a client had to ask."""

    written: list[Acknowledged] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    lost_answers: int = 0
    """Requests whose connection broke: the client cannot know whether they took effect."""
    longest_answer_s: float = 0.0

    def refused(self) -> dict[str, int]:
        """Answers other than success, by status."""
        return {f"status {status}": n for status, n in sorted(self.statuses.items()) if status >= 300}

    @property
    def asked_again(self) -> int:
        return sum(one.tries > 1 for one in self.written)


Compose = Callable[[int], Write]
"""Makes the next write of the writer with this number."""


class Load:
    """Writers at work for as long as the context lasts.

    With `rationed`, they write only as much as `allow` lets them, one write after the other.
    """

    def __init__(
        self, server: Server, compose: Compose, *, writers: int = WRITERS, rationed: bool = False, patience: float = 60
    ) -> None:
        self._server = server
        self._compose = compose
        self._writers = writers
        self._patience = patience
        self._ration = asyncio.Semaphore(0) if rationed else None
        self._stopping = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self.ledger = Ledger()

    async def __aenter__(self) -> "Load":
        self._tasks = [asyncio.create_task(self._write_on(number)) for number in range(self._writers)]
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._stopping.set()
        self.allow(self._writers)  # whoever waits for a ration sees that it is over
        if kind is not None:  # the server may be gone, and then no write would ever be acknowledged
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            return
        await asyncio.wait_for(asyncio.gather(*self._tasks), _ACKNOWLEDGED_WITHIN_S)

    def allow(self, count: int) -> None:
        """Let the writers write so much more."""
        for _ in range(count if self._ration is not None else 0):
            assert self._ration is not None
            self._ration.release()

    async def more(self, count: int) -> None:
        """Wait until so many more writes have been acknowledged."""
        enough = len(self.ledger.written) + count
        end = time.monotonic() + _ACKNOWLEDGED_WITHIN_S
        while len(self.ledger.written) < enough:
            self.raise_fault()
            assert time.monotonic() < end, f"too few writes were acknowledged: {self._server.said()}"
            await asyncio.sleep(0.005)

    def raise_fault(self) -> None:
        """Raise what ended a writer, if one has ended."""
        for task in self._tasks:
            if task.done():
                task.result()

    async def _write_on(self, number: int) -> None:
        headers = {"Authorization": f"Bearer {self._server.key}"}
        async with httpx2.AsyncClient(base_url=self._server.url, headers=headers, timeout=self._patience) as client:
            while True:
                if self._ration is not None:
                    await self._ration.acquire()
                if self._stopping.is_set():
                    return
                self.ledger.written.append(await send(client, self._compose(number), self.ledger))


async def send(client: httpx2.AsyncClient, write: Write, ledger: Ledger) -> Acknowledged:
    """Send a write under one key until it is acknowledged; any answer but 409 and 503 is a fault."""
    key = uuid.uuid4().hex
    tries = 0
    end = time.monotonic() + _ACKNOWLEDGED_WITHIN_S
    while time.monotonic() < end:
        tries += 1
        began = time.monotonic()
        try:
            answer = await client.post(write.route, json=write.body, headers={"Idempotency-Key": key})
        except httpx2.TransportError:
            ledger.lost_answers += 1
            await asyncio.sleep(0.05)
            continue
        ledger.longest_answer_s = max(ledger.longest_answer_s, time.monotonic() - began)
        ledger.statuses[answer.status_code] += 1
        if answer.is_success:
            return Acknowledged(write=write, status=answer.status_code, id=_id_in(answer.json()["data"]), tries=tries)
        assert answer.status_code in (409, 503), f"{answer.status_code} {answer.text}"
        await asyncio.sleep(0.05)
    raise AssertionError(f"not acknowledged within {_ACKNOWLEDGED_WITHIN_S} s: {write.route}")


def _id_in(data: object) -> str:
    if not isinstance(data, dict):
        return ""
    return str(data.get("turnId") or data.get("id") or "")


def turn_or_memory(number: int) -> Write:
    """A turn or a memory of this writer's person, at random."""
    content = f"Note {uuid.uuid4().hex} of writer {number}"
    user = f"user-{number}"
    if random.random() < 0.5:
        body: dict[str, object] = {"userId": user, "messages": [{"role": "user", "content": content}]}
        return Write(route="/api/turns", body=body, contents=(content,))
    body = {"userId": user, "type": "PROJECT", "content": content}
    return Write(route="/api/memories", body=body, contents=(content,))
