"""Compression for pages and their files; answers to programs go as they are."""

from starlette.middleware.gzip import GZipMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

PROGRAMS = ("/api", "/v1", "/mcp", "/metrics", "/live", "/openapi.json")


class Squeeze:
    """Compresses what a browser loads."""

    def __init__(self, app: ASGIApp) -> None:
        self._plain = app
        self._squeezed = GZipMiddleware(app, minimum_size=800, compresslevel=6)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        programs = scope["type"] != "http" or scope["path"].startswith(PROGRAMS)
        await (self._plain if programs else self._squeezed)(scope, receive, send)
