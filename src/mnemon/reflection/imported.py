"""The table of reflections as an import checks it."""

from typing import Any

from pydantic import TypeAdapter

from mnemon.imported_table import LONG_CHARS, ImportedTable, JsonShape, TextBound, id_bounds
from mnemon.llm.protocol import Usage
from mnemon.reflection.report import SectionReport
from mnemon.reflection.store import reflection_from_row
from mnemon.section import Rejection

IMPORTED_TABLES: tuple[ImportedTable, ...] = (
    ImportedTable(
        name="reflections",
        read=reflection_from_row,
        columns={
            **id_bounds("turn_id", "job_id", "status"),
            "sections": JsonShape(adapter=TypeAdapter(dict[str, SectionReport])),
            "rejected": JsonShape(adapter=TypeAdapter(list[Rejection])),
            "raw": JsonShape(adapter=TypeAdapter(dict[str, Any]), is_open=True),
            "usage": JsonShape(adapter=TypeAdapter(Usage)),
            "error": TextBound(most_chars=LONG_CHARS),
        },
    ),
)
