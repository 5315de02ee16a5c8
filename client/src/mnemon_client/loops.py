"""An HTTP transport with one connection pool per event loop.

Sync wrappers of async SDKs use one client from several loops, and a connection belongs to the loop it was opened in.
"""

import asyncio
from weakref import WeakKeyDictionary

import httpx2


class PerLoop(httpx2.AsyncBaseTransport):
    """A transport with a connection pool for each event loop that uses it."""

    def __init__(self) -> None:
        # Weak, so that a loop that has ended takes its pool with it.
        self._pools: WeakKeyDictionary[asyncio.AbstractEventLoop, httpx2.AsyncHTTPTransport] = WeakKeyDictionary()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send the request with the connection pool of the running event loop; return the response."""
        loop = asyncio.get_running_loop()
        pool = self._pools.get(loop)
        if pool is None:
            pool = self._pools[loop] = httpx2.AsyncHTTPTransport()
        return await pool.handle_async_request(request)

    async def aclose(self) -> None:
        """Close the running loop's connections; those of another loop can only be closed there."""
        pool = self._pools.pop(asyncio.get_running_loop(), None)
        if pool is not None:
            await pool.aclose()
