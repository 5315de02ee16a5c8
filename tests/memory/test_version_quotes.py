"""Whose quote is whose: a version has those that said its words."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from mnemon.memory.keys import content_hash
from mnemon.memory.memory import MemoryVersion, Provenance
from mnemon.memory.trust import Trust
from mnemon.memory.version_quotes import RecordedQuote, versions_with_quotes

START = datetime(2026, 1, 1, tzinfo=UTC)


def version(number: int, city: str, since: int, until: int | None) -> MemoryVersion:
    return MemoryVersion(
        number=number,
        content=f"Lives in {city}",
        importance=1,
        confidence=0.9,
        source="shadow_extraction",
        origin="shadow_extraction",
        trust=Trust.PERSON,
        valid_from=START + timedelta(days=since),
        valid_to=None if until is None else START + timedelta(days=until),
        recorded_at=START,
        reason=None,
        current=until is None,
    )


def said(city: str, day: int) -> RecordedQuote:
    at = START + timedelta(days=day)
    words = f"I live in {city}"
    told = Provenance(turn_id=f"trn_{day}", message_id=f"msg_{day}", start=0, end=len(words), quote=words, at=at)
    return RecordedQuote(content_hash=content_hash(f"lives in {city}."), provenance=told)


def shown(versions: list[MemoryVersion], *quotes: RecordedQuote) -> list[list[str]]:
    found = versions_with_quotes(versions, quotes, most=20)
    return [[one.message_id for one in version.provenance] for version in found]


def test_a_version_has_the_quotes_of_its_own_words() -> None:
    versions = [version(1, "Austin", 1, 5), version(2, "Denver", 5, None)]
    assert shown(versions, said("Denver", 5), said("Austin", 2), said("Austin", 1)) == [["msg_2", "msg_1"], ["msg_5"]]


def test_a_quote_of_today_can_be_of_a_time_that_is_over() -> None:
    versions = [version(2, "Austin", 1, 5), version(1, "Denver", 5, None)]
    assert shown(versions, said("Austin", 9)) == [["msg_9"], []]


def test_words_that_came_back_have_the_earlier_quotes_too_and_not_the_other_way_round() -> None:
    versions = [version(1, "Austin", 1, 5), version(2, "Denver", 5, 8), version(3, "Austin", 8, None)]
    assert shown(versions, said("Austin", 8), said("Austin", 1)) == [["msg_1"], [], ["msg_8", "msg_1"]]


@given(st.lists(st.tuples(st.sampled_from(["Austin", "Denver", "Dover"]), st.integers(0, 30)), max_size=12))
def test_no_version_ever_quotes_other_words_and_no_quote_of_its_words_is_lost(told: list[tuple[str, int]]) -> None:
    versions = [version(1, "Austin", 1, 5), version(2, "Denver", 5, 8), version(3, "Austin", 8, None)]
    quotes = [said(city, day) for city, day in told]
    found = versions_with_quotes(versions, quotes, most=20)
    for one in found:
        assert all(one.content.removeprefix("Lives in ") in quote.quote for quote in one.provenance)
    kept = {quote.message_id for one in found for quote in one.provenance}
    assert kept == {f"msg_{day}" for city, day in told if city != "Dover"}
