"""A database over one connection, so that a test knows which one it gets."""

from collections.abc import AsyncIterator

import pytest

from mnemon.clock import SystemClock
from mnemon.db.database import Database


@pytest.fixture
async def single(database_url: str) -> AsyncIterator[Database]:
    """The test's database over one connection."""
    database = Database(database_url, SystemClock(), pool_size=1)
    await database.open()
    yield database
    await database.close()
