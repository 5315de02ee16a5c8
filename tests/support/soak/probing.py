"""Questions that go on beside the load: is it alive, is it ready, can it be read?"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass

import httpx2

from support.soak.server import Server

_LONGEST_S = 120.0


@dataclass(frozen=True, kw_only=True)
class Probe:
    """One question and its answer."""

    path: str
    asked_at: float
    """By the monotonic clock, as `answered_at`."""
    answered_at: float
    status: int
    """0: no answer came at all."""
    failure: str = ""
    """Why none came."""

    @property
    def seconds(self) -> float:
        return self.answered_at - self.asked_at


class Probing:
    """Asks each path again and again, each in a task of its own, for as long as the context lasts."""

    def __init__(self, server: Server, paths: Sequence[str], *, every_s: float = 0.25) -> None:
        self._server = server
        self._paths = paths
        self._every_s = every_s
        self._tasks: list[asyncio.Task[None]] = []
        self.probes: list[Probe] = []

    async def __aenter__(self) -> "Probing":
        self._tasks = [asyncio.create_task(self._ask_on(path)) for path in self._paths]
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        for ended in await asyncio.gather(*self._tasks, return_exceptions=True):
            assert ended is None or isinstance(ended, asyncio.CancelledError), ended

    def of(self, path: str, *, since: float = 0.0, until: float = float("inf")) -> list[Probe]:
        """What was asked of the path and answered between these moments."""
        return [one for one in self.probes if one.path == path and since <= one.asked_at and one.answered_at <= until]

    async def _ask_on(self, path: str) -> None:
        headers = {"Authorization": f"Bearer {self._server.key}"}
        # A connection for each question: one kept open may be closed by the server while the question is on its way.
        fresh = httpx2.Limits(max_keepalive_connections=0)
        async with httpx2.AsyncClient(
            base_url=self._server.url, headers=headers, timeout=_LONGEST_S, limits=fresh
        ) as client:
            while True:
                asked_at = time.monotonic()
                status, failure = 0, ""
                try:
                    status = (await client.get(path)).status_code
                except httpx2.TransportError as error:
                    failure = repr(error)
                now = time.monotonic()
                self.probes.append(Probe(path=path, asked_at=asked_at, answered_at=now, status=status, failure=failure))
                await asyncio.sleep(self._every_s)


def longest_s(probes: Sequence[Probe]) -> float:
    """How long the slowest answer took."""
    return max((one.seconds for one in probes), default=0.0)
