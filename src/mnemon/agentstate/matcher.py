"""Whether a tool's result is what was expected of it: decided by structured fields alone, never by words."""

from enum import StrEnum

from mnemon.agentstate.state import Expectation
from mnemon.turn import ToolOutcome


class Verdict(StrEnum):
    MATCH = "match"
    MISMATCH = "mismatch"
    SKIP = "skip"
    """They share no structured field: nothing was learned, and nothing is guessed."""


def judge(expectation: Expectation, result: ToolOutcome) -> Verdict:
    """The verdict over every field that both carry; an empty list and 0 are values and count."""
    held: list[bool] = []
    if expectation.expected_ids is not None and result.ids is not None:
        held.append(set(expectation.expected_ids) <= set(result.ids))
    if expectation.expected_type is not None and result.types is not None:
        held.append(expectation.expected_type in result.types)
    if expectation.expected_count is not None and result.count is not None:
        held.append(expectation.expected_count == result.count)
    if not held:
        return Verdict.SKIP
    return Verdict.MATCH if all(held) else Verdict.MISMATCH
