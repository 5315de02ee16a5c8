"""A pytest plugin (`-p support.langgraph_sqlite`): where LangGraph's tests import its SQLite stores, they get ours.

A connection string stands for a person: ":memory:" for a new one each time, a file's name for always the same.
"""

import os
import sys
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from types import ModuleType
from typing import Any

from mnemon_client import Mnemon, SyncMnemon
from mnemon_client.integrations.langgraph_store import MnemonStore, SyncMnemonStore


def _person(conn_string: str) -> str:
    return uuid.uuid4().hex if conn_string == ":memory:" else conn_string


def _options(options: dict[str, Any]) -> dict[str, Any]:
    """SQLite's store refreshes on reading only where it is told to; the documented default, and ours, is to refresh."""
    ttl = options.get("ttl")
    return options if ttl is None else {**options, "ttl": {"refresh_on_read": False, **ttl}}


class SqliteStore(SyncMnemonStore):
    """Ours, opened the way theirs is. The server hides what has expired, so nothing needs to be started for it."""

    @classmethod
    @contextmanager
    def from_conn_string(cls, conn_string: str, **options: Any) -> Iterator["SqliteStore"]:
        url, key = os.environ["MNEMON_URL"], os.environ["MNEMON_KEY"]
        with SyncMnemon(url, key, user_id=_person(conn_string)) as client:
            yield cls(client, **_options(options))

    def setup(self) -> None: ...
    def start_ttl_sweeper(self) -> None: ...
    def stop_ttl_sweeper(self) -> None: ...


class AsyncSqliteStore(MnemonStore):
    """The same, async."""

    @classmethod
    @asynccontextmanager
    async def from_conn_string(cls, conn_string: str, **options: Any) -> AsyncIterator["AsyncSqliteStore"]:
        url, key = os.environ["MNEMON_URL"], os.environ["MNEMON_KEY"]
        async with Mnemon(url, key, user_id=_person(conn_string)) as client:
            yield cls(client, **_options(options))

    async def setup(self) -> None: ...
    async def start_ttl_sweeper(self) -> None: ...
    async def stop_ttl_sweeper(self) -> None: ...


def _module(name: str, **names: Any) -> None:
    module = ModuleType(name)
    module.__dict__.update(names)
    module.__path__ = []
    sys.modules[name] = module


_module("langgraph.store.sqlite", SqliteStore=SqliteStore, AsyncSqliteStore=AsyncSqliteStore)
_module("langgraph.store.sqlite.aio", AsyncSqliteStore=AsyncSqliteStore)
_module(
    "langgraph.store.sqlite.base",
    # Names that only the tests of their internals use; those are deselected, but their imports must succeed.
    NS_MATCH_FUNCTION=None,
    BaseSqliteStore=SyncMnemonStore,
    SqliteIndexConfig=dict,
    _escape_glob_literal=None,
    _namespace_match_pattern=None,
)
