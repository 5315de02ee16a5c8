"""Parse a chat-completions response: a whole completion, and errors by status or inside a response with status 200."""

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from mnemon.clock import SystemClock
from mnemon.llm.failure import OVERRUN_CODES, UnusableAnswer, VendorRejected, error_identifier
from mnemon.llm.protocol import MOST_TOKENS, Json, Usage
from mnemon.llm.vendor import RawAnswer
from mnemon.untrusted_text import reads_outside_text

_QUOTA_CODES = frozenset(
    {
        "insufficient_quota",
        "billing_hard_limit_reached",
        "credit_balance_exhausted",
        "organization_spend_limit_exceeded",
        "project_spend_limit_exceeded",
        "organization_usage_limit_exceeded",
    }
)
"""Error codes that come with status 429 like a rate limit, but for which waiting does not help."""
_STATUS_BY_CODE = {
    "rate_limit_exceeded": 429,
    "rate_limit_error": 429,
    "too_many_requests": 429,
    **dict.fromkeys(_QUOTA_CODES, 429),
    "context_length_exceeded": 400,
    "service_unavailable": 503,
    "service_unavailable_error": 503,
    "server_is_overloaded": 503,
    "overloaded": 503,
    "server_error": 500,
}
"""The HTTP status that an error inside a stream would have had before it, by its code or type."""
_LONGEST_ERROR = 10_000
_OVERRUN_WORDS = re.compile(
    rb"context (?:length|size|window)|(?:prompt|input|request) is too long|too many (?:input )?tokens", re.IGNORECASE
)
"""What servers without a code of its own write when the text is longer than the model's context."""
_THINK_BLOCK = re.compile(r"<think>.*?</think>", re.DOTALL)


def parse_rejection(status: int, headers: Mapping[str, str], body: bytes) -> VendorRejected:
    """Return the error that stands for a response with an error status."""
    kinds = _error_codes(_find_error(body))
    spent = status == 402 or not _QUOTA_CODES.isdisjoint(kinds)
    code = _overrun_code(body) if status == 400 and OVERRUN_CODES.isdisjoint(kinds) else None
    return VendorRejected(
        status, code or _overrun_kind(kinds) or _first_identifier(kinds), after=parse_retry_after(headers), spent=spent
    )


def _overrun_kind(kinds: tuple[str, ...]) -> str | None:
    """Return the code or type by which a server says that the text is too long; None if none does."""
    return next((kind for kind in kinds if kind in OVERRUN_CODES), None)


@reads_outside_text
def _overrun_code(body: bytes) -> str | None:
    """Return OpenAI's code for a text that is too long where a server says so in words only, as vLLM does."""
    return "context_length_exceeded" if _OVERRUN_WORDS.search(body[:_LONGEST_ERROR]) else None


def parse_stream_error(error: Any) -> Exception:
    """Return the exception for an error object in a response with status 200.

    It is a VendorRejected where its code tells the status, otherwise an UnusableAnswer.
    """
    kinds = _error_codes(error)
    status = next((_STATUS_BY_CODE[kind] for kind in kinds if kind in _STATUS_BY_CODE), None)
    if status is None:
        # Gateways send the HTTP status as the code.
        status = next((int(kind) for kind in kinds if kind.isdecimal() and 400 <= int(kind) < 600), None)
    code = _first_identifier(kinds)
    if status is None:
        return UnusableAnswer(f"the server reported the error {code}" if code else "the server reported an error")
    return VendorRejected(status, code, spent=not _QUOTA_CODES.isdisjoint(kinds))


def parse_retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds to wait by `retry-after-ms` or `Retry-After`; None when neither is usable."""
    milliseconds = _parse_seconds(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    retry_after = headers.get("retry-after")
    seconds = _parse_seconds(retry_after)
    if seconds is not None or retry_after is None:
        return seconds
    # The server's own date, where it sends one: its clock and ours may differ.
    until, now = _parse_http_date(retry_after), _parse_http_date(headers.get("date", "")) or SystemClock().now()
    return max(0.0, (until - now).total_seconds()) if until else None


def _parse_seconds(number: str | None) -> float | None:
    """Return the number in a header; None when it is missing, negative, infinite or no number."""
    try:
        value = float(number or "")
    except ValueError:
        return None
    return value if 0 <= value < float("inf") else None


def _parse_http_date(date: str) -> datetime | None:
    """Return the date of an HTTP header; None when it is malformed."""
    try:
        at = parsedate_to_datetime(date)
    except ValueError:
        return None
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def _find_error(body: bytes) -> Any:
    """Return the error in a body: OpenAI's object or another server's equivalent; None when it is not JSON."""
    try:
        given = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return (given.get("error") or given) if isinstance(given, dict) else None


def _error_codes(error: Any) -> tuple[str, ...]:
    """Return the code and type of a server's error, as far as it has them."""
    if not isinstance(error, dict):
        return ()
    return tuple(str(kind) for name in ("code", "type") if isinstance(kind := error.get(name), str | int))


