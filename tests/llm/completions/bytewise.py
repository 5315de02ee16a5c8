"""A server that sends exactly the bytes it is told to, and sees what becomes of its connections."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from support.bounds import HANGS_S

STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
END = b"0\r\n\r\n"


def chunked(raw: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(raw), raw) if raw else b""


def whole(status: int, body: bytes, *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status} X", f"content-length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


@dataclass
class Wire:
    """What it does with each request, and what it saw."""

    plays: list[tuple[bytes, ...]] = field(default_factory=list)
    """For each request the pieces it sends, one by one; the last play is repeated."""
    hangs: bool = False
    """Whether it goes silent after its pieces and keeps the connection."""
    hangs_up: bool = False
    """Whether it closes the connection after its pieces."""
    heads: list[str] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    connections: int = 0
    open_now: int = 0
    url: str = ""

    async def settled(self, wanted: Callable[[], bool]) -> None:
        async with asyncio.timeout(HANGS_S):
            while not wanted():
                await asyncio.sleep(0.005)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.open_now += 1
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                length = next(
                    int(line.split(":")[1]) for line in head.lower().split("\r\n") if line.startswith("content-length")
                )
                self.heads.append(head)
                self.bodies.append(await reader.readexactly(length))
                for piece in self.plays[min(len(self.heads), len(self.plays)) - 1]:
                    writer.write(piece)
                    await writer.drain()
                    await asyncio.sleep(0)
                if self.hangs_up:
                    return
                if self.hangs:
                    await reader.read()
                    return
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.open_now -= 1
            writer.close()
