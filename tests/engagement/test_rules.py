"""The engagement's rules one by one, each at its boundary: the fold, promotion, mending and the weeks' work."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from mnemon.engagement.document import MAX_FINDINGS, Engagement, Hypothesis, HypothesisStage, Unknown, UnknownAnswer
from mnemon.engagement.journal import (
    ContradictionSettled,
    EngagementDelta,
    EngagementEntry,
    EngagementOpened,
    EvidenceCollected,
    HypothesisArchived,
    HypothesisFormed,
    HypothesisPromoted,
    HypothesisReopened,
    HypothesisRestored,
    ResolutionNamed,
    UnknownAnswered,
    UnknownAsked,
    WeekAdvanced,
    apply_entry,
    fold_entries,
)
from mnemon.engagement.lifecycle import (
    confidence_of,
    format_source,
    is_promotable,
    is_proposed_for_archive,
    is_still_supported,
    may_resolve,
    outstanding_contradictions,
    resolution_text,
)
from mnemon.engagement.promotion import promotion_entries, reopening_entries
from mnemon.engagement.week import advance_veto, week_rules
from mnemon.evidence.confidence import EvidenceLine, Stance, Strength
from support.engaged import turn

START = datetime(2026, 4, 12, tzinfo=UTC)


def hour(number: float) -> datetime:
    return START + timedelta(hours=number)


def line(number: int = 1, stance: str = "supports", *, strength: str = "moderate", **more: Any) -> EvidenceLine:
    usual = {
        "id": f"evd_{number}",
        "line": "Said that the valves leak.",
        "quote": f"remark {number}",
        "source": "dana",
        "stance": Stance(stance),
        "strength": Strength(strength),
        "who": "dana",
        "at": hour(number),
        "turn_id": f"trn_{number}",
        "message_id": f"msg_{number}",
        "start": 0,
        "end": 8,
    }
    return EvidenceLine(**{**usual, **more})


def pair(number: int = 1, **more: Any) -> tuple[EvidenceLine, EvidenceLine]:
    """Support from two people."""
    return line(number, **more), line(number + 1, source="tom", who="tom", **more)


def hypothesis(
    number: int = 1, *evidence: EvidenceLine, stage: HypothesisStage = HypothesisStage.COLLECTING, **more: Any
) -> Hypothesis:
    usual = {
        "id": f"hyp_{number}",
        "statement": f"Valve {number} leaks",
        "falsified_by": "the logs",
        "formed_at": hour(number),
        "formed_in": "trn_1",
        "stage": stage,
        "evidence": evidence,
    }
    return Hypothesis(**{**usual, **more})


def unknown(number: int, *, answered: bool = False) -> Unknown:
    return Unknown(
        id=f"unk_{number}",
        question=f"Question {number}?",
        why_it_matters="It decides.",
        asked_at=hour(number),
        answer=ANSWER if answered else None,
    )


ANSWER = UnknownAnswer(quote="Tom", who="dana", at=hour(9), turn_id="trn_9", message_id="msg_9", start=0, end=3)


def entry(delta: EngagementDelta, *, at: float = 50, turn_id: str | None = "trn_50") -> EngagementEntry:
    return EngagementEntry(seq=1, at=hour(at), turn_id=turn_id, user_id="usr", who="dana", reason="so", delta=delta)


def after(document: Engagement | None, delta: EngagementDelta, **more: Any) -> Engagement:
    return apply_entry(document, entry(delta, **more))


def test_every_entry_counts_as_a_change_of_the_week_until_it_advances() -> None:
    opened = after(None, EngagementOpened())
    assert opened == Engagement(changed_in_week=1)
    assert after(opened, ResolutionNamed(hypothesis="hyp_none", text="x")) == Engagement(changed_in_week=2)
    assert after(opened, WeekAdvanced(week=4)) == Engagement(week=4, week_at=hour(50), week_turn="trn_50")
    assert fold_entries([]) is None
    assert fold_entries([entry(EngagementOpened()), entry(EngagementOpened())]) == Engagement(changed_in_week=2)


def test_a_claim_is_formed_once_and_knows_its_turn() -> None:
    formed = HypothesisFormed(hypothesis="hyp_1", statement="Claim", falsified_by="the logs")
    (held,) = after(None, formed).hypotheses
    assert held == Hypothesis(
        id="hyp_1", statement="Claim", falsified_by="the logs", formed_at=hour(50), formed_in="trn_50"
    )
    assert after(None, formed, turn_id=None).hypotheses[0].formed_in == ""
    again = after(Engagement(hypotheses=(held,)), replace(formed, statement="Another"))
    assert again.hypotheses == (held,)


def test_a_question_is_asked_once_and_answered_once() -> None:
    wondered = UnknownAsked(unknown="unk_1", question="Question 1?", why_it_matters="It decides.")
    asked = after(None, wondered, at=1)
    assert asked.unknowns == (unknown(1),)
    assert after(asked, replace(wondered, question="Another?")).unknowns == (unknown(1),)
    both = replace(asked, unknowns=(unknown(1), unknown(2)))
    answered = after(both, UnknownAnswered(unknown="unk_1", answer=ANSWER))
    assert answered.unknowns == (unknown(1, answered=True), unknown(2))
    other = replace(ANSWER, quote="Ann")
    assert after(answered, UnknownAnswered(unknown="unk_1", answer=other)).unknowns == answered.unknowns


def test_an_archived_claim_comes_back_at_the_stage_of_its_evidence() -> None:
    restored = HypothesisRestored(hypothesis="hyp_1")
    for evidence, stage in (
        ((), HypothesisStage.COLLECTING),
        (pair(), HypothesisStage.COLLECTING),
        ((line(1), line(2, "contradicts")), HypothesisStage.REVISING),
    ):
        archived = hypothesis(1, *evidence, stage=HypothesisStage.ARCHIVED, note="Given up.", archived_at=hour(9))
        (back,) = after(Engagement(hypotheses=(archived,)), restored).hypotheses
        assert back == hypothesis(1, *evidence, stage=stage)
    assert after(Engagement(hypotheses=(hypothesis(1),)), restored).hypotheses == (hypothesis(1),)


def test_a_contradiction_that_a_person_settled_is_not_outstanding() -> None:
    doubted = hypothesis(1, line(1), line(2, "contradicts"), stage=HypothesisStage.REVISING)
    settled = ContradictionSettled(hypothesis="hyp_1", evidence="evd_2", note="An old log.")
    (held,) = after(Engagement(hypotheses=(doubted,)), settled).hypotheses
    assert held == replace(
        doubted,
        evidence=(line(1), line(2, "contradicts", settled_note="An old log.")),
        stage=HypothesisStage.COLLECTING,
    )
    assert outstanding_contradictions(held.evidence) == ()
    other = ContradictionSettled(hypothesis="hyp_1", evidence="evd_1", note="No contradiction.")
    assert after(Engagement(hypotheses=(doubted,)), other).hypotheses == (doubted,)


def test_a_change_touches_its_own_hypothesis_only() -> None:
    first, second = hypothesis(1), hypothesis(2)
    both = Engagement(hypotheses=(first, second))
    named = after(both, ResolutionNamed(hypothesis="hyp_2", text="a survey")).hypotheses
    assert named == (first, replace(second, would_resolve="a survey", would_resolve_at=hour(50)))
    gone = after(both, HypothesisArchived(hypothesis="hyp_1", note="Given up.")).hypotheses
    assert gone == (replace(first, stage=HypothesisStage.ARCHIVED, note="Given up.", archived_at=hour(50)), second)
    archived = replace(both, hypotheses=gone)
    assert after(archived, HypothesisArchived(hypothesis="hyp_1", note="Again.")).hypotheses == gone


def test_a_promotion_keeps_its_threshold_and_a_reopening_counts() -> None:
    held = Engagement(hypotheses=(hypothesis(1, line(1)),))
    promoted = after(held, HypothesisPromoted(hypothesis="hyp_1", threshold=0.7))
    (finding,) = promoted.hypotheses
    assert (finding.stage, finding.promoted_at, finding.threshold) == (HypothesisStage.FINDING, hour(50), 0.7)
    assert after(promoted, HypothesisPromoted(hypothesis="hyp_1", threshold=0.9)).hypotheses == (finding,)
    (reopened,) = after(promoted, HypothesisReopened(hypothesis="hyp_1")).hypotheses
    assert (reopened.stage, reopened.reopened, reopened.promoted_at) == (HypothesisStage.COLLECTING, 1, hour(50))
    assert after(held, HypothesisReopened(hypothesis="hyp_1")).hypotheses == held.hypotheses
    doubted = Engagement(hypotheses=(replace(finding, evidence=(line(1), line(2, "contradicts"))),))
    assert after(doubted, HypothesisReopened(hypothesis="hyp_1")).hypotheses[0].stage is HypothesisStage.REVISING


def test_evidence_lands_once_and_a_finding_stays_one_until_it_is_reopened() -> None:
    held = Engagement(hypotheses=(hypothesis(1, stage=HypothesisStage.FORMED),))
    collected = after(held, EvidenceCollected(hypothesis="hyp_1", evidence=line(1)))
    assert collected.hypotheses == (hypothesis(1, line(1)),)
    again = after(collected, EvidenceCollected(hypothesis="hyp_1", evidence=line(1, "contradicts")))
    assert again.hypotheses == collected.hypotheses
    against = after(collected, EvidenceCollected(hypothesis="hyp_1", evidence=line(2, "contradicts")))
    assert against.hypotheses[0].stage is HypothesisStage.REVISING
    finding = Engagement(hypotheses=(hypothesis(1, line(1), stage=HypothesisStage.FINDING),))
    doubted = after(finding, EvidenceCollected(hypothesis="hyp_1", evidence=line(2, "contradicts"))).hypotheses[0]
    assert (doubted.stage, len(doubted.evidence)) == (HypothesisStage.FINDING, 2)


def test_the_document_shows_the_last_forty_that_are_archived_and_the_last_forty_answered() -> None:
    archived = tuple(
        hypothesis(n, stage=HypothesisStage.ARCHIVED, archived_at=hour(200 - n), formed_at=hour(n)) for n in range(40)
    )
    open_, asked = hypothesis(90), unknown(90)
    answered = tuple(unknown(n, answered=True) for n in range(40))
    full = Engagement(hypotheses=(*archived, open_), unknowns=(*answered, asked))
    touch = ResolutionNamed(hypothesis="hyp_90", text="x")
    assert [len(after(full, touch).archived_hypotheses), len(after(full, touch).answered)] == [40, 40]
    one_more = after(full, HypothesisArchived(hypothesis="hyp_90", note="x"), at=300)
    assert [each.id for each in one_more.hypotheses] == [each.id for each in (*archived[:39], open_)]
    assert len(one_more.unknowns) == 41
    closed = after(full, UnknownAnswered(unknown="unk_90", answer=ANSWER))
    assert [each.id for each in closed.unknowns] == [each.id for each in (*answered[1:], asked)]
    assert len(closed.hypotheses) == 41


def test_what_was_archived_without_a_date_counts_from_its_forming() -> None:
    undated = hypothesis(0, stage=HypothesisStage.ARCHIVED, archived_at=None, formed_at=hour(500))
    archived = tuple(hypothesis(n, stage=HypothesisStage.ARCHIVED, archived_at=hour(n)) for n in range(1, 40))
    full = Engagement(hypotheses=(undated, *archived, hypothesis(90)))
    kept = after(full, HypothesisArchived(hypothesis="hyp_90", note="x"), at=300)
    assert {each.id for each in full.hypotheses} - {each.id for each in kept.hypotheses} == {"hyp_1"}


def test_a_contradiction_is_outstanding_until_support_resolves_it() -> None:
    against = line(1, "contradicts")
    assert outstanding_contradictions((against, line(2))) == (against,)
    assert outstanding_contradictions((against, line(2, resolves=("evd_1",)))) == ()
    assert outstanding_contradictions((against, line(2, "contradicts", resolves=("evd_1",)))) == (
        against,
        line(2, "contradicts", resolves=("evd_1",)),
    )
    assert outstanding_contradictions((line(2, resolves=("evd_2",)),)) == ()


def test_the_promotion_gate_wants_more_than_the_threshold_and_nothing_against_it() -> None:
    ready = hypothesis(1, *pair())
    level = confidence_of(ready)
    assert is_promotable(ready, level - 0.01)
    assert not is_promotable(ready, level)
    assert not is_promotable(replace(ready, stage=HypothesisStage.FORMED), 0.0)
    against = (*pair(), line(3, "contradicts"))
    assert not is_promotable(replace(ready, evidence=against), 0.0)
    finding = replace(ready, stage=HypothesisStage.FINDING, threshold=level - 0.01)
    assert is_still_supported(finding)
    assert not is_still_supported(replace(finding, threshold=level))
    assert not is_still_supported(replace(finding, threshold=0.0, evidence=against))


ONE_TURN: dict[str, Any] = {"turn_id": "trn_1", "message_id": "msg_1"}


@pytest.mark.parametrize(
    ("why", "evidence", "ready"),
    [
        ("one piece", (line(1),), False),
        ("one person twice in a day", (line(1), line(2)), False),
        ("one person on two days", (line(1), line(30)), True),
        ("one turn that lasts past midnight", (line(1, turn_id="t"), line(30, turn_id="t")), False),
        ("two people", pair(), True),
        ("two people in one turn", (line(1, **ONE_TURN), line(2, source="tom", who="tom", **ONE_TURN)), True),
        (
            "a second person as told by the first",
            (line(1), line(2, source="Tom, as told by dana", source_key="person:tom", teller="speaker:dana")),
            False,
        ),
        (
            "one person's words through another and by themselves",
            (
                line(1, source="Tom Zander, as told by dana", source_key="person:tom zander", teller="speaker:dana"),
                line(2, source="tom", who="tom", source_key="speaker:tom", teller="speaker:tom"),
            ),
            False,
        ),
        ("a tool beside the person", (line(1), line(2, source_key="tool:search", teller="tool:search")), True),
        ("a third piece on another day that weighs nothing", (line(1), line(2), line(30, strength="weak")), False),
    ],
)
def test_promotion_wants_two_independent_sources_or_two_days(
    why: str, evidence: tuple[EvidenceLine, ...], ready: bool
) -> None:
    assert is_promotable(hypothesis(1, *evidence), 0.55) is ready


def test_a_claim_becomes_no_finding_that_its_evidence_does_not_speak_of() -> None:
    met: dict[str, Any] = {"line": "Dana met the team.", "quote": "met the team"}
    fraud = hypothesis(1, *pair(strength="strong", **met), statement="The team is committing fraud.")
    assert confidence_of(fraud) > 0.9
    assert not is_promotable(fraud, 0.85)
    assert is_promotable(replace(fraud, statement="Dana met the team."), 0.85)


def test_a_contradiction_is_resolved_by_its_own_source_or_by_later_evidence_as_strong() -> None:
    against = line(5, "contradicts", strength="moderate", source="tom", who="tom")
    assert may_resolve(line(6, strength="weak", source="tom", who="tom"), against)
    assert may_resolve(line(6, strength="moderate"), against)
    assert may_resolve(line(6, strength="strong"), against)
    assert not may_resolve(line(6, strength="weak"), against)
    assert not may_resolve(line(4, strength="strong"), against)
    assert not may_resolve(line(6, strength="strong", turn_id=against.turn_id), against)


def test_little_confidence_proposes_an_open_claim_for_archive() -> None:
    doubts = [line(n, "contradicts", strength="strong", source=f"p{n}", who=f"p{n}") for n in (1, 2)]
    assert confidence_of(hypothesis(1, *doubts)) < 0.15 < confidence_of(hypothesis(1, doubts[0]))
    assert is_proposed_for_archive(hypothesis(1, *doubts))
    assert not is_proposed_for_archive(hypothesis(1, doubts[0]))
    assert not is_proposed_for_archive(hypothesis(1, *doubts, stage=HypothesisStage.ARCHIVED))


def test_only_mixed_evidence_has_something_that_would_resolve_it() -> None:
    assert resolution_text(hypothesis(1, line(1))) is None
    assert resolution_text(hypothesis(1, line(1, "contradicts"))) is None
    mixed = hypothesis(1, line(1), line(2, "contradicts"))
    assert resolution_text(mixed) == "the logs"
    assert resolution_text(replace(mixed, would_resolve="a survey")) == "a survey"


def test_a_finding_names_its_strongest_support_and_the_latest_of_equals() -> None:
    against = line(9, "contradicts", strength="strong", source="zoe")
    weak, old, new = line(8, strength="weak", source="wes"), line(1, source="old"), line(30, source="new")
    assert format_source(hypothesis(1, new, weak, old, against)) == "new, 2026-04-13"
    assert format_source(hypothesis(1, against)) == ""


def test_a_finding_is_dated_by_the_day_that_its_source_names() -> None:
    told = line(200, source="Diane, as told by dana", source_key="person:diane", event_date=date(2026, 4, 12))
    assert format_source(hypothesis(1, told)) == "Diane, as told by dana, 2026-04-12"


def test_what_is_ready_is_promoted_in_order_by_this_turn() -> None:
    said = turn("so it is", number=5, at=hour(10))
    early, late = hypothesis(1, *pair(1)), hypothesis(2, line(30), line(3, source="tom", who="tom"))
    entries, withheld = promotion_entries(Engagement(hypotheses=(hypothesis(3), early, late)), 0.55, said, 7)
    assert withheld == []
    assert [(one.seq, one.at, one.delta) for one in entries] == [
        (8, hour(10), HypothesisPromoted(hypothesis="hyp_1", threshold=0.55)),
        (9, hour(30), HypothesisPromoted(hypothesis="hyp_2", threshold=0.55)),
    ]
    assert {(one.turn_id, one.user_id, one.who) for one in entries} == {(said.id, said.scope.user_id, "dana")}
    assert entries[0].reason == (
        "confidence 0.77, above 0.55, from independent sources, and no contradiction outstanding"
    )


@pytest.mark.parametrize(("findings", "promoted"), [(0, 3), (MAX_FINDINGS - 1, 1), (MAX_FINDINGS, 0), (61, 0)])
def test_what_finds_no_room_is_withheld(findings: int, promoted: int) -> None:
    held = tuple(hypothesis(100 + n, *pair(n), stage=HypothesisStage.FINDING) for n in range(findings))
    ready = tuple(hypothesis(n, *pair(n)) for n in (1, 2, 3))
    entries, withheld = promotion_entries(Engagement(hypotheses=(*held, *ready)), 0.5, turn("x", at=hour(9)), 0)
    assert [one.delta for one in entries] == [
        HypothesisPromoted(hypothesis=each.id, threshold=0.5) for each in ready[:promoted]
    ]
    assert withheld == [each.statement for each in ready[promoted:]]


def test_findings_that_lost_their_ground_are_reopened_and_others_are_not() -> None:
    firm, bare = hypothesis(1, *pair(), stage=HypothesisStage.FINDING), hypothesis(2, stage=HypothesisStage.FINDING)
    untouched = replace(bare, id="hyp_5")
    entries = reopening_entries(
        Engagement(hypotheses=(firm, bare, hypothesis(3), replace(bare, id="hyp_4"), untouched)),
        hour(60),
        7,
        {"hyp_1", "hyp_2", "hyp_3", "hyp_4"},
    )
    assert [(one.seq, one.at, one.who, one.turn_id, one.user_id, one.delta) for one in entries] == [
        (8, hour(60), "mnemon", None, None, HypothesisReopened(hypothesis="hyp_2")),
        (9, hour(60), "mnemon", None, None, HypothesisReopened(hypothesis="hyp_4")),
    ]


ARCHIVED = hypothesis(7, stage=HypothesisStage.ARCHIVED)


@pytest.mark.parametrize(
    ("number", "heard", "done", "document"),
    [
        (1, 3, True, Engagement(unknowns=(unknown(1),))),
        (1, 3, True, Engagement(hypotheses=(hypothesis(1),))),
        (1, 2, False, Engagement(unknowns=(unknown(1),))),
        (1, 3, False, Engagement()),
        (2, 9, True, Engagement(hypotheses=(hypothesis(1), hypothesis(2, line(1))))),
        (2, 9, False, Engagement(hypotheses=(hypothesis(1),))),
        (3, 9, True, Engagement(hypotheses=(hypothesis(1, line(1)), hypothesis(2, line(2))))),
        (3, 9, False, Engagement(hypotheses=(hypothesis(1, line(1)), hypothesis(2)))),
        (4, 9, True, Engagement(hypotheses=(hypothesis(1), ARCHIVED), changed_in_week=1)),
        (4, 9, True, Engagement(hypotheses=(replace(ARCHIVED, stage=HypothesisStage.FINDING),), changed_in_week=1)),
        (4, 9, True, Engagement(hypotheses=(hypothesis(1),), unknowns=(unknown(1, answered=True),), changed_in_week=1)),
        (4, 9, False, Engagement(hypotheses=(ARCHIVED,), changed_in_week=0)),
        (4, 9, False, Engagement(hypotheses=(hypothesis(1),), unknowns=(unknown(1),), changed_in_week=1)),
        (4, 9, False, Engagement(changed_in_week=1)),
        (6, 9, False, Engagement(changed_in_week=1)),
    ],
)
def test_a_week_ends_when_its_own_work_is_done(number: int, heard: int, done: bool, document: Engagement) -> None:
    found = advance_veto(replace(document, week=number), heard)
    if done:
        assert found is None
    else:
        assert found == f"week {number} ({week_rules(number).work}) is not done: it needs {week_rules(number).needs}"


def test_each_week_has_its_row_and_later_ones_are_synthesis() -> None:
    works = ["orientation", "hypothesis collection", "testing", "synthesis", "synthesis", "synthesis"]
    assert [week_rules(number).work for number in range(1, 7)] == works
