"""The rules of the support gate, each with what it refuses and what it lets in.

A row is what was said, what is quoted of it, and the statement; then the entity and the kind, where they matter.
"""

from datetime import UTC, datetime

import pytest

from mnemon.evidence.ending import ending_fault
from mnemon.evidence.quote_gate import Passage, Quotation, find_quote
from mnemon.evidence.statement import StatementKind, StatementSubject
from mnemon.evidence.support import support_fault
from mnemon.turn import Role

AT = datetime(2026, 11, 16, tzinfo=UTC)
Row = tuple[str, ...]

REFUSED: dict[str, list[Row]] = {
    "added predicate": [("My brother runs the depot.", "My brother runs the depot", "His brother drinks on the job")],
    "another verb": [
        ("I asked for a raise in May, Tom too.", "I asked for a raise in May", "Got a raise in May"),
        (
            "We bought ten shares of Acme in May.",
            "We bought ten shares of Acme in May",
            "Sold ten shares of Acme in May",
        ),
    ],
    "another word of a kind": [
        ("I bought the shop from my aunt.", "I bought the shop from my aunt", "Bought the shop from her uncle")
    ],
    "attempt and wish": [
        ("I should exercise more.", "exercise more", "Exercises"),
        ("I've been meaning to call Bob.", "call Bob", "Called Bob"),
        ("We're thinking about getting a dog.", "getting a dog", "Is getting a dog"),
        ("Without Sadia I'd have failed statistics.", "failed statistics", "Failed statistics"),
    ],
    "belief": [
        ("I think the chimney must be 80 cm high.", "the chimney must be 80 cm high", "The chimney must be 80 cm high")
    ],
    "called off": [("Scrap the Kafka idea.", "the Kafka idea", "Is going to use Kafka")],
    "cited words": [
        ('Translate: "I am a vegetarian."', "I am a vegetarian", "Is a vegetarian"),
        ('My boss wrote: "I quit on Friday."', "I quit on Friday", "Dana quit on Friday", "", "line"),
    ],
    "comparison": [
        ("I prefer Madrid to Barcelona.", "I prefer Madrid to Barcelona", "Prefers Barcelona to Madrid"),
        ("I take the pill before breakfast.", "I take the pill before breakfast", "Takes the pill after breakfast"),
        ("Tests run first, then the linter.", "Tests run first, then the linter", "The linter runs before the tests"),
    ],
    "correction": [
        (
            "The meeting is Tuesday, no, Wednesday.",
            "The meeting is Tuesday, no, Wednesday",
            "The meeting is on Tuesday",
        ),
        ("There'll be eight of us. Wait no, seven.", "There'll be eight of us", "Eight people are coming"),
    ],
    "done to the speaker": [("Sam lent me 50.", "Sam lent me 50", "Lent Sam 50")],
    "fiction": [("In my novel the main character is a smuggler.", "is a smuggler", "Is a smuggler")],
    "figure of somebody else": [
        ("My brother is 30 and I'm 34.", "My brother is 30 and I'm 34", "Is 30 years old"),
        ("Anna earns 50k, I earn 40k.", "Anna earns 50k, I earn 40k", "Earns 50k"),
    ],
    "frequency": [
        ("We meet every other Sunday.", "We meet every other Sunday", "Meets every Sunday"),
        (
            "Helene didn't reply to my email.",
            "Helene didn't reply to my email",
            "Helene never replies to emails",
            "Helene",
        ),
        ("I went to yoga yesterday.", "I went to yoga yesterday", "Goes to yoga"),
    ],
    "from and to": [
        ("The p99 went from 480ms to 210ms.", "The p99 went from 480ms to 210ms", "The p99 went from 210ms to 480ms"),
        (
            "The signing is moved from Friday to Monday.",
            "The signing is moved from Friday to Monday",
            "The signing is on Friday",
        ),
        ("The fee went up to £14.", "The fee went up to £14", "The fee went up by £14"),
    ],
    "heading": [("Not doing this year:\n- the marathon\n- dating", "the marathon", "Is doing the marathon")],
    "jest": [("Oh great, I just love being on hold.", "I just love being on hold", "Loves being on hold")],
    "limits": [
        ("I only drink wine at weddings.", "drink wine", "Drinks wine"),
        ("Everyone passed except Tom.", "Everyone passed", "Everyone passed"),
        ("I'm at my parents' place until Sunday.", "I'm at my parents' place", "Is at her parents' place"),
        ("The tickets cost 40 each.", "The tickets cost 40 each", "The tickets cost 40"),
        ("At least 20 people came.", "20 people came", "20 people came"),
    ],
    "name beside its words": [
        (
            "I was born in Cork and raised in Limerick.",
            "I was born in Cork and raised in Limerick",
            "Was born in Limerick",
        )
    ],
    "offer": [("They offered me the job at Acme.", "the job at Acme", "Has a job at Acme")],
    "owner": [("I parked Jo's Volvo in our driveway.", "Volvo in our driveway", "Owns a Volvo")],
    "part": [
        ("We replaced 6 of 40 disks.", "We replaced 6 of 40 disks", "Replaced 40 disks"),
        ("Half the team works remotely.", "team works remotely", "The team works remotely"),
    ],
    "qualified noun": [
        ("I'm acting CEO for now.", "acting CEO", "Is CEO"),
        ("My visa application is with them.", "visa application", "Has a visa"),
        ("I'm training to be a nurse.", "to be a nurse", "Is a nurse"),
    ],
    "report": [
        (
            "The vendor claims their uptime is 99.99%.",
            "their uptime is 99.99%",
            "The vendor's uptime is 99.99%",
            "",
            "claim",
        ),
        ("I was told I have asthma.", "I have asthma", "Has asthma"),
        ("Word is the depot closes.", "the depot closes", "The depot closes"),
    ],
    "somebody else's task": [("Ivy will book the venue.", "book the venue", "Book the venue", "", "task")],
    "vague wish": [("Someday I'd love to learn Greek.", "learn Greek", "Learn Greek", "", "task")],
}
LET_IN: dict[str, list[Row]] = {
    "a word that is one": [("My locker word is zephyr.", "My locker word is zephyr", "Her locker word is zephyr")],
    "compound": [("I'm part time.", "I'm part time", "Is part-time")],
    "context": [
        (
            "I applied to the Malmö programme. No answer from it yet.",
            "No answer from it yet",
            "Has no answer from the programme yet",
        )
    ],
    "cited by somebody": [("My sister Ana is a vegetarian.", "Ana is a vegetarian", "Ana is a vegetarian", "Ana")],
    "dates in passing": [
        ("I moved here in february.", "I moved here in february", "Moved in February 2026"),
        ("I work Mon–Wed.", "I work Mon–Wed", "Works Monday to Wednesday"),
        ("My shift starts at 10 in the evening.", "My shift starts at 10 in the evening", "Shift starts at 22:00"),
    ],
    "done to the speaker kept": [
        ("The KPIs surprised us.", "The KPIs surprised us", "The KPIs surprised us", "", "line")
    ],
    "exception kept": [
        ("I eat everything except natto.", "I eat everything except natto", "Eats everything but natto")
    ],
    "figures in passing": [
        ("I sold it for 94 quid.", "I sold it for 94 quid", "Sold it for £94"),
        (
            "I take it half an hour before lunch.",
            "I take it half an hour before lunch",
            "Takes it 30 minutes before lunch",
        ),
        ("We call every other Thursday.", "We call every other Thursday", "Calls every two weeks"),
    ],
    "irregular form": [
        ("We did the first swim of the year.", "We did the first swim of the year", "Swam first this year")
    ],
    "light verb": [
        ("My sister Ana is still in Denver.", "My sister Ana is still in Denver", "Ana lives in Denver", "Ana")
    ],
    "limit kept": [("I only drink wine at weddings.", "I only drink wine at weddings", "Only drinks wine at weddings")],
    "past told": [("The pilot was my decision.", "The pilot was my decision", "Dana decided on the pilot", "", "line")],
    "phrase": [("My mother passed away in May.", "My mother passed away in May", "Her mother died in May")],
    "reworded": [
        (
            "This always mixes up lazy and greedy matches.",
            "always mixes up lazy and greedy matches",
            "Always confuses lazy and greedy matches",
        )
    ],
    "subject named": [
        (
            "My son isn't at Crestview any longer, he's been homeschooled since June.",
            "My son isn't at Crestview any longer, he's been homeschooled since June",
            "Her son has been homeschooled since June",
        )
    ],
}


