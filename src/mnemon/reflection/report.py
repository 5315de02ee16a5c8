"""What a reflection did, section by section, with zeros where there was nothing."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from mnemon.llm.protocol import Usage
from mnemon.reflection.lifecycle import ReflectionStatus
from mnemon.section import Rejection, Report


@dataclass(frozen=True, kw_only=True)
class SectionReport:
    """One section's outcome."""

    stored: int = 0
    updated: int = 0
    skipped: int = 0
    rejected: int = 0
    due: bool = True
    """Whether there was anything to ask for this turn."""
    applied: bool = True
    """False while it is still to be done."""
    error: str | None = None
    """Why it could not be applied."""
    internal: bool = False
    """Whether that was a fault of ours and not of the answer."""

    @property
    def counts(self) -> dict[str, int]:
        """What was done, without the zeros."""
        every = {
            "stored": self.stored,
            "updated": self.updated,
            "skipped": self.skipped,
            "rejected": self.rejected,
        }
        return {name: number for name, number in every.items() if number}


@dataclass(frozen=True, kw_only=True)
class Reflection:
    """How far a turn's reflection is."""

    turn_id: str
    job_id: str
    status: ReflectionStatus
    attempts: int = 0
    sections: Mapping[str, SectionReport] = field(default_factory=dict)
    """By label."""
    rejected: tuple[Rejection, ...] = ()
    raw: Mapping[str, Any] = field(default_factory=dict)
    """The model's answer by section name, kept before it was applied."""
    usage: Usage | None = None
    error: str | None = None

    def is_applied(self, label: str) -> bool:
        """Whether nothing is left to do for the section."""
        return label in self.sections and self.sections[label].applied

    def with_section(self, label: str, report: Report, *, due: bool = True) -> "Reflection":
        """The same with the section applied."""
        done = SectionReport(
            stored=report.stored,
            updated=report.updated,
            skipped=report.skipped,
            rejected=len(report.rejected),
            due=due,
        )
        return replace(
            self,
            sections={**self.sections, label: done},
            rejected=self.rejected + report.rejected,
        )

    def with_fault(self, label: str, error: str, *, internal: bool = False) -> "Reflection":
        """The same with the section still open, and why."""
        fault = SectionReport(applied=False, error=error, internal=internal)
        return replace(self, sections={**self.sections, label: fault})

    @property
    def open_sections(self) -> dict[str, str]:
        """What is still to be done, each with the reason."""
        return {
            label: section.error or "not done yet" for label, section in self.sections.items() if not section.applied
        }
