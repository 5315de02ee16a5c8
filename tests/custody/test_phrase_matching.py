"""Any of many phrases is found in a text, in a time that grows with the text and not with their number."""

from hypothesis import given
from hypothesis import strategies as st

from mnemon.custody.phrase_matching import PhraseMatcher

WORDS = st.sampled_from("ab")
PHRASES = st.lists(st.lists(WORDS, min_size=1, max_size=4), max_size=6)


def places_of(phrases: list[list[str]], words: list[str | None]) -> set[int]:
    """Every position that is part of a phrase, by comparing each phrase at each place."""
    return {
        start + at
        for phrase in phrases
        for start in range(len(words))
        if words[start : start + len(phrase)] == phrase
        for at in range(len(phrase))
    }


@given(PHRASES, st.lists(st.sampled_from(["a", "b", "c", None]), max_size=20))
def test_what_is_found_covers_every_place_of_every_phrase(phrases: list[list[str]], words: list[str | None]) -> None:
    found = list(PhraseMatcher(phrases).find_phrases(words))
    assert {at for first, last in found for at in range(first, last + 1)} == places_of(phrases, words)
    assert len({last for _, last in found}) == len(found), "one phrase for a place, the longest"


class CountedWord(str):
    """A word that counts how often it is looked up."""

    looked_up = 0

    def __hash__(self) -> int:
        CountedWord.looked_up += 1
        return super().__hash__()


def test_a_word_is_looked_up_a_few_times_however_many_phrases_nearly_fit() -> None:
    def lookups(phrases: int) -> int:
        matcher = PhraseMatcher([*(["a"] * n + ["b"] for n in range(1, phrases)), ["a"] * phrases + ["c"]])
        CountedWord.looked_up = 0
        assert list(matcher.find_phrases([CountedWord("a")] * 10_000)) == []
        return CountedWord.looked_up

    assert lookups(4) <= 40_000
    assert lookups(400) <= 40_000
