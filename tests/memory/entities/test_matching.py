"""How alike two names are, kind by kind, and what is made of it with what is known about their bearers."""

from typing import Any

import pytest

from mnemon.memory.entities.matching import (
    EntityCandidate,
    NameLikeness,
    PairJudgement,
    PairVerdict,
    judge_pair,
    name_likeness,
)
from mnemon.memory.entities.surroundings import EntityFact, Surroundings, SurroundingsFit
from mnemon.memory.fact import EntityType

OTHER, DOUBTFUL, ALIKE, PART, VARIANT, SAME = NameLikeness

NAMES = [
    # people
    ("person", "José García", "Jose Garcia", SAME, "accents"),
    ("person", "Dr. John Doe", "John Doe", SAME, "a title before a full name"),
    ("person", "Mr Doe", "Doe", PART, "a title before one word"),
    ("person", "Mr Doe", "Mrs Doe", OTHER, "titles of another gender"),
    ("person", "Mr Doe", "Mr Doe", SAME, "the same title"),
    ("person", "Mr John Doe", "Mrs John Doe", OTHER, "titles of another gender before a full name"),
    ("person", "John Doe Jr", "John Doe Sr", OTHER, "father and son"),
    ("person", "John Doe Jr", "John Doe Jr", SAME, "the same son"),
    ("person", "John Doe Jr", "John Doe", DOUBTFUL, "a generation on one side only"),
    ("person", "John Doe Jr", "Mary Poe", OTHER, "a generation does not make other names alike"),
    ("person", "Doe John", "John Doe", VARIANT, "the words the other way round"),
    ("person", "Doe Doe", "John Doe", OTHER, "a word twice is not the other word"),
    ("person", "John Doe", "Doe Doe", OTHER, "nor the other way round"),
    ("person", "Ann", "Bea", OTHER, "one other word"),
    ("person", "John Doe", "John Poe", OTHER, "one of two words is another"),
    ("person", "John Doe", "Mary Doe", OTHER, "the first of two words is another"),
    ("person", "John", "John Doe", PART, "a first name"),
    ("person", "Doe", "John Doe", PART, "a last name"),
    ("person", "Devin", "Devon Clark", OTHER, "a first name that is near"),
    ("person", "Katherine", "Catherine Jones", DOUBTFUL, "a first name in another spelling"),
    ("person", "Jones", "Mary Ann Johns", OTHER, "neither first nor last"),
    ("person", "Ann", "Mary Ann Jones", OTHER, "a middle name alone"),
    ("person", "J Doe", "John Doe", PART, "an initial"),
    ("person", "J D", "John Doe", OTHER, "two initials"),
    ("person", "J", "John", OTHER, "an initial alone"),
    ("person", "John A Doe", "John Doe", VARIANT, "a middle initial more"),
    ("person", "John Albert Doe", "John Doe", VARIANT, "a middle name more"),
    ("person", "John Albert Doe", "John Poe", OTHER, "a middle name more and another last name"),
    ("person", "Mary Ann Lee Jones", "Mary Ann Jones", VARIANT, "two middle names, one of them shared"),
    ("person", "Mary Ann Lee Jones", "Mary Sue Jones", OTHER, "two middle names, none of them shared"),
    ("person", "Mary Ann Lee Jones", "Mary Lee Jones", VARIANT, "two middle names, the last of them shared"),
    ("person", "Mary Ann Lee Jones", "Mary Mary Jones", OTHER, "a first name is no middle name"),
    ("person", "Mr Johndoe", "John Doe", PART, "a title before a name written as one word"),
    ("person", "Catherine Jones", "Katherine Jones", VARIANT, "one word in another spelling"),
    ("person", "Catherine Philips", "Katherine Phillips", DOUBTFUL, "two words in another spelling"),
    ("person", "Devin", "Devon", ALIKE, "another vowel"),
    ("person", "Devin Clark", "Devon Clarke", OTHER, "another vowel and another spelling"),
    ("person", "!!!", "John", OTHER, "no word at all"),
    ("person", "John", "…", OTHER, "no word at all on the other side"),
    ("person", "Müller", "Mueller", SAME, "an umlaut written out"),
    # organizations and projects
    ("org", "Acme Corp", "Acme", SAME, "a legal form"),
    ("org", "Acme-Soft", "Acme Soft", SAME, "a hyphen"),
    ("org", "Acme Soft", "AcmeSoft", SAME, "written as one word"),
    ("org", "Müllerbau", "Mueller Bau", SAME, "an umlaut written out, as one word"),
    ("org", "Acme 1", "Acme 2", OTHER, "another number"),
    ("org", "Acme 1", "Acme", OTHER, "a number on one side only"),
    ("org", "Acme 1", "Acme 1 Inc", SAME, "the same number"),
    ("person", "John R2 Doe", "John Doe", OTHER, "a number within a word on one side only"),
    ("org", "International Business Machines", "IBM", PART, "an acronym"),
    ("org", "IBM", "International Business Machines", PART, "an acronym first"),
    ("org", "Society for Industrial and Applied Mathematics", "SIAM", PART, "an acronym without the linking words"),
    ("org", "General Electric", "GE", OTHER, "an acronym of two letters"),
    ("org", "International Business Machines", "IBX", OTHER, "no acronym of it"),
    ("org", "Acme", "Acme Labs Berlin", OTHER, "a word more"),
    ("org", "Acme Labs", "Zenith Labs", OTHER, "one word is another"),
    ("org", "A Labs", "Acme Labs", OTHER, "an initial means nothing here"),
    ("org", "Catherine Bakery", "Katherine Bakery", VARIANT, "one word in another spelling"),
    ("project", "Kestrel App", "Kestrel", PART, "a word that only says the kind"),
    ("project", "Kestrel App", "Kestrel App", SAME, "the same kind"),
    ("project", "Project Kestrel", "Kestrel", SAME, "a word of form"),
    # places
    ("place", "Austin, Texas", "Austin, TX", SAME, "a region in short"),
    ("place", "Austin, Texas", "Austin", PART, "a region on one side only"),
    ("place", "Austin, Texas", "Austin, Ohio", OTHER, "another region"),
    ("place", "Austin", "Austin", SAME, "no region"),
    ("place", "United Arab Emirates", "UAE", PART, "an acronym"),
    ("place", "UAE", "United Arab Emirates", PART, "an acronym first"),
    ("place", "Pittsburgh", "Pittsburg", VARIANT, "another spelling of a long name"),
    ("place", "Pittsburgh, Ohio", "Pittsburg", OTHER, "another spelling and a region on one side"),
    ("place", "Pittsburgh, Ohio", "Pittsburg, Ohio", VARIANT, "another spelling in one region"),
    ("place", "Catania", "Katania", VARIANT, "another spelling of seven letters"),
    ("place", "Calais", "Kalais", OTHER, "another spelling of six letters"),
    ("place", "Calais", "Callais", OTHER, "another spelling of six and seven letters"),
    ("place", "Köthen", "Cöthen", OTHER, "another spelling of six letters, seven when written out"),
    ("place", "Pittsburgh North", "Pittsburg South", OTHER, "another spelling and another word"),
    ("place", "Leeds", "Leads", OTHER, "another spelling of a short name"),
    ("place", "Austin", "Boston", OTHER, "another place"),
    ("place", "Pittsburgh North", "Pittsburg", OTHER, "another spelling and a word more"),
]


