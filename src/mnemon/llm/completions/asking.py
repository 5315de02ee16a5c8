"""One request on this wire: a structured answer, or a reply piece by piece."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import contextmanager, suppress

import httpx2

from mnemon.llm.completions.body import Bodies
from mnemon.llm.completions.chunks import Chunks
from mnemon.llm.completions.events import Events
from mnemon.llm.completions.rejection import rejection
from mnemon.llm.completions.server import Server, server_of
from mnemon.llm.completions.whole import said
from mnemon.llm.failure import RAISED, NoModel
from mnemon.llm.http import http_client
from mnemon.llm.protocol import ChatRequest, Question
from mnemon.llm.vendor import Piece, Said

_DONE = b"[DONE]"
_LONGEST_ANSWER = 8 * 1024 * 1024
"""Bytes of a whole answer, or of what an error says."""
_LONGEST_STREAM = 64 * 1024 * 1024
"""Bytes of a reply that comes piece by piece: a frame of 300 bytes for every character of the longest reply."""
_LINGER_S = 0.2
"""How long a body may take to end after its mark. Read to its end, a connection can be used again."""
_SECRET = 8
"""A key shorter than this hides nothing, and is a word that errors may well contain."""


def completions(
    vendor: str,
    model: str,
    *,
    base_url: str | None,
    api_key: str | None,
    timeout: float,
    transport: httpx2.AsyncBaseTransport | None = None,
) -> "CompletionsVendor":
    """The model that `openai:…` or `ollama:…` names, with its own connections."""
    server = server_of(vendor, model, base_url=base_url, api_key=api_key)
    return CompletionsVendor(server, http_client(timeout, base_url=str(server.url), transport=transport))


class CompletionsVendor:
    """A model on a server that speaks OpenAI's wire."""

    def __init__(self, server: Server, http: httpx2.AsyncClient) -> None:
        self._url = server.url
        self._key = server.key
        self._http = http
        self._bodies = Bodies(server)
        # What every request says is put together once; the client would do it for each.
        self._headers = httpx2.Headers(
            [
                ("Host", server.url.netloc.decode("ascii")),
                ("Accept", "application/json"),
                ("Accept-Encoding", "gzip, deflate"),
                ("Connection", "keep-alive"),
                ("User-Agent", "mnemon"),
                ("Authorization", f"Bearer {server.key}"),
                ("Content-Type", "application/json"),
                *server.whose,
            ]
        )
        self._bounds = {"timeout": http.timeout.as_dict()}

    async def close(self) -> None:
        await self._http.aclose()

    async def said(self, question: Question) -> Said:
        with self._keeping_the_key():
            response = await self._http.send(self._request(self._bodies.question(question)), stream=True)
            try:
                content = await _read_whole(response)
                if not response.is_success:
                    raise rejection(response.status_code, response.headers, content)
                _refuse_page(response)
                return said(content)
            finally:
                await response.aclose()

    async def pieces(self, request: ChatRequest) -> AsyncGenerator[Piece, None]:
        with self._keeping_the_key():
            response = await self._http.send(self._request(self._bodies.chat(request)), stream=True)
            try:
                if not response.is_success:
                    raise rejection(response.status_code, response.headers, await _read_whole(response))
                _refuse_page(response)
                chunks, events, marked, arriving = Chunks(), Events(), False, _bounded(response, _LONGEST_STREAM)
                async for some in arriving:
                    for data in events.feed(some):
                        if data.startswith(_DONE):
                            marked = True
                            break
                        for piece in chunks.take(data):
                            yield piece
                    if marked:
                        await _drained(arriving)
                        break
                for piece in chunks.end(marked=marked or events.rest() == _DONE):
                    yield piece
            finally:
                await response.aclose()

    def _request(self, body: bytes) -> httpx2.Request:
        return httpx2.Request("POST", self._url, headers=self._headers, content=body, extensions=self._bounds)

    @contextmanager
    def _keeping_the_key(self) -> Iterator[None]:
        """Whatever is raised inside, the key stands in none of its words: a server may quote the one it refuses."""
        try:
            yield
        except RAISED as error:
            if len(self._key) >= _SECRET and self._key in str(error):
                error.args = tuple(one.replace(self._key, "…") if isinstance(one, str) else one for one in error.args)
            raise


def _refuse_page(response: httpx2.Response) -> None:
    if response.headers.get("content-type", "").lower().startswith("text/html"):
        raise NoModel("it is a web page")


async def _read_whole(response: httpx2.Response) -> bytes:
    return b"".join([some async for some in _bounded(response, _LONGEST_ANSWER)])


async def _bounded(response: httpx2.Response, most: int) -> AsyncIterator[bytes]:
    """The response's bytes as they come; ValueError when there are more than we hear."""
    heard = 0
    async for some in response.aiter_bytes():
        heard += len(some)
        if heard > most:
            raise ValueError(f"it is longer than {most:,} bytes")
        yield some


async def _drained(arriving: AsyncIterator[bytes]) -> None:
    with suppress(TimeoutError, httpx2.HTTPError):
        async with asyncio.timeout(_LINGER_S):
            async for _ in arriving:
                pass
