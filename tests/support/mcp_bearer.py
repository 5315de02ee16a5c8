"""For protocol suites that know no keys: the test's own key goes with every request that has none."""

from starlette.types import ASGIApp, Receive, Scope, Send


class Bearer:
    """Adds the key of `box` to requests for `/mcp`; everything else of the door stays as it is."""

    def __init__(self, app: ASGIApp, box: dict[str, str]) -> None:
        self._app = app
        self._box = box

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] == "/mcp" and "key" in self._box:
            named = {name for name, _ in scope["headers"]}
            if b"authorization" not in named:
                scope["headers"] = [*scope["headers"], (b"authorization", f"Bearer {self._box['key']}".encode())]
        await self._app(scope, receive, send)
