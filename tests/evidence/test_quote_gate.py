from collections.abc import Iterable
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemon.evidence.quote_gate import Quotation, find_quote, normalize_quote, quotable_passages
from mnemon.scope import Scope
from mnemon.turn import Role, ToolOutcome, Turn, TurnMessage

AT = datetime(2026, 4, 12, 15, 22, tzinfo=UTC)


def turn(*said: tuple[Role, str, str | None], results: Iterable[ToolOutcome] = ()) -> Turn:
    messages = tuple(
        TurnMessage(message_id=f"msg_{place}", role=role, content=content, name=name, at=AT)
        for place, (role, content, name) in enumerate(said)
    )
    return Turn(
        id="trn_1",
        session_id="ses_1",
        seq=1,
        scope=Scope(org_id="acme", user_id="usr_1"),
        user_name="dana",
        at=AT,
        messages=messages,
        tool_results=tuple(results),
    )


def spoken(text: str) -> Turn:
    return turn((Role.USER, text, None))


def found(quote: str, text: str) -> Quotation | None:
    return find_quote(quote, quotable_passages(spoken(text)))


def test_a_quote_is_found_with_its_message_and_offsets() -> None:
    text = "Well: we lose $4.1M on handoffs."
    quotation = found("we lose $4.1M", text)
    assert quotation is not None
    assert quotation.passage.message_id == "msg_0"
    assert quotation.passage.who == "dana"
    assert text[quotation.start : quotation.end] == quotation.text == "we lose $4.1M"


def test_white_space_and_curly_marks_may_differ_and_the_offsets_are_those_of_the_message() -> None:
    text = "She said  “it’s\n  structural” twice"
    quotation = found('"it\'s structural"', text)
    assert quotation is not None
    assert quotation.text == "“it’s\n  structural”"


@pytest.mark.parametrize(
    ("quote", "text"),
    [
        ("we lose $4.2M", "we lose $4.1M"),
        ("like tea", "I dislike tea"),
        ("$4", "it is $4.1M"),
        ("$4.1", "it is $4.1M"),
        ("1M", "it is $4.1M"),
        ("000 people", "12,000 people"),
        ("lose … handoffs", "we lose a lot on handoffs"),
        ("", "anything"),
        ("…", "what …"),
        ("   ", "a   b"),
    ],
)
def test_what_does_not_stand_there_is_no_quote(quote: str, text: str) -> None:
    assert found(quote, text) is None


@pytest.mark.parametrize(
    ("quote", "text", "said"),
    [
        ("We lose $4.1M", "we lose $4.1M", "we lose $4.1M"),
        ("i live in berlin", "Well, I LIVE in Berlin!", "I LIVE in Berlin"),
        ("nine - ten days", "it takes nine — ten days", "nine — ten days"),
        ("Orl\u00e9ans", "from Orle\u0301ans, France", "Orle\u0301ans"),
        ("Orle\u0301ans", "from Orl\u00e9ans, France", "Orl\u00e9ans"),
        ("İstanbul", "İSTANBUL or İstanbul", "İstanbul"),
    ],
)
def test_case_dashes_and_composed_letters_do_not_matter(quote: str, text: str, said: str) -> None:
    quotation = found(quote, text)
    assert quotation is not None
    assert quotation.text == said


def test_the_same_case_is_preferred() -> None:
    quotation = found("may", "May is when I may go")
    assert quotation is not None
    assert quotation.start == 14


def test_a_cut_number_is_passed_over_for_a_whole_one() -> None:
    quotation = found("4", "it was 4.1M, then 4")
    assert quotation is not None
    assert quotation.start == 18


def test_scripts_without_spaces_can_be_quoted_in_part() -> None:
    assert found("喜欢茶", "我喜欢茶") is not None


@pytest.mark.parametrize("script", ["กข", "ກຂ", "ကခ", "កខ", "かな", "漢字", "\u9ffe\u9fff"])
def test_every_script_without_spaces_can_be_quoted_in_part(script: str) -> None:
    assert found(script[1], script) is not None
    assert found(script[0], script) is not None


@pytest.mark.parametrize("script", ["कख", "ཀཁ", "აბ", "\ua000\ua001", "가나", "ab"])
def test_a_part_of_a_word_is_no_quote_in_scripts_with_spaces(script: str) -> None:
    assert found(script[1], script) is None
    assert found(script[0], script) is None


