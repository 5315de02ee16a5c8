"""Sockets that bring half a request: the server goes on, closes all of them, and its memory returns."""

import asyncio
import socket
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2
import pytest

from mnemon.api.connections import allow_open_files
from support.bounds import HANGS_S
from support.soak.figures import Figures
from support.soak.judging import FULL, SUITE, Bounds, judge
from support.soak.options import Part
from support.soak.probing import Probing, longest_s
from support.soak.resident import resident_mb
from support.soak.server import Server
from support.soak.writing import Load, turn_or_memory

HEAD = b"POST /api/memories HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
HALVES = (b"", HEAD, HEAD + b"Content-Length: 100\r\n\r\n{")
"""Nothing, half a head, half a body, in turn."""
MOST_GROWTH_MB = 64
"""Of resident memory, once all of them are closed."""


def _opened(server: Server, number: int) -> socket.socket:
    url = httpx2.URL(server.url)
    connection = socket.create_connection((url.host, url.port or 80), timeout=HANGS_S)
    connection.sendall(HALVES[number % len(HALVES)])
    return connection


def _is_closed(connection: socket.socket) -> bool:
    """Whether the server closes it, with or without a word, within the bound."""
    try:
        while connection.recv(65_536):
            pass
    except ConnectionResetError:
        return True
    except TimeoutError:
        return False
    return True


async def hold_and_count(folder: Path, sockets: int, bounds: Bounds, settings: dict[str, Any]) -> Figures:
    """Open so many half-open sockets in the middle of writes, and check every promise."""
    allow_open_files(sockets + 500)
    server = Server(folder, **settings)
    try:
        await server.start()
        async with Load(server, turn_or_memory) as load:
            await load.more(20)
            before = resident_mb(server)
            async with Probing(server, ["/healthz"]) as probing:
                with ExitStack() as held:
                    made = [await asyncio.to_thread(_opened, server, number) for number in range(sockets)]
                    for one in made:
                        held.enter_context(one)
                    await load.more(20)
                    closed = [await asyncio.to_thread(_is_closed, one) for one in made]
            await load.more(20)
        verdict = await judge(server, load.ledger, bounds)
        alive = probing.of("/healthz")
        assert [one for one in alive if one.status != 200] == []
        assert longest_s(alive) < bounds.answer_s, longest_s(alive)
        assert closed.count(False) == 0, f"{closed.count(False)} sockets stayed open"
        after = resident_mb(server)
        assert after - before < MOST_GROWTH_MB, (before, after)
        assert server.stop() == 0, server.said()
    finally:
        server.end()
    return verdict.figures(
        count=sockets,
        longest={"seconds for /healthz": round(longest_s(alive), 2)},
        latest={"MB of RSS before": round(before, 1), "MB of RSS after": round(after, 1)},
    )


@pytest.mark.timeout(600)
async def test_200_half_open_sockets_are_closed_and_nothing_is_lost(tmp_path: Path) -> None:
    figures = await hold_and_count(tmp_path, 200, SUITE, {"request_timeout_s": "2", "max_connections": "150"})
    figures.assert_clean()
    assert figures.acknowledged >= 60


@pytest.mark.soak("half-open", count=1500, unit="half-open sockets")
@pytest.mark.timeout(3600)
async def test_1500_half_open_sockets_are_closed_and_nothing_is_lost(tmp_path: Path, soak_part: Part) -> None:
    soak_part.record(await hold_and_count(tmp_path, soak_part.count, FULL, {}))
