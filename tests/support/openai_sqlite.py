"""A pytest plugin (`-p support.openai_sqlite`): where the Agents SDK's tests make a SQLiteSession, they get ours.

A database path stands for a person: ":memory:" for a new one each time.
"""

import os
import uuid
from pathlib import Path
from typing import Any

import agents
import agents.memory
import agents.memory.sqlite_session

from mnemon_client import Mnemon
from mnemon_client.integrations.openai_agents import MnemonSession


class SQLiteSession(MnemonSession):
    """Ours, made the way theirs is."""

    def __init__(self, session_id: str, db_path: str | Path = ":memory:", *names: str, **options: Any) -> None:
        person = uuid.uuid4().hex if str(db_path) == ":memory:" else str(db_path)
        client = Mnemon(os.environ["MNEMON_URL"], os.environ["MNEMON_KEY"], user_id=person)
        super().__init__(session_id, client, **options)

    def close(self) -> None: ...


for module in (agents, agents.memory):
    module.__dict__["SQLiteSession"] = SQLiteSession
