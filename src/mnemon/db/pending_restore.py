"""The table `restore_pending`: what a restore still has to apply to the database that it has loaded.

The transaction that loads a backup creates the table and fills it with what the replaced database knew: forgettings,
revoked keys, withdrawn sources. The table is dropped once all of it is applied. So a database that was loaded but not
finished always says so, whatever ended the restore, and holds what is needed to finish it from any machine. A file in
the data directory could not do that: the next server may run elsewhere, and a file commits at another moment.

No migration creates the table, so it exists only while a restore is unfinished. Only the tables' owner may read it.
"""

import json
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime

import psycopg

from mnemon.clock import parse_time
from mnemon.db.backup import GapSubject
from mnemon.db.connect import open_connection

PENDING_DETAIL = "A restore of a backup was interrupted before it had finished."
PENDING_STEP = "Run `mnemon migrate` or `mnemon serve`, which finishes it, or restore again with --force."

_PENDING_SQL = "select to_regclass('public.restore_pending')"
_CREATE_SQL = """
CREATE TABLE public.restore_pending (subject text NOT NULL, heading boolean NOT NULL, record text NOT NULL);
COPY public.restore_pending (subject, heading, record) FROM stdin;
"""


@dataclass(frozen=True, kw_only=True)
class CarriedRecords:
    """What one kind of record carries over a restore: ids, times and hashes only."""

    subject: GapSubject
    at: datetime
    """When the restore read them."""
    found: bool
    """Whether the restore replaced a database that has such records."""
    gap: datetime | None
    """Since when the replaced database itself lacked some of them; None if it had all."""
    rows: tuple[str, ...] = ()
    """The records, each a JSON document."""


def pending_script(carried: Iterable[CarriedRecords]) -> bytes:
    """Return the psql script that creates `restore_pending` with these records."""
    lines = []
    for one in carried:
        gap = None if one.gap is None else one.gap.isoformat()
        heading = json.dumps({"at": one.at.isoformat(), "found": one.found, "gap": gap})
        for is_heading, record in (("t", heading), *(("f", row) for row in one.rows)):
            # In ASCII, JSON has no tab or line break of its own, so only the backslash needs COPY's escape.
            plain = json.dumps(json.loads(record)).replace("\\", "\\\\")
            lines.append(f"{one.subject}\t{is_heading}\t{plain}\n")
    return (_CREATE_SQL + "".join(lines) + "\\.\n").encode("ascii")


async def restore_is_pending(url: str) -> bool:
    """Say whether the database at this URL was loaded by a restore that has not finished; any role may ask."""
    async with await open_connection(url) as connection:
        return await is_pending(connection)


async def load_pending(url: str) -> list[CarriedRecords]:
    """Return what an interrupted restore still has to apply to this database, read as its owner; none without one."""
    async with await open_connection(url) as connection:
        return await _read_records(connection) if await is_pending(connection) else []


@asynccontextmanager
async def claim_pending(url: str) -> AsyncIterator[list[CarriedRecords]]:
    """Yield the records to apply, and drop their table when the block ends without an error.

    One process at a time has them; another waits, and then gets none.
    """
    async with await open_connection(url) as connection, connection.transaction():
        # The transaction idles while the records are applied over other connections, however many there are.
        await connection.execute("set local idle_in_transaction_session_timeout = 0")
        await connection.execute("set local statement_timeout = 0")
        try:
            async with connection.transaction():
                await connection.execute("lock table public.restore_pending in exclusive mode")
        except psycopg.errors.UndefinedTable:
            yield []  # another process has finished the restore
            return
        yield await _read_records(connection)
        await connection.execute("drop table public.restore_pending")


async def is_pending(connection: psycopg.AsyncConnection) -> bool:
    """Say whether the connection's database has a table `restore_pending`."""
    row = await (await connection.execute(_PENDING_SQL)).fetchone()
    return row is not None and row[0] is not None


async def _read_records(connection: psycopg.AsyncConnection) -> list[CarriedRecords]:
    """Return the rows of `restore_pending`, put together by subject."""
    headings: dict[GapSubject, str] = {}
    rows: dict[GapSubject, list[str]] = {}
    found = await connection.execute("select subject, heading, record from public.restore_pending order by ctid")
    async for subject, heading, record in found:
        if heading:
            headings[subject] = record
        else:
            rows.setdefault(subject, []).append(record)
    return [_make_records(subject, heading, rows.get(subject, ())) for subject, heading in headings.items()]


def _make_records(subject: GapSubject, heading: str, rows: Iterable[str]) -> CarriedRecords:
    """Return the records of one subject from the JSON of its heading and its rows."""
    head = json.loads(heading)
    return CarriedRecords(
        subject=subject,
        at=parse_time(head["at"]),
        found=head["found"],
        gap=None if head["gap"] is None else parse_time(head["gap"]),
        rows=tuple(rows),
    )
