"""An OpenAI Agents program whose conversation outlives the process. Its model is reached through Mnemon, too.

pip install 'mnemon-client[openai-agents]'; MNEMON_KEY=mnk_… python examples/openai_agents_session.py "My name is Ann"
"""

import asyncio
import os
import sys

from agents import Agent, OpenAIChatCompletionsModel, Runner, set_tracing_disabled
from openai import AsyncOpenAI

from mnemon_client import Mnemon
from mnemon_client.integrations.openai_agents import MnemonSession


async def main(said: str) -> None:
    url, key = os.environ.get("MNEMON_URL", "http://127.0.0.1:8765"), os.environ["MNEMON_KEY"]
    set_tracing_disabled(True)
    model = OpenAIChatCompletionsModel("mnemon", AsyncOpenAI(base_url=f"{url}/v1", api_key=key))
    async with Mnemon(url, key, user_id="ann") as mnemon:
        session = MnemonSession("with-ann", mnemon)
        for item in await session.get_items():
            print("earlier:", item.get("role"), item.get("content"))
        result = await Runner.run(Agent(name="Companion", model=model), said, session=session)
        print("now:", result.final_output)


asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "Hello"))
