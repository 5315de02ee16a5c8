"""The job that clears away what a deleted agent left on this machine's disk."""

import asyncio
import shutil
from pathlib import Path

from mnemon.basement import Basement
from mnemon.errors import Conflict
from mnemon.ids import is_id
from mnemon.jobs.kind import Attempt, Kind
from mnemon.runs import agent_store
from mnemon.runs.agents import REMOVAL


def home_of(data_dir: Path, org_id: str, agent_id: str) -> Path:
    """Where programs that drive the agent keep their own files."""
    return data_dir.resolve() / "agents" / org_id / agent_id


class Removal:
    """Clears away agents' directories."""

    def __init__(self, basement: Basement) -> None:
        self._db = basement.db
        self._data_dir = basement.settings.data_dir

    def kind(self) -> Kind:
        """The kind of work that clears away."""
        return Kind(name=REMOVAL, run=self.remove)

    async def remove(self, attempt: Attempt) -> None:
        """The directory is gone, and only that of an agent that is gone itself."""
        scope = attempt.scope
        async with self._db.tx(scope.org_id) as tx:
            there = await agent_store.agent(scope, tx, attempt.key)
        if there is not None or not is_id(attempt.key, "agt"):
            raise Conflict(f"Agent {attempt.key} exists; its files stay.")
        await asyncio.to_thread(shutil.rmtree, home_of(self._data_dir, scope.org_id, attempt.key), ignore_errors=True)
