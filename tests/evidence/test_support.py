"""The support gate: a quote must say what a statement claims."""

from datetime import UTC, datetime

import pytest

from mnemon.evidence.quote_gate import Passage, find_quote
from mnemon.evidence.statement import StatementKind, StatementSubject
from mnemon.evidence.support import ending_fault, support_fault
from mnemon.turn import Role
from support.proposals import CORPORA, count, reported_half, tuning_half

AT = datetime(2026, 11, 16, tzinfo=UTC)
Case = tuple[str, ...]


def fault_of(
    message: str, quote: str, statement: str, entity: str = "", kind: str = "fact", entity_type: str = "person"
) -> str | None:
    """Why the quote does not support the statement; Dana speaks."""
    passage = Passage(message_id="msg_1", text=message, who="dana", role=Role.USER, at=AT)
    quotation = find_quote(quote, [passage])
    assert quotation is not None
    subject = StatementSubject(speaker=("dana",), entity=entity or None, entity_is_person=entity_type == "person")
    return support_fault(statement, [quotation], StatementKind(kind), subject)


LIES: list[Case] = [
    ("I live in Austin.", "I live in Austin", "Earns $250,000 a year"),
    ("I live in Austin.", "I live in Austin", "Is a felon"),
    ("I live in Austin.", "I live in Austin", "Dana is a convicted felon"),
    ("I met the team today.", "the", "Dana is a convicted felon"),
    ("My sister is allergic to nuts.", "My sister is allergic to nuts", "Is allergic to nuts"),
    ("My sister is allergic to nuts.", "allergic to nuts", "Is allergic to nuts"),
    ("I used to live in Boston.", "I used to live in Boston", "Lives in Boston"),
    ("I used to live in Boston.", "live in Boston", "Lives in Boston"),
    ("I don't like cilantro.", "like cilantro", "Likes cilantro"),
    ("I love cilantro.", "I love cilantro", "Dislikes cilantro"),
    ("Should I move to Berlin?", "move to Berlin", "Moved to Berlin"),
    ("I wish I had a dog.", "I had a dog", "Has a dog"),
    ("I want a dog.", "I want a dog", "Has a dog"),
    ("If I win, I'll buy a boat.", "I'll buy a boat", "Owns a boat"),
    ("Tom says I'm lazy.", "I'm lazy", "Is lazy"),
    (
        "My sister Ana lives in Lisbon and my brother Tom lives in Porto.",
        "My sister Ana lives in Lisbon and my brother Tom lives in Porto",
        "Ana lives in Porto",
        "Ana",
    ),
    ("I have 2 dogs and 5 cats.", "I have 2 dogs and 5 cats", "Has 5 dogs"),
    ("I owe Diane $500.", "I owe Diane $500", "Diane owes $500", "Diane"),
    ("I'm moving to Berlin next month.", "I'm moving to Berlin next month", "Lives in Berlin"),
    ("I quit smoking.", "I quit smoking", "Smokes"),
    (
        "I'm allergic to penicillin, not to amoxicillin.",
        "allergic to penicillin, not to amoxicillin",
        "Allergic to amoxicillin",
    ),
    (
        "Some of the team missed the deadline.",
        "Some of the team missed the deadline",
        "All of the team missed the deadline",
    ),
    ("I drink coffee without sugar.", "coffee without sugar", "Drinks coffee with sugar"),
    ("Diane's brother lives in Boston.", "Diane's brother lives in Boston", "Diane lives in Boston", "Diane"),
    ("I have a sister who lives in Boston.", "I have a sister who lives in Boston", "Lives in Boston"),
    ("My flight is on Friday.", "My flight is on Friday", "Flight is on 2026-11-21"),
    ("I was a teacher.", "I was a teacher", "Is a teacher"),
    ("Diane reports to Tom.", "Diane reports to Tom", "Tom reports to Diane", "Tom"),
    ("I live in Austin", "I live in Austin", "Used to live in Austin"),
    ("You are a felon", "You are a felon", "Is a felon"),
    ("I take 15 mg of warfarin", "I take 15 mg of warfarin", "Takes 5 mg of warfarin"),
    ("I live in Austin", "I live in Austin", "Wants to live in Austin"),
]
HONEST: list[Case] = [
    ("I live in Austin.", "I live in Austin", "Lives in Austin"),
    ("I live in Austin.", "I live in Austin", "Dana lives in Austin"),
    ("I'm a nurse at St. Mary's.", "I'm a nurse at St. Mary's", "Works as a nurse at St. Mary's"),
    ("My sister Ana lives in Lisbon.", "My sister Ana lives in Lisbon", "Has a sister named Ana who lives in Lisbon"),
    ("My sister Ana lives in Lisbon.", "My sister Ana lives in Lisbon", "Ana lives in Lisbon", "Ana"),
    ("My sister Ana lives in Lisbon.", "My sister Ana", "Ana is the user's sister", "Ana"),
    ("My sister Ana called. She lives in Lisbon now.", "She lives in Lisbon now", "Lives in Lisbon", "Ana"),
    ("I can't stand cilantro.", "I can't stand cilantro", "Dislikes cilantro"),
    ("I hate cilantro.", "I hate cilantro", "Does not like cilantro"),
    ("I don't like cilantro.", "I don't like cilantro", "Dislikes cilantro"),
    ("I used to live in Boston.", "I used to live in Boston", "Used to live in Boston"),
    ("I no longer live in Boston.", "I no longer live in Boston", "No longer lives in Boston"),
    ("I no longer live in Boston.", "I no longer live in Boston", "Used to live in Boston"),
    ("I want to visit Japan next year.", "I want to visit Japan next year", "Wants to visit Japan in 2027"),
    ("I'm moving to Berlin next month.", "I'm moving to Berlin next month", "Is moving to Berlin in December 2026"),
    ("I will call Dana tomorrow.", "I will call Dana tomorrow", "Call Dana tomorrow", "", "task"),
    ("Is my sister Ana coming?", "my sister Ana", "Has a sister named Ana"),
    ("We just had twins!", "We just had twins", "Has twins"),
    ("I love my dog Rex.", "my dog Rex", "Rex is a dog", "Rex"),
    ("I'm allergic to penicillin, not to amoxicillin.", "allergic to penicillin", "Allergic to penicillin"),
    ("I quit smoking two years ago.", "I quit smoking two years ago", "Quit smoking in 2024"),
    ("I quit smoking.", "I quit smoking", "No longer smokes"),
    ("I'm 34.", "I'm 34", "Is 34 years old"),
    ("I run every morning before work.", "I run every morning", "Runs every morning"),
    ("My flight is on Friday.", "My flight is on Friday", "Flight on 2026-11-20"),
    ("I was born in 1990 in Oslo.", "I was born in 1990 in Oslo", "Was born in Oslo in 1990"),
    ("I was diagnosed with diabetes.", "I was diagnosed with diabetes", "Has diabetes"),
    ("My favourite colour is teal.", "My favourite colour is teal", "Favourite colour is teal"),
    (
        "We lose $4.1M a year on deal-approval handoffs.",
        "$4.1M a year on deal-approval handoffs",
        "User cited $4.1M on deal-approval handoffs in session 2.",
        "",
        "line",
    ),
    ("Can you remember that my birthday is May 3?", "my birthday is May 3", "Birthday is May 3"),
    (
        "Diane Ortiz told me approvals take nine days.",
        "approvals take nine days",
        "Diane Ortiz says approvals take nine days",
        "",
        "line",
    ),
    ("I've been working at Acme since 2019.", "I've been working at Acme since 2019", "Has worked at Acme since 2019"),
    ("My wife and I live in Austin.", "My wife and I live in Austin", "Lives in Austin"),
    ("I never eat pork.", "I never eat pork", "Does not eat pork"),
    (
        "We're building Mnemon, a memory server.",
        "We're building Mnemon, a memory server",
        "Mnemon is a memory server",
        "Mnemon",
        "fact",
        "project",
    ),
]


