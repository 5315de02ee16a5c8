"""A whole completion is read for its answer."""

import json
from typing import Any

import pytest

from mnemon.llm.completions.response import parse_completion
from mnemon.llm.failure import VendorRejected
from mnemon.llm.protocol import Usage
from mnemon.llm.vendor import RawAnswer


def completion(message: Any, reason: str | None = "stop", **more: Any) -> bytes:
    return json.dumps({"choices": [{"message": message, "finish_reason": reason}], **more}).encode()


def test_the_answer_is_its_text_and_its_cost() -> None:
    usage = {"prompt_tokens": 7, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 5}}
    assert parse_completion(completion({"content": '{"a": "ü"}'}, usage=usage)) == RawAnswer(
        text='{"a": "ü"}', usage=Usage(input_tokens=7, output_tokens=2, cached_tokens=5)
    )


def test_no_more_is_needed_than_a_message() -> None:
    assert parse_completion(b'{"choices": [{"message": {"content": "{}"}}]}') == RawAnswer(text="{}", usage=Usage())


def test_an_answer_that_was_cut_says_so() -> None:
    assert parse_completion(completion({"content": '{"a'}, "length")).cut


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("<think>He means {tea}.</think>\n{}", "\n{}"),
        ("a<think>b</think>c<think>d</think>e", "ace"),
        ("<think>never ends {}", "never ends {}"),
        ([{"type": "text", "text": "{"}, {"type": "image"}, "}"], "{}"),
        (None, ""),
    ],
)
def test_only_what_it_says_counts(content: Any, text: str) -> None:
    assert parse_completion(completion({"content": content})).text == text


def test_a_refusal_says_nothing() -> None:
    assert parse_completion(completion({"content": None, "refusal": "No."})).text == ""


def test_an_answer_by_a_call_is_taken_too() -> None:
    call = {"id": "a", "type": "function", "function": {"name": "Spine", "arguments": '{"a": 1}'}}
    assert parse_completion(completion({"content": None, "tool_calls": [call]})).text == '{"a": 1}'
    assert parse_completion(completion({"content": "{}", "tool_calls": [7]})).text == "{}"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"\xff\xfe{",
        b"[" * 100_000,
        b"null",
        b"[]",
        b'"x"',
        b"{}",
        b'{"choices": []}',
        b'{"choices": [null]}',
        b'{"choices": [{}]}',
        completion(None),
        completion({"content": 7}),
    ],
)
def test_what_is_no_completion_is_a_fault_in_words(body: bytes) -> None:
    with pytest.raises(ValueError, match=r"not (a )?JSON|no message|choices|not text"):
        parse_completion(body)


def test_an_error_that_calls_itself_a_success_is_one() -> None:
    with pytest.raises(VendorRejected) as caught:
        parse_completion(b'{"error": {"message": "slow down", "code": "rate_limit_exceeded"}}')
    assert caught.value.status == 429
