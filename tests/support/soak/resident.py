"""How much memory processes hold, sampled over time, and whether it stays flat."""

import asyncio
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field

import psutil

from support.soak.server import Server

MB = 1024 * 1024
ALLOWED_SHARE = 0.05
ALLOWED_MB = 8.0
"""Less than this is what a garbage collector may happen to keep."""


def growth_mb(samples: Sequence[float]) -> float:
    """How much more was held in the last third than in the middle third, by their medians; the first is warm-up."""
    third = len(samples) // 3
    assert third > 0, "too few samples to compare thirds"
    return statistics.median(samples[-third:]) - statistics.median(samples[-2 * third : -third])


def is_flat(samples: Sequence[float]) -> bool:
    """Whether the growth is within what is allowed; shrinking is."""
    third = len(samples) // 3
    middle = statistics.median(samples[-2 * third : -third])
    return growth_mb(samples) <= max(ALLOWED_SHARE * middle, ALLOWED_MB)


def resident_mb(server: Server) -> float:
    """What `mnemon serve` holds now."""
    return float(psutil.Process(server.pid).memory_info().rss) / MB


@dataclass
class Resident:
    """Samples of a server's memory, in megabytes."""

    server: Server
    server_mb: list[float] = field(default_factory=list)
    """Resident memory of `mnemon serve`."""
    database_mb: list[float] = field(default_factory=list)
    """Memory that the database's processes hold each for itself, without the shared buffers."""

    async def sample(self, seconds: float, *, every_s: float = 10.0) -> None:
        """Take a sample at once and then one in every interval until the time is over."""
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        while True:
            self.server_mb.append(resident_mb(self.server))
            self.database_mb.append(sum(map(_own_memory, self.server.database_pids())) / MB)
            if loop.time() >= end:
                return
            await asyncio.sleep(min(every_s, max(0.0, end - loop.time())))


def _own_memory(pid: int) -> int:
    try:
        return int(psutil.Process(pid).memory_full_info().uss)
    except psutil.NoSuchProcess:  # a connection that was closed meanwhile
        return 0
