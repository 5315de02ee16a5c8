"""The server that sends exactly the bytes it is told to."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from llm.completions.bytewise import Wire


@pytest.fixture
async def wire() -> AsyncIterator[Wire]:
    made = Wire()
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    made.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    async with server:
        yield made
        server.close()
        await made.settled(lambda: made.open_now == 0)
