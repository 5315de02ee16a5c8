"""The tables of agent states as an import checks them."""

from mnemon.agentstate.change import CHANGE_ADAPTER
from mnemon.agentstate.state import STATE_ADAPTER
from mnemon.agentstate.store import entry_from_row, state_from_row
from mnemon.db.tx import Row
from mnemon.imported_table import LONG_CHARS, SHORT_CHARS, ImportedTable, JsonShape, TextBound, id_bounds


def _read_state(row: Row) -> object:
    """Read a row of `agent_states`; refuse a document of another session, by which it would be written."""
    stored = state_from_row(row)
    if stored.state.session_id != row["session_id"]:
        raise ValueError("a document names the session of its row")
    return stored


IMPORTED_TABLES: tuple[ImportedTable, ...] = (
    ImportedTable(
        name="agent_states",
        read=_read_state,
        columns={
            **id_bounds("session_id"),
            "document": JsonShape(adapter=STATE_ADAPTER, most_chars=LONG_CHARS),
        },
    ),
    ImportedTable(
        name="agent_state_journal",
        read=entry_from_row,
        columns={
            **id_bounds("session_id", "turn_id", "who"),
            "reason": TextBound(most_chars=SHORT_CHARS),
            "update": JsonShape(adapter=CHANGE_ADAPTER, most_chars=LONG_CHARS),
        },
    ),
)
