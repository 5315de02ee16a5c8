"""Whether a streamed reply was ended by its server, or only stopped coming.

Most servers name a finish reason; some only write `[DONE]`. The vendor library tells neither from a connection that
closed early, so the bytes are watched as they pass.
"""

from collections.abc import AsyncIterator
from contextvars import ContextVar
from urllib.parse import urlsplit

import httpx2

MARK = b"[DONE]"


class Ending:
    """Remembers whether the mark was seen in one response."""

    def __init__(self) -> None:
        self.marked = False


current: ContextVar[Ending | None] = ContextVar("ending", default=None)
"""Set while a request is being opened; its response is then watched."""


class _Watched(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, ending: Ending) -> None:
        self._stream, self._ending = stream, ending

    async def __aiter__(self) -> AsyncIterator[bytes]:
        tail = b""
        async for piece in self._stream:
            tail = (tail + piece)[-4096:]
            self._ending.marked = self._ending.marked or MARK in tail
            yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()


async def _watch(response: httpx2.Response) -> None:
    ending = current.get()
    if ending is not None and isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = _Watched(response.stream, ending)


def http_client(
    timeout: float, *, base_url: str | None = None, transport: httpx2.AsyncBaseTransport | None = None
) -> httpx2.AsyncClient:
    """A client whose streamed responses are watched; a server on this machine is reached without any proxy."""
    local = base_url is not None and urlsplit(base_url).hostname in ("127.0.0.1", "localhost", "::1")
    return httpx2.AsyncClient(
        timeout=httpx2.Timeout(timeout, connect=min(5.0, timeout)),
        event_hooks={"response": [_watch]},
        transport=transport,
        trust_env=not local,
    )
