"""What a server that says no says: why, whether waiting helps, and how long."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemon.llm.completions.response import parse_rejection, parse_retry_after


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b'{"error": {"message": "no such field", "type": "invalid_request_error"}}', "invalid_request_error"),
        (b'{"error": {"message": "x", "type": "a_type", "code": "a_code"}}', "a_code"),
        (b'{"error": {"message": "x", "type": "a_type", "code": 400}}', "a_type"),
        (b'{"object": "error", "message": "too long", "type": "BadRequestError"}', "BadRequestError"),
        (b'{"error": {"code": "I collect zanzibarite stamps", "type": "a_type"}}', "a_type"),
        (b'{"error": {"code": "' + b"x" * 61 + b'"}}', ""),
        (b'{"error": "model is required"}', ""),
        (b'{"detail": "not this way"}', ""),
        (b"bad request", ""),
        (b"\xff\xfe", ""),
        (b"<html><body>nginx</body></html>", ""),
        (b"", ""),
        (b"null", ""),
        (b"[1]", ""),
    ],
)
def test_of_what_the_server_says_only_a_code_is_kept(body: bytes, code: str) -> None:
    assert str(parse_rejection(400, {}, body)) == code


def test_what_is_used_up_does_not_come_back_by_waiting() -> None:
    quota = b'{"error": {"message": "pay", "code": "insufficient_quota"}}'
    assert parse_rejection(429, {}, quota).spent
    assert parse_rejection(402, {}, b"").spent
    assert not parse_rejection(429, {}, b'{"error": {"message": "slow down", "code": "rate_limit_exceeded"}}').spent


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "7"}, 7.0),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "tomorrow"}, None),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:10 GMT", "date": "Wed, 21 Oct 2015 07:28:00 GMT"}, 10.0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:10 GMT", "date": "Wed, 21 Oct 2015 07:29:00 GMT"}, 0.0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:10 GMT"}, 0.0),
    ],
)
def test_how_long_it_wants_to_be_left_alone(headers: dict[str, str], seconds: float | None) -> None:
    assert parse_retry_after(headers) == seconds


@given(st.text(st.characters(codec="latin-1"), max_size=40), st.binary(max_size=60), st.integers(300, 599))
def test_no_answer_is_too_odd_to_be_understood(header: str, body: bytes, status: int) -> None:
    said = parse_rejection(status, {"retry-after": header, "retry-after-ms": header, "date": header}, body)
    assert said.status == status
    assert said.after is None or said.after >= 0
