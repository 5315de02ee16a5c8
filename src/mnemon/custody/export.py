"""A person's data as lines of JSON: the same data gives the same bytes, in whichever database it is."""

import json
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from typing import IO, Any

import structlog

from mnemon.custody import tables
from mnemon.custody.import_rules import AGENT_STATE_TABLES
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


async def export_lines(tx: Tx, scope: Scope, *, agent_state: bool = True, answers: bool = True) -> AsyncIterator[bytes]:
    """Yield a person's export: a heading, then every row as JSON, table by table in key order, then the count.

    Without `agent_state`, what agents believe is left out; without `answers`, what models answered when they reflected:
    that speaks of agent states and of the organization's engagement.

    No time of export, no internal id and no revision is in it, so that export, import and export give the same bytes.
    Raises NotFound for an unknown person.
    """
    name = await external_name(tx, scope)
    if name is None:
        raise NotFound("user")
    yield json_line({"format": EXPORT_FORMAT, "version": EXPORT_VERSION, "userId": name})
    total = 0
    for table in sorted(await personal_tables(tx), key=lambda one: one.name):
        if not is_exported(table) or (table.name in AGENT_STATE_TABLES and not agent_state):
            continue
        async for row in tables.stream_json_rows(tx, scope, table):
            total += 1
            if table.name == "reflections" and not answers:
                yield json_line({"table": table.name, "row": _without_answer(json.loads(row["row"]))})
            else:
                yield f'{{"table":"{table.name}","row":{row["row"]}}}\n'.encode()
    yield json_line({"end": True, "rows": total})


def _without_answer(row: dict[str, Any]) -> dict[str, Any]:
    """Return a reflection's row without the model's answer and its rejected proposals."""
    return {**row, "raw": {}, "rejected": []}


def json_line(value: Any) -> bytes:
    """Return the value as one line of JSON, as bytes with a line break."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


async def export_to_file(
    db: Database, scope: Scope, *, record: Callable[[Tx], None], agent_state: bool = True, answers: bool = True
) -> IO[bytes]:
    """Return a temporary file with the whole export, as of one moment, open at its beginning; deleted when closed.

    It is written before the first byte is sent, so that a slow reader holds no transaction open. `record` writes the
    audit entry: an export that cannot be recorded is not given out. `agent_state` and `answers` are as
    in `export_lines`.
    """
    file = tempfile.SpooledTemporaryFile(max_size=_MAX_MEMORY_BYTES)  # noqa: SIM115  the reader closes it
    rows_written = -2  # the first and the last line are not rows
    try:
        async with db.tx(scope.org_id) as tx:
            # Not prepared: preparing may send a DEALLOCATE first, and then the isolation level can no longer be set.
            await tx.fetch_unprepared("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            async for one in export_lines(tx, scope, agent_state=agent_state, answers=answers):
                file.write(one)
                rows_written += 1
        # In a transaction of its own: a repeatable read cannot lock rows that others changed meanwhile.
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
    """Yield an export file's bytes in chunks; close it afterwards."""
    with file:
        while piece := file.read(_CHUNK_BYTES):
            yield piece
