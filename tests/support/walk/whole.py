"""The whole walk, cut into pieces that run beside each other, each in a process and on a database of its own."""

import asyncio
from pathlib import Path

from support.databases import new_database
from support.walk.catalog import REQUEST_SCENARIOS
from support.walk.house import open_house
from support.walk.scenario import Scenario
from support.walk.walker import Walked, Walker, every_fault
from support.walk.work import WORK_SCENARIOS

SCENARIOS: list[Scenario] = [*REQUEST_SCENARIOS, *WORK_SCENARIOS]
PIECES = range(0, len(SCENARIOS), 5)
"""The first scenario of each: databases do not grow large, and a walk that is broken off keeps what it has counted."""


def walk_piece(cluster_url: str, template: str, folder: Path, first: int) -> Walked:
    """Walk over every fault of the scenarios of one piece."""

    async def walk() -> Walked:
        with new_database(cluster_url, template) as url:
            async with open_house(url, folder) as house:
                return await (await Walker.on(house)).walk(SCENARIOS[first : first + PIECES.step], every_fault)

    folder.mkdir()
    return asyncio.run(walk())
