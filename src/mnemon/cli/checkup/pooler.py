"""Whether a pooler in transaction mode stands in front of the database and loses statements that were prepared by name.

A pooler gives each transaction any free server connection, so whether one statement fails is luck. The probe leaves
nothing to it: a second client holds the connection on which the first has prepared its statement.
"""

import asyncio
from contextlib import AsyncExitStack

import psycopg
from psycopg import errors

from mnemon.cli.checkup.check import Check, fail
from mnemon.db.connect import open_connection

_BACKEND_PID_SQL = "SELECT pg_backend_pid()"
_MAX_HOLDERS = 4
"""Clients that may be opened to get hold of one server connection; poolers hand out the last used one first."""
_WAIT_S = 3.0
"""How long a holder waits for a server connection: a pool in session mode may have none left."""


async def check_named_statements(url: str) -> Check | None:
    """The check that fails where statements prepared by name are lost between transactions, or None."""
    async with AsyncExitStack() as opened:
        client = await opened.enter_async_context(await open_connection(url))
        if (
            await _backend_pid(client) == client.info.backend_pid
        ):  # a pooler makes up the number it gives to its clients
            return None
        try:
            lost = await _loses_statements(client, url, opened)
        except (errors.InvalidSqlStatementName, errors.DuplicatePreparedStatement):
            lost = True
    if not lost:
        return None
    return fail(
        "pooler",
        "A pooler in transaction mode stands in front of the database and loses prepared statements.",
        "export MNEMON_PREPARED_STATEMENTS=false  # docs/postgresql.md, or connect without the pooler",
    )


async def _loses_statements(client: psycopg.AsyncConnection, url: str, opened: AsyncExitStack) -> bool:
    """Prepare a statement, take its connection away, use it again: raises the error of a pooler that loses it."""
    client.prepare_threshold = 0
    first = await _backend_pid(client)
    for _ in range(_MAX_HOLDERS):
        try:
            async with asyncio.timeout(_WAIT_S):
                holder = await opened.enter_async_context(await open_connection(url))
                await holder.execute("BEGIN")
                await _backend_pid(holder)
        except (TimeoutError, psycopg.OperationalError):
            return False
        try:
            async with asyncio.timeout(_WAIT_S):
                moved = await _backend_pid(client) != first
        except TimeoutError:
            return True  # the holders have every server connection, this client's too
        if moved:
            return False  # the pooler took the statement along, as newer ones can
    return False  # it keeps its connection: session mode


async def _backend_pid(connection: psycopg.AsyncConnection) -> int:
    row = await (await connection.execute(_BACKEND_PID_SQL)).fetchone()
    assert row is not None
    return int(row[0])
