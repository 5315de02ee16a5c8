"""A Claude Agent SDK session that any machine can resume: its transcript is mirrored into Mnemon.

pip install 'mnemon-client[claude-agent]'
ANTHROPIC_API_KEY=… MNEMON_KEY=mnk_… python examples/claude_agent_session.py "Hello"
"""

import asyncio
import os
import sys

from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, query

from mnemon_client import Mnemon
from mnemon_client.integrations.claude_agent import MnemonSessionStore


async def main(said: str, resumed: str | None) -> None:
    url = os.environ.get("MNEMON_URL", "http://127.0.0.1:8765")
    async with Mnemon(url, os.environ["MNEMON_KEY"], user_id="ann") as mnemon:
        options = ClaudeAgentOptions(session_store=MnemonSessionStore(mnemon), resume=resumed, max_turns=1)
        async for message in query(prompt=said, options=options):
            if isinstance(message, ResultMessage):
                print(message.session_id, message.result)


asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "Hello", sys.argv[2] if len(sys.argv) > 2 else None))