def _fault(row: Row) -> str | None:
    message, quote, statement, *rest = row
    entity, kind = (*rest, *("", "fact")[len(rest) :])
    passage = Passage(message_id="msg_1", text=message, who="dana", role=Role.USER, at=AT)
    quotation = find_quote(quote, [passage])
    assert quotation is not None
    subject = StatementSubject(speaker=("dana",), entity=entity or None)
    return support_fault(statement, [quotation], StatementKind(kind), subject)


def _rows(table: dict[str, list[Row]]) -> list[object]:
    return [pytest.param(row, id=f"{rule}: {row[2]}") for rule, rows in table.items() for row in rows]


@pytest.mark.parametrize("row", _rows(REFUSED))
def test_what_the_quote_does_not_say_is_refused(row: Row) -> None:
    assert _fault(row) is not None


@pytest.mark.parametrize("row", _rows(LET_IN))
def test_what_the_quote_says_in_other_words_is_let_in(row: Row) -> None:
    assert _fault(row) is None


@pytest.mark.parametrize(
    ("record", "statement", "supported"),
    [
        ('{"service":"billing","replicas":{"desired":3,"ready":2}}', "Billing wants 2 replicas and 3 are ready", False),
        ('{"service":"billing","replicas":{"desired":3,"ready":2}}', "Billing has 2 ready replicas of 3 desired", True),
        ('{"invoice":"INV-12","paid":false}', "Invoice INV-12 is paid", False),
        ('{"invoice":"INV-12","paid":false}', "Invoice INV-12 is not paid", True),
        ('{"results":[],"query":"hotel"}', "The query for a hotel returned no results", True),
        ("| sku | price | stock |\n| lamp | 40 | 3 |\n| desk | 210 | 1 |", "The desk has a price of 40", False),
        ("| sku | price | stock |\n| lamp | 40 | 3 |\n| desk | 210 | 1 |", "The desk has a price of 210", True),
        ("assignee: Petra Hahn, reviewer: Luis Ortega", "The assignee is Luis Ortega", False),
        ("assignee: Petra Hahn, reviewer: Luis Ortega", "The reviewer is Luis Ortega", True),
    ],
)
def test_a_value_of_a_record_belongs_to_its_key_and_row(record: str, statement: str, *, supported: bool) -> None:
    passage = Passage(message_id="msg_1", text=record, who="dana", role=Role.TOOL, at=AT)
    whole = Quotation(passage=passage, start=0, end=len(record))
    fault = support_fault(statement, [whole], StatementKind.CLAIM, StatementSubject(speaker=("dana",)))
    assert (fault is None) == supported


