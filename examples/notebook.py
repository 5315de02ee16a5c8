"""No server to start: the whole house inside this process, as in a notebook. Run it twice, it remembers.

python examples/notebook.py
"""

import asyncio

from mnemon_client import Mnemon


async def main() -> None:
    async with Mnemon.open(user_id="me") as mnemon:
        for memory in (await mnemon.recall("tea or coffee"))["results"]:
            print("I knew already:", memory["memory"]["content"])
        await mnemon.remember("Drinks green tea in the morning", attribute="morning drink")
        print("remembered:", (await mnemon.recall("tea or coffee"))["results"][0]["memory"]["content"])


asyncio.run(main())
