"""One line of the report of `mnemon doctor`."""

from dataclasses import dataclass
from enum import StrEnum

from mnemon.errors import MnemonError


class CheckState(StrEnum):
    """The severity of what a check found."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, kw_only=True)
class Check:
    """What was checked and what was found."""

    name: str
    """The subject, in a word or two."""
    state: CheckState
    detail: str
    """What was found, in a sentence."""
    fix: str | None = None
    """The command to run or the thing to change; None when there is nothing to fix."""


def ok(name: str, detail: str, fix: str | None = None) -> Check:
    """Return a check that passed; `fix` may still offer an improvement."""
    return Check(name=name, state=CheckState.OK, detail=detail, fix=fix)


def warn(name: str, detail: str, fix: str) -> Check:
    """Return a check for something that works but is likely to cause trouble."""
    return Check(name=name, state=CheckState.WARN, detail=detail, fix=fix)


def fail(name: str, detail: str, fix: str | None = None) -> Check:
    """Return a failed check: its subject, what is wrong, and the command that fixes it."""
    return Check(name=name, state=CheckState.FAIL, detail=detail, fix=fix)


def fail_from_error(name: str, error: MnemonError) -> Check:
    """Return a failed check from a MnemonError, whose detail has the cause and the next step."""
    return fail(name, error.detail)
