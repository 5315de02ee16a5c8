"""An error in the server's words: by a status, or inside a stream or a body that said all was well."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from mnemon.clock import SystemClock
from mnemon.llm.failure import Rejected

_SPENT = frozenset(
    {
        "insufficient_quota",
        "billing_hard_limit_reached",
        "credit_balance_exhausted",
        "organization_spend_limit_exceeded",
        "project_spend_limit_exceeded",
        "organization_usage_limit_exceeded",
    }
)
"""Codes that come with 429 like a rate limit, where waiting does not help."""
_STATUS = {
    "rate_limit_exceeded": 429,
    "rate_limit_error": 429,
    "too_many_requests": 429,
    **dict.fromkeys(_SPENT, 429),
    "context_length_exceeded": 400,
    "service_unavailable": 503,
    "service_unavailable_error": 503,
    "server_is_overloaded": 503,
    "overloaded": 503,
    "server_error": 500,
}
"""The status that an error has where it comes before the stream, by its code or type."""


def rejection(status: int, headers: Mapping[str, str], body: bytes) -> Rejected:
    """What a response with an error status says."""
    error = _error_in(body)
    spent = status == 402 or not _SPENT.isdisjoint(_kinds(error))
    return Rejected(status, _message(error), after=asked_to_wait(headers), spent=spent)


def told(error: Any) -> Exception:
    """What an error object inside a good response says: the same as before it, where its code tells the status."""
    kinds = _kinds(error)
    status = next((_STATUS[kind] for kind in kinds if kind in _STATUS), None)
    if status is None:
        # Gateways give the status itself for a code.
        status = next((int(kind) for kind in kinds if kind.isdecimal() and 400 <= int(kind) < 600), None)
    if status is None:
        return ValueError(f"it told of an error, {_message(error)}")
    return Rejected(status, _message(error), spent=not _SPENT.isdisjoint(kinds))


def asked_to_wait(headers: Mapping[str, str]) -> float | None:
    """Seconds until the server wants to be asked again, by `retry-after-ms` or `Retry-After`; None if it is silent."""
    milliseconds = _seconds(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    asked = headers.get("retry-after")
    seconds = _seconds(asked)
    if seconds is not None or asked is None:
        return seconds
    until, now = _time(asked), _time(headers.get("date", "")) or SystemClock().now()
    return max(0.0, (until - now).total_seconds()) if until else None


def _seconds(number: str | None) -> float | None:
    try:
        value = float(number or "")
    except ValueError:
        return None
    return value if 0 <= value < float("inf") else None


def _time(date: str) -> datetime | None:
    try:
        at = parsedate_to_datetime(date)
    except ValueError:
        return None
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def _error_in(body: bytes) -> Any:
    """The error of a body: OpenAI's object, what others put in its place, or the text where it is no JSON."""
    try:
        given = json.loads(body)
    except (ValueError, RecursionError):
        text = body.decode("utf-8", "replace").strip()
        return "" if text.startswith("<") else text
    if isinstance(given, dict):
        return given.get("error") or given
    return given


def _kinds(error: Any) -> tuple[str, ...]:
    if not isinstance(error, dict):
        return ()
    return tuple(str(kind) for name in ("code", "type") if isinstance(kind := error.get(name), str | int))


def _message(error: Any) -> str:
    said = error
    if isinstance(error, dict):
        said = next((error[name] for name in ("message", "detail", "error") if error.get(name)), error)
    text = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
    return text.strip() or "it does not say why"
