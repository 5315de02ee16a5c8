"""MCP over stdin and stdout, for clients that start their servers themselves.

The MCP library stops at the end of its input and abandons the requests it works on. `OpenRequests` holds that end
back until they are answered, so that `printf … | mnemon mcp` gets its answers.
"""

from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, Self

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage

from mnemon.errors import MnemonError
from mnemon.mcp.caller import McpCaller
from mnemon.mcp.messages import answer_unread
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
    async with stdio_server() as (incoming, outgoing):
        unanswered = OpenRequests()
        writer = ResponseWriter(outgoing, unanswered)
        await server.run(RequestReader(incoming, unanswered, writer), writer, server.create_initialization_options())


class OpenRequests:
    """The requests that were read and are not answered yet."""

    def __init__(self) -> None:
        """Begin with no request open."""
        self._ids: set[str] = set()
        self._answered = anyio.Event()

    def note_read(self, message: types.JSONRPCMessage) -> None:
        """Note a message of the client: a request opens, and one that is cancelled is never answered."""
        if isinstance(message, types.JSONRPCRequest):
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
        """Take the request off the open ones and wake whoever waits for that."""
        self._ids.discard(request_id)
        self._answered.set()
        self._answered = anyio.Event()


class _Wrapped:
    """A stream that is closed with the one inside it."""

    def __init__(self, inner: Any, unanswered: OpenRequests) -> None:
        """Keep the stream of the MCP library and the requests that are read and answered through it."""
        self._inner = inner
        self._unanswered = unanswered

    async def aclose(self) -> None:
        """Close the stream inside."""
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        """Return this stream."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the stream inside."""
        await self.aclose()


class ResponseWriter(_Wrapped):
    """The messages to the client."""

    async def send(self, item: SessionMessage, /) -> None:
        """Send a message, and note the request that it answers."""
        await self._inner.send(item)
        self._unanswered.note_written(item.message)


class RequestReader(_Wrapped):
    """The messages of the client; their end comes only when every request among them is answered.

    A line that is no message is answered here: the MCP library would leave it without an answer.
    """

    def __init__(self, inner: Any, unanswered: OpenRequests, writer: ResponseWriter) -> None:
        """Keep the stream of the MCP library, the open requests, and where lines that are no message are answered."""
        super().__init__(inner, unanswered)
        self._writer = writer

    @property
    def last_context(self) -> Any:
        """Return the context variables of the last message's sender, which the MCP library asks for."""
        return getattr(self._inner, "last_context", None)

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
        """Return the next message, after answering lines that are none; raise EndOfStream at the end."""
        while isinstance(item := await self._receive_item(), Exception):
            if (answer := answer_unread(item)) is not None:
                await self._writer.send(SessionMessage(answer))
        self._unanswered.note_read(item.message)
        return item

    async def _receive_item(self) -> SessionMessage | Exception:
        """Return the next message, or the library's error for a line that is none; raise EndOfStream at the end."""
        try:
            item: SessionMessage | Exception = await self._inner.receive()
        except anyio.EndOfStream:
            await self._unanswered.wait_until_answered()
            raise
        return item
