"""Matching by words."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemon.evidence import stems
from mnemon.memory.words import bm25_scores, query_coverage, terms


def test_words_are_stemmed_and_stop_words_dropped() -> None:
    assert terms("What are John's running shoes?") == ["john", "run", "shoe"]
    assert terms("who is it") == ["who", "is", "it"]


def test_a_rare_shared_word_weighs_more() -> None:
    texts = ["the cat likes fish", "the dog likes fish", "the cat likes zabaglione"]
    scores = bm25_scores("who likes zabaglione", texts)
    assert max(scores) == scores[2]
    assert bm25_scores("submarine", texts) == [0.0, 0.0, 0.0]


def test_coverage_is_one_when_every_word_is_there() -> None:
    assert query_coverage("dark mode", ["prefers dark mode", "likes tea"]) == [pytest.approx(1.0), 0.0]


@given(st.text(max_size=40), st.lists(st.text(max_size=40), max_size=6))
def test_scores_are_one_per_text_and_never_negative(query: str, texts: list[str]) -> None:
    assert len(bm25_scores(query, texts)) == len(texts)
    assert all(score >= 0 for score in bm25_scores(query, texts))
    assert all(0 <= share <= 1.000001 for share in query_coverage(query, texts))


def test_no_two_threads_share_a_stemmer() -> None:
    with ThreadPoolExecutor(1) as threads:
        elsewhere = threads.submit(lambda: stems._STEMMER.stem_word).result()
    assert stems._STEMMER.stem_word.__self__ is not elsewhere.__self__
