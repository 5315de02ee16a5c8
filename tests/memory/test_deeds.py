"""Todos by what is to be done: which wordings are one, and which of them a report closes."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemon.evidence.quote_gate import find_quote, quotable_passages
from mnemon.evidence.support import ending_fault
from mnemon.memory.offline.extract import extract_todos
from mnemon.memory.offline.reports import unclear_closings
from mnemon.memory.todos.deeds import closing_fit, deed_of, is_same_deed, make_report
from mnemon.scope import Scope
from mnemon.turn import Role, Turn, TurnMessage

AT = datetime(2026, 4, 12, tzinfo=UTC)
OPEN = [
    "I'll call mom tomorrow",
    "I need to pay the rent",
    "I have to finish the report",
    "Don't let me forget to buy milk",
    "I'll book the theatre tickets",
    "I need to renew my passport",
    "I have to fix the bike",
    "I'll email the landlord",
    "I must return the library books",
    "I need to write the essay",
    "I'll pick up the dry cleaning",
    "I promised to help Lena move",
    "I'm going to clean the garage this weekend",
    "I want to meditate every morning",
]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I'll call mom tomorrow", "I will call mom"),
        ("I'll call mom tomorrow", "I need to call mom"),
        ("I will call mom", "Remind me to phone my mother at 5pm"),
        ("Call mom", "I've got to call mom by Friday"),
        ("Don't let me forget to buy milk", "I have to buy the milk tonight"),
        ("I must send the report on Monday", "I promised to send the report next week"),
        ("I'm going to clean the garage this weekend", "I should clean the garage"),
    ],
)
def test_a_deed_is_one_however_it_is_worded(one: str, other: str) -> None:
    assert is_same_deed(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I'll call mom", "I'll call dad"),
        ("I'll call mom about the party", "I'll call mom about the trip"),
        ("I'll call mom", "I'll visit mom"),
        ("I need to send report 1", "I need to send report 2"),
        ("Buy milk", "Buy bread"),
    ],
)
def test_different_deeds_stay_two(one: str, other: str) -> None:
    assert not is_same_deed(one, other)


CLOSED = [
    ("I called mom.", "done", 0),
    ("Called mom", "done", 0),
    ("Got around to calling mom", "done", 0),
    ("Rent is paid", "done", 1),
    ("Just paid the rent, ouch.", "done", 1),
    ("Rent's paid.", "done", 1),
    ("The report is finished", "done", 2),
    ("I'm done with the report", "done", 2),
    ("I did the report", "done", 2),
    ("Bought the milk", "done", 3),
    ("Got the milk", "done", 3),
    ("The theatre is sold out", "drop", 4),
    ("Passport renewed!", "done", 5),
    ("I changed my mind about the passport", "drop", 5),
    ("Finally fixed the bike", "done", 6),
    ("The bike is fixed", "done", 6),
    ("emailed the landlord", "done", 7),
    ("The library books have been returned", "done", 8),
    ("I wrote the essay", "done", 9),
    ("Finished the essay!", "done", 9),
    ("Picked up the dry cleaning", "done", 10),
    ("I helped Lena move", "done", 11),
    ("The garage is done", "done", 12),
    ("I stopped meditating", "drop", 13),
]


@pytest.mark.parametrize(("message", "op", "which"), CLOSED)
def test_a_report_in_any_usual_wording_closes_its_todo(message: str, op: str, which: int) -> None:
    (todo,) = extract_todos(message, OPEN)
    assert (todo.op, todo.content) == (op, OPEN[which])
    said = TurnMessage(message_id="m", role=Role.USER, content=message, name=None, at=AT)
    turn = Turn(id="t", session_id="s", seq=1, scope=Scope(org_id="a"), user_name="", at=AT, messages=(said,))
    quote = find_quote(todo.quote, quotable_passages(turn))
    assert quote is not None
    assert ending_fault(quote, todo.content, done=op == "done") is None


@pytest.mark.parametrize(
    "message",
    [
        "Mom called",
        "I haven't called mom",
        "Did I pay the rent?",
        "The rent is due",
        "Milk is expensive",
        "We sold the bike",
        "I bought a bike",
        "I called the landlord",
        "The report is almost finished",
        "I forgot to return the library books",
        "The landlord emailed",
        "Lena helped me move the sofa",
        "Tom said the report is finished",
    ],
)
def test_what_tells_of_another_deed_closes_none(message: str) -> None:
    assert extract_todos(message, OPEN) == []


def test_a_report_that_fits_one_todo_best_closes_that_one() -> None:
    both = ["I'll call mom", "I'll call mom about the trip"]
    assert [todo.content for todo in extract_todos("I called mom.", both)] == ["I'll call mom"]
    assert [todo.content for todo in extract_todos("I called mom about the trip.", both)] == [both[1]]
    assert unclear_closings("I called mom.", both) == []


def test_a_finished_thing_is_not_yet_sent() -> None:
    assert extract_todos("The report is finished", ["I need to send the report"]) == []


def test_where_several_fit_as_well_it_is_asked_which() -> None:
    both = ["I'll call mom about the party", "I'll call mom about the trip"]
    assert extract_todos("I called mom.", both) == []
    assert unclear_closings("I called mom.", both) == [both]
    assert unclear_closings("How is mom?", both) == []


VOCABULARY = (
    "call",
    "mom",
    "dad",
    "the",
    "report",
    "tomorrow",
    "i",
    "will",
    "need",
    "to",
    "pay",
    "rent",
    "1",
    "2",
    "book",
)
WORDS = st.lists(st.sampled_from(VOCABULARY), max_size=8)


@given(WORDS.map(" ".join), WORDS.map(" ".join))
def test_to_be_the_same_deed_is_symmetric_and_a_fit_is_a_share(one: str, other: str) -> None:
    assert is_same_deed(one, other) == is_same_deed(other, one)
    assert is_same_deed(one, one) == bool(deed_of(one).verb)
    assert 0 <= closing_fit(make_report("called", one), other) <= 1
