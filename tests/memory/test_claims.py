"""Which claims are shown, and where: for any ranking, without a database."""

import itertools
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from mnemon.memory.claims import ShownClaims, group_claims, show_claims
from mnemon.memory.ranking import RankedItem
from mnemon.memory.trust import Trust, outranks

START = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class Row:
    id: str
    memory_key: str
    claim_of: str | None
    persona_id: str | None
    trust: Trust
    updated_at: datetime


def fact(key: str, trust: Trust = Trust.PERSON, persona: str | None = None) -> Row:
    name = f"{key}/{persona or ''}"
    return Row(id=name, memory_key=key, claim_of=None, persona_id=persona, trust=trust, updated_at=START)


def claim(number: int, of: str, trust: Trust = Trust.TOOL, persona: str | None = None, day: int = 0) -> Row:
    at = START + timedelta(days=day)
    return Row(
        id=f"claim{number}", memory_key=f"c{number}", claim_of=of, persona_id=persona, trust=trust, updated_at=at
    )


def ranking(rows: list[Row]) -> list[RankedItem]:
    """The rows in this order, the first with the best score."""
    return [
        RankedItem(id=one.id, score=-place, parts={"x": -place}, weights={"x": 1.0}) for place, one in enumerate(rows)
    ]


def shown(rows: list[Row], limit: int, extra: int = 0) -> ShownClaims:
    return show_claims(ranking(rows), group_claims(rows), limit=limit, extra=extra)


def ids(rows: list[Row], limit: int, extra: int = 0) -> list[str]:
    return [one.id for one in shown(rows, limit, extra).ranked]


LOWER = st.sampled_from([Trust.AGENT, Trust.TOOL, Trust.DOCUMENT, Trust.UNKNOWN])
PERSONAS = st.sampled_from([None, "coach"])
KEYS = st.sampled_from(["a", "b", "c", "d"])


@st.composite
def rankings(draw: st.DrawFn) -> list[Row]:
    """Facts and claims in any order; some claims contradict what is not held."""
    places = draw(st.sets(st.tuples(KEYS, PERSONAS), max_size=6))
    facts = [fact(key, draw(st.sampled_from([Trust.OPERATOR, Trust.PERSON])), persona) for key, persona in places]
    said = draw(st.lists(st.tuples(KEYS, LOWER, PERSONAS, st.integers(0, 3)), max_size=10))
    claims = [claim(number, *one[:2], persona=one[2], day=one[3]) for number, one in enumerate(said)]
    return draw(st.permutations([*facts, *claims]))


@given(rankings(), st.integers(1, 12), st.integers(0, 3))
def test_claims_follow_what_they_contradict_and_take_no_place_from_it(rows: list[Row], limit: int, extra: int) -> None:
    found = shown(rows, limit, extra)
    by_id = {one.id: one for one in rows}
    named = [one.id for one in found.ranked]
    held = {(one.memory_key, one.persona_id) for one in rows if one.claim_of is None}
    assert len(set(named)) == len(named)
    assert len(named) <= limit + extra
    without_claims = ids([one for one in rows if one.claim_of is None], limit)
    unheld = [one for one in named if by_id[one].claim_of is not None and one not in found.contradicts]
    for one in unheld:
        key, persona = by_id[one].claim_of, by_id[one].persona_id
        assert (key, None) not in held
        assert (key, persona) not in held
    # Only a claim of which nothing more trusted is held is ranked like a fact.
    facts = [one for one in named if by_id[one].claim_of is None]
    assert facts == without_claims[: len(facts)]
    leading = len(without_claims) + len({by_id[one].claim_of for one in rows_unheld(rows)})
    assert len(facts) + len(unheld) == min(limit, leading)
    for before, one in itertools.pairwise(named):
        if one in found.contradicts:
            assert found.contradicts[one] == before
            assert by_id[one].claim_of == by_id[before].memory_key
            assert outranks(by_id[before].trust, by_id[one].trust)
    assert len(set(found.contradicts.values())) == len(found.contradicts)
    assert not named or named[0] not in found.contradicts


def rows_unheld(rows: list[Row]) -> list[str]:
    held = {(one.memory_key, one.persona_id) for one in rows if one.claim_of is None}
    return [
        one.id
        for one in rows
        if one.claim_of and (one.claim_of, None) not in held and (one.claim_of, one.persona_id) not in held
    ]


@given(rankings())
def test_what_is_not_shown_is_counted(rows: list[Row]) -> None:
    found = shown(rows, 50)
    claims = [one for one in rows if one.claim_of is not None]
    visible = sum(one.claim_of is not None for one in rows if one.id in {hit.id for hit in found.ranked})
    assert visible + sum(found.further.values()) == len(claims)


@given(rankings(), st.integers(1, 12))
def test_a_score_is_still_the_sum_of_its_parts_and_never_rises(rows: list[Row], limit: int) -> None:
    ranked = shown(rows, limit).ranked
    assert all(one.score == sum(one.weights[part] * value for part, value in one.parts.items()) for one in ranked)
    assert [one.score for one in ranked] == sorted((one.score for one in ranked), reverse=True)


def test_of_ten_claims_one_is_shown_after_the_fact_and_nine_are_counted() -> None:
    rows = [*(claim(number, "iban", Trust.DOCUMENT, day=number) for number in range(10)), fact("iban")]
    found = shown(rows, 5)
    assert [one.id for one in found.ranked] == ["iban/", "claim9"]
    assert found.further == {"iban/": 9}
    assert ids(rows, 1) == ["iban/"]
    assert ids(rows, 1, extra=1) == ["iban/", "claim9"]


def test_the_most_trusted_claim_is_shown_then_the_newest() -> None:
    rows = [fact("a"), claim(1, "a", Trust.UNKNOWN, day=9), claim(2, "a", Trust.TOOL, day=1), claim(3, "a", day=2)]
    assert ids(rows, 9) == ["a/", "claim3"]


def test_a_private_claim_stands_beside_what_it_contradicts() -> None:
    own, everyones = fact("a", persona="coach"), fact("a")
    assert ids([everyones, own, claim(1, "a", persona="coach")], 9) == ["a/", "a/coach", "claim1"]
    assert ids([everyones, claim(1, "a", persona="coach")], 9) == ["a/", "claim1"]


def test_where_nothing_is_held_one_claim_stands_for_itself() -> None:
    rows = [claim(1, "a", Trust.UNKNOWN), claim(2, "a", Trust.TOOL), fact("b")]
    found = shown(rows, 9)
    assert [one.id for one in found.ranked] == ["claim2", "b/"]
    assert (found.further, found.contradicts) == ({"claim2": 1}, {})
