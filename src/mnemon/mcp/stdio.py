"""MCP over stdin and stdout, for clients that start their servers themselves."""

from collections.abc import Awaitable, Callable
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from mnemon.basement import Basement
from mnemon.errors import MnemonError
from mnemon.mcp.caller import Visitor
from mnemon.mcp.server import make_server


async def serve_stdio(basement: Basement, admit: Callable[[], Awaitable[Visitor]]) -> None:
    """Answer on stdin and stdout until stdin ends; who calls is asked for each request, for a key may end meanwhile."""

    async def who(ctx: ServerRequestContext[Any, Any]) -> Visitor:
        try:
            return await admit()
        except MnemonError as error:
            raise MCPError(code=types.INVALID_REQUEST, message=f"{error.detail} ({error.code})") from error

    server = make_server(basement, who)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())