@pytest.mark.parametrize(
    ("kind", "one", "two", "likeness"), [n[:4] for n in NAMES], ids=[f"{n[0]}: {n[4]}" for n in NAMES]
)
def test_names_are_this_much_alike(kind: str, one: str, two: str, likeness: NameLikeness) -> None:
    assert name_likeness(EntityType(kind), one, two) is likeness
    assert name_likeness(EntityType(kind), two, one) is likeness


def candidate(kind: str, label: str, *facts: str, turns: tuple[str, ...] = ()) -> EntityCandidate:
    surroundings = Surroundings(facts=tuple(EntityFact(content=fact) for fact in facts), turns=frozenset(turns))
    return EntityCandidate(key=f"{kind}:{label}", type=EntityType(kind), label=label, surroundings=surroundings)


def judged(one: str, two: str, *facts: str, kind: str = "person", turns: tuple[str, ...] = ()) -> PairJudgement:
    """The judgement of two of whom the same is known."""
    return judge_pair(candidate(kind, one, *facts, turns=turns), candidate(kind, two, *facts, turns=turns))


ONE, TWO = "paints", "paints boats"
ASKS = [
    # names, what both do, verdict, fit, score
    ("Acme", "Acme Corp", "", PairVerdict.MERGE, SurroundingsFit.NONE, 0.75),
    ("Acme", "Acme Corp", TWO, PairVerdict.MERGE, SurroundingsFit.STRONG, 1.0),
    ("Catherine Bakery", "Katherine Bakery", "", PairVerdict.SUGGEST, SurroundingsFit.NONE, 0.6),
    ("Catherine Bakery", "Katherine Bakery", ONE, PairVerdict.MERGE, SurroundingsFit.SHARED, 0.725),
    ("International Business Machines", "IBM", ONE, PairVerdict.SUGGEST, SurroundingsFit.SHARED, 0.575),
    ("International Business Machines", "IBM", TWO, PairVerdict.MERGE, SurroundingsFit.STRONG, 0.7),
    ("Devin Bakery", "Devon Bakery", TWO, PairVerdict.SUGGEST, SurroundingsFit.STRONG, 0.55),
    ("Catherine Phillips", "Katherine Philips", "", PairVerdict.APART, SurroundingsFit.NONE, 0.15),
    ("Catherine Phillips", "Katherine Philips", ONE, PairVerdict.SUGGEST, SurroundingsFit.SHARED, 0.275),
]