@pytest.mark.parametrize(("sign", "spaced"), [
    ("\u0e01", False), ("\u0edf", False), ("\u0f00", True),  # Thai to Lao, and Tibetan after them
    ("\u1000", False), ("\u1099", False), ("\u10a0", True),  # Myanmar, and Georgian after it
    ("\u1780", False), ("\u17f9", False), ("\u1820", True),  # Khmer, and Mongolian after it
    ("\u2c80", True), ("\u3005", False), ("\u9fff", False), ("\ua000", True),  # Coptic, then Han, then Yi
])  # fmt: skip
def test_where_a_script_without_spaces_begins_and_ends(sign: str, spaced: bool) -> None:
    assert (found("a", f"a{sign}") is None) is spaced


def test_the_reply_is_never_a_source() -> None:
    said = turn((Role.USER, "hello", None), (Role.ASSISTANT, "You lose $4.1M.", None))
    assert find_quote("You lose $4.1M.", quotable_passages(said)) is None


def test_a_tool_message_is_a_source_of_its_own_role() -> None:
    said = turn((Role.USER, "look it up", None), (Role.TOOL, "stock: 40 units", "erp"))
    quotation = find_quote("stock: 40 units", quotable_passages(said))
    assert quotation is not None
    assert (quotation.passage.role, quotation.passage.who) == (Role.TOOL, "erp")


def test_a_string_in_a_tool_result_is_found_by_its_pointer() -> None:
    result = ToolOutcome(id="res_1", action="search", output={"rows": [{"note": "margin fell 3%"}]})
    quotation = find_quote("margin fell 3%", quotable_passages(turn((Role.USER, "go", None), results=[result])))
    assert quotation is not None
    assert (quotation.passage.message_id, quotation.passage.pointer) == ("res_1", "/rows/0/note")


def test_a_structured_tool_result_can_be_quoted_as_rendered() -> None:
    result = ToolOutcome(id="res_1", action="search", output={"margin": 3})
    assert find_quote('"margin": 3', quotable_passages(turn((Role.USER, "go", None), results=[result]))) is not None


@pytest.mark.parametrize("name", ["recall", "get_context", "mcp__orchestrator__recall", "orchestrator.list_todos"])
def test_what_mnemons_own_tools_give_back_is_never_a_source(name: str) -> None:
    said = turn(
        (Role.USER, "go", None),
        (Role.TOOL, "Lives in Austin", name),
        results=[ToolOutcome(id="res_1", action=name, output="Lives in Austin")],
    )
    assert find_quote("Lives in Austin", quotable_passages(said)) is None


def test_the_persons_words_come_before_a_tools() -> None:
    said = turn((Role.TOOL, "we are late", "crm"), (Role.USER, "we are late", None))
    quotation = find_quote("we are late", quotable_passages(said))
    assert quotation is not None
    assert quotation.passage.role is Role.USER


words = st.lists(st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=6), min_size=1, max_size=12)


@given(words, st.data(), st.sampled_from([" ", "  ", "\n", "\t "]))
def test_any_run_of_whole_words_is_found_where_it_stands(tokens: list[str], data: st.DataObject, space: str) -> None:
    start = data.draw(st.integers(0, len(tokens) - 1))
    end = data.draw(st.integers(start + 1, len(tokens)))
    text = space.join(tokens)
    quotation = found(" ".join(tokens[start:end]), text)
    assert quotation is not None
    assert normalize_quote(quotation.text) == normalize_quote(" ".join(tokens[start:end]))


@given(st.text(max_size=60), st.text(max_size=20))
def test_a_found_quote_stands_in_the_text_and_nothing_raises(text: str, quote: str) -> None:
    quotation = found(quote, text)
    if quotation is not None:
        assert normalize_quote(quotation.text) == normalize_quote(quote)
        assert quotation.text in text


def test_a_point_at_the_end_of_a_text_is_no_part_of_a_number() -> None:
    assert found("It costs 1", "It costs 1.5") is None
    assert found("It costs 1", "It costs 1,500") is None
    assert found("It costs 1", "It costs 1.") is not None
    assert found("It costs 1", "It costs 1. No more.") is not None


def test_a_tool_that_has_no_name_is_called_a_tool() -> None:
    (passage,) = quotable_passages(turn((Role.TOOL, "12 degrees", None)))
    assert passage.who == "tool"
