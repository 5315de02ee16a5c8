"""MCP over streamable HTTP at `/mcp`, with the same keys as the API."""

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
from starlette.types import Message, Receive, Scope, Send

from mnemon.access.rate import RateLimit
from mnemon.errors import (
    Invalid,
    Malformed,
    Misdirected,
    MnemonError,
    NotAllowed,
    NotFound,
    RateLimited,
    Unavailable,
    WrongMediaType,
)
from mnemon.event_loop import run_off_loop
from mnemon.logs import note_error
from mnemon.mcp.caller import McpCaller, authenticate_request
from mnemon.mcp.messages import fault_number, find_message_fault
from mnemon.mcp.server import make_server
from mnemon.services import Services
from mnemon.settings import Settings

_REFUSED = -32001
"""The JSON-RPC number of an error that is not about the message: the key, the person, the rate limit."""
_LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")


class McpDoor:
    """An ASGI application that authenticates and rate-limits every request, then lets the MCP library answer it.

    No session is kept between requests, so any server of a cluster can answer any of them.
    """

    def __init__(
        self, services: Services, rate_limit: RateLimit, *, manager: StreamableHTTPSessionManager | None = None
    ) -> None:
        """Make the MCP door, with the MCP library's session manager unless one is given."""
        self._services = services
        self._rate_limit = rate_limit
        self._manager = manager or session_manager(
            make_server(services, checked_caller), services.settings, stateless=True, json_response=True
        )

    def lifespan(self) -> AbstractAsyncContextManager[None]:
        """Return the context manager in which the door answers requests, for the application's lifespan."""
        return self._manager.run()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Authenticate and rate-limit an MCP request, then let the library answer it; refuse it as a JSON-RPC error."""
        check_request(
            Request(scope), loopback=self._services.settings.is_loopback
        )  # answered as a problem, like the API's errors
        try:
            caller = await authenticate_request(Request(scope), self._services, self._rate_limit)
        except MnemonError as error:
            await _refusal_response(error)(scope, receive, send)
            return
        scope.setdefault("state", {})["mcp_caller"] = caller
        # The library would log a client that leaves in the middle of its body as an error of the server.
        body = await Request(scope, receive).body()
        # A body may have megabytes, which are not parsed on the event loop.
        fault = await run_off_loop(len(body), lambda: find_message_fault(body)) if scope["method"] == "POST" else None
        if fault is not None:
            await _refusal_response(fault, fault_number(fault))(scope, receive, send)
            return
        await self._manager.handle_request(scope, _replay_body(body, receive), send)


def _replay_body(body: bytes, receive: Receive) -> Receive:
    """Return an ASGI `receive` that first gives the body that was read already, then what else arrives."""
    unread: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_replayed() -> Message:
        """Return the request body as the first ASGI message, then whatever the client sends."""
        return unread.pop() if unread else await receive()

    return receive_replayed


def check_request(request: Request, *, loopback: bool) -> None:
    """Raise for an MCP request of another site's web page, for a wrong host, and for a body that is not JSON.

    The MCP library checks the same on loopback, but answers in plain text.
    """
    headers = request.headers
    if loopback and not _is_loopback(headers.get("host", "")):
        raise Misdirected(
            "A server that listens on loopback is called by a loopback name. Use 127.0.0.1 or localhost as the host."
        )
    check_origin(headers, loopback=loopback)
    if request.method == "POST" and not headers.get("content-type", "").lower().startswith("application/json"):
        raise WrongMediaType("MCP takes JSON. Send `Content-Type: application/json`.")


def check_origin(headers: Headers, *, loopback: bool) -> None:
    """Raise NotAllowed for a request that another site's web page makes; programs send no Origin and pass.

    On loopback any page of this machine may call; on a server that others can reach, only its own pages.
    """
    # Browsers send it with every POST of a page, whose script cannot forge it.
    origin = headers.get("origin")
    if origin is None:
        return
    site = _origin_site(origin)
    own = _is_loopback(site) if loopback else site == headers.get("host", "").lower()
    if not own:
        raise NotAllowed(
            "A web page of another site may not call this server. Call it from a page of its own host, or from a "
            "program, which sends no `Origin`.",
            code="foreign_origin",
        )


def _origin_site(origin: str) -> str:
    """Return the host and port of an Origin header; empty for `null` and for what is no URL."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:  # `http://[`
        return ""


def _is_loopback(site: str) -> bool:
    """Say whether a host is a loopback name, with or without a port."""
    return any(
        site == name or (site.startswith(f"{name}:") and site.removeprefix(f"{name}:").isdecimal())
        for name in _LOOPBACK_NAMES
    )


def session_manager(server: "Server[Any]", settings: Settings, **options: Any) -> StreamableHTTPSessionManager:
    """Return the MCP server behind streamable HTTP; on loopback, only loopback hosts and origins may call it."""
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=settings.is_loopback,
        allowed_hosts=[f"{name}{port}" for name in _LOOPBACK_NAMES for port in ("", ":*")],
        allowed_origins=[
            f"{scheme}://{name}{port}"
            for scheme in ("http", "https")
            for name in _LOOPBACK_NAMES
            for port in ("", ":*")
        ],
    )
    return StreamableHTTPSessionManager(
        server, security_settings=security, max_request_body_size=settings.max_body_bytes, **options
    )


async def checked_caller(ctx: ServerRequestContext[Any, Any]) -> McpCaller:
    """Return the caller that McpDoor authenticated for this MCP request."""
    request = ctx.request
    assert isinstance(request, Request)
    caller: McpCaller = request.state.mcp_caller
    return caller


def _refusal_response(error: MnemonError, number: int = _REFUSED) -> JSONResponse:
    """Return an error as a JSON-RPC error, as the protocol wants it, with the HTTP status of its cause."""
    note_error(error)
    match error:
        case Malformed():
            status, headers = 400, {}
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
        # Only authentication is left.
        case _:
            status, headers = 401, {"WWW-Authenticate": 'Bearer realm="mnemon"'}
    # The id is null: the request was refused before it was read, or has none that can be used.
    fault = {"code": number, "message": f"{error.detail} ({error.code})"}
    return JSONResponse({"jsonrpc": "2.0", "id": None, "error": fault}, status, headers)