@pytest.mark.parametrize(
    ("message", "topic", "done", "is_over"),
    [
        ("The trip to Rome is cancelled.", "Book the trip to Rome", True, False),
        ("The gym thing is still on.", "Go to the gym", False, False),
        ("I'm skipping the gym this week.", "Go to the gym", False, False),
        ("I sent the contract to legal.", "Get the contract signed", True, False),
        ("Started on the tax return.", "Do the tax return", True, False),
        ("I answered two of the eleven emails.", "Answer all eleven emails", True, False),
        ("It rained all day.", "Pay the electricity bill", True, False),
        ("Leila handed in her essay.", "Hand in the essay", True, False),
        ("I will not stop the kanji.", "Practise kanji", False, False),
        ("Flight's booked.", "Book the flight", True, True),
        ("Done with the taxes!", "File the taxes", True, True),
        ("We're not doing the audit.", "Run the audit", False, True),
    ],
)
def test_a_todo_is_over_only_as_a_whole_and_for_good(message: str, topic: str, *, done: bool, is_over: bool) -> None:
    passage = Passage(message_id="msg_1", text=message, who="dana", role=Role.USER, at=AT)
    quotation = find_quote(message, [passage])
    assert quotation is not None
    assert (ending_fault(quotation, topic, done=done) is None) == is_over
