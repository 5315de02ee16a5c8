"""A reply is put together from whatever pieces a server cuts it into."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemon.llm.completions.stream import ReplyAssembler
from mnemon.llm.failure import UnusableAnswer, VendorRejected
from mnemon.llm.protocol import Json, ReplyFinished, TextPiece, ToolRequest, Usage
from mnemon.llm.vendor import ReplyPiece


def chunk(delta: Any = None, reason: str | None = None, **more: Any) -> bytes:
    choice = {"index": 0, "delta": {} if delta is None else delta, "finish_reason": reason}
    return json.dumps({"id": "c", "choices": [choice], **more}).encode()


def reply(*chunks: bytes, marked: bool = True) -> list[ReplyPiece]:
    made = ReplyAssembler()
    return [piece for one in chunks for piece in made.add_chunk(one)] + made.finish_reply(marked=marked)


def text(*chunks: bytes) -> str:
    return "".join(piece.text for piece in reply(*chunks) if isinstance(piece, TextPiece))


def calls(*chunks: bytes) -> list[ToolRequest]:
    return [piece for piece in reply(*chunks) if isinstance(piece, ToolRequest)]


def call(index: int | None = None, **given: Any) -> Json:
    function = {name: given.pop(name) for name in ("name", "arguments") if name in given}
    return {**({} if index is None else {"index": index}), **given, **({"function": function} if function else {})}


def called(*pieces: Json) -> bytes:
    return chunk({"tool_calls": list(pieces)})


def test_text_comes_as_it_is_said_and_the_end_says_why() -> None:
    said = reply(chunk({"role": "assistant", "content": ""}), chunk({"content": "Grüß "}), chunk({"content": "dich"}))
    assert said == [TextPiece(text="Grüß "), TextPiece(text="dich"), ReplyFinished(usage=Usage())]


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("stop", "stop"),
        ("length", "length"),
        ("content_filter", "content_filter"),
        ("tool_calls", "tool_calls"),
        ("function_call", "tool_calls"),
        ("eos", "stop"),
        (None, "stop"),
    ],
)
def test_every_reason_is_one_of_four(said: str | None, meant: str) -> None:
    assert reply(chunk({"content": "x"}), chunk({}, said))[-1] == ReplyFinished(usage=Usage(), reason=meant)


def test_a_reason_or_the_mark_ends_a_reply_and_nothing_else_does() -> None:
    assert reply(chunk({"content": "x"}, "stop"), marked=False)[-1] == ReplyFinished(usage=Usage())
    assert reply(chunk({"content": "x"}), marked=True)[-1] == ReplyFinished(usage=Usage())
    assert reply(chunk({"content": "x"}), marked=False) == [TextPiece(text="x")]
    assert reply(marked=True) == []


def test_what_it_cost_is_what_was_said_last() -> None:
    used = {"prompt_tokens": 10, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 4}}
    early = {"prompt_tokens": 10, "completion_tokens": 1}
    end = reply(
        chunk({"content": "x"}, usage=early),
        chunk({}, "stop", usage=None),
        json.dumps({"choices": [], "usage": used}).encode(),
    )[-1]
    assert end == ReplyFinished(usage=Usage(input_tokens=10, output_tokens=3, cached_tokens=4))


@pytest.mark.parametrize(
    "usage", [7, [], {"prompt_tokens": "many", "prompt_tokens_details": []}, {"prompt_tokens": -1}]
)
def test_a_cost_that_is_none_is_nothing(usage: Any) -> None:
    assert reply(chunk({"content": "x"}, "stop", usage=usage))[-1] == ReplyFinished(usage=Usage())


def test_a_call_is_put_together_by_its_number() -> None:
    made = calls(
        called(call(0, id="a", type="function", name="recall", arguments="")),
        called(call(0, arguments='{"que')),
        called(call(1, id="b", name="forget", arguments='{"id"')),
        called(call(0, arguments='ry": "tea"}'), call(1, arguments=': "m1"}')),
        chunk({}, "tool_calls"),
    )
    assert made == [
        ToolRequest(id="a", name="recall", arguments={"query": "tea"}),
        ToolRequest(id="b", name="forget", arguments={"id": "m1"}),
    ]


@given(st.lists(st.integers(1, 9), max_size=20), st.booleans())
def test_arguments_may_be_cut_anywhere(lengths: list[int], again: bool) -> None:
    whole, pieces = json.dumps({"query": "grüner Tee", "n": [1, 2, {"x": None}]}, ensure_ascii=False), []
    rest = whole
    for length in lengths:
        pieces.append(rest[:length])
        rest = rest[length:]
    named: Json = {"id": "a", "name": "recall"}
    first = called(call(0, **named, arguments=""))
    more = [called(call(0, **(named if again else {}), arguments=piece)) for piece in (*pieces, rest)]
    assert calls(first, *more) == [ToolRequest(id="a", name="recall", arguments=json.loads(whole))]


def test_calls_that_come_whole_need_no_number_and_no_id() -> None:
    made = calls(called(call(name="recall", arguments='{"a": 1}'), call(name="recall", arguments='{"a": 2}')))
    assert [one.arguments for one in made] == [{"a": 1}, {"a": 2}]
    assert len({one.id for one in made}) == 2
    assert all(one.id for one in made)


def test_without_numbers_a_piece_without_a_name_continues_the_last_call() -> None:
    made = calls(called(call(id="a", name="recall")), called(call(arguments='{"a":')), called(call(arguments="1}")))
    assert made == [ToolRequest(id="a", name="recall", arguments={"a": 1})]


def test_calls_that_all_have_the_same_number_are_told_apart_by_their_ids() -> None:
    made = calls(
        called(call(0, id="a", name="recall", arguments='{"a": 1}')),
        called(call(0, id="b", name="forget", arguments='{"a":')),
        called(call(0, arguments="2}")),
    )
    assert [(one.id, one.name, one.arguments) for one in made] == [("a", "recall", {"a": 1}), ("b", "forget", {"a": 2})]


@pytest.mark.parametrize("arguments", ["", None, "null", "{}", {}])
def test_a_call_may_have_no_arguments(arguments: Any) -> None:
    assert calls(called(call(0, id="a", name="recall", arguments=arguments)))[0].arguments == {}


def test_arguments_that_are_an_object_already_are_taken() -> None:
    assert calls(called(call(0, id="a", name="recall", arguments={"a": "ü"})))[0].arguments == {"a": "ü"}


@pytest.mark.parametrize("arguments", ['{"a": ', "[1]", '"x"', "{" * 5000])
def test_arguments_that_are_no_object_are_a_clear_fault(arguments: str) -> None:
    with pytest.raises(ValueError, match=r"the arguments of a tool call are not (a )?JSON"):
        reply(called(call(0, id="a", name="recall", arguments=arguments)))


def test_a_call_without_a_name_is_left_out() -> None:
    assert reply(called(call(0, id="a", arguments="{}")))[-1] == ReplyFinished(usage=Usage())


def test_text_and_calls_may_come_together() -> None:
    said = reply(chunk({"content": "Let me see.", "tool_calls": [call(0, id="a", name="recall")]}))
    assert said[0] == TextPiece(text="Let me see.")
    assert said[-1] == ReplyFinished(usage=Usage(), reason="tool_calls")


def test_a_refusal_is_no_text_and_ends_as_the_content_filter_does() -> None:
    said = reply(chunk({"refusal": "I cannot"}), chunk({"refusal": " do that."}), chunk({}, "stop"), marked=False)
    assert said == [ReplyFinished(usage=Usage(), reason="content_filter")]
    assert reply(chunk({"refusal": "No."}), marked=False)[-1] == ReplyFinished(usage=Usage(), reason="content_filter")


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_what_it_thinks_is_not_said_but_shows_that_it_is_at_work(field: str) -> None:
    assert reply(chunk({field: "Hm."}), chunk({"content": "Yes."}, "stop")) == [
        None,
        TextPiece(text="Yes."),
        ReplyFinished(usage=Usage()),
    ]


def test_thoughts_between_tags_are_not_said() -> None:
    pieces = ("<think>", "\n", "He means ", "tea.", "</think>", "\n\n", "Green ", "tea.")
    assert text(*(chunk({"content": piece}) for piece in pieces)) == "Green tea."
    later = ("Green ", "<think>", "or black?", "</think>", "tea.")
    assert text(*(chunk({"content": piece}) for piece in later)) == "Green tea."


def test_white_space_before_the_first_word_goes_out_with_it_or_not_at_all() -> None:
    assert reply(chunk({"content": "\n"}), chunk({"content": "  x"}), chunk({"content": "\n"}))[:2] == [
        TextPiece(text="\n  x"),
        TextPiece(text="\n"),
    ]
    blank = reply(chunk({"content": "\n\n"}), called(call(0, id="a", name="recall")))
    assert not any(isinstance(piece, TextPiece) for piece in blank)


def test_content_may_be_a_list_of_parts() -> None:
    parts = [{"type": "text", "text": "Green "}, {"type": "reference", "ids": [1]}, "tea."]
    assert text(chunk({"content": parts})) == "Green tea."


@pytest.mark.parametrize(
    ("error", "status", "spent"),
    [
        ({"message": "slow down", "code": "rate_limit_exceeded"}, 429, False),
        ({"message": "overloaded", "type": "server_error"}, 500, False),
        ({"message": "paid up?", "type": "insufficient_quota"}, 429, True),
        ({"message": "bad gateway", "code": 502}, 502, False),
        ({"message": "no", "code": "401"}, 401, False),
    ],
)
def test_an_error_in_the_midst_has_the_status_it_would_have_had_before(error: Json, status: int, spent: bool) -> None:
    with pytest.raises(VendorRejected) as caught:
        reply(chunk({"content": "x"}), json.dumps({"error": error}).encode())
    assert (caught.value.status, caught.value.spent) == (status, spent)
    assert error["message"] not in str(caught.value)


@pytest.mark.parametrize(
    ("error", "told"),
    [
        ("overloaded", "the server reported an error"),
        ({"message": "overloaded"}, "the server reported an error"),
        ({"message": "overloaded", "code": "x9"}, "the server reported the error x9"),
    ],
)
def test_an_error_without_a_status_is_told_by_its_code(error: Any, told: str) -> None:
    with pytest.raises(UnusableAnswer) as caught:
        reply(json.dumps({"error": error}).encode())
    assert str(caught.value) == told


@pytest.mark.parametrize(
    "data",
    [
        b"{",
        b"{" * 5000,
        b"null",
        b"[]",
        b"7",
        b'{"x": "\xff"}',
        b'{"choices": 7}',
        b'{"choices": [7]}',
        chunk({"content": 7}),
        chunk({"tool_calls": [7]}),
        chunk({"tool_calls": {"a": 1}}),
    ],
)
def test_what_is_no_chunk_is_a_fault_in_words(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"not (a )?JSON|choices|not text"):
        reply(data)


@pytest.mark.parametrize("delta", [None, 7, "x"])
def test_a_chunk_without_a_delta_says_nothing(delta: Any) -> None:
    choice = {"index": 0, "delta": delta, "finish_reason": None}
    assert reply(json.dumps({"choices": [choice]}).encode(), chunk({"content": "x"}))[0] == TextPiece(text="x")
