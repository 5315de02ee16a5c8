"""A section: a room's part of the reflection, which asks the model and applies the answer."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from pydantic import BaseModel

from mnemon.db.tx import Tx
from mnemon.turn import Turn


@dataclass(frozen=True, kw_only=True)
class Rejection:
    """A proposal of the model that did not pass a gate."""

    what: str
    why: str
    section: str = ""
    """The label of the section that proposed it; empty in rows of earlier releases."""


@dataclass(frozen=True, kw_only=True)
class SectionResult:
    """What a section did with its answer; zeros where there was nothing."""

    stored: int = 0
    updated: int = 0
    skipped: int = 0
    rejected: tuple[Rejection, ...] = ()


@dataclass(frozen=True, kw_only=True)
class BriefItem:
    """One line of what a room holds; the prompt shows those that matter most for the turn, in the room's order."""

    text: str
    urgent: bool = False
    """Whether it comes before others whatever the turn is about: an outstanding contradiction, a failure."""
    under: int | None = None
    """The place of the item that it belongs to and is shown with."""


@dataclass(frozen=True, kw_only=True)
class Brief:
    """What a section gives the model for one turn."""

    instructions: str
    """What to look for and what each field means, with a worked example."""
    state: str = ""
    """What the room holds now in a line or two that are always shown; never a source for a quote."""
    items: tuple[BriefItem, ...] = ()
    """What else it holds, shown as far as the prompt has room."""
    names: Mapping[str, str] = field(default_factory=dict)
    """What the short handles in `items` stand for; an answer may use either."""
    name_fields: frozenset[str] = frozenset()
    """The fields of the answer that hold them, each after the list or object it stands in: `archive.hypothesis`."""
    facts: dict[str, Any] = field(default_factory=dict)
    """The same for the section's own offline rules."""


def number_handles(letter: str, ids: Iterable[str], taken: Collection[str] = ()) -> dict[str, str]:
    """Return a map from short handles (H1, H2, …) to ids, in order; handles that are taken are left out."""
    handles: dict[str, str] = {}
    number = 0
    for one in ids:
        number += 1
        while f"{letter}{number}" in taken:
            number += 1
        handles[f"{letter}{number}"] = one
    return handles


class Section(Protocol):
    """One property of the `Reflection` answer."""

    name: str
    """The property: `memories`, `todos`, `engagement`, `agent_state`, `rolling_summary`."""
    label: str
    """Its name in the report: `memory`, `todos`, `engagement`, `agentState`, `rollingSummary`."""
    answer: type[BaseModel]
    """How an answer is read: a model with exactly one field, called `name`, so that a list can be an answer too."""
    schema: dict[str, Any]
    """How an answer is asked for: the JSON schema of that property as it is sent, leaner than what is read."""

    async def prepare_brief(self, tx: Tx, turn: Turn) -> Brief | None:
        """Return what this section asks the model about the turn; None when it is not due for this turn."""
        ...

    def answer_by_rule(self, turn: Turn, brief: Brief) -> BaseModel:
        """Return the section's answer made by rules, for offline mode; it passes the same gates."""
        ...

    async def apply_answer(self, tx: Tx, turn: Turn, answer: BaseModel) -> SectionResult:
        """Check the model's answer and write what passes, in a savepoint; applying it twice changes nothing."""
        ...


@runtime_checkable
class RepairableSection(Protocol):
    """A section whose answer is a list of entries; those that its gates refuse are offered back to the model once."""

    def entry_faults(self, turn: Turn, brief: Brief, answer: BaseModel) -> Sequence[str | None]:
        """Return for each entry why the gates refuse it, in words that help to correct it; None for an accepted one."""
        ...
