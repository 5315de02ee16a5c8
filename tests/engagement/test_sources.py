"""Whose words a quote holds, whatever source a model names."""

from datetime import UTC, date, datetime

import pytest

from mnemon.engagement.sources import are_one_person, resolve_source
from mnemon.evidence.quote_gate import Passage, Quotation
from mnemon.evidence.said_dates import past_day_said
from mnemon.turn import Role

AT = datetime(2026, 4, 20, 9, tzinfo=UTC)  # a Monday


def quoted(text: str, quote: str, *, who: str = "dana", role: Role = Role.USER) -> Quotation:
    passage = Passage(message_id="msg_1", text=text, who=who, role=role, at=AT)
    start = text.index(quote)
    return Quotation(passage=passage, start=start, end=start + len(quote))


@pytest.mark.parametrize(
    "named", ["dana", "Dana", "Dana (user)", "user", "the user", "", "Dana Reyes", "the CFO", "memo"]
)
def test_the_speaker_is_the_source_in_whatever_dress(named: str) -> None:
    found = resolve_source(named, quoted("Approvals are slow.", "Approvals are slow"))
    assert (found.text, found.key, found.teller, found.name) == ("dana", "speaker:dana", "speaker:dana", None)


def test_a_tool_is_its_own_source() -> None:
    found = resolve_source("Diane", quoted("Diane says approvals are slow", "approvals", who="Search", role=Role.TOOL))
    assert (found.text, found.key, found.teller) == ("Search", "tool:search", "tool:search")


@pytest.mark.parametrize(
    ("message", "named", "text", "key"),
    [
        ("Diane told me approvals are slow.", "Diane Ortiz", "Diane, as told by dana", "person:diane"),
        ("Diane Ortiz wrote: approvals are slow.", "Diane Ortiz", "Diane Ortiz, as told by dana", "person:diane ortiz"),
        ("I spoke with Diane. She finds approvals are slow.", "Diane", "Diane, as told by dana", "person:diane"),
        ("According to Diane's memo approvals are slow.", "Diane", "Diane, as told by dana", "person:diane"),
        # Named, but nothing says that she told it.
        ("Diane joined us. I see approvals are slow.", "Diane", "dana", "speaker:dana"),
        ("Diane knows approvals are slow.", "Diane", "dana", "speaker:dana"),
        # Not a name here.
        ("The diane valve told us approvals are slow.", "Diane", "dana", "speaker:dana"),
        ("Tom told me approvals are slow.", "Diane", "dana", "speaker:dana"),
    ],
)
def test_a_person_is_cited_only_if_the_message_says_that_they_told_it(
    message: str, named: str, text: str, key: str
) -> None:
    found = resolve_source(named, quoted(message, "approvals are slow"))
    assert (found.text, found.key, found.teller) == (text, key, "speaker:dana")


def test_a_name_is_completed_from_the_record_and_shares_its_key() -> None:
    said = quoted("Diane told me approvals are slow.", "approvals are slow")
    found = resolve_source("Diane Ortiz", said, {"diane ortiz", "tom"})
    assert (found.text, found.key) == ("Diane Ortiz, as told by dana", "person:diane ortiz")
    assert resolve_source("Diane", said, {"diane ortiz"}).key == "person:diane ortiz"
    assert resolve_source("Diane", said, {"tom"}).key == "person:diane"


def test_one_person_may_be_named_more_or_less_fully() -> None:
    assert are_one_person("diane", "diane ortiz")
    assert are_one_person("diane@acme.example", "diane")
    assert not are_one_person("diane ortiz", "diane smith")
    assert not are_one_person("dana", "diane")


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("Diane told me on April 12 that approvals are slow", date(2026, 4, 12)),
        ("on 2026-04-12 she said so", date(2026, 4, 12)),
        ("yesterday she said so", date(2026, 4, 19)),
        ("she said so on Friday", date(2026, 4, 17)),
        ("she said so three days ago", date(2026, 4, 17)),
        ("on December 3 she said so", date(2025, 12, 3)),
        ("on April 12 and on April 14 she said so", None),
        ("she said so last week", None),
        ("she will say so on Friday", None),
        ("she said so on May 3, 2027", None),
        ("she said so", None),
    ],
)
def test_the_one_past_day_that_the_words_give_is_the_events(text: str, day: date | None) -> None:
    assert past_day_said(text, AT) == day


def test_the_day_may_stand_beside_the_name() -> None:
    said = quoted("Diane told me on April 12. She finds approvals are slow.", "approvals are slow")
    assert resolve_source("Diane", said).event_date == date(2026, 4, 12)
    assert resolve_source("dana", said).event_date is None
