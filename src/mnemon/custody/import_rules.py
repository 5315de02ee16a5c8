"""What a key that is bound to one person may bring in: nothing that the key could not say or change itself.

Of the tables that an import takes, four can carry more than that:

    memories, memory_versions, todos     a row may claim to be the operator's word
    agent_states, agent_state_journal    what an agent holds true: needs `agent-state:write`
    reflections                          a kept answer would be applied as the model's, to the engagement too

The others hold the person's own rows. Owners are always whom the import is for, and ids that belong to others are
refused for every key.

Values that a column could hold and no row of ours does: refused by an import, since reading them back would fail.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from mnemon.custody.tables import OwnedTable
from mnemon.errors import FieldFault, NotAllowed
from mnemon.memory.trust import Trust, trust_of

AdmitRow = Callable[[int, str, Mapping[str, Any]], Mapping[str, Any]]
"""Gives a row as it may be stored, by its line and table; raises NotAllowed for one that may not."""
TRUSTED_TABLES = frozenset({"memories", "memory_versions", "todos"})
AGENT_STATE_TABLES = frozenset({"agent_states", "agent_state_journal"})
DONE_STATUS = "done"


def admit_any_row(number: int, table: str, row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Give the row as it is: a key of the organization brings a whole export back."""
    return row


def bound_key_rule(*, agent_state: bool) -> AdmitRow:
    """Give the rule for a bound key; `agent_state` says whether it may write what an agent holds true."""

    def admit_row(number: int, table: str, row: Mapping[str, Any]) -> Mapping[str, Any]:
        if table in TRUSTED_TABLES and claims_operator_trust(row):
            raise _refusal_error(
                number,
                "claims the operator's trust, and this key speaks for one person",
                "Leave the line out, or import with a key that is not bound to a person.",
                code="key_bound_to_user",
            )
        if table in AGENT_STATE_TABLES and not agent_state:
            raise _refusal_error(
                number,
                f"belongs to {table}, and this key lacks the scope `agent-state:write`",
                "Leave the lines of that table out, or import with a key that has the scope.",
                code="missing_scope",
            )
        return without_stored_answer(row) if table == "reflections" else row

    return admit_row


def claims_operator_trust(row: Mapping[str, Any]) -> bool:
    """Whether a memory's, a version's or a todo's row would count as the operator's word."""
    if row.get("trust_level") == Trust.OPERATOR:
        return True
    named = (row.get("source"), row.get("origin"))
    return any(isinstance(name, str) and trust_of(name) is Trust.OPERATOR for name in named)


def without_stored_answer(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Give an unfinished reflection without the model's answer: it is asked for again."""
    return row if row.get("status") == DONE_STATUS else {**row, "raw": {}}


def _refusal_error(number: int, why: str, next_step: str, *, code: str) -> NotAllowed:
    fault = FieldFault(pointer=f"/{number - 1}", detail=why)
    return NotAllowed(f"Line {number} {why}. {next_step}", code=code, faults=(fault,))


_FIRST_YEAR, _LAST_YEAR = 1000, 9000
_MAX_NUMBERS = {"smallint": 2**15 - 1, "integer": 10**9, "bigint": 10**15}
"""Far below what the type holds, so that counting on from there does not overflow it."""
_MAX_CONTENT_CHARS = {"memories": 20_000, "memory_versions": 20_000, "note_texts": 8_000_000}
"""Characters of `content`, as the API takes it; of a note, what the body of a request holds."""
_MAX_TEXT_CHARS = 400_000
"""Of any other text; a reply has 200,000 at most."""


def find_unusable_value(table: OwnedTable, row: Mapping[str, Any]) -> str | None:
    """Say what is wrong with the first value that is out of range; None where all can be used."""
    types = dict(zip(table.columns, table.types, strict=True))
    for name, value in row.items():
        kind = types[name]
        if kind.startswith("timestamp") and isinstance(value, str) and not _is_plausible_time(value):
            return f"has a time in {name} that lies outside the years {_FIRST_YEAR} to {_LAST_YEAR}"
        if kind in _MAX_NUMBERS and isinstance(value, int) and abs(value) > _MAX_NUMBERS[kind]:
            return f"has a number in {name} that is too large"
        if kind == "text" and isinstance(value, str) and len(value) > _max_length(table.name, name):
            return f"has a text in {name} that is longer than {_max_length(table.name, name):,} characters"
    return None


def _max_length(table: str, column: str) -> int:
    return _MAX_CONTENT_CHARS.get(table, _MAX_TEXT_CHARS) if column == "content" else _MAX_TEXT_CHARS


def _is_plausible_time(text: str) -> bool:
    try:
        return _FIRST_YEAR <= datetime.fromisoformat(text).year <= _LAST_YEAR
    except ValueError:
        return False
