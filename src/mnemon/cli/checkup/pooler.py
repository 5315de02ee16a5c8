"""Detect a pooler in transaction mode that loses prepared statements.

Such a pooler gives each transaction any free server connection, so whether a prepared statement is missing there is
luck. The probe forces it: a second client holds the server connection on which the first has prepared its statement.
"""

import asyncio
from contextlib import AsyncExitStack

import psycopg
from psycopg import errors

from mnemon.cli.checkup.check import Check, fail
from mnemon.db.connect import open_connection

_BACKEND_PID_SQL = "SELECT pg_backend_pid()"
_MAX_HOLDERS = 4
"""Clients to open at most until one holds that connection; poolers hand out the last used connection first."""
_WAIT_S = 3.0
"""How long a client waits for a server connection: a pool in session mode may have none left."""


async def check_named_statements(url: str) -> Check | None:
    """Return a failed check where named prepared statements are lost between transactions, else None."""
    async with AsyncExitStack() as opened:
        client = await opened.enter_async_context(await open_connection(url))
        # A pooler invents the process id it reports at connect: if it is the backend's own, there is no pooler.
        if await _backend_pid(client) == client.info.backend_pid:
            return None
        try:
            lost = await _loses_statements(client, url, opened)
        except (errors.InvalidSqlStatementName, errors.DuplicatePreparedStatement):
            lost = True
    if not lost:
        return None
    return fail(
        "pooler",
        "There is a pooler in transaction mode before the database, and it loses prepared statements.",
        "export MNEMON_PREPARED_STATEMENTS=false  # docs/postgresql.md, or connect without the pooler",
    )


async def _loses_statements(client: psycopg.AsyncConnection, url: str, opened: AsyncExitStack) -> bool:
    """Say whether a prepared statement is lost when the pooler changes its server connection.

    It prepares a statement, occupies its server connection, and uses it again. Raises PostgreSQL's error about the
    statement where there is one, which means the same.
    """
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
            return True  # the holders occupy every server connection, this client's too
        if moved:
            return False  # on another backend without an error: newer poolers carry statements along
    return False  # always the same backend: session mode


async def _backend_pid(connection: psycopg.AsyncConnection) -> int:
    """Return the process id of the PostgreSQL backend that runs this connection's statements."""
    row = await (await connection.execute(_BACKEND_PID_SQL)).fetchone()
    assert row is not None
    return int(row[0])