@pytest.mark.parametrize("case", LIES, ids=lambda case: f"{case[2]} / {case[0]}")
def test_a_quote_that_says_something_else_supports_nothing(case: Case) -> None:
    assert fault_of(*case) is not None


@pytest.mark.parametrize("case", HONEST, ids=lambda case: f"{case[2]} / {case[0]}")
def test_what_the_quote_says_is_let_in(case: Case) -> None:
    assert fault_of(*case) is None


@pytest.mark.parametrize(
    ("message", "topic", "done", "is_over"),
    [
        ("I called Dana this morning.", "Call Dana", True, True),
        ("I'll call Dana tomorrow.", "Call Dana", True, False),
        ("I haven't called Dana yet.", "Call Dana", True, False),
        ("Did I call Dana?", "Call Dana", True, False),
        ("I tried to call Dana.", "Call Dana", True, False),
        ("I called Dana.", "Call Dana and pay the bill", True, False),
        ("I won't call Dana after all.", "Call Dana", False, True),
        ("I don't want to drop the course.", "Take the course", False, False),
    ],
)
def test_a_todo_is_over_when_the_quote_says_so(message: str, topic: str, *, done: bool, is_over: bool) -> None:
    passage = Passage(message_id="msg_1", text=message, who="dana", role=Role.USER, at=AT)
    quotation = find_quote(message, [passage])
    assert quotation is not None
    assert (ending_fault(quotation, topic, done=done) is None) == is_over


@pytest.mark.parametrize(
    ("corpus", "lies", "let_in", "honest", "refused"),
    [("first", 162, 11, 164, 31), ("third", 113, 18, 120, 57), ("fourth", 120, 17, 125, 54)],
)
def test_the_reported_half_is_judged_at_least_as_well_as_measured(
    corpus: str, *, lies: int, let_in: int, honest: int, refused: int
) -> None:
    """Hold the figures of docs/honesty.md: they may only get better."""
    tallies = count(reported_half(corpus)).values()
    assert sum(one.lies for one in tallies) == lies
    assert sum(one.honest for one in tallies) == honest
    assert sum(one.lies_let_in for one in tallies) <= let_in
    assert sum(one.honest_rejected for one in tallies) <= refused


@pytest.mark.parametrize("corpus", CORPORA)
def test_the_two_halves_share_no_text(corpus: str) -> None:
    assert not {one.source for one in reported_half(corpus)} & {one.source for one in tuning_half()}
