"""What a key that is bound to one person may bring in: nothing that the key could not say or change itself.

Of the tables that an import takes, four can carry more than that:

    memories, memory_versions, todos     a row may claim to be the operator's word
    agent_states, agent_state_journal    what an agent holds true: needs `agent-state:write`
    reflections                          a kept answer would be applied as the model's, to the engagement too

The others hold the person's own rows. Owners are always whom the import is for, and ids that belong to others are
refused for every key.
"""

from collections.abc import Callable, Mapping
from typing import Any

from mnemon.errors import Fault, NotAllowed
from mnemon.memory.trust import Trust, trust_of

AdmitRow = Callable[[int, str, Mapping[str, Any]], Mapping[str, Any]]
"""Gives a row as it may be stored, by its line and table; raises NotAllowed for one that may not."""
STATED = frozenset({"memories", "memory_versions", "todos"})
AGENT_STATE = frozenset({"agent_states", "agent_state_journal"})
DONE = "done"


def row_of_anyone(number: int, table: str, row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Give the row as it is: a key of the organization brings a whole export back."""
    return row


def row_for_bound_key(*, agent_state: bool) -> AdmitRow:
    """Give the rule for a bound key; `agent_state` says whether it may write what an agent holds true."""

    def admit(number: int, table: str, row: Mapping[str, Any]) -> Mapping[str, Any]:
        if table in STATED and claims_operator(row):
            raise _refused(
                number,
                "claims the operator's trust, and this key speaks for one person",
                "Leave the line out, or import with a key that is not bound to a person.",
                code="key_bound_to_user",
            )
        if table in AGENT_STATE and not agent_state:
            raise _refused(
                number,
                f"belongs to {table}, and this key lacks the scope `agent-state:write`",
                "Leave the lines of that table out, or import with a key that has the scope.",
                code="missing_scope",
            )
        return without_kept_answer(row) if table == "reflections" else row

    return admit


def claims_operator(row: Mapping[str, Any]) -> bool:
    """Whether a memory's, a version's or a todo's row would count as the operator's word."""
    if row.get("trust_level") == Trust.OPERATOR:
        return True
    named = (row.get("source"), row.get("origin"))
    return any(isinstance(name, str) and trust_of(name) is Trust.OPERATOR for name in named)


def without_kept_answer(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Give an unfinished reflection without the model's answer: it is asked for again."""
    return row if row.get("status") == DONE else {**row, "raw": {}}


def _refused(number: int, why: str, next_step: str, *, code: str) -> NotAllowed:
    fault = Fault(pointer=f"/{number - 1}", detail=why)
    return NotAllowed(f"Line {number} {why}. {next_step}", code=code, faults=(fault,))