@pytest.mark.parametrize(("one", "two", "fact", "verdict", "fit", "score"), ASKS)
def test_how_alike_the_names_are_and_what_is_known_decide_together(
    one: str, two: str, fact: str, verdict: PairVerdict, fit: SurroundingsFit, score: float
) -> None:
    found = judged(one, two, *([fact] if fact else []), kind="org")
    assert (found.verdict, found.fit) == (verdict, fit)
    assert found.score == pytest.approx(score, abs=0.0011)


def test_two_names_for_one_turn_are_asked_about_however_alike() -> None:
    found = judged("Acme", "Acme Corp", TWO, kind="org", turns=("trn_1",))
    assert found.verdict is PairVerdict.SUGGEST
    assert found.reasons == ("the same name", "both with: boat, paint", "spoken of in one turn under both names")


def test_facts_that_clash_leave_the_same_name_to_a_person_and_part_the_rest() -> None:
    he, she = "He paints boats", "She paints boats"
    same = judge_pair(candidate("person", "Alex Doe", he), candidate("person", "Alex Doe", she))
    assert (same.verdict, same.fit, same.score) == (PairVerdict.SUGGEST, SurroundingsFit.CONFLICT, 0.75)
    assert same.reasons == ("the same name", "one is a he, the other a she")
    variant = judge_pair(candidate("person", "Catherine Doe", he), candidate("person", "Katherine Doe", she))
    assert (variant.verdict, variant.likeness) == (PairVerdict.APART, NameLikeness.VARIANT)


@pytest.mark.parametrize(
    ("one", "two", "says"),
    [
        ("Catherine Phillips", "Katherine Philips", "the names are alike, with a difference that matters"),
        ("Devin", "Devon", "the names may be one misheard"),
        ("John", "John Doe", "one name is part of the other"),
        ("Catherine Doe", "Katherine Doe", "the names sound or are spelt alike"),
        ("John Doe", "John Döe", "the same name"),
    ],
)
def test_the_reason_is_said_in_words(one: str, two: str, says: str) -> None:
    assert judged(one, two).reasons == (says,)


def test_at_most_five_shared_things_are_named() -> None:
    found = judged("John", "John Doe", "paints boats, kites, drums, masks, lamps, rugs")
    assert found.reasons[1].count(",") == 4


def test_what_stays_apart_says_why() -> None:
    nothing: dict[str, Any] = {
        "verdict": PairVerdict.APART,
        "likeness": NameLikeness.OTHER,
        "fit": SurroundingsFit.NONE,
        "score": 0.0,
    }
    assert judged("Ann", "Bea", TWO) == PairJudgement(**nothing, reasons=("different names",))
    other = judge_pair(candidate("person", "Acme"), candidate("org", "Acme"))
    assert other == PairJudgement(**nothing, reasons=("different kinds of entity",))
