"""MCP over streamable HTTP at `/mcp`, with the same keys as everything else."""

from contextlib import AbstractAsyncContextManager
from typing import Any
from urllib.parse import urlsplit

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from mnemon.access.rate import RateLimit
from mnemon.basement import Basement
from mnemon.errors import Invalid, MnemonError, NotAllowed, NotFound, RateLimited, Unavailable
from mnemon.logs import note_error
from mnemon.mcp.caller import Visitor, from_request
from mnemon.mcp.server import make_server
from mnemon.settings import Settings


class McpDoor:
    """An ASGI application: checks the bearer of every request, counts it, then lets the protocol answer.

    No session is kept between requests, so any server of a cluster can answer any of them.
    """

    def __init__(
        self, basement: Basement, rate_limit: RateLimit, *, manager: StreamableHTTPSessionManager | None = None
    ) -> None:
        self._basement = basement
        self._rate_limit = rate_limit
        self._manager = manager or spoken(
            make_server(basement, known), basement.settings, stateless=True, json_response=True
        )

    def running(self) -> AbstractAsyncContextManager[None]:
        """For the application's lifespan: requests are answered inside."""
        return self._manager.run()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            if not self._basement.settings.loopback:
                check_origin(Request(scope).headers)
            visitor = await from_request(Request(scope), self._basement, self._rate_limit)
        except MnemonError as error:
            await _refusal(error)(scope, receive, send)
            return
        scope.setdefault("state", {})["visitor"] = visitor
        await self._manager.handle_request(scope, receive, send)


def check_origin(headers: Headers) -> None:
    """Refuse a request that a web page of another site makes. Programs send no Origin and pass.

    For servers that others can reach; on loopback the protocol's library wants host and origin to be loopback too.
    """
    origin = headers.get("origin")
    if origin is not None and urlsplit(origin).netloc.lower() != headers.get("host", "").lower():
        raise NotAllowed("A web page of another site may not call this server.", code="foreign_origin")


def spoken(server: "Server[Any]", settings: Settings, **options: Any) -> StreamableHTTPSessionManager:
    """The server behind streamable HTTP; on loopback, only for hosts and origins that are loopback too."""
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=settings.loopback,
        allowed_hosts=["127.0.0.1:*", "localhost:*", "[::1]:*", "127.0.0.1", "localhost"],
        allowed_origins=["http://127.0.0.1:*", "http://localhost:*", "http://[::1]:*"],
    )
    return StreamableHTTPSessionManager(
        server, security_settings=security, max_request_body_size=settings.max_body_bytes, **options
    )


async def known(ctx: ServerRequestContext[Any, Any]) -> Visitor:
    """The visitor that the door checked for this very request."""
    request = ctx.request
    assert isinstance(request, Request)
    visitor: Visitor = request.state.visitor
    return visitor


def _refusal(error: MnemonError) -> JSONResponse:
    """As the protocol wants it: a JSON-RPC error with the status of the cause."""
    note_error(error)
    match error:
        case RateLimited(retry_after=seconds):
            status, headers = 429, {"Retry-After": str(seconds)}
        case Unavailable():
            status, headers = 503, {"Retry-After": "2"}
        case NotAllowed():
            status, headers = 403, {}
        case NotFound():
            status, headers = 404, {}
        case Invalid():
            status, headers = 422, {}
        case _:
            status, headers = 401, {"WWW-Authenticate": 'Bearer realm="mnemon"'}
    body = {"jsonrpc": "2.0", "id": None, "error": {"code": -32001, "message": f"{error.detail} ({error.code})"}}
    return JSONResponse(body, status, headers)
