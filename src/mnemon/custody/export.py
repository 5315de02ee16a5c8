"""A person's data as lines of JSON: the same data gives the same bytes, wherever it stands."""

import json
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from typing import IO, Any

import structlog

from mnemon.custody import tables
from mnemon.custody.tables import is_exported, personal_tables
from mnemon.db.database import Database
from mnemon.db.tx import Tx
from mnemon.errors import NotFound
from mnemon.scope import Scope
from mnemon.sessions.people import external_name

log = structlog.get_logger(__name__)

EXPORT_FORMAT = "mnemon-export"
EXPORT_VERSION = 1
_MAX_MEMORY_BYTES = 4 * 1024 * 1024
_CHUNK_BYTES = 64 * 1024


async def export_lines(tx: Tx, scope: Scope) -> AsyncIterator[bytes]:
    """The person's rows, a line each: a heading, then table by table in the order of their keys, then the count.

    No time of export, no internal id and no revision is in it, so that export, import and export give the same bytes.
    """
    name = await external_name(tx, scope)
    if name is None:
        raise NotFound("user")
    yield json_line({"format": EXPORT_FORMAT, "version": EXPORT_VERSION, "userId": name})
    total = 0
    for table in sorted(await personal_tables(tx), key=lambda one: one.name):
        if not is_exported(table):
            continue
        async for row in tables.stream_json_rows(tx, scope, table):
            total += 1
            yield f'{{"table":"{table.name}","row":{row["row"]}}}\n'.encode()
    yield json_line({"end": True, "rows": total})


def json_line(value: Any) -> bytes:
    """The value as one line."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


async def export_to_file(db: Database, scope: Scope, *, record: Callable[[Tx], None]) -> IO[bytes]:
    """A temporary file with the whole export, as of one moment, open at its beginning; gone when closed.

    Written before the first byte is sent, so that a slow reader holds no transaction open. `record` puts the export on
    record: what cannot be put on record is not given out.
    """
    file = tempfile.SpooledTemporaryFile(max_size=_MAX_MEMORY_BYTES)  # noqa: SIM115  the reader closes it
    rows_written = -2  # the first line and the last are no rows
    try:
        async with db.tx(scope.org_id) as tx:
            # Not prepared: preparing may drop another statement ahead of it, and after any other one it is too late.
            await tx.fetch_unprepared("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            async for one in export_lines(tx, scope):
                file.write(one)
                rows_written += 1
        # In a transaction of its own: in that of the export, rows that others changed meanwhile could not be locked.
        async with db.tx(scope.org_id) as tx:
            record(tx)
    except BaseException:
        file.close()
        raise
    size = file.tell()
    file.seek(0)
    log.info("person_exported", user=scope.user, rows=rows_written, bytes=size)
    return file


def file_chunks(file: IO[bytes]) -> Iterator[bytes]:
    """The file's bytes, a piece at a time; it is closed afterwards."""
    with file:
        while piece := file.read(_CHUNK_BYTES):
            yield piece
