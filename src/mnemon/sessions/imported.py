"""The tables of sessions as an import checks them."""

from pydantic import TypeAdapter

from mnemon.db.tx import Row
from mnemon.imported_table import (
    ID_CHARS,
    LONG_CHARS,
    SHORT_CHARS,
    TEXT_CHARS,
    ImportedTable,
    JsonShape,
    TextBound,
    id_bounds,
    text_bounds,
)
from mnemon.llm.protocol import ToolRequest, Usage
from mnemon.sessions.messages import message_from_row
from mnemon.sessions.session import RollingError
from mnemon.sessions.state import session_state_from_row, summary_from_row
from mnemon.sessions.store import session_from_row
from mnemon.sessions.summary import SessionSummary
from mnemon.sessions.turns import TurnError, stored_turn_from_row
from mnemon.turn import Intent, ToolOutcome


def _read_turn(row: Row) -> object:
    """Read a row of `turns` as a turn without messages."""
    return stored_turn_from_row({**row, "user_name": ""}, ())


def _read_message(row: Row) -> object:
    """Read a row of `messages` with the tool calls that it made."""
    return message_from_row(row), [ToolRequest(**one) for one in row["tool_requests"] or ()]


_SESSIONS = ImportedTable(
    name="sessions",
    read=session_from_row,
    columns={
        **id_bounds("id", "persona_id", "resumed_from", "sources"),
        **text_bounds(ID_CHARS, "ended_by", "summarized_by"),
        "summary": JsonShape(adapter=TypeAdapter(SessionSummary), most_chars=SHORT_CHARS, most_items=100),
    },
)
_TURNS = ImportedTable(
    name="turns",
    read=_read_turn,
    columns={
        **id_bounds("id", "session_id", "persona_id", "status", "origin"),
        "waits_for": TextBound(most_chars=LONG_CHARS),
        "recited": TextBound(most_chars=TEXT_CHARS),
        "tool_results": JsonShape(adapter=TypeAdapter(list[ToolOutcome]), free=frozenset({"output", "error"})),
        "intents": JsonShape(adapter=TypeAdapter(list[Intent])),
        "usage": JsonShape(adapter=TypeAdapter(Usage)),
        "error": JsonShape(adapter=TypeAdapter(TurnError)),
    },
)
_MESSAGES = ImportedTable(
    name="messages",
    read=_read_message,
    columns={
        **id_bounds("id", "session_id", "turn_id", "persona_id", "role"),
        "content": TextBound(most_chars=TEXT_CHARS),
        **text_bounds(LONG_CHARS, "name", "tool_id"),
        "tool_requests": JsonShape(adapter=TypeAdapter(list[ToolRequest]), free=frozenset({"arguments"})),
    },
)
_STATES = ImportedTable(
    name="session_states",
    read=session_state_from_row,
    columns={
        **id_bounds("persona"),
        "last_user_message": TextBound(most_chars=SHORT_CHARS),
        "rolling_summary": TextBound(most_chars=LONG_CHARS),
        "last_rolling_error": JsonShape(adapter=TypeAdapter(RollingError)),
    },
)
_ROLLING = ImportedTable(
    name="rolling_summaries",
    read=summary_from_row,
    columns={
        **id_bounds("persona", "turn_id", "sources"),
        "text": TextBound(most_chars=LONG_CHARS),
        "carried": TextBound(most_chars=SHORT_CHARS, most_items=100),
    },
)
IMPORTED_TABLES: tuple[ImportedTable, ...] = (_SESSIONS, _TURNS, _MESSAGES, _STATES, _ROLLING)
