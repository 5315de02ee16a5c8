"""One request on this wire: a structured answer, or a reply piece by piece."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import contextmanager, suppress

import httpx2

from mnemon.llm.completions.request import RequestEncoder
from mnemon.llm.completions.response import parse_completion, parse_rejection
from mnemon.llm.completions.server import CompletionsServer, resolve_server
from mnemon.llm.completions.stream import ReplyAssembler, SseParser
from mnemon.llm.failure import REQUEST_ERRORS, NotAModel
from mnemon.llm.protocol import LlmChatRequest, LlmQuestion
from mnemon.llm.vendor import RawAnswer, ReplyPiece
from mnemon.llm.vendor_http import http_client

_DONE_MARKER = b"[DONE]"
_MAX_ANSWER_BYTES = 8 * 1024 * 1024
"""Bytes of a whole answer, or of what an error says."""
_MAX_STREAM_BYTES = 64 * 1024 * 1024
"""Bytes of a reply that comes piece by piece: a frame of 300 bytes for every character of the longest reply."""
_DRAIN_TIMEOUT_S = 0.2
"""How long a body may take to end after its mark. Read to its end, a connection can be used again."""
_MIN_SECRET_LENGTH = 8
"""A key shorter than this hides nothing, and is a word that errors may well contain."""


def connect_completions(
    vendor: str,
    model: str,
    *,
    base_url: str | None,
    api_key: str | None,
    timeout: float,
    transport: httpx2.AsyncBaseTransport | None = None,
) -> "CompletionsVendor":
    """The model that `openai:…` or `ollama:…` names, with its own connections."""
    server = resolve_server(vendor, model, base_url=base_url, api_key=api_key)
    return CompletionsVendor(server, http_client(timeout, base_url=str(server.url), transport=transport))


class CompletionsVendor:
    """A model on a server that speaks OpenAI's wire."""

    def __init__(self, server: CompletionsServer, http: httpx2.AsyncClient) -> None:
        self._url = server.url
        self._key = server.key
        self._http = http
        self._bodies = RequestEncoder(server)
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

    async def request_answer(self, question: LlmQuestion) -> RawAnswer:
        with self._redact_key():
            response = await self._http.send(self._build_request(self._bodies.encode_question(question)), stream=True)
            try:
                content = await _read_body(response)
                if not response.is_success:
                    raise parse_rejection(response.status_code, response.headers, content)
                _reject_web_page(response)
                return parse_completion(content)
            finally:
                await response.aclose()

    async def stream_reply(self, request: LlmChatRequest) -> AsyncGenerator[ReplyPiece, None]:
        with self._redact_key():
            response = await self._http.send(self._build_request(self._bodies.encode_chat(request)), stream=True)
            try:
                if not response.is_success:
                    raise parse_rejection(response.status_code, response.headers, await _read_body(response))
                _reject_web_page(response)
                chunks, events, marked, arriving = (
                    ReplyAssembler(),
                    SseParser(),
                    False,
                    _read_bounded(response, _MAX_STREAM_BYTES),
                )
                async for some in arriving:
                    for data in events.feed(some):
                        if data.startswith(_DONE_MARKER):
                            marked = True
                            break
                        for piece in chunks.add_chunk(data):
                            yield piece
                    if marked:
                        await _drain_stream(arriving)
                        break
                for piece in chunks.finish_reply(marked=marked or events.remaining_data() == _DONE_MARKER):
                    yield piece
            finally:
                await response.aclose()

    def _build_request(self, body: bytes) -> httpx2.Request:
        return httpx2.Request("POST", self._url, headers=self._headers, content=body, extensions=self._bounds)

    @contextmanager
    def _redact_key(self) -> Iterator[None]:
        """Whatever is raised inside, the key stands in none of its words: a server may quote the one it refuses."""
        try:
            yield
        except REQUEST_ERRORS as error:
            if len(self._key) >= _MIN_SECRET_LENGTH and self._key in str(error):
                error.args = tuple(one.replace(self._key, "…") if isinstance(one, str) else one for one in error.args)
            raise


def _reject_web_page(response: httpx2.Response) -> None:
    if response.headers.get("content-type", "").lower().startswith("text/html"):
        raise NotAModel("it is a web page")


async def _read_body(response: httpx2.Response) -> bytes:
    return b"".join([some async for some in _read_bounded(response, _MAX_ANSWER_BYTES)])


async def _read_bounded(response: httpx2.Response, most: int) -> AsyncIterator[bytes]:
    """The response's bytes as they come; ValueError when there are more than we hear."""
    heard = 0
    async for some in response.aiter_bytes():
        heard += len(some)
        if heard > most:
            raise ValueError(f"it is longer than {most:,} bytes")
        yield some


async def _drain_stream(arriving: AsyncIterator[bytes]) -> None:
    with suppress(TimeoutError, httpx2.HTTPError):
        async with asyncio.timeout(_DRAIN_TIMEOUT_S):
            async for _ in arriving:
                pass
