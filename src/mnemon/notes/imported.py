"""The tables of notes as an import checks them."""

from mnemon.db.tx import Row
from mnemon.imported_table import ImportedTable, JsonShape, TextBound, text_bounds
from mnemon.notes.store import note_from_row

_LABEL_CHARS = 400
_MAX_LABELS = 20
_MAX_TTL_S = 5_256_000 * 60
"""Ten years, as in the API."""
_NOTE_CHARS = 8_000_000
"""Most characters of a note's text: as many as the body of a request holds."""

_VECTOR_CHARS = 4_096 * 25
"""Most characters of a vector as text: 4,096 numbers."""


def _read_note(row: Row) -> object:
    """Read a row of `notes`; refuse a time to live that no note can have."""
    ttl = row["ttl_s"]
    if ttl is not None and not 0 < ttl <= _MAX_TTL_S:
        raise ValueError("a time to live is at most ten years")
    return note_from_row(row)


def _check_vector_row(row: Row) -> object:
    """Return the part and model of an imported row of `note_vectors`; raise KeyError if it lacks one."""
    return row["part"], row["model"]


def _check_text_row(row: Row) -> object:
    """Return the part and words of an imported row of `note_texts`; raise KeyError if it lacks one."""
    return row["part"], row["content"]


IMPORTED_TABLES: tuple[ImportedTable, ...] = (
    ImportedTable(
        name="notes",
        read=_read_note,
        columns={
            "namespace": TextBound(most_chars=_LABEL_CHARS, most_items=_MAX_LABELS),
            "key": TextBound(most_chars=_LABEL_CHARS),
            "value": JsonShape(is_open=True),
        },
    ),
    ImportedTable(
        name="note_texts",
        read=_check_text_row,
        columns={
            "namespace": TextBound(most_chars=_LABEL_CHARS, most_items=_MAX_LABELS),
            **text_bounds(_LABEL_CHARS, "key", "part"),
            "content": TextBound(most_chars=_NOTE_CHARS),
        },
    ),
    ImportedTable(
        name="note_vectors",
        read=_check_vector_row,
        columns={
            "namespace": TextBound(most_chars=_LABEL_CHARS, most_items=_MAX_LABELS),
            **text_bounds(_LABEL_CHARS, "key", "part", "model"),
            "vector": TextBound(most_chars=_VECTOR_CHARS),
        },
    ),
)
