"""The rules by which `mnemon eval` scores what was kept of a turn."""

from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemon.cli.evaluation.labels import Label, LabelKind, LabelledTurn
from mnemon.cli.evaluation.report import report_json, report_rows
from mnemon.cli.evaluation.scoring import (
    Holdings,
    KeptEvidence,
    KeptFact,
    KeptTodo,
    Score,
    TurnCost,
    score_turn,
    share,
    tells,
)

FREE = TurnCost(
    done=True, parked=False, rejected=0, repaired=0, calls=1, input_tokens=0, output_tokens=0, cached_tokens=0,
    seconds=0.0,
)  # fmt: skip


def label(kind: LabelKind, about: str, words: str) -> Label:
    return Label(
        kind=kind,
        about=tuple(filter(None, about.split("/"))),
        words=tuple(tuple(one.strip().split("/")) for one in words.split(",")),
    )


def fact(content: str, entity: str | None = None, *, kind: str = "person", private: bool = False) -> KeptFact:
    entity_type = "person" if entity is None else kind
    return KeptFact(id=content, content=content, entity=entity, entity_type=entity_type, private=private)


def turn(*labels: Label, follows: bool = False) -> LabelledTurn:
    return LabelledTurn(line=1, says="", reply="", tool_results=(), labels=labels, follows=follows)


def scored(given_turn: LabelledTurn, before: Holdings, after: Holdings, *sources: str) -> Score:
    return score_turn(given_turn, before, after, FREE, sources)


OSLO = label(LabelKind.FACT, "self", "Oslo")


@pytest.mark.parametrize(
    ("memory", "wanted", "expected"),
    [
        (fact("Lives in Oslo"), OSLO, True),
        (fact("lives in OSLO, near the harbour"), OSLO, True),
        (fact("Lives in Bergen"), OSLO, False),
        (fact("Does not live in Oslo"), OSLO, False),
        (fact("Used to live in Oslo"), OSLO, False),
        (fact("Doesn’t live in Oslo"), OSLO, False),
        (fact("Lives in Oslo, has no car"), OSLO, True),
        (fact("Does not drive, lives in Oslo"), OSLO, True),
        (fact("Lives in Oslo", "Ingrid"), OSLO, False),
        (fact("Lives in Oslo", "Oslo", kind="place"), OSLO, True),
        (fact("Lives in Oslo", "Ingrid"), label(LabelKind.FACT, "Ingrid", "Oslo"), True),
        (fact("Ingrid lives in Oslo"), label(LabelKind.FACT, "Ingrid", "Oslo"), True),
        (fact("Lives in Oslo"), label(LabelKind.FACT, "Ingrid", "Oslo"), False),
        (fact("Is a nurse"), label(LabelKind.FACT, "self", "nurs"), True),
        (fact("Is a nurse"), label(LabelKind.FACT, "self", "urse"), False),
        (fact("Has 41 clients"), label(LabelKind.FACT, "self", "41"), True),
        (fact("Has 410 clients"), label(LabelKind.FACT, "self", "41"), False),
        (fact("Has 141 clients"), label(LabelKind.FACT, "self", "41"), False),
        (fact("Pays 38,000 euros"), label(LabelKind.FACT, "self", "38"), True),
        (fact("Is vegetarian and works nights"), label(LabelKind.FACT, "self", "night, vegetarian"), True),
        (fact("Is vegetarian"), label(LabelKind.FACT, "self", "night, vegetarian"), False),
        (fact("Does not eat pork"), label(LabelKind.DENIED, "self", "pork"), True),
        (fact("Is allergic to pork"), label(LabelKind.DENIED, "self", "pork"), True),
        (fact("Eats pork"), label(LabelKind.DENIED, "self", "pork"), False),
        (fact("Never in Oslo"), label(LabelKind.OPTIONAL, "self", "Oslo"), True),
        (fact("Revenue is 4 million", "Acme", kind="project"), label(LabelKind.FACT, "project", "4"), True),
    ],
)
def test_a_memory_tells_a_label_or_does_not(memory: KeptFact, wanted: Label, expected: bool) -> None:
    assert tells(memory, wanted) is expected


def test_right_memories_junk_and_missed_facts_are_counted() -> None:
    wanted = turn(OSLO, label(LabelKind.FACT, "self", "vet"), label(LabelKind.OPTIONAL, "self", "rain"))
    after = Holdings(facts=(fact("Lives in Oslo"), fact("Likes rain"), fact("Owns a boat")))
    score = scored(wanted, Holdings(), after)
    assert (score.told, score.found, score.kept, score.right, score.junk) == (2, 1, 2, 1, 1)
    assert (score.precision, score.recall) == (0.5, 0.5)
    assert (score.followed, scored(replace(wanted, follows=True), Holdings(), after).followed) == (0, 2)


