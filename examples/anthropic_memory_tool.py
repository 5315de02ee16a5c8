"""Anthropic's memory tool with its files in Mnemon. With ANTHROPIC_API_KEY a model uses it; without, we make its calls.

MNEMON_KEY=mnk_… python examples/anthropic_memory_tool.py
"""

import asyncio
import os

from anthropic import AsyncAnthropic
from anthropic.types.beta import BetaMessageParam

from mnemon_client import Mnemon
from mnemon_client.integrations.anthropic_memory import MnemonMemoryTool


async def main() -> None:
    url = os.environ.get("MNEMON_URL", "http://127.0.0.1:8765")
    async with Mnemon(url, os.environ["MNEMON_KEY"], user_id="ann") as mnemon:
        memory = MnemonMemoryTool(mnemon)
        if "ANTHROPIC_API_KEY" in os.environ:
            asked: list[BetaMessageParam] = [{"role": "user", "content": "Remember that I like my coffee black."}]
            runner = AsyncAnthropic().beta.messages.tool_runner(
                model=os.environ.get("MODEL", "claude-sonnet-5-5"), max_tokens=1000, messages=asked, tools=[memory]
            )
            print((await runner.until_done()).content)
        else:
            await memory.call({"command": "create", "path": "/memories/ann.md", "file_text": "Coffee: with milk\n"})
            await memory.call({"command": "str_replace", "path": "/memories/ann.md",
                               "old_str": "with milk", "new_str": "black"})  # fmt: skip
        print(await memory.call({"command": "view", "path": "/memories"}))
        print(await memory.call({"command": "view", "path": "/memories/ann.md"}))


asyncio.run(main())
