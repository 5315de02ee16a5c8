"""A room's part of the reflection: what it asks of the model, and how an answer is applied."""

from dataclasses import dataclass, field
from typing import Any, Protocol

from pydantic import BaseModel

from mnemon.db.tx import Tx
from mnemon.turn import Turn


@dataclass(frozen=True, kw_only=True)
class Rejection:
    """Something proposed that did not pass a gate."""

    what: str
    why: str


@dataclass(frozen=True, kw_only=True)
class SectionResult:
    """What a section did with its answer; zeros where there was nothing."""

    stored: int = 0
    updated: int = 0
    skipped: int = 0
    rejected: tuple[Rejection, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Brief:
    """What a section puts before the model for one turn."""

    instructions: str
    """What to look for and what each field means."""
    state: str = ""
    """What the room holds now, with the ids that an answer may name. Ours: never a source for a quote."""
    facts: dict[str, Any] = field(default_factory=dict)
    """The same for the section's own offline rules."""


class Section(Protocol):
    """One property of the `Reflection` answer."""

    name: str
    """The property: `memories`, `todos`, `engagement`, `agent_state`, `rolling_summary`."""
    label: str
    """Its name in the report: `memory`, `todos`, `engagement`, `agentState`, `rollingSummary`."""
    answer: type[BaseModel]
    """A model with exactly one field, called `name`, so that a list or a string can be an answer too."""

    async def prepare_brief(self, tx: Tx, turn: Turn) -> Brief | None:
        """What to ask; None when the section is not due for this turn."""
        ...

    def answer_by_rule(self, turn: Turn, brief: Brief) -> BaseModel:
        """The answer that rules alone give: offline mode. Passes the same gates."""
        ...

    async def apply_answer(self, tx: Tx, turn: Turn, answer: BaseModel) -> SectionResult:
        """Gate the answer and write what passes, in a savepoint; applying the same answer twice changes nothing."""
        ...
