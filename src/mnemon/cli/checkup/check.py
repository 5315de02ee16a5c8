"""One line of the doctor's report."""

from dataclasses import dataclass
from enum import StrEnum

from mnemon.errors import MnemonError


class CheckState(StrEnum):
    """How bad it is."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, kw_only=True)
class Check:
    """What was looked at and what was found."""

    name: str
    """What was looked at, in a word or two."""
    state: CheckState
    detail: str
    """What is so, in a sentence."""
    fix: str | None = None
    """The line to type, or the thing to change; None when there is nothing to mend."""


def ok(name: str, detail: str, fix: str | None = None) -> Check:
    """All is well; `fix` may still offer something."""
    return Check(name=name, state=CheckState.OK, detail=detail, fix=fix)


def warn(name: str, detail: str, fix: str) -> Check:
    """It works, and somebody will be surprised."""
    return Check(name=name, state=CheckState.WARN, detail=detail, fix=fix)


def fail(name: str, detail: str, fix: str | None = None) -> Check:
    """It does not work."""
    return Check(name=name, state=CheckState.FAIL, detail=detail, fix=fix)


def fail_from_error(name: str, error: MnemonError) -> Check:
    """An error of ours as a check: its words hold the cause and the next step."""
    return fail(name, error.detail)
