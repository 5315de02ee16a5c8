"""Checking and storing the rows of an import, aggregate by aggregate (`aggregates.py`)."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import psycopg

from mnemon.custody import tables
from mnemon.custody.aggregates import MEMBERSHIPS, ImportedRow, Parent, RowKey, find_broken_counter, key_in
from mnemon.custody.import_lines import GatheredRows, line_error
from mnemon.custody.import_values import find_reader_fault, find_unusable_value
from mnemon.custody.tables import OwnedTable
from mnemon.db.tx import Row, Tx
from mnemon.errors import Conflict
from mnemon.event_loop import run_off_loop
from mnemon.imported_table import ImportedTable
from mnemon.scope import Scope

_PAGE_ROWS = 500
_PAGE_BYTES = 256 * 1024
"""Most bytes of lines that one statement stores, unless one line has more: they are written as JSON in one go."""
_READER_SPEED = 8
"""Characters of a line that a room reads while one of a text is searched (`INLINE_CHARS`)."""


@dataclass(frozen=True, kw_only=True)
class ImportTable:
    """A table of the database and how its room reads it."""

    owned: OwnedTable
    rule: ImportedTable


def check_rows(known: Mapping[str, ImportTable], gathered: GatheredRows) -> None:
    """Raise Invalid for the first row with an unknown column, a value that Mnemon never writes, or a key twice."""
    for name, found in gathered.items():
        table, seen = known[name], set()
        for number, row, _ in found:
            unknown = sorted(set(row) - set(table.owned.export_columns))
            if unknown:
                raise line_error(number, f"has a column that {name} does not have: {unknown[0]}")
            if (fault := find_unusable_value(table.owned, table.rule, row)) is not None:
                raise line_error(number, fault)
            key = key_in(row, MEMBERSHIPS[name].key)
            if key in seen:
                raise line_error(number, f"has the same key in {name} as an earlier line")
            seen.add(key)
    broken = find_broken_counter(gathered)
    if broken is not None:
        raise line_error(broken.number, broken.why)


async def store_rows(
    tx: Tx, scope: Scope, known: Mapping[str, ImportTable], gathered: GatheredRows, *, revision: int
) -> Counter[str]:
    """Insert the rows of every aggregate that the person does not have yet; return how many, per table.

    Raises Conflict for ids of another person, Invalid for a row that its room could not read or that belongs to none.
    """
    new: dict[str, set[RowKey]] = {}
    for name, found in gathered.items():
        table = known[name]
        await _refuse_ids_of_others(tx, scope, table.owned, found)
        wanted = await _without_kept(tx, scope, known, gathered, name, new)
        new[name] = set()
        for page in _pages(wanted):
            new[name] |= {
                key_in(row, MEMBERSHIPS[name].key) for row in await _insert_page(tx, scope, table, page, revision)
            }
        if MEMBERSHIPS[name].parents and len(new[name]) < len(wanted):
            # Its root is new and it is not: the person has its key elsewhere, which no export of theirs would give.
            raise _clash_error()
    return Counter({name: len(keys) for name, keys in new.items()})


async def _refuse_ids_of_others(tx: Tx, scope: Scope, table: OwnedTable, found: Sequence[ImportedRow]) -> None:
    """Raise Conflict if another person of the organization has one of the rows' ids."""
    if "id" not in table.columns or not found:
        return
    # Primary keys include the person, so the database would not refuse an id that another person has.
    ids = [one.row["id"] for one in found if isinstance(one.row.get("id"), str) and "\0" not in one.row["id"]]
    if await tables.ids_of_others(tx, scope, table, ids):
        raise Conflict(
            "Ids of this export belong to another person of this organization. Import it into another "
            "organization, or forget that person first.",
            code="ids_taken",
        )


