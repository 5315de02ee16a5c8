"""What all JSON of the API shares: envelopes, camelCase models, checked texts and times, cursors, event lines."""

import base64
import binascii
import json
import re
from datetime import UTC, datetime
from typing import Annotated, Any, Generic, TypeVar

from fastapi import Header
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer
from pydantic.alias_generators import to_camel
from starlette.convertors import StringConvertor, register_url_convertor

from mnemon.clock import format_time
from mnemon.errors import Invalid, Malformed, MnemonError
from mnemon.input_checks import LIMITS_TEXT, check_json_texts, check_name, check_text

T = TypeVar("T")


class AnyTextConvertor(StringConvertor):
    """A path parameter that takes any text: Starlette's own `path` ends at a line break, which `%0A` becomes."""

    regex = r"[\s\S]*"


register_url_convertor("any", AnyTextConvertor())


def _require_zone(at: datetime) -> datetime:
    """Return the time in UTC; raise ValueError without an offset or outside the years 1970 to 9000."""
    if at.tzinfo is None:
        raise ValueError("needs an offset, like 2026-04-12T15:22:00Z")
    if not 1970 <= at.year <= 9000:
        raise ValueError("must lie between the years 1970 and 9000")
    return at.astimezone(UTC)  # PostgreSQL takes no offset beyond 15:59


def _require_text(value: Any) -> Any:
    """Return the value unless it is a number, which pydantic would read as a Unix time, or a day without a time."""
    # A number in a query is a text, which pydantic reads as a Unix time as well.
    if isinstance(value, int | float) or (isinstance(value, str) and _NUMBER.fullmatch(value.strip())):
        raise ValueError("must be an ISO-8601 text, like 2026-04-12T15:22:00Z")
    if isinstance(value, str) and _DAY.fullmatch(value.strip()):
        # A day begins at another instant in every time zone, so only the caller knows which one is meant.
        raise ValueError("is a day: add a time and an offset, like 2026-04-12T00:00:00Z")
    return value


MAX_TEXT_CHARS = 200_000
"""Most characters of any text in a request; a field may allow fewer."""
Text = Annotated[str, Field(max_length=MAX_TEXT_CHARS), AfterValidator(check_text)]
"""Any text a database can hold, within the limit."""
NonEmptyText = Annotated[str, Field(min_length=1, max_length=20_000, pattern=r"\S"), AfterValidator(check_text)]
"""A text that is not blank, of at most 20,000 characters."""
Name = Annotated[
    str,
    Field(min_length=1, max_length=200, pattern=r"\S", description="Without control characters and line breaks."),
    AfterValidator(check_name),
]
"""A short text that names something: a user, a persona, an agent."""
Label = Annotated[str, Field(min_length=1, max_length=200, pattern=r"\S"), AfterValidator(check_text)]
"""A short text that describes something and is not used to look it up: an attribute, a speaker, a tool."""
ExistingName = Label
"""A name to look up; looser than Name, since a stored one may be older than the rule against control characters."""
Json = Annotated[Any, BeforeValidator(check_json_texts), Field(description=LIMITS_TEXT)]
"""Any JSON value a database can hold, within the limits of `input_checks.py`."""
Instant = Annotated[
    datetime,
    BeforeValidator(_require_text),
    AfterValidator(_require_zone),
    PlainSerializer(format_time, return_type=str),
]
"""ISO-8601 with an offset; stored and returned in UTC, ending in Z."""
IfMatch = Annotated[str | None, Header(description='The version that was read, like "3"; * for any.')]
"""The header by which a change says which version it is for."""
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_NUMBER = re.compile(r"[+-]?[0-9.]+([eE][+-]?[0-9]+)?")
_STRONG_TAG = re.compile(r'"([0-9]{1,15})"')


class ApiModel(BaseModel):
    """A model with camelCase names in JSON that refuses unknown fields."""

    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True, extra="forbid", frozen=True)


class Meta(ApiModel):
    """What every response says about its request."""

    request_id: str


class PageMeta(Meta):
    """What a page says about its request and the next page; `nextCursor` is null on the last one."""

    next_cursor: str | None


class Envelope(ApiModel, Generic[T]):
    """A response: `{"data": …, "meta": {"requestId": …}}`."""

    data: T
    meta: Meta


class Page(ApiModel, Generic[T]):
    """A list with the cursor of the next page."""

    data: list[T]
    meta: PageMeta


class Problem(BaseModel):
    """An error as RFC 9457 has it, with a stable code and a next step."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    requestId: str  # noqa: N815
    errors: list[dict[str, str]] = []


def line(name: str, data: dict[str, Any]) -> str:
    """Return one Server-Sent Event with this name and JSON data as text."""
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"


def error_line(error: MnemonError) -> str:
    """Return the Server-Sent Event `error`, which ends a stream before its time."""
    return line("error", {"code": error.code, "detail": error.detail})


def parse_if_match(if_match: str | None) -> int | None:
    """Return the version in an If-Match header; None for `*` and without one. Raise Invalid for anything else."""
    if if_match is None or if_match.strip() == "*":
        return None
    found = _STRONG_TAG.fullmatch(if_match.strip())
    if found is None:
        # RFC 9110 compares the tags of If-Match strongly, so a weak one never matches, not even after reading again.
        weak = " A weak tag never matches: leave out the W/." if if_match.lstrip().startswith("W/") else ""
        raise Invalid(f'If-Match takes one version in quotes, like "3", or *.{weak}', code="bad_if_match")
    return int(found[1])


def version_tag(version: int) -> dict[str, str]:
    """Return the header ETag for a version, as `If-Match` takes it."""
    return {"ETag": f'"{version}"'}


def encode_cursor(position: str) -> str:
    """Return the opaque page cursor for a position in a list."""
    return base64.urlsafe_b64encode(position.encode()).decode().rstrip("=")


def decode_cursor(cursor: str | None) -> str | None:
    """Return the list position in an opaque page cursor, None for no cursor; raise Malformed for a bad one."""
    if cursor is None:
        return None
    try:
        # Cursors are sent without padding, which the decoder needs.
        return check_text(base64.b64decode(cursor + "=" * (-len(cursor) % 4), b"-_", validate=True).decode())
    except (binascii.Error, ValueError):
        raise Malformed("The cursor is invalid. Take it unchanged from `meta.nextCursor`.", code="bad_cursor") from None
