"""Import of a person's exported data: ids stay as they were, and the rows belong to the person imported for."""

from collections import Counter
from collections.abc import AsyncIterable, AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import psycopg
import structlog

from mnemon.custody import ledger, tables
from mnemon.custody.export import EXPORT_FORMAT, EXPORT_VERSION
from mnemon.custody.import_rules import AdmitRow, admit_any_row, find_unusable_value
from mnemon.custody.replay import forget_again
from mnemon.custody.tables import SQL, OwnedTable, is_exported, personal_tables
from mnemon.db.tx import Tx
from mnemon.errors import Conflict, FieldFault, Invalid, Malformed
from mnemon.input_checks import UnusableJson, check_name, parse_json
from mnemon.jobs.store import enqueue_work
from mnemon.memory.upkeep.schedule import enqueue_after_write
from mnemon.scope import Scope
from mnemon.sessions.people import bump_revision, ensure_person
from mnemon.sessions.record import CLOSE_SESSION
from mnemon.vectors.text_vectors import enqueue_embedding

log = structlog.get_logger(__name__)

_IMPORT_PAGE_ROWS = 500
_COUNT_STEP = "Export again if lines were lost; if you left some out yourself, write how many `rows` are left."


@dataclass(frozen=True, kw_only=True)
class ImportResult:
    """What an import stored."""

    user_id: str
    """The application's name for the person."""
    stored: dict[str, int]
    """New rows, per table."""
    kept: dict[str, int]
    """Rows that existed already and were left as they were, per table."""
    forgotten: dict[str, int]
    """Rows that were left out because they had been forgotten in this database, per table."""


async def import_person(
    tx: Tx,
    org_id: str,
    lines: AsyncIterable[bytes],
    *,
    user_id: str | None = None,
    admit: Callable[[str], object] = lambda name: name,
    admit_row: AdmitRow = admit_any_row,
) -> ImportResult:
    """Insert an export's rows for its person or `user_id`, except rows that exist already or that were forgotten.

    The person is created if needed, and vectors and entity matching are queued. Raises Conflict for ids of another
    person; after an error the transaction must be rolled back. `admit` raises for a person the caller may not write,
    `admit_row` for a row that they may not bring in.
    """
    numbered = _parse_lines(lines)
    named = _heading_user_id(await _first_value(numbered))
    name = _check_user_id(user_id or named)
    admit(name)
    scope = await ensure_person(tx, org_id, name)
    revision = await bump_revision(tx, scope)
    known = {table.name: table for table in await personal_tables(tx) if is_exported(table)}
    # All lines are read before a row is stored: an export is sorted by table name, and inserts go by foreign keys.
    gathered: dict[str, list[tuple[int, dict[str, Any]]]] = {table: [] for table in known}
    total = await _collect_rows(numbered, gathered, admit_row)
    stored: Counter[str] = Counter()
    for name_of_table, table in known.items():
        stored[name_of_table] = await _insert_rows(tx, scope, table, gathered[name_of_table], revision)
    # In the same transaction, so that nobody can read what was forgotten.
    forgotten = await _reapply_forgettings(tx, scope)
    if total:
        await _enqueue_follow_ups(tx, scope)
    kept = {table: len(found) - stored[table] for table, found in gathered.items()}
    # A row that was there already is counted as kept, so only new ones can have been left out.
    left_out = {table: min(stored[table], forgotten[table]) for table in gathered}
    stored.subtract(left_out)
    log.info("person_imported", user=scope.user, stored=stored.total(), kept=sum(kept.values()))
    return ImportResult(
        user_id=name,
        stored={table: stored[table] for table, found in sorted(gathered.items()) if found},
        kept={table: number for table, number in sorted(kept.items()) if number},
        forgotten={table: number for table, number in sorted(left_out.items()) if number},
    )


async def _parse_lines(lines: AsyncIterable[bytes]) -> AsyncIterator[tuple[int, Any]]:
    """Yield number and JSON value of each line that is not blank; raise Invalid for one that is not JSON."""
    number = 0
    async for raw in lines:
        number += 1
        if not raw.strip():
            continue
        try:
            yield number, parse_json(raw)
        except UnusableJson as error:
            raise _line_error(number, f"cannot be stored: {error.detail}") from None
        except Malformed:
            raise _line_error(number, "is not JSON") from None


async def _first_value(numbered: AsyncIterator[tuple[int, Any]]) -> Any:
    """Return the first line's JSON value; None for an empty file."""
    async for _, value in numbered:
        return value
    return None


def _heading_user_id(heading: Any) -> str:
    """Return the person that an export's heading names; raise Invalid for a line that is no heading."""
    if not isinstance(heading, dict) or heading.get("format") != EXPORT_FORMAT:
        raise _line_error(1, f"is not the heading of an export (`format: {EXPORT_FORMAT}`)")
    if heading.get("version") != EXPORT_VERSION:
        raise _line_error(1, f"is of a version this server does not know; it knows {EXPORT_VERSION}")
    name = heading.get("userId")
    if not isinstance(name, str) or not 1 <= len(name.strip()) <= 200 or "\0" in name:
        raise _line_error(1, "names no `userId`")
    return name