async def _without_kept(
    tx: Tx,
    scope: Scope,
    known: Mapping[str, ImportTable],
    gathered: GatheredRows,
    name: str,
    new: Mapping[str, set[RowKey]],
) -> Sequence[ImportedRow]:
    """Return the rows of this table whose aggregate is new; raise Invalid for one that belongs to none."""
    wanted: Sequence[ImportedRow] = gathered[name]
    if MEMBERSHIPS[name].is_one and wanted and await tables.has_rows(tx, scope, known[name].owned):
        return ()
    for parent in MEMBERSHIPS[name].parents:
        orphans = {
            key: one for one in reversed(wanted) if (key := key_in(one.row, parent.columns)) not in new[parent.table]
        }
        if orphans:
            await _refuse_strays(tx, scope, known[parent.table].owned, gathered[parent.table], parent, orphans)
            wanted = [one for one in wanted if key_in(one.row, parent.columns) in new[parent.table]]
    return wanted


async def _refuse_strays(
    tx: Tx,
    scope: Scope,
    table: OwnedTable,
    given: Sequence[ImportedRow],
    parent: Parent,
    orphans: Mapping[RowKey, ImportedRow],
) -> None:
    """Raise Invalid for a row whose parent is neither in the export nor stored."""
    own = MEMBERSHIPS[parent.table].key
    missing = orphans.keys() - {key_in(one.row, own) for one in given}
    if missing:
        there = await tables.stored_keys(tx, scope, table, own, sorted(missing, key=str))
        missing -= {key_in(row, own) for row in there}
    if missing:
        stray = min((orphans[key] for key in missing), key=lambda one: one.number)
        raise line_error(stray.number, f"belongs to a row of {parent.table} that is neither in the export nor stored")


def _pages(rows: Sequence[ImportedRow]) -> Iterator[Sequence[ImportedRow]]:
    """Yield the rows in pages for one statement each."""
    page: list[ImportedRow] = []
    size = 0
    for one in rows:
        if page and (len(page) == _PAGE_ROWS or size + one.size > _PAGE_BYTES):
            yield page
            page, size = [], 0
        page.append(one)
        size += one.size
    if page:
        yield page


async def _insert_page(
    tx: Tx, scope: Scope, table: ImportTable, found: Sequence[ImportedRow], revision: int
) -> list[Row]:
    """Insert imported rows at once; when that fails, insert them one by one to find the line that is wrong."""
    try:
        # Without a savepoint the failed statement would end the whole transaction, and no line could be named.
        async with tx.savepoint():
            stored = await tables.insert_rows(tx, scope, table.owned, [one.row for one in found], revision=revision)
    except psycopg.errors.ForeignKeyViolation:
        raise _clash_error() from None
    # A text that is too long for an index is an OperationalError, by the driver's order of things.
    except (psycopg.DataError, psycopg.IntegrityError, psycopg.errors.ProgramLimitExceeded):
        if len(found) == 1:
            raise line_error(found[0].number, f"does not fit into {table.owned.name}") from None
        return [row for one in found for row in await _insert_page(tx, scope, table, [one], revision)]
    size = sum(one.size for one in found)
    await run_off_loop(size // _READER_SPEED, partial(_refuse_unreadable, table, found, stored))
    return stored


def _refuse_unreadable(table: ImportTable, found: Sequence[ImportedRow], stored: Sequence[Row]) -> None:
    """Raise Invalid for the first stored row that its room cannot read."""
    key = MEMBERSHIPS[table.owned.name].key
    faults = {key_in(row, key): fault for row in stored if (fault := find_reader_fault(table.rule, row)) is not None}
    if not faults:
        return
    for number, row, _ in found:
        if (fault := faults.get(key_in(row, key))) is not None:
            raise line_error(number, fault)


def _clash_error() -> Conflict:
    """Return the error for rows that cannot stand beside what the person has."""
    return Conflict(
        "The export clashes with what this person has already. Forget them first, or import under another name "
        "(`?userId=`).",
        code="person_not_empty",
    )