def _first_identifier(kinds: tuple[str, ...]) -> str:
    """Return the first of an error's code and type that is an identifier, or "" when none is."""
    return next(filter(None, map(error_identifier, kinds)), "")


def parse_completion(body: bytes) -> RawAnswer:
    """Return the answer in a completion. Raise UnusableAnswer when there is none."""
    given = parse_json_object(body)
    if given.get("error"):
        raise parse_stream_error(given["error"])
    choice = first_choice(given.get("choices"))
    message = choice.get("message") if choice else None
    if not isinstance(message, dict):
        raise UnusableAnswer("it contains no message")
    usage = parse_usage(given.get("usage"))
    return RawAnswer(
        text=_answer_text(message), usage=usage, cut=choice is not None and choice.get("finish_reason") == "length"
    )


def parse_json_object(data: bytes) -> Json:
    """Return the JSON object in the data. Raise UnusableAnswer when it is none."""
    try:
        given = json.loads(data)
    except (ValueError, RecursionError):
        raise UnusableAnswer("the response is not JSON") from None
    if not isinstance(given, dict):
        raise UnusableAnswer("the response is not a JSON object")
    return given


def first_choice(choices: Any) -> Json | None:
    """Return the first choice, the only one requested, or None. Raise UnusableAnswer when the choices are malformed."""
    if not choices:
        return None
    if not isinstance(choices, list) or not isinstance(choices[0], dict):
        raise UnusableAnswer("`choices` is not a list of objects")
    choice: Json = choices[0]
    return choice


def content_text(content: Any) -> str:
    """Return the text of a message or a chunk, also when the server sends a list of parts."""
    if isinstance(content, str):
        return content
    if content is None:
        return ""
    if not isinstance(content, list):
        raise UnusableAnswer("its content is not text")
    return "".join(_part_text(part) for part in content)


def parse_usage(usage: Any) -> Usage:
    """Return the tokens that a completion cost; zeros where the server does not say."""
    if not isinstance(usage, dict):
        return Usage()
    details = usage.get("prompt_tokens_details")
    return Usage(
        input_tokens=_token_count(usage.get("prompt_tokens")),
        output_tokens=_token_count(usage.get("completion_tokens")),
        cached_tokens=_token_count(details.get("cached_tokens")) if isinstance(details, dict) else 0,
    )


def _answer_text(message: Json) -> str:
    """Return the message's text without the model's thinking, or the arguments of a tool call in its place."""
    match message.get("tool_calls"):
        case [{"function": {"arguments": str(arguments)}}, *_]:
            return arguments
    if message.get("refusal"):
        return ""
    text = content_text(message.get("content"))
    return _strip_thinking(text) if "<think>" in text else text


@reads_outside_text
def _strip_thinking(text: str) -> str:
    """Return a model's text without its `<think>` blocks; of an unclosed block only the tag is removed."""
    # Searched only up to the last closing tag: each opening tag after it would scan the whole rest, in quadratic time.
    end = text.rfind("</think>") + len("</think>") if "</think>" in text else 0
    return (_THINK_BLOCK.sub("", text[:end]) + text[end:]).replace("<think>", "", 1)


def _part_text(part: Any) -> str:
    """Return the text of one part of a message's content; empty for an image or anything else."""
    if isinstance(part, str):
        return part
    given = part.get("text") if isinstance(part, dict) and part.get("type") == "text" else None
    return given if isinstance(given, str) else ""


def _token_count(value: Any) -> int:
    """Return the server's count of tokens; 0 for anything that is no positive integer, or absurdly large."""
    return value if isinstance(value, int) and 0 < value <= MOST_TOKENS else 0
