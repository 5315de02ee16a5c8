"""What is covered and what is left, as a rule over texts alone."""

from hypothesis import given
from hypothesis import strategies as st

from mnemon.custody.traces import REDACTION_CHAR, ForgottenTraces, TextSpan, distinctive_words, redact_spans

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
