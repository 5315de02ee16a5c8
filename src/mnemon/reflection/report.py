"""The status of a reflection and what it did, section by section, with zeros where there was nothing.

    queued ──► running ──► done
      ▲         │   ▲
      │         ▼   │ (tried again later)
      │        failed
      │         │
      │         ▼
      └─────  parked       (run again by hand; failed ones too)

`failed` means the last attempt failed and another is due; `parked` means no more attempts are made automatically. A
worker that died leaves `running`, and the next one that takes the turn starts it again. Nothing leaves `done`.
"""

import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

import structlog

from mnemon.llm.protocol import Usage
from mnemon.section import Rejection, SectionResult


class ReflectionStatus(StrEnum):
    """The status of a reflection, as drawn above."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    PARKED = "parked"


_NEXT: dict[ReflectionStatus, frozenset[ReflectionStatus]] = {
    ReflectionStatus.QUEUED: frozenset({ReflectionStatus.RUNNING}),
    # Running again after running: its worker died, and the next one starts over.
    ReflectionStatus.RUNNING: frozenset(
        {ReflectionStatus.RUNNING, ReflectionStatus.DONE, ReflectionStatus.FAILED, ReflectionStatus.PARKED}
    ),
    ReflectionStatus.DONE: frozenset(),
    ReflectionStatus.FAILED: frozenset({ReflectionStatus.RUNNING, ReflectionStatus.PARKED, ReflectionStatus.QUEUED}),
    ReflectionStatus.PARKED: frozenset({ReflectionStatus.QUEUED, ReflectionStatus.RUNNING}),
}


def may_become(status: ReflectionStatus, following: ReflectionStatus) -> bool:
    """Say whether a reflection of this status may change to the following one."""
    return following in _NEXT[status]


def may_run_again(status: ReflectionStatus) -> bool:
    """Say whether a caller may request another run of a reflection with this status."""
    return ReflectionStatus.QUEUED in _NEXT[status]


@dataclass(frozen=True, kw_only=True)
class SectionReport:
    """The result of one section."""

    stored: int = 0
    updated: int = 0
    skipped: int = 0
    rejected: int = 0
    repaired: int = 0
    """Entries that a gate refused at first and let in once they were offered back and mended."""
    due: bool = True
    """Whether there was anything to ask about this turn."""
    applied: bool = True
    """Whether it is done; False while it is open."""
    error: str | None = None
    """Why it could not be applied."""
    internal: bool = False
    """Whether the error is a bug of Mnemon and not a fault of the answer."""

    @property
    def counts(self) -> dict[str, int]:
        """Return the section's counts that are not zero, by name."""
        every = {
            "stored": self.stored,
            "updated": self.updated,
            "skipped": self.skipped,
            "rejected": self.rejected,
            "repaired": self.repaired,
        }
        return {name: number for name, number in every.items() if number}


@dataclass(frozen=True, kw_only=True)
class Reflection:
    """The progress of a turn's reflection."""

    turn_id: str
    job_id: str
    status: ReflectionStatus
    attempts: int = 0
    sections: Mapping[str, SectionReport] = field(default_factory=dict)
    """The reports by section label."""
    rejected: tuple[Rejection, ...] = ()
    raw: Mapping[str, Any] = field(default_factory=dict)
    """The model's answer by section name, stored before it is applied."""
    usage: Usage | None = None
    error: str | None = None

    def is_applied(self, label: str) -> bool:
        """Say whether nothing is left to do for the section of this label."""
        return label in self.sections and self.sections[label].applied

    def with_section(self, label: str, report: SectionResult, *, due: bool = True, repaired: int = 0) -> "Reflection":
        """Return the reflection with this section marked as applied, with its counts."""
        done = SectionReport(
            stored=report.stored,
            updated=report.updated,
            skipped=report.skipped,
            rejected=len(report.rejected),
            repaired=repaired,
            due=due,
        )
        return replace(
            self,
            sections={**self.sections, label: done},
            rejected=self.rejected + tuple(replace(one, section=label) for one in report.rejected),
        )

    def with_fault(self, label: str, error: str, *, internal: bool = False) -> "Reflection":
        """Return the reflection with this section left open because of the error."""
        fault = SectionReport(applied=False, error=error, internal=internal)
        return replace(self, sections={**self.sections, label: fault})

    def visible_to(self, grants: Collection[str]) -> "Reflection":
        """Return the reflection without what a reader with these grants may not see.

        The model's answer is left out, and so is every rejected proposal about what the reader may not read.
        """
        shown = tuple(one for one in self.rejected if required_grants(one) <= set(grants))
        return replace(self, raw={}, rejected=shown)

    @property
    def open_sections(self) -> dict[str, str]:
        """Return the labels of the reflection's sections that are still to be done, each with the reason."""
        return {
            label: section.error or "not done yet" for label, section in self.sections.items() if not section.applied
        }


_GRANT_OF_SECTION = {"engagement": "engagement:read", "agentState": "agent-state:read"}
"""The grant that opens what a section writes, where that is not the person's own data."""


def required_grants(rejection: Rejection) -> set[str]:
    """Return the grants that a reader of a rejected proposal needs besides that of the turn."""
    if not rejection.section:
        # A row of an earlier release does not say which section proposed it.
        return set(_GRANT_OF_SECTION.values())
    return {_GRANT_OF_SECTION[rejection.section]} if rejection.section in _GRANT_OF_SECTION else set()


log = structlog.get_logger(__name__)


def log_reflection(reflection: Reflection, usage: Usage | None, *, seconds: float) -> None:
    """Log one attempt to reflect a turn: what each section stored, by counts, and its cost in tokens."""
    cost = usage or Usage(calls=0)
    log.log(
        logging.INFO if reflection.status is ReflectionStatus.DONE else logging.WARNING,
        "reflection",
        status=str(reflection.status),
        sections={label: _section_outcome(section) for label, section in reflection.sections.items() if section.due},
        rejected=len(reflection.rejected),
        calls=cost.calls,
        input_tokens=cost.input_tokens,
        output_tokens=cost.output_tokens,
        cached_tokens=cost.cached_tokens,
        ms=round(seconds * 1000, 1),
    )


def _section_outcome(section: SectionReport) -> dict[str, int] | str:
    """Return the section's counts for the log, or the kind of error if it is open."""
    if section.applied:
        return section.counts
    return section.error or "internal" if section.internal else "bad_answer"
