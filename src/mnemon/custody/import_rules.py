"""Rules for imported rows: what a key bound to one person may bring in.

A bound key may bring in nothing that it could not write itself. Of the tables of an import, these can carry more:

    memories, memory_versions, todos     a row may claim the operator's trust
    agent_states, agent_state_journal    what an agent holds true: needs `agent-state:write`
    reflections                          a stored answer would be applied as the model's, to the engagement too

The others hold the person's own rows. The owner of a row is always the person imported for, ids that belong to others
are refused for every key, and a row that belongs to one that is there already is left out (`aggregates.py`): so nothing
is added to what the key could not write.
"""

from collections.abc import Callable, Mapping
from typing import Any

from mnemon.errors import FieldFault, NotAllowed
from mnemon.memory.trust import Trust, trust_of

AdmitRow = Callable[[int, str, Mapping[str, Any]], Mapping[str, Any]]
"""Returns the row to store, given its line number and table; raises NotAllowed for one that may not be stored."""
TRUSTED_TABLES = frozenset({"memories", "memory_versions", "todos"})
AGENT_STATE_TABLES = frozenset({"agent_states", "agent_state_journal"})
DONE_STATUS = "done"
_COUNT_AGAIN = "and write in the last line how many `rows` are left"
"""The last line's count, by which a file that was cut short is noticed, has to fit the lines that are sent."""


def admit_any_row(number: int, table: str, row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the imported row as it is: a key of the organization may import a whole export."""
    return row


def bound_key_rule(*, agent_state: bool) -> AdmitRow:
    """Return the check on rows imported with a key bound to one person; `agent_state`: may it write those."""

    def admit_row(number: int, table: str, row: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the row, a reflection without its stored answer; raise NotAllowed for one beyond the key."""
        if table in TRUSTED_TABLES and claims_operator_trust(row):
            raise _refusal_error(
                number,
                "claims the operator's trust, and this key speaks for one person",
                f"Import with a key that is not bound to a person; or leave out the line and those that name its id, "
                f"{_COUNT_AGAIN}.",
                code="key_bound_to_user",
            )
        if table in AGENT_STATE_TABLES and not agent_state:
            raise _refusal_error(
                number,
                f"belongs to {table}, and this key lacks the scope `agent-state:write`",
                f"Import with a key that has the scope; or leave out the lines of that table, {_COUNT_AGAIN}.",
                code="missing_scope",
            )
        return without_stored_answer(row) if table == "reflections" else row

    return admit_row


def claims_operator_trust(row: Mapping[str, Any]) -> bool:
    """Say whether an imported memory, version or todo would count as the operator's word."""
    if row.get("trust_level") == Trust.OPERATOR:
        return True
    # A row without a level, as of earlier releases, gets its trust from its source's name when it is read.
    named = (row.get("source"), row.get("origin"))
    return any(isinstance(name, str) and trust_of(name) is Trust.OPERATOR for name in named)


def without_stored_answer(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an unfinished reflection without the model's answer, so that the model is called again."""
    return row if row.get("status") == DONE_STATUS else {**row, "raw": {}}


def _refusal_error(number: int, why: str, next_step: str, *, code: str) -> NotAllowed:
    """Return the error that names the import's line, what is wrong with it, and the next step."""
    fault = FieldFault(pointer=f"/{number - 1}", detail=why)
    return NotAllowed(f"Line {number} {why}. {next_step}", code=code, faults=(fault,))
