"""The line that a reflection leaves in the log: what each section stored, by counts, and what the attempt cost."""

import logging

import structlog

from mnemon.llm.protocol import Usage
from mnemon.reflection.lifecycle import ReflectionStatus
from mnemon.reflection.report import Reflection, SectionReport

log = structlog.get_logger(__name__)


def write_line(reflection: Reflection, usage: Usage | None, *, seconds: float) -> None:
    """Log one attempt; `usage` is what it cost, None where an answer was kept from before."""
    cost = usage or Usage(calls=0)
    log.log(
        logging.INFO if reflection.status is ReflectionStatus.DONE else logging.WARNING,
        "reflection",
        status=str(reflection.status),
        sections={label: _outcome(section) for label, section in reflection.sections.items() if section.due},
        rejected=len(reflection.rejected),
        calls=cost.calls,
        input_tokens=cost.input_tokens,
        output_tokens=cost.output_tokens,
        ms=round(seconds * 1000, 1),
    )


def _outcome(section: SectionReport) -> dict[str, int] | str:
    """Counts; of one that is still open, whose fault that is. Its error's words may quote the answer."""
    if section.applied:
        return section.counts
    return section.error or "internal" if section.internal else "bad_answer"
