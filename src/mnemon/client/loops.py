"""Connections that follow the event loop: one client may be used from several, as sync wrappers of async SDKs do."""

import asyncio
from weakref import WeakKeyDictionary

import httpx2


class PerLoop(httpx2.AsyncBaseTransport):
    """A pool of connections for each loop that asks; a connection belongs to the loop it was opened in."""

    def __init__(self) -> None:
        self._pools: WeakKeyDictionary[asyncio.AbstractEventLoop, httpx2.AsyncHTTPTransport] = WeakKeyDictionary()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        loop = asyncio.get_running_loop()
        pool = self._pools.get(loop)
        if pool is None:
            pool = self._pools[loop] = httpx2.AsyncHTTPTransport()
        return await pool.handle_async_request(request)

    async def aclose(self) -> None:
        """This loop's connections are closed; those of another loop can only be closed there."""
        pool = self._pools.pop(asyncio.get_running_loop(), None)
        if pool is not None:
            await pool.aclose()
