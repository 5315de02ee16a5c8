"""A Pydantic AI agent whose messages outlive the process.

MNEMON_KEY=mnk_… python examples/pydantic_ai_history.py "My name is Ann"
"""

import asyncio
import os
import sys

from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel

from mnemon_client import Mnemon
from mnemon_client.integrations.pydantic_ai import MnemonHistory


async def main(said: str) -> None:
    url = os.environ.get("MNEMON_URL", "http://127.0.0.1:8765")
    agent = Agent(os.environ.get("MODEL") or TestModel(custom_output_text="Noted."))
    async with Mnemon(url, os.environ["MNEMON_KEY"], user_id="ann") as mnemon:
        history = MnemonHistory("with-ann", mnemon)
        before = await history.load()
        result = await agent.run(said, message_history=before)
        await history.add(result.new_messages())
        print(f"{len(before)} messages before; {result.output}")


asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "Hello"))
