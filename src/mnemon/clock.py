"""The clock: the only source of the current time, so that a test can move time for all processes at once."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Protocol

from mnemon.errors import Misconfigured


class Clock(Protocol):
    """A source of the current time in UTC."""

    def now(self) -> datetime:
        """Return the current time in UTC."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """Return the machine's time in UTC."""
        return datetime.now(UTC)


class FileClock:
    """The time written in a file: every process that names the file agrees on it.

    A file without a time at the start is an error for the operator to fix. Later it may be in the middle of being
    written: until it can be read again, the last time read stays in force.
    """

    def __init__(self, path: Path) -> None:
        """Read the time from this file, at each call."""
        self._path = path
        self._last: datetime | None = None

    def now(self) -> datetime:
        """Return the time in the clock file, else the last one read; raise Misconfigured if there was none yet."""
        try:
            self._last = _plausible_time(self._path.read_text(encoding="utf-8").strip())
        except (OSError, ValueError) as error:
            # Later the file may be in the middle of being written; the last time stays in force.
            if self._last is None:
                raise _unreadable_clock_error(self._path, error) from error
        return self._last


class ManualClock:
    """A clock that a test sets and advances."""

    def __init__(self, start: datetime) -> None:
        """Start at this time and do not advance by itself."""
        self._now = start

    def now(self) -> datetime:
        """Return the time that the test set."""
        return self._now

    def set_time(self, at: datetime) -> None:
        """Set the clock to this time."""
        self._now = at

    def advance(self, by: timedelta) -> None:
        """Move the clock forward by this much."""
        self._now += by


def _unreadable_clock_error(path: Path, error: Exception) -> Misconfigured:
    """Return the error for a MNEMON_CLOCK_FILE that holds no time."""
    years = f"{_FIRST_YEAR} to {_LAST_YEAR}"
    cause = error.strerror if isinstance(error, OSError) else f"not an ISO-8601 time of the years {years}"
    return Misconfigured(
        f"MNEMON_CLOCK_FILE {path} holds no time ({cause}). Write one into it: `date -u +%FT%TZ > {path}`; "
        "or unset MNEMON_CLOCK_FILE."
    )


_FIRST_YEAR, _LAST_YEAR = 1971, 9000
"""An id holds the milliseconds since 1970, and terms of years are added to the present time."""


def _plausible_time(text: str) -> datetime:
    """Return the UTC time of an ISO-8601 text; raise ValueError for one that no process can take for now."""
    try:
        at = parse_time(text)
    except OverflowError:  # the offset leads out of the years that Python has
        raise ValueError("out of range") from None
    if not _FIRST_YEAR <= at.year <= _LAST_YEAR:
        raise ValueError("out of range")
    return at


def parse_time(text: str) -> datetime:
    """Return the UTC time of an ISO-8601 text; a text without an offset means UTC."""
    at = datetime.fromisoformat(text)
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)


def format_time(at: datetime) -> str:
    """Return the time as ISO-8601 in UTC ending in Z, to the millisecond, or to the second when it is whole."""
    spec = "milliseconds" if at.microsecond // 1000 else "seconds"
    return at.astimezone(UTC).isoformat(timespec=spec).replace("+00:00", "Z")
