"""The route that every endpoint of the API is made with: its body is JSON by name and within the limits on JSON."""

from collections.abc import Callable, Coroutine
from email.message import Message
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute

from mnemon.aside import read_aside
from mnemon.errors import WrongMediaType
from mnemon.json_limits import parse_json


class JsonRequest(Request):
    """A request whose JSON is within the limits, or refused before a handler sees it."""

    async def json(self) -> Any:
        if not hasattr(self, "_json"):
            body = await self.body()
            self._json = await read_aside(len(body) // 16, lambda: parse_json(body))  # 64 KB take 1 ms on the spot
        return self._json


class JsonRoute(APIRoute):
    """A route that reads its body as a JsonRequest does."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handle_within_limits(request: Request) -> Response:
            return await handle(JsonRequest(request.scope, request.receive))

        return handle_within_limits


async def require_json(request: Request) -> None:
    """Refuse a body that is not sent as JSON, where the route takes one; an optional body may be left out."""
    takes_json = getattr(request.scope.get("route"), "body_field", None) is not None
    if takes_json and not sent_as_json(request) and await request.body():
        raise WrongMediaType(
            "The body is not sent as JSON. Send `Content-Type: application/json`; "
            "`curl -d` sends a form unless `-H` names it."
        )


def sent_as_json(request: Request) -> bool:
    """Whether the Content-Type is `application/json` or `application/*+json`."""
    # Read as FastAPI does, which otherwise leaves the body unparsed: the two must not disagree.
    sent = Message()
    sent["content-type"] = request.headers.get("content-type", "")
    subtype = sent.get_content_subtype()
    return sent.get_content_maintype() == "application" and (subtype == "json" or subtype.endswith("+json"))
