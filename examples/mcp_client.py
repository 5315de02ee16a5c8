"""The tools over MCP, with the official client.

MNEMON_KEY=mnk_… python examples/mcp_client.py
"""

import asyncio
import os

import httpx2
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client


async def main() -> None:
    url = os.environ.get("MNEMON_URL", "http://127.0.0.1:8765") + "/mcp?userId=ann"
    http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {os.environ['MNEMON_KEY']}"})
    async with (
        http,
        streamable_http_client(url, http_client=http) as streams,
        ClientSession(streams[0], streams[1]) as session,
    ):
        await session.initialize()
        print("tools:", ", ".join(sorted(tool.name for tool in (await session.list_tools()).tools)))
        await session.call_tool("remember", {"content": "Ann plays the cello", "attribute": "instrument"})
        found = await session.call_tool("recall", {"query": "music"})
        print("recalled:", found.structured_content["results"][0]["content"])


asyncio.run(main())
