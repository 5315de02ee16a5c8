"""As many replies as are asked for are in the making at once."""

import asyncio

from mnemon.llm.vendor_http import http_client
from support.bounds import HANGS_S

MANY = 150


async def test_no_reply_waits_for_another_ones_connection() -> None:
    under_way, everybody = 0, asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal under_way
        await reader.readuntil(b"\r\n\r\n")
        under_way += 1
        if under_way == MANY:
            everybody.set()
        await everybody.wait()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with http_client(HANGS_S, base_url=url) as client:
        answers = await asyncio.gather(*(client.get(url) for _ in range(MANY)))
    assert [one.text for one in answers] == ["ok"] * MANY
    server.close()
