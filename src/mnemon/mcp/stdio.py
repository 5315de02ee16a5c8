"""MCP over stdin and stdout, for clients that start their servers themselves.

The lines are read and checked here, as over HTTP, and not by the MCP library: that leaves some of what is no message
without an answer, and takes NaN for a number. It also stops at the end of its input and abandons the requests it works
on. `OpenRequests` holds that end back until they are answered, so that `printf … | mnemon mcp` gets its answers.
"""

import io
import os
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, BinaryIO, Self

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage

from mnemon.errors import Invalid, Malformed, MnemonError
from mnemon.event_loop import run_off_loop
from mnemon.mcp.caller import McpCaller
from mnemon.mcp.messages import answer_fault, read_message
from mnemon.mcp.server import make_server
from mnemon.services import Services

LAST_ANSWERS_S = 60.0
"""How long requests that were read before stdin ended may take to be answered."""


async def serve_stdio(services: Services, admit: Callable[[], Awaitable[McpCaller]]) -> None:
    """Answer MCP on stdin and stdout until stdin ends; each request checks the caller, since a key may expire."""

    async def admit_caller(ctx: ServerRequestContext[Any, Any]) -> McpCaller:
        """Return the caller of a request; raise a protocol error when it is not admitted."""
        try:
            return await admit()
        except MnemonError as error:
            raise MCPError(code=types.INVALID_REQUEST, message=f"{error.detail} ({error.code})") from error

    server = make_server(services, admit_caller)
    # The library only writes; what it would read is empty.
    nothing = anyio.wrap_file(io.StringIO())
    with _reserve_stdin() as stdin:
        async with stdio_server(stdin=nothing) as (incoming, outgoing):
            await incoming.aclose()
            unanswered = OpenRequests()
            writer = ResponseWriter(outgoing, unanswered)
            reader = RequestReader(anyio.wrap_file(stdin), unanswered, writer)
            await server.run(reader, writer, server.create_initialization_options())


@contextmanager
def _reserve_stdin() -> Iterator[BinaryIO]:
    """Yield the process's standard input for this reader alone; child processes get an empty one meanwhile."""
    private = os.dup(0)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    try:
        # It stays open: a thread may still wait for the next line.
        yield os.fdopen(private, "rb", closefd=False)
    finally:
        os.dup2(private, 0)


class OpenRequests:
    """The requests that were read and are not answered yet."""

    def __init__(self) -> None:
        """Begin with no request open."""
        self._ids: set[str] = set()
        self._answered = anyio.Event()

    def note_read(self, message: types.JSONRPCMessage) -> None:
        """Note a message of the client: a request opens, and one that is cancelled is never answered.

        Raises Malformed for a request with the id of an open one: the client could not tell their answers apart.
        """
        if isinstance(message, types.JSONRPCRequest):
            if str(message.id) in self._ids:
                raise Malformed(
                    "The `id` is in use: it is that of a request that is not answered yet. Send every request with an "
                    "id of its own.",
                    code="malformed_message",
                )
            self._ids.add(str(message.id))
        elif isinstance(message, types.JSONRPCNotification) and message.method == "notifications/cancelled":
            self._close_request(str((message.params or {}).get("requestId")))

    def note_written(self, message: types.JSONRPCMessage) -> None:
        """Note a message to the client: a result or an error answers its request."""
        if isinstance(message, types.JSONRPCResponse | types.JSONRPCError):
            self._close_request(str(message.id))

    async def wait_until_answered(self) -> None:
        """Wait until no request is open, at most LAST_ANSWERS_S."""
        with anyio.move_on_after(LAST_ANSWERS_S):
            while self._ids:
                await self._answered.wait()

    def _close_request(self, request_id: str) -> None:
        """Remove the request from the open ones and wake tasks that wait for that."""
        self._ids.discard(request_id)
        self._answered.set()
        self._answered = anyio.Event()


class _Wrapped:
    """A stream that is closed with the one inside it."""

    def __init__(self, inner: Any, unanswered: OpenRequests) -> None:
        """Keep the stream to wrap, and the requests that are read and answered through it."""
        self._inner = inner
        self._unanswered = unanswered

    async def aclose(self) -> None:
        """Close the wrapped stream."""
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        """Return this stream."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the wrapped stream."""
        await self.aclose()


class ResponseWriter(_Wrapped):
    """The messages to the client."""

    async def send(self, item: SessionMessage, /) -> None:
        """Send a message, and note the request that it answers."""
        await self._inner.send(item)
        self._unanswered.note_written(item.message)


class RequestReader(_Wrapped):
    """The messages of the client; their end comes only when every request among them is answered.

    A line that is no message is answered here.
    """

    def __init__(self, inner: anyio.AsyncFile[bytes], unanswered: OpenRequests, writer: ResponseWriter) -> None:
        """Keep the lines, the open requests, and where lines that are no message are answered."""
        super().__init__(inner, unanswered)
        self._writer = writer

    @property
    def last_context(self) -> None:
        """Return that a message has no context variables of its own, which the MCP library asks for."""
        return

    def __aiter__(self) -> Self:
        """Return this stream."""
        return self

    async def __anext__(self) -> SessionMessage:
        """Return the next message; raise StopAsyncIteration at the end."""
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def receive(self) -> SessionMessage:
        """Return the next message; answer lines that are no messages with an error; raise EndOfStream at the end."""
        while line := await self._inner.readline():
            if not line.strip():
                continue
            try:
                message = await _read_line(line)
                self._unanswered.note_read(message)
            except Invalid as fault:
                await self._writer.send(SessionMessage(answer_fault(fault)))
            else:
                return SessionMessage(message)
        await self._unanswered.wait_until_answered()
        raise anyio.EndOfStream


async def _read_line(line: bytes) -> types.JSONRPCMessage:
    """Return the message in a line; raise Invalid if the line is not a message."""
    # A line may have megabytes, which are not parsed on the event loop.
    return await run_off_loop(len(line), lambda: read_message(line))
