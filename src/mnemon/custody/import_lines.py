"""The lines of an export as an import reads them: the heading, the rows of each table, the count. Pure functions."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from mnemon.custody.aggregates import IMPORT_ORDER, ImportedRow
from mnemon.custody.export import EXPORT_FORMAT, EXPORT_VERSION
from mnemon.custody.import_rules import AdmitRow
from mnemon.errors import FieldFault, Invalid, Malformed
from mnemon.input_checks import UnusableJson, check_name, parse_json

GatheredRows = Mapping[str, list[ImportedRow]]
"""The rows of an import by table, each table after those that its rows belong to."""
_COUNT_STEP = "Export again if lines were lost; if you left some out yourself, write how many `rows` are left."


def read_heading(body: bytes, name: str | None) -> str:
    """Return the person's name to import under: `name`, else the heading's. Raise Invalid for a bad heading."""
    _, heading, _ = next(_parse_lines(body), (1, None, 0))
    named = _heading_user_id(heading)
    try:
        return check_name(name or named)
    except ValueError as error:  # a line break, as old releases exported
        raise Invalid(
            f"The `userId` {error}, or import under another name: `?userId=` or `mnemon import --user NAME`.",
            code="bad_user_id",
        ) from None


def read_rows(body: bytes, admit_row: AdmitRow) -> GatheredRows:
    """Return the rows of an export by table, each with its line's number; raise Invalid for a bad line."""
    gathered: GatheredRows = {table: [] for table in IMPORT_ORDER}
    lines = _parse_lines(body)
    next(lines, None)  # the heading
    total, ended = 0, False
    for number, value, size in lines:
        if ended:
            raise line_error(number, "follows the end of the export")
        if isinstance(value, dict) and value.get("end") is True:
            ended = True
            if value.get("rows") != total:
                raise line_error(number, f"says {value.get('rows')} rows, {total} came", _COUNT_STEP)
            continue
        table, row = _row_in(number, value, gathered)
        gathered[table].append(ImportedRow(number, dict(admit_row(number, table, row)), size))
        total += 1
    if not ended:
        raise Invalid("The export is cut short: its last line is missing. Export again.", code="export_cut_short")
    return gathered


def _parse_lines(body: bytes) -> Iterator[tuple[int, Any, int]]:
    """Yield number, JSON value and bytes of each line that is not blank; raise Invalid for one that is not JSON."""
    for number, raw in enumerate(body.split(b"\n"), start=1):
        if not raw.strip():
            continue
        try:
            yield number, parse_json(raw), len(raw)
        except UnusableJson as error:
            raise line_error(number, f"cannot be stored: {error.detail}") from None
        except Malformed:
            raise line_error(number, "is not JSON") from None


def _row_in(number: int, value: Any, known: Collection[str]) -> tuple[str, dict[str, Any]]:
    """Return the table and the row that a line holds; raise Invalid for anything else."""
    if not isinstance(value, dict) or not isinstance(value.get("row"), dict):
        raise line_error(number, "is no row (`table`, `row`)")
    if not isinstance(value.get("table"), str) or value["table"] not in known:
        raise line_error(number, "names a table this server does not know")
    return value["table"], value["row"]


def _heading_user_id(heading: Any) -> str:
    """Return the person that an export's heading names; raise Invalid for a line that is no heading."""
    if not isinstance(heading, dict) or heading.get("format") != EXPORT_FORMAT:
        raise line_error(1, f"is not the heading of an export (`format: {EXPORT_FORMAT}`)")
    if heading.get("version") != EXPORT_VERSION:
        raise line_error(1, f"is of a version this server does not know; it knows {EXPORT_VERSION}")
    name = heading.get("userId")
    if not isinstance(name, str) or not 1 <= len(name.strip()) <= 200 or "\0" in name:
        raise line_error(1, "names no `userId`")
    return name


def line_error(number: int, why: str, next_step: str = "Send the lines of an export unchanged.") -> Invalid:
    """Return the Invalid error that names a line of the import, what is wrong with it, and the next step."""
    return Invalid(
        f"Line {number} {why}. {next_step}",
        code="bad_export",
        faults=(FieldFault(pointer=f"/{number - 1}", detail=why),),
    )
