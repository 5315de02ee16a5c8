"""What can be wrong after a fault, and how errors must have been logged."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from structlog.typing import EventDict

from support.faulty_connection import Fault, FaultClass


class Verdict(StrEnum):
    """The promise that is broken."""

    STUCK = "stuck"
    """It hangs, stays leased, is parked, would end the worker, or keeps a connection."""
    LOST = "lost"
    """What was acknowledged or due is not there."""
    TWICE = "twice"
    """Something is there that should not be."""
    ANSWER = "answer"
    """The answer is not documented, or the repetition's is another one."""
    LOG = "log"
    """The error is not logged once."""


class Wrong(NamedTuple):
    """One broken promise."""

    verdict: Verdict
    what: str


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A broken promise, and where."""

    scenario: str
    fault: Fault
    statement: str
    wrong: Wrong

    def __str__(self) -> str:
        statement = " ".join(self.statement.split())[:90]
        verdict, what = self.wrong
        return f"{self.scenario} · {self.fault.at} · {self.fault.kind} · `{statement}` → {verdict}: {what}"


def contents_wrong(surplus_and_missing: str) -> list[Wrong]:
    """The difference between what is there and what should be, as broken promises."""
    if not surplus_and_missing:
        return []
    lines = surplus_and_missing.splitlines()
    lost = any(line.startswith("-") for line in lines)
    return [Wrong(Verdict.LOST if lost else Verdict.TWICE, f"other contents:\n{surplus_and_missing}")]


def work_log_wrong(logs: Sequence[EventDict], fault: Fault, *, raised: bool, finished: bool) -> list[Wrong]:
    """An error is logged once: by the attempt, or by whoever supervises the loop that raised it.

    One that cost nothing but another connection need not be logged.
    """
    said = _warnings(logs)
    if fault.kind is FaultClass.CANCELLED:
        return [Wrong(Verdict.LOG, f"a stopped worker logs {said}")] if said else []
    times = len(said) + raised
    if times == 1 or (times == 0 and finished) or (times > 1 and fault.kind is FaultClass.AWAY):
        return []
    return [Wrong(Verdict.LOG, f"logged {times} times: {said}")]


def request_log_wrong(logs: Sequence[EventDict], fault: Fault, *, failed: bool) -> list[Wrong]:
    """What the caller is told of is logged once; what they are not told of, at most once."""
    said = _warnings(logs)
    if len(said) == 1 or (not said and not failed) or (said and fault.kind is FaultClass.AWAY):
        return []
    return [Wrong(Verdict.LOG, f"logged {len(said)} times: {said}")]


def _warnings(logs: Sequence[EventDict]) -> list[str]:
    """The events that warn, but for a statement that was slow: that is the machine's doing."""
    warnings = [str(one["event"]) for one in logs if one["log_level"] in {"warning", "error", "critical"}]
    return [event for event in warnings if event != "slow_statement"]
