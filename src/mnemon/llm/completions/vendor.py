"""Send one chat-completions request: for a structured answer, or for a streamed reply."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import contextmanager, suppress

import httpx2

from mnemon.event_loop import with_pauses
from mnemon.llm.completions.decompression import decoder_for
from mnemon.llm.completions.request import RequestEncoder
from mnemon.llm.completions.response import parse_completion, parse_rejection
from mnemon.llm.completions.server import CompletionsServer, resolve_server
from mnemon.llm.completions.stream import ReplyAssembler
from mnemon.llm.failure import REQUEST_ERRORS, NotAModel, UnusableAnswer
from mnemon.llm.protocol import LlmChatRequest, LlmQuestion
from mnemon.llm.vendor import RawAnswer, ReplyPiece
from mnemon.llm.vendor_http import http_client
from mnemon_client.sse import SseParser

_DONE_MARKER = b"[DONE]"
_MAX_ANSWER_BYTES = 8 * 1024 * 1024
"""Largest body of a whole answer or an error."""
_MAX_STREAM_BYTES = 64 * 1024 * 1024
"""Largest streamed body: an event of 300 bytes for every character of the longest reply."""
_PIECES_BETWEEN_PAUSES = 16
"""Unpacked pieces of one chunk between two pauses for other tasks: 1 MB."""
_DRAIN_TIMEOUT_S = 0.2
"""Seconds to wait for the end of a body after `[DONE]`. Only when read to its end is a connection reused."""
_MIN_SECRET_LENGTH = 8
"""Shorter keys are placeholders, and errors may contain them as ordinary words."""


def connect_completions(
    vendor: str,
    model: str,
    *,
    base_url: str | None,
    api_key: str | None,
    timeout: float,
    transport: httpx2.AsyncBaseTransport | None = None,
) -> "CompletionsVendor":
    """Return the model that `openai:…` or `ollama:…` names, with its own HTTP client."""
    server = resolve_server(vendor, model, base_url=base_url, api_key=api_key)
    return CompletionsVendor(server, http_client(timeout, base_url=str(server.url), transport=transport))


class CompletionsVendor:
    """A model on a server with OpenAI's API."""

    def __init__(self, server: CompletionsServer, http: httpx2.AsyncClient) -> None:
        """Keep the model's HTTP client and build the headers that all requests to its server share."""
        self._url = server.url
        self._key = server.key
        self._http = http
        self._bodies = RequestEncoder(server)
        # Built once: the client would merge the same headers again for every request.
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
        """Close the model's HTTP connections."""
        await self._http.aclose()

    async def request_answer(self, question: LlmQuestion) -> RawAnswer:
        """Send one request for a structured answer and return it unparsed; raise VendorRejected and others."""
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
        """Send one chat request and yield its reply; end without `ReplyFinished` when the stream broke off."""
        with self._redact_key():
            response = await self._http.send(self._build_request(self._bodies.encode_chat(request)), stream=True)
            try:
                if not response.is_success:
                    raise parse_rejection(response.status_code, response.headers, await _read_body(response))
                _reject_web_page(response)
                assembler, events, marked, arriving = (
                    ReplyAssembler(),
                    SseParser(),
                    False,
                    _read_bounded(response, _MAX_STREAM_BYTES),
                )
                async for chunk in arriving:
                    for event in events.feed(chunk):
                        if event.data.startswith(_DONE_MARKER):
                            marked = True
                            break
                        for piece in assembler.add_chunk(event.data):
                            yield piece
                    if marked:
                        await _drain_stream(arriving)
                        break
                # A stream may end right after [DONE], without the blank line that completes an event.
                for piece in assembler.finish_reply(marked=marked or events.remaining_data() == _DONE_MARKER):
                    yield piece
            finally:
                await response.aclose()

    def _build_request(self, body: bytes) -> httpx2.Request:
        """Return the POST request with this body, made without the client's own merging of headers."""
        # Made here and not by the client, which would merge headers again: saves 10 µs (decision 19).
        return httpx2.Request("POST", self._url, headers=self._headers, content=body, extensions=self._bounds)

    @contextmanager
    def _redact_key(self) -> Iterator[None]:
        """Remove the API key from errors raised inside the block, since a server may quote a refused key."""
        try:
            yield
        except REQUEST_ERRORS as error:
            if len(self._key) >= _MIN_SECRET_LENGTH and self._key in str(error):
                error.args = tuple(one.replace(self._key, "…") if isinstance(one, str) else one for one in error.args)
            raise


def _reject_web_page(response: httpx2.Response) -> None:
    """Raise NotAModel when a model's response is HTML."""
    if response.headers.get("content-type", "").lower().startswith("text/html"):
        raise NotAModel("it is a web page")


async def _read_body(response: httpx2.Response) -> bytes:
    """Return the response's whole body; raise ValueError when it is larger than 8 MiB."""
    return b"".join([chunk async for chunk in _read_bounded(response, _MAX_ANSWER_BYTES)])


async def _read_bounded(response: httpx2.Response, most: int) -> AsyncIterator[bytes]:
    """Yield the response's body, decompressed, as it arrives; raise UnusableAnswer once it exceeds `most` bytes."""
    received = 0
    encoding = response.headers.get("content-encoding")
    decoder = decoder_for(encoding) if encoding else None
    # Not the client's own decoding: it unpacks a chunk in one step, and the event loop would wait for megabytes.
    async for sent in response.aiter_raw():
        async for chunk in with_pauses(decoder.decode(sent) if decoder else (sent,), _PIECES_BETWEEN_PAUSES):
            received += len(chunk)
            if received > most:
                raise UnusableAnswer(f"it is longer than {most:,} bytes")
            yield chunk


async def _drain_stream(arriving: AsyncIterator[bytes]) -> None:
    """Read the rest of the body for up to 0.2 s, so that the connection can be reused."""
    with suppress(TimeoutError, httpx2.HTTPError):
        async with asyncio.timeout(_DRAIN_TIMEOUT_S):
            async for _ in arriving:
                pass