def test_what_was_held_before_is_found_but_not_counted_again() -> None:
    held = Holdings(facts=(fact("Lives in Oslo"), fact("Owns a boat")))
    score = scored(turn(OSLO), held, held)
    assert (score.found, score.kept, score.junk, score.precision) == (1, 0, 0, None)


def test_a_trap_is_clean_only_if_nothing_was_kept_of_it() -> None:
    todo = KeptTodo(id="t", kind="thread", content="Call", open=True)
    for kept, clean in ((Holdings(), 1), (Holdings(facts=(fact("Is tall"),)), 0), (Holdings(todos=(todo,)), 0)):
        score = scored(turn(), Holdings(), kept)
        assert (score.traps, score.traps_clean, score.junk) == (1, clean, 1 - clean)


def test_what_ended_stands_as_long_as_a_current_memory_says_it() -> None:
    ended = turn(label(LabelKind.ENDED, "self", "Oslo"))
    held = Holdings(facts=(fact("Lives in Oslo"),))
    assert (scored(ended, held, held).ended, scored(ended, held, held).standing) == (1, 1)
    moved = Holdings(facts=(fact("Does not live in Oslo any more"),))
    assert (scored(ended, held, moved).standing, scored(ended, held, moved).junk) == (0, 0)
    assert scored(ended, Holdings(), held).ended == 0, "it was never held"


def test_a_confidence_is_leaked_if_everyone_can_see_it() -> None:
    secret = turn(label(LabelKind.PRIVATE, "self", "lung"))
    for private in (True, False):
        score = scored(secret, Holdings(), Holdings(facts=(fact("Has a shadow on the lung", private=private),)))
        assert (score.found, score.private, score.leaked) == (1, 1, int(not private))


def test_todos_are_opened_and_closed() -> None:
    call = KeptTodo(id="t1", kind="commitment", content="Call the bank", open=True)
    swim = KeptTodo(id="t2", kind="habit", content="Swim", open=True)
    wanted = turn(label(LabelKind.OPENED, "commitment/thread", "bank"), label(LabelKind.OPTIONAL_TODO, "", "swim"))
    opened = scored(wanted, Holdings(), Holdings(todos=(call, swim)))
    assert (opened.todos_told, opened.todos_found, opened.todos_kept, opened.todos_right) == (1, 1, 1, 1)
    assert scored(wanted, Holdings(), Holdings(todos=(replace(call, kind="habit"),))).todos_found == 0
    over = turn(label(LabelKind.CLOSED, "", "bank"))
    done = scored(over, Holdings(todos=(call,)), Holdings(todos=(replace(call, open=False),)))
    assert (done.closings, done.closed, done.junk) == (1, 1, 0)
    assert scored(over, Holdings(todos=(call,)), Holdings(todos=(call,))).closed == 0
    assert scored(over, Holdings(), Holdings()).closings == 0, "nothing was open"


def test_evidence_counts_with_its_stance_only() -> None:
    line = KeptEvidence(id="e", stance="supports", line="Brokers say that letters are late.")
    for stance, found in (("supports", 1), ("contradicts", 0)):
        wanted = turn(label(LabelKind.EVIDENCE, stance, "letters"), label(LabelKind.UNKNOWN, "", "price"))
        score = scored(wanted, Holdings(), Holdings(evidence=(line,), unknowns=("Is it the price?",)))
        assert (score.evidence_told, score.evidence_found, score.unknowns_found) == (1, found, 1)


def test_a_figure_that_nobody_said_is_counted() -> None:
    after = Holdings(facts=(fact("Earns 250,000 euros"), fact("Has 23 students")))
    assert scored(turn(), Holdings(), after, "I have twenty-three students").unsourced == 1


def test_scores_add_up_but_the_slowest_turn_stays_the_slowest() -> None:
    parts = [score_turn(turn(OSLO), Holdings(), Holdings(), replace(FREE, seconds=one), ()) for one in (2.0, 5.0, 1.0)]
    total = parts[0].plus(parts[1]).plus(parts[2])
    assert (total.turns, total.seconds, total.slowest, total.recall) == (3, 8.0, 5.0, 0.0)
    assert share(0, 0) is None


@given(st.lists(st.integers(0, 50), min_size=len(fields(Score)), max_size=len(fields(Score))))
def test_every_count_is_shown_and_nothing_divides_by_zero(counts: list[int]) -> None:
    score = Score(**dict(zip((one.name for one in fields(Score)), counts, strict=True)))
    rows = list(report_rows(score))
    assert len({name for name, _, _ in rows}) == len(rows)
    shown = report_json(score, model="m", calls="one")
    assert (shown["todosKept"], shown["junk"]) == (score.todos_kept, score.junk)
    assert len(shown) >= len(fields(Score))
