"""MCP over stdin and stdout, for clients that start their servers themselves."""

from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.server.stdio import stdio_server

from mnemon.basement import Basement
from mnemon.mcp.caller import Visitor
from mnemon.mcp.server import make_server


async def serve_stdio(basement: Basement, visitor: Visitor) -> None:
    """Answers on stdin and stdout for one visitor, until stdin ends."""

    async def who(ctx: ServerRequestContext[Any, Any]) -> Visitor:
        return visitor

    server = make_server(basement, who)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())
