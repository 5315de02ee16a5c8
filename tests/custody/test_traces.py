"""What is covered and what is left, as a rule over texts alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemon.custody.traces import (
    REDACTION_CHAR,
    ForgottenTraces,
    TextSpan,
    distinctive_words,
    is_distinctive,
    redact_spans,
)

SECRET = ForgottenTraces(
    phrases=("My locker code is zq7Kx-4410", "Locker code is zq7Kx-4410"), marks=frozenset({"zq7kx", "4410", "locker"})
)


def test_a_phrase_is_covered_whatever_its_case_and_spacing() -> None:
    assert "4410" not in SECRET.redact_text("so MY LOCKER  code is\nzq7kx 4410!", sentences=False)


def test_a_mark_covers_its_sentence_in_derived_text_and_only_itself_in_the_persons_own() -> None:
    text = "Noted. I stored zq7Kx for you! Soup is good."
    assert SECRET.redact_text(text) == "Noted." + REDACTION_CHAR * len(" I stored zq7Kx for you!") + " Soup is good."
    assert SECRET.redact_text(text, sentences=False) == "Noted. I stored █████ for you! Soup is good."


def test_part_of_a_word_is_not_a_mark() -> None:
    assert SECRET.redact_text("clockers and 44100 stay") == "clockers and 44100 stay"


def test_a_mark_is_found_in_keys_and_slugs() -> None:
    assert "zq7kx" not in SECRET.redact_text("profile|person|self|zq7kx_4410")


def test_a_cut_copy_of_a_message_is_covered_like_the_message() -> None:
    message = "A long enough story about nothing much, and then the word marmalade comes."
    covered = redact_spans(message, [TextSpan(message_id="m", start=51, end=60)])
    traces = ForgottenTraces(phrases=(), copies=((message, covered),))
    assert traces.redact_text(message[:55]) == covered[:55]


def test_words_that_something_else_still_says_are_no_marks() -> None:
    assert distinctive_words(["Anna drives a Corolla in Leeds"], ["Anna likes Leeds"]) == {"drives", "corolla"}


def test_common_words_years_and_small_numbers_are_no_marks() -> None:
    assert distinctive_words(["I was born in 1987 and have 12 good friends"], []) == frozenset()


def test_texts_of_the_organization_lose_only_what_is_certain() -> None:
    assert SECRET.certain_traces().marks == {"zq7kx"}
    assert SECRET.certain_traces().redact_text("The locker room is closed.") == "The locker room is closed."


def test_json_is_covered_inside_and_keeps_its_shape() -> None:
    value = {"a": ["zq7Kx", 3, None], "b": {"c": "my locker code is zq7Kx-4410"}}
    assert SECRET.redact_json(value) == {"a": ["█████", 3, None], "b": {"c": REDACTION_CHAR * 28}}


@pytest.mark.parametrize(
    ("word", "marks"),
    [
        ("zyx", False), ("wxyz", True), ("good", False),  # four letters, and no common word
        ("x7", False), ("zx7", False), ("zxy7", True),  # a digit among four characters
        ("123", False), ("1234", True), ("1987", False), ("2087", False), ("2187", True), ("19876", True),
        ("é", False), ("éa", True),  # two letters, one of them not ASCII
    ],
)  # fmt: skip
def test_a_word_is_a_mark_when_hardly_anything_else_has_it(word: str, marks: bool) -> None:
    assert distinctive_words([f"a {word} a"], []) == (frozenset({word}) if marks else frozenset())


@pytest.mark.parametrize(
    ("word", "certain"), [("1234", False), ("12345", True), ("ab7", False), ("abc7", True), ("locker", False)]
)
def test_a_word_is_certain_when_nothing_else_has_it_by_chance(word: str, certain: bool) -> None:
    assert is_distinctive(word) is certain
    assert bool(ForgottenTraces(phrases=(), marks=frozenset({word})).certain_traces().marks) is certain
    assert bool(ForgottenTraces(phrases=(f"my {word}",)).certain_traces().phrases) is certain


def test_four_words_in_a_row_are_certain_and_three_are_not() -> None:
    given = ForgottenTraces(phrases=("drives an old car", "drives a car"))
    assert given.certain_traces().phrases == ("drives an old car",)


@pytest.mark.parametrize(
    ("phrase", "found"),
    [("likes tea", True), ("marmalades", True), ("marmalad", True), ("marmala", False), ("ab7x", True), ("tea", False)],
)
def test_a_phrase_is_searched_for_when_it_is_long_or_distinctive(phrase: str, found: bool) -> None:
    traces = ForgottenTraces(phrases=(phrase,))
    assert (traces.redact_text(f"so {phrase} it is", sentences=False) != f"so {phrase} it is") is found
    assert bool(traces.search_hints) is found


@pytest.mark.parametrize(("between", "found"), [(" ", True), ("\n", True), ("--,-. ", True), ("--,-.. ", False)])
def test_the_words_of_a_phrase_are_at_most_six_characters_apart(between: str, found: bool) -> None:
    text = f"I said likes{between}tea to you"
    covered = ForgottenTraces(phrases=("likes tea",)).redact_text(text)
    assert (covered != text) is found
    if found:
        assert covered == f"I said {''.join('█' if one != chr(10) else one for one in f'likes{between}tea')} to you"


def test_every_place_of_a_phrase_is_covered_also_when_they_touch() -> None:
    traces = ForgottenTraces(phrases=("tea tea", "likes tea"))
    assert traces.redact_text("likes tea tea, likes tea; tea") == f"{'█' * 13}, {'█' * 14}"
    assert ForgottenTraces(phrases=("likes tea",)).redact_text("dislikes tea and teas") == "dislikes tea and teas"


def test_a_hint_is_the_longest_word_of_a_phrase_in_the_usual_cases() -> None:
    traces = ForgottenTraces(phrases=("I sail boats",), marks=frozenset({"mast"}))
    assert traces.search_hints == ("BOATS", "Boats", "MAST", "Mast", "boats", "mast")


def test_a_hint_is_no_common_word_if_the_phrase_has_another() -> None:
    assert ForgottenTraces(phrases=("Lives in Oslo",)).search_hints == ("OSLO", "Oslo", "oslo")
    assert ForgottenTraces(phrases=("Lives there",)).search_hints == ("LIVES", "Lives", "lives")
    known = ForgottenTraces(phrases=("Collects zithers in Oslo",), marks=frozenset({"oslo"}))
    assert known.search_hints == ("OSLO", "Oslo", "oslo")


@given(st.lists(st.sampled_from(["lives", "in", "Oslo", "Straße", "zithers", "the", "K7x4"]), min_size=2, max_size=5))
def test_every_text_with_a_phrase_has_its_hint(words: list[str]) -> None:
    traces = ForgottenTraces(phrases=(" ".join(words),))
    for text in (" ".join(words), ", ".join(words).upper()):
        assert traces.redact_text(f"so: {text}") != f"so: {text}"
        assert any(hint.lower() in text.lower() for hint in traces.search_hints)


def test_only_a_text_of_fifty_characters_can_be_a_copy() -> None:
    message = "x" * 60
    traces = ForgottenTraces(phrases=(), copies=((message, "█" * 60),))
    assert traces.redact_text(message[:50]) == "█" * 50
    assert traces.redact_text(message[:49]) == message[:49]
    assert traces.redact_text(f"a{message}") == f"a{message}"


def test_spans_may_overlap_and_come_in_any_order() -> None:
    spans = [TextSpan(start=6, end=8), TextSpan(start=0, end=2), TextSpan(start=1, end=4), TextSpan(start=2, end=3)]
    assert redact_spans("abcdefghij", spans) == "████ef██ij"
    assert redact_spans("ab\ncd", [TextSpan(start=0, end=5)]) == "██\n██"
    assert redact_spans("abc", []) == "abc"


texts = st.text(alphabet="abcdefgh ABC.!\n_-4410zq7Kx", max_size=120)


@given(texts, st.booleans())
def test_covering_keeps_the_length_and_leaves_no_mark(text: str, sentences: bool) -> None:
    covered = SECRET.redact_text(text, sentences=sentences)
    assert len(covered) == len(text)
    assert not SECRET.has_mark(covered)
    assert SECRET.redact_text(covered, sentences=sentences) == covered


@given(texts)
def test_whatever_is_covered_was_hinted_at(text: str) -> None:
    if SECRET.redact_text(text) != text:
        assert any(hint.lower() in text.lower() for hint in SECRET.search_hints)
