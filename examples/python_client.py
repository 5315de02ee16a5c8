"""The Python client: remember, recall, stream a reply.

MNEMON_KEY=mnk_… python examples/python_client.py
"""

import asyncio
import os

from mnemon_client import Mnemon


async def main() -> None:
    url = os.environ.get("MNEMON_URL", "http://127.0.0.1:8765")
    async with Mnemon(url, os.environ["MNEMON_KEY"], user_id="ann") as mnemon:
        await mnemon.remember("Is allergic to peanuts", attribute="allergy", pinned=True)
        found = await mnemon.recall("what must she not eat")
        print("recalled:", found["results"][0]["memory"]["content"])
        async with mnemon.stream("What should I watch out for at dinner?") as events:
            async for event in events:
                print(event.data["text"] if event.kind == "delta" else f"[{event.kind}]", end=" ", flush=True)
        print()


asyncio.run(main())
