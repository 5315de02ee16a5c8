"""The seed's ranking formula against figures computed by hand."""

import math
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemon.memory.ranking import (
    HYBRID_WEIGHTS,
    SHORT_TEXT_WORDS,
    RankingCandidate,
    inverse_document_frequency,
    key_shares,
    length_normalization,
    nearest_candidates,
    neighbour_share,
    rank_blended,
    rank_by_similarity,
    recency_score,
    standard_scores,
    term_saturation,
    weighted_total,
)

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


def candidate(name: str, similarity: float | None, days: float, *keys: str, lexical: float = 0.0) -> RankingCandidate:
    updated = NOW - timedelta(days=days)
    return RankingCandidate(id=name, similarity=similarity, updated_at=updated, entity_keys=keys, lexical=lexical)


# Five candidates. john is carried by 3 of 5 (share 0.6), acme by 2 of 5 (0.4), austin by 1 of 5 (0.2).
TABLE = [
    # id, similarity, age in days, keys → recency, frequency, 0.4·s + 0.3·r + 0.3·f
    ("a", 0.90, 14, ("person:john",), 0.5, 0.6, 0.36 + 0.15 + 0.18),
    ("b", 0.80, 0, ("person:john", "org:acme"), 1.0, 0.6, 0.32 + 0.30 + 0.18),
    ("c", 0.95, 28, (), 0.25, 0.0, 0.38 + 0.075 + 0.0),
    ("d", 0.50, 42, ("org:acme", "person:john"), 0.125, 0.6, 0.20 + 0.0375 + 0.18),
    ("e", 0.70, 7, ("place:austin",), 0.7071067811865476, 0.2, 0.28 + 0.21213203435596426 + 0.06),
]


def test_blended_scores_are_the_hand_computed_ones() -> None:
    ranked = rank_blended([candidate(n, s, days, *keys) for n, s, days, keys, *_ in TABLE], now=NOW)
    got = {one.id: (one.parts["recency"], one.parts["frequency"], one.score) for one in ranked}
    for name, _, _, _, recent, frequent, score in TABLE:
        assert got[name] == pytest.approx((recent, frequent, score), abs=1e-12)
    assert [one.id for one in ranked] == ["b", "a", "e", "c", "d"]


def test_a_key_named_twice_by_one_memory_counts_once() -> None:
    shares = key_shares([candidate("a", 1, 0, "person:x", "person:x"), candidate("b", 1, 0)])
    assert shares == {"person:x": 0.5}


def test_similarity_is_plain_cosine() -> None:
    ranked = rank_by_similarity([candidate(n, s, days) for n, s, days, *_ in TABLE])
    assert [(one.id, one.score) for one in ranked] == [("c", 0.95), ("a", 0.9), ("b", 0.8), ("e", 0.7), ("d", 0.5)]


def test_what_is_not_embedded_yet_ranks_by_its_words() -> None:
    ranked = rank_by_similarity([candidate("vector", 0.3, 0), candidate("words", None, 0, lexical=0.5)])
    assert [one.id for one in ranked] == ["words", "vector"]
    (neither,) = rank_by_similarity([RankingCandidate(id="x", similarity=None, updated_at=NOW)])
    assert neither.score == 0.0


def test_the_candidate_set_is_the_fifty_nearest() -> None:
    many = [candidate(f"m{n:03}", n / 100, 0) for n in range(80)]
    kept = nearest_candidates(many)
    assert len(kept) == 50
    assert kept[0].id == "m079"
    assert kept[-1].id == "m030"


def test_recency_halves_every_fourteen_days_and_never_exceeds_one() -> None:
    assert recency_score(NOW, NOW) == 1.0
    assert recency_score(NOW - timedelta(days=14), NOW) == pytest.approx(0.5)
    assert recency_score(NOW - timedelta(days=28), NOW) == pytest.approx(0.25)
    assert recency_score(NOW + timedelta(days=3), NOW) == 1.0


found = st.lists(
    st.builds(
        candidate,
        st.integers(0, 10_000).map(str),
        st.none() | st.floats(-1, 1),
        st.floats(0, 1000),
        st.sampled_from(["person:a", "org:b", "place:c"]),
        lexical=st.floats(0, 1),
    ),
    unique_by=lambda one: one.id,
    max_size=30,
)


@given(found, st.randoms())
def test_every_ranking_explains_its_score_and_ignores_the_order_of_arrival(candidates, random) -> None:  # type: ignore[no-untyped-def]
    shuffled = list(candidates)
    random.shuffle(shuffled)
    for rank in (
        rank_by_similarity,
        lambda all_: rank_blended(all_, now=NOW),
    ):
        ranked = rank(candidates)
        for one in ranked:
            assert one.score == pytest.approx(sum(one.weights[name] * part for name, part in one.parts.items()))
        assert [one.id for one in ranked] == [one.id for one in rank(shuffled)]
        assert [one.score for one in ranked] == sorted((one.score for one in ranked), reverse=True)


def test_ties_go_to_the_later_update_then_to_the_id() -> None:
    ranked = rank_by_similarity([candidate("z", 0.5, 1), candidate("b", 0.5, 2), candidate("a", 0.5, 2)])
    assert [one.id for one in ranked] == ["z", "a", "b"]


def test_a_rare_word_weighs_more_and_a_repeated_one_ever_less() -> None:
    assert inverse_document_frequency(10, 1) == pytest.approx(math.log1p(9.5 / 1.5))
    assert inverse_document_frequency(10, 9) == pytest.approx(math.log1p(1.5 / 9.5))
    damping = length_normalization(np.array([1.0, 2.0], dtype=np.float32))
    assert damping == pytest.approx([0.9, 0.9 + 0.36])
    once_and_twice = term_saturation(np.array([1.0, 2.0], dtype=np.float32), np.float32(0.9) * np.ones(2, np.float32))
    assert once_and_twice == pytest.approx([1.0, 3.8 / 2.9])


def test_standard_scores_are_distances_from_the_mean_of_what_is_known() -> None:
    def scores(values: list[float], known: list[bool]) -> list[float]:
        return list(map(float, standard_scores(np.array(values, dtype=np.float32), np.array(known))))

    assert scores([1, 7, 100], [True, True, False]) == pytest.approx([-1, 1, 0])
    assert scores([1, 1, 5, 5], [True] * 4) == pytest.approx([-1, -1, 1, 1])
    assert scores([3, 9], [True, False]) == [0, 0], "one value has no distance"
    assert scores([3, 3], [True, True]) == [0, 0]


def test_a_total_is_the_weighted_sum_of_its_parts() -> None:
    parts = {name: np.array([1.0, 0.0], dtype=np.float32) for name in ("lexical", "question")}
    total = weighted_total(parts)
    assert total == pytest.approx([HYBRID_WEIGHTS["lexical"] + HYBRID_WEIGHTS["question"], 0.0])


def test_neighbours_count_in_full_among_short_texts_and_hardly_among_long_ones() -> None:
    assert neighbour_share(0.0) == neighbour_share(8.0) == neighbour_share(SHORT_TEXT_WORDS) == 1.0
    assert neighbour_share(2 * SHORT_TEXT_WORDS) == 0.25
    assert neighbour_share(10 * SHORT_TEXT_WORDS) < 0.011