def _check_user_id(name: str) -> str:
    """Return the person's name to import under; raise Invalid for one with a line break, as old releases exported."""
    try:
        return check_name(name)
    except ValueError as error:
        raise Invalid(
            f"The `userId` {error}, or import under another name: `?userId=` or `mnemon import --user NAME`.",
            code="bad_user_id",
        ) from None


async def _collect_rows(
    numbered: AsyncIterator[tuple[int, Any]],
    gathered: Mapping[str, list[tuple[int, dict[str, Any]]]],
    admit_row: AdmitRow,
) -> int:
    """Sort the export's rows by table into `gathered`; return their number. Raise Invalid for a bad line."""
    total, ended = 0, False
    async for number, value in numbered:
        if ended:
            raise _line_error(number, "follows the end of the export")
        if isinstance(value, dict) and value.get("end") is True:
            ended = True
            if value.get("rows") != total:
                raise _line_error(number, f"says {value.get('rows')} rows, {total} came", _COUNT_STEP)
            continue
        if not isinstance(value, dict) or not isinstance(value.get("row"), dict):
            raise _line_error(number, "is no row (`table`, `row`)")
        if not isinstance(value.get("table"), str) or value["table"] not in gathered:
            raise _line_error(number, "names a table this server does not know")
        row = admit_row(number, value["table"], value["row"])
        gathered[value["table"]].append((number, dict(row)))
        total += 1
    if not ended:
        raise Invalid("The export is cut short: its last line is missing. Export again.", code="export_cut_short")
    return total


async def _insert_rows(
    tx: Tx, scope: Scope, table: OwnedTable, found: list[tuple[int, dict[str, Any]]], revision: int
) -> int:
    """Check imported rows against their table and insert them, page by page; return how many were new."""
    if "id" in table.columns and found:
        # Primary keys include the person, so the database would not refuse an id that another person has.
        ids = [row["id"] for _, row in found if isinstance(row.get("id"), str) and "\0" not in row["id"]]
        if await tables.ids_of_others(tx, scope, table, ids):
            raise Conflict(
                "Ids of this export belong to another person of this organization. Import it into another "
                "organization, or forget that person first.",
                code="ids_taken",
            )
    for number, row in found:
        unknown = sorted(set(row) - set(table.export_columns))
        if unknown:
            raise _line_error(number, f"has a column that {table.name} does not have: {unknown[0]}")
        if (fault := find_unusable_value(table, row)) is not None:
            raise _line_error(number, fault)
    return sum(
        [
            await _insert_page(tx, scope, table, found[at : at + _IMPORT_PAGE_ROWS], revision)
            for at in range(0, len(found), _IMPORT_PAGE_ROWS)
        ]
    )


async def _insert_page(
    tx: Tx, scope: Scope, table: OwnedTable, found: list[tuple[int, dict[str, Any]]], revision: int
) -> int:
    """Insert imported rows at once; when that fails, insert them one by one to find the line that is wrong."""
    try:
        # Without a savepoint the failed statement would end the whole transaction, and no line could be named.
        async with tx.savepoint():
            return await tables.insert_rows(tx, scope, table, [row for _, row in found], revision=revision)
    except psycopg.errors.ForeignKeyViolation:
        raise Conflict(
            "The export clashes with what this person has already. Forget them first, or import under another name "
            "(`?userId=`).",
            code="person_not_empty",
        ) from None
    except (psycopg.DataError, psycopg.IntegrityError):
        if len(found) == 1:
            raise _line_error(found[0][0], f"does not fit into {table.name}") from None
    return sum([await _insert_page(tx, scope, table, [one], revision) for one in found])


async def _enqueue_follow_ups(tx: Tx, scope: Scope) -> None:
    """Queue the jobs that follow an import: vectors, matching of entities, closing of open sessions."""
    await enqueue_embedding(tx, scope)
    await enqueue_after_write(tx, scope)
    for row in await tx.fetch_all(SQL["open_sessions"], org_id=scope.org_id, user_id=scope.user):
        await enqueue_work(tx, scope, CLOSE_SESSION, row["id"])


async def _reapply_forgettings(tx: Tx, scope: Scope) -> Counter[str]:
    """Forget again what the ledger lists, so that an older export does not bring it back; return the rows by table."""
    gone: Counter[str] = Counter()
    for entry in await ledger.list_entries(tx, scope.org_id, subject=scope.user):
        if entry.kind == "memory":
            gone.update(await forget_again(tx, entry))
    return gone


def _line_error(number: int, why: str, next_step: str = "Send the lines of an export unchanged.") -> Invalid:
    """Return the Invalid error that names a line of the import, what is wrong with it, and the next step."""
    return Invalid(
        f"Line {number} {why}. {next_step}",
        code="bad_export",
        faults=(FieldFault(pointer=f"/{number - 1}", detail=why),),
    )
