"""The week of the engagement: its work, how it biases the agent, and what must be done before it may advance."""

from collections.abc import Callable
from dataclasses import dataclass

from mnemon.engagement.document import Engagement, Hypothesis, HypothesisStage


@dataclass(frozen=True, kw_only=True)
class WeekRules:
    """One row of the week table."""

    work: str
    """What the week is for."""
    bias: str
    """How the agent should speak in it, and why. Part of the prompt."""
    needs: str
    """What is required before the next week, in words."""
    is_done: Callable[[Engagement, int], bool]
    """The same as a rule over the document and the number of user turns with content."""


def _is_orientation_done(document: Engagement, heard: int) -> bool:
    """Say whether week 1 may end: three user turns, and an unknown or hypothesis on record."""
    return heard >= 3 and bool(document.unknowns or document.hypotheses)


def _has_evidence(document: Engagement, heard: int) -> bool:
    """Say whether week 2 may end: some hypothesis has an evidence line."""
    return any(each.evidence for each in document.hypotheses)


def _has_enough_evidence(document: Engagement, heard: int) -> bool:
    """Say whether week 3 may end: the hypotheses have two evidence lines in all."""
    return sum(len(each.evidence) for each in document.hypotheses) >= 2


def _is_synthesis_done(document: Engagement, heard: int) -> bool:
    """Say whether a later week may end: something was settled or answered, and something changed in that week."""
    over = any(_is_over(each) for each in document.hypotheses) or bool(document.answered)
    # The change is required, or every turn could advance the week once something is over.
    return over and document.changed_in_week > 0


def _is_over(hypothesis: Hypothesis) -> bool:
    """Say whether a hypothesis was settled: promoted to a finding, or archived."""
    return hypothesis.stage in (HypothesisStage.FINDING, HypothesisStage.ARCHIVED)


WEEK_TABLE = (
    WeekRules(
        work="orientation",
        bias=(
            "Ask orientation questions and frame tightly: too little is known to judge. Gather who, what and where "
            "before any claim."
        ),
        needs="three user turns with content, and at least one unknown or hypothesis on record",
        is_done=_is_orientation_done,
    ),
    WeekRules(
        work="hypothesis collection",
        bias=(
            "Ask what would support or falsify each hypothesis and keep framings tight: claims are still being formed."
        ),
        needs="at least one hypothesis with an evidence line",
        is_done=_has_evidence,
    ),
    WeekRules(
        work="testing",
        bias="Chase evidence that would move a hypothesis either way, and the open unknowns: claims are being tested.",
        needs="at least two evidence lines in all",
        is_done=_has_enough_evidence,
    ),
    WeekRules(
        work="synthesis",
        bias=(
            "Synthesize and recommend, resting on findings, and be explicit about what remains uncertain: most of the "
            "evidence that will come has come."
        ),
        needs="a finding, an archived hypothesis or an answered unknown, and a change since the week began",
        is_done=_is_synthesis_done,
    ),
)
"""The rules of the first weeks, in order."""


def week_rules(number: int) -> WeekRules:
    """Return the rules of the engagement's week of this number; weeks past the table have its last rules."""
    return WEEK_TABLE[min(number, len(WEEK_TABLE)) - 1]


def advance_veto(document: Engagement, heard: int) -> str | None:
    """Return why the engagement's week may not advance; None if its work is done."""
    row = week_rules(document.week)
    if row.is_done(document, heard):
        return None
    return f"week {document.week} ({row.work}) is not done: it needs {row.needs}"
