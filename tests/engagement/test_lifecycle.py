from datetime import timedelta
from typing import Any

import pytest

from mnemon.engagement.apply_proposal import ProposalOutcome
from mnemon.engagement.document import EXTRA_CONTRADICTIONS, MAX_EVIDENCE, MAX_OPEN, Hypothesis, HypothesisStage
from mnemon.engagement.journal import HypothesisArchived
from mnemon.engagement.lifecycle import (
    TRANSITIONS,
    HypothesisEvent,
    confidence_of,
    format_source,
    is_mixed,
    next_stage,
    resolution_text,
)
from mnemon.engagement.proposal_applier import EngagementRules
from mnemon.evidence.confidence import round_confidence
from mnemon.turn import Turn
from support.engaged import START, Room, claim, piece, turn


def only(room: Room) -> Hypothesis:
    (hypothesis,) = room.state.hypotheses
    return hypothesis


def whys(outcome: ProposalOutcome) -> list[str]:
    return [each.why for each in outcome.report.rejected]


@pytest.mark.parametrize("stage", list(HypothesisStage))
@pytest.mark.parametrize("event", list(HypothesisEvent))
def test_only_drawn_steps_exist(stage: HypothesisStage, event: HypothesisEvent) -> None:
    drawn = {
        ("formed", "collect"): "collecting",
        ("formed", "revise"): "revising",
        ("formed", "archive"): "archived",
        ("collecting", "collect"): "collecting",
        ("collecting", "revise"): "revising",
        ("collecting", "promote"): "finding",
        ("collecting", "archive"): "archived",
        ("revising", "collect"): "collecting",
        ("revising", "revise"): "revising",
        ("revising", "archive"): "archived",
        ("finding", "collect"): "finding",
        ("finding", "reopen"): "revising",
        ("archived", "restore"): "formed",
    }
    assert next_stage(stage, event) == drawn.get((stage.value, event.value))
    assert len(TRANSITIONS) == len(drawn)


def test_the_seeds_confidence() -> None:
    room = Room()
    room.say(
        "We lose time in the handoffs. Diane told me there is a gap in the handoffs.",
        form=[
            claim(
                "The handoffs cost us time",
                piece("We lose time in the handoffs"),
                piece("there is a gap in the handoffs", strength="weak", source="Diane"),
            )
        ],
    )
    assert [line.source for line in only(room).evidence] == ["dana", "Diane, as told by dana"]
    assert round_confidence(confidence_of(only(room))) == 0.72
    assert only(room).stage is HypothesisStage.COLLECTING


def test_no_hypothesis_before_enough_turns_and_then_one() -> None:
    room = Room(rules=EngagementRules())
    form = [claim("The gap costs us time", piece("there is a gap"))]
    said = "in the handoffs there is a gap"
    assert "1 of 3 user turns" in whys(room.say(said, form=form))[0]
    assert "2 of 3 user turns" in whys(room.say(said, form=form))[0]
    assert "2 of 3 user turns" in whys(room.say("Hello again, good morning!", form=form))[0]
    assert room.state.hypotheses == ()
    assert room.say(said, form=form).report.stored == 2


@pytest.mark.parametrize(
    "falsified_by", ["", "   ", "n/a", "None", "nothing", "nothing would", "it cannot be", "The gap costs us time."]
)
def test_a_claim_that_nothing_can_falsify_is_none(falsified_by: str) -> None:
    room = Room()
    outcome = room.say(
        "there is a gap", form=[claim("The gap costs us time", piece("there is a gap"), falsified_by=falsified_by)]
    )
    assert room.state.hypotheses == ()
    assert "falsifiedBy" in whys(outcome)[0]


def test_a_question_is_no_claim() -> None:
    room = Room()
    outcome = room.say("there is a gap", form=[claim("Is there a gap?", piece("there is a gap"))])
    assert "is not a claim" in whys(outcome)[0]


def test_evidence_needs_a_quote_that_stands_in_the_turn() -> None:
    room = Room()
    outcome = room.say("there is a gap", form=[claim("The gap costs us time", piece("there is a chasm"))])
    assert [why.split(":")[0] for why in whys(outcome)] == ["quote gate", "none of its evidence passed the gates"]
    assert room.state.hypotheses == ()


def test_a_figure_nobody_shared_keeps_a_line_out_and_is_reported() -> None:
    room = Room()
    outcome = room.say(
        "we lose $4.1M on handoffs",
        form=[
            claim(
                "Handoffs are the largest lever",
                piece("we lose $4.1M on handoffs", line="User cited $4.1M on handoffs."),
                piece("on handoffs", line="User cited $9M on handoffs.", source="tom"),
            )
        ],
    )
    assert [line.line for line in only(room).evidence] == ["User cited $4.1M on handoffs."]
    assert "“$9M”" in whys(outcome)[0]


@pytest.mark.parametrize(
    "parts",
    [
        {"form": [claim("Costs will fall by 30% soon", piece("there is a gap"))]},
        {"form": [claim("Costs will fall soon", piece("there is a gap"), falsified_by="they fall less than 30%")]},
        {"unknowns": [{"question": "Will it save $3M?", "whyItMatters": "It decides."}]},
        {"unknowns": [{"question": "Will it save money?", "whyItMatters": "It is worth $3M."}]},
        {"week": {"advance": True, "reason": "80% is done"}},
    ],
)
def test_every_text_passes_the_number_gate(parts: dict[str, Any]) -> None:
    room = Room()
    outcome = room.say("there is a gap", **parts)
    assert any("number gate" in why for why in whys(outcome))
    assert outcome.report.stored == 0


def test_the_same_piece_again_moves_nothing() -> None:
    room = Room()
    room.say("there is a gap", form=[claim("The gap costs us time", piece("there is a gap"))])
    before = only(room)
    again = room.say("as I said, there is a  gap", evidence=[piece("there is a gap", hypothesis=before.id)])
    assert only(room) == before
    assert (again.report.stored, again.report.skipped, again.entries) == (0, 1, ())


def test_forming_what_is_on_record_adds_its_evidence_to_it() -> None:
    room = Room()
    room.say("there is a gap", form=[claim("The gap costs us time", piece("there is a gap"))])
    room.say("and the gap is wide", form=[claim("the gap costs us time.", piece("the gap is wide"))])
    room.say("a gap, as ever", form=[claim("The gap is costing us the time", piece("a gap, as ever"))])
    assert len(only(room).evidence) == 3


def test_applying_the_same_answer_twice_changes_nothing() -> None:
    room = Room()
    parts: dict[str, Any] = {
        "form": [claim("The gap costs us time", piece("there is a gap"))],
        "unknowns": [{"question": "Who owns it?", "whyItMatters": "Decides the fix."}],
    }
    first = room.say("there is a gap", **parts)
    document = room.state
    second = room.take(first_turn(), **parts)
    assert first.report.stored == 3
    assert (second.entries, second.report.stored, room.state) == ((), 0, document)


def first_turn() -> Turn:
    return turn("there is a gap", number=1, at=START + timedelta(hours=1))


def promoted(room: Room) -> Hypothesis:
    room.say(
        "Diane Ortiz told me on April 12 that the KPIs came without briefing.",
        at=START + timedelta(days=8),
        form=[
            claim(
                "KPIs were rolled out without briefing",
                piece("the KPIs came without briefing", strength="strong", source="Diane Ortiz, 2026-04-12"),
            )
        ],
    )
    (held,) = room.state.hypotheses
    room.say(
        "we had no briefing on the KPIs",
        who="tom",
        at=START + timedelta(days=8, hours=1),
        evidence=[piece("we had no briefing on the KPIs", source="tom", hypothesis=held.id)],
    )
    return only(room)


def test_enough_evidence_makes_a_finding_with_its_source() -> None:
    room = Room()
    finding = promoted(room)
    assert finding.stage is HypothesisStage.FINDING
    assert format_source(finding) == "Diane Ortiz, as told by dana, 2026-04-12"
    assert "no contradiction outstanding" in room.entries[-1].reason


def test_the_threshold_is_a_setting() -> None:
    room = Room(rules=EngagementRules(promotion_threshold=0.9, first_hypothesis_turns=0))
    assert promoted(room).stage is HypothesisStage.COLLECTING


LATER = START + timedelta(days=9)


def test_a_contradicted_finding_is_reopened_with_its_history_and_promoted_again_once_resolved() -> None:
    room = Room()
    finding = promoted(room)
    against = piece("there was a briefing", stance="contradicts", strength="weak", hypothesis=finding.id)
    room.say("there was a briefing", at=LATER, evidence=[against])
    reopened = only(room)
    assert (reopened.stage, reopened.reopened, len(reopened.evidence)) == (HypothesisStage.REVISING, 1, 3)
    assert is_mixed(reopened.evidence)
    assert resolution_text(reopened) == "the logs show otherwise"
    room.say(
        "the audit shows no briefing on any KPI",
        who="ann",
        at=LATER,
        evidence=[piece("the audit shows no briefing on any KPI", strength="strong", hypothesis=finding.id)],
    )
    assert only(room).stage is HypothesisStage.REVISING
    assert confidence_of(only(room)) > 0.85
    contradiction = reopened.evidence[-1].id
    room.say(
        "that briefing was for another plant",
        at=LATER,
        evidence=[
            piece(
                "that briefing was for another plant", hypothesis=finding.id, resolves=[contradiction], strength="weak"
            )
        ],
    )
    assert only(room).stage is HypothesisStage.FINDING
    assert not is_mixed(only(room).evidence)


def test_only_support_resolves_and_only_what_is_outstanding() -> None:
    room = Room()
    finding = promoted(room)
    room.say("we did a briefing", at=LATER, evidence=[piece("a briefing", stance="contradicts", hypothesis=finding.id)])
    contradiction = only(room).evidence[-1].id
    outcome = room.say(
        "the KPIs had a briefing, I hear; in my team the briefing never came",
        at=LATER,
        evidence=[
            piece("the KPIs had a briefing", stance="contradicts", hypothesis=finding.id, resolves=[contradiction]),
            piece("the briefing never came", hypothesis=finding.id, resolves=["evd_unheard_of"]),
        ],
    )
    assert only(room).stage is HypothesisStage.REVISING
    assert "only supporting evidence" in whys(outcome)[0]
    assert "no such contradiction" in whys(outcome)[1]


def test_a_weak_word_of_another_does_not_dissolve_a_strong_contradiction() -> None:
    room = Room()
    finding = promoted(room)
    strong = piece("the minutes of the briefing", stance="contradicts", strength="strong", hypothesis=finding.id)
    room.say("here are the minutes of the briefing", at=LATER, who="ann", evidence=[strong])
    (contradiction,) = (line for line in only(room).evidence if line.stance == "contradicts")
    weak = piece("I doubt that briefing", strength="weak", hypothesis=finding.id, resolves=[contradiction.id])
    outcome = room.say("I doubt that briefing", at=LATER, evidence=[weak])
    assert "at least as strong" in whys(outcome)[0]
    assert only(room).evidence[-1].resolves == ()
    assert only(room).stage is HypothesisStage.REVISING


def test_what_would_resolve_mixed_evidence_is_named() -> None:
    room = Room()
    room.say(
        "some call the slowdown culture; the org chart shows a slowdown by structure",
        form=[
            claim(
                "The slowdown is structural",
                piece("a slowdown by structure"),
                piece("some call the slowdown culture", stance="contradicts", strength="weak"),
            )
        ],
    )
    held = only(room)
    room.say("ok then", wouldResolve=[{"hypothesis": held.id, "text": "Interviews on the line floor."}])
    assert resolution_text(only(room)) == "Interviews on the line floor."


def test_archiving_needs_a_contradiction_and_a_note_and_ends_it() -> None:
    room = Room()
    room.say("there is a gap", form=[claim("The gap costs us time", piece("there is a gap"))])
    held = only(room)
    archive = {"hypothesis": held.id, "note": "The gap closed in spring."}
    assert "nothing outstanding contradicts it" in whys(room.say("enough", archive=[archive]))[0]
    closed = piece("the gap closed in spring", stance="contradicts", strength="strong", hypothesis=held.id)
    noteless = room.say("the gap closed in spring", evidence=[closed], archive=[{"hypothesis": held.id, "note": " "}])
    assert "note is empty" in whys(noteless)[0]
    room.say("no gap at all", archive=[archive])
    assert (only(room).stage, only(room).note) == (HypothesisStage.ARCHIVED, "The gap closed in spring.")
    late = room.say("a new gap", evidence=[piece("a new gap", hypothesis=held.id)])
    assert "archived" in whys(late)[0]


def test_a_claim_gives_way_to_another_that_supersedes_it() -> None:
    room = Room()
    room.say("there is a gap", form=[claim("The gap costs us time", piece("there is a gap"))])
    old = only(room)
    room.say(
        "the gap in the handoffs costs a week",
        form=[claim("The gap in handoffs costs a week", piece("the gap in the handoffs costs a week"))],
    )
    new = room.state.hypotheses[1]
    for other in (old.id, "hyp_unheard_of"):
        outcome = room.say("so", archive=[{"hypothesis": old.id, "note": "Replaced.", "supersededBy": other}])
        assert "supersededBy names no other" in whys(outcome)[0]
    room.say("so", archive=[{"hypothesis": old.id, "note": "Replaced.", "supersededBy": new.id}])
    assert room.state.hypotheses[0].stage is HypothesisStage.ARCHIVED
    assert room.entries[-1].delta == HypothesisArchived(hypothesis=old.id, note="Replaced.", superseded_by=new.id)


@pytest.mark.parametrize("again", ["The gap costs us time", "Time is what the gap is costing us"])
def test_an_archived_claim_that_comes_back_brings_its_evidence(again: str) -> None:
    room = Room()
    room.say("there is a gap that costs time", form=[claim("The gap is costing us time", piece("there is a gap"))])
    held = only(room)
    closed = piece("the gap closed in spring", stance="contradicts", strength="strong", hypothesis=held.id)
    archive = {"hypothesis": held.id, "note": "It closed."}
    room.say("the gap closed in spring", evidence=[closed], archive=[archive])
    unsaid = room.say("back to the gap", form=[claim(again)])
    assert only(room).stage is HypothesisStage.ARCHIVED
    assert unsaid.report.stored == 0
    room.say("a new gap takes our time", form=[claim(again, piece("a new gap takes our time", strength="weak"))])
    back = only(room)
    assert (back.id, back.stage, len(back.evidence)) == (held.id, HypothesisStage.REVISING, 3)
    assert [entry.delta.kind for entry in room.entries[-2:]] == ["restored", "collected"]
    assert confidence_of(back) < 0.5


def test_a_finding_is_not_archived_before_it_is_contradicted() -> None:
    room = Room()
    finding = promoted(room)
    dropped = room.say("drop it", at=LATER, archive=[{"hypothesis": finding.id, "note": "Dropped."}])
    assert "finding" in whys(dropped)[0]
    room.say(
        "the briefing did take place",
        at=LATER,
        evidence=[piece("the briefing did take place", stance="contradicts", strength="strong", hypothesis=finding.id)],
        archive=[{"hypothesis": finding.id, "note": "Shown wrong."}],
    )
    assert only(room).stage is HypothesisStage.ARCHIVED


def test_a_late_turn_never_overrides_newer_words() -> None:
    room = Room()
    room.say("a gap", form=[claim("The gap costs us time", piece("a gap"))])
    held = only(room)
    early, late = room.entries[0].at, room.entries[0].at.replace(year=2027)
    room.say("a wide gap", at=late, evidence=[piece("a wide gap", hypothesis=held.id)])
    room.say("new", at=late, wouldResolve=[{"hypothesis": held.id, "text": "The newer word."}])
    room.say("old", at=early, wouldResolve=[{"hypothesis": held.id, "text": "The older word."}])
    assert only(room).would_resolve == "The newer word."
    outcome = room.say("old", at=early, archive=[{"hypothesis": held.id, "note": "Gone."}])
    assert "newer than this turn" in whys(outcome)[0]


LETTERS = [letter * 3 for letter in "abcdefghijklmnopqrstuvwxyz"]


def test_the_document_is_bounded() -> None:
    room = Room()
    for place in range(MAX_OPEN):
        named = f"the gap in plant {LETTERS[place]}"
        room.say(named, form=[claim(f"The gap in plant {LETTERS[place]} is costly", piece(named))])
    outcome = room.say("one more gap", form=[claim("One more gap is costly", piece("one more gap"))])
    assert len(room.state.open_hypotheses) == MAX_OPEN
    assert "which is the limit" in whys(outcome)[0]
    target = room.state.open_hypotheses[0].id
    for place in range(MAX_EVIDENCE + EXTRA_CONTRADICTIONS + 5):
        stance = "contradicts" if place % 2 else "supports"
        words = f"gap at {LETTERS[place // 10]}{LETTERS[place % 10]}"
        room.say(words, evidence=[piece(words, stance=stance, strength="weak", hypothesis=target)])
    assert len(room.state.open_hypotheses[0].evidence) <= MAX_EVIDENCE + EXTRA_CONTRADICTIONS


def test_support_ends_at_its_limit_and_leaves_room_for_contradiction() -> None:
    room = Room()
    room.say("there is a gap", form=[claim("The gap costs us time", piece("there is a gap"))])
    target = only(room).id

    def add(place: int, stance: str) -> list[str]:
        words = f"a gap at word{'abcdefghij'[place // 10]}{'abcdefghij'[place % 10]}"
        return whys(room.say(words, evidence=[piece(words, stance=stance, strength="weak", hypothesis=target)]))

    for place in range(1, MAX_EVIDENCE):
        assert add(place, "supports") == []
    assert f"has {MAX_EVIDENCE} lines" in add(90, "supports")[0]
    for place in range(EXTRA_CONTRADICTIONS):
        assert add(MAX_EVIDENCE + place, "contradicts") == []
    assert f"has {MAX_EVIDENCE + EXTRA_CONTRADICTIONS} lines" in add(91, "contradicts")[0]
    assert len(only(room).evidence) == MAX_EVIDENCE + EXTRA_CONTRADICTIONS


def test_the_journal_tells_what_evidence_did_to_the_confidence() -> None:
    room = Room()
    room.say("there is a gap", form=[claim("The gap costs us time", piece("there is a gap", strength="weak"))])
    before = round_confidence(confidence_of(only(room)))
    outcome = room.say("we lose time", evidence=[piece("we lose time", hypothesis=only(room).id)])
    after = round_confidence(confidence_of(only(room)))
    assert [entry.reason for entry in outcome.entries] == [f"supports, moderate: confidence {before:.2f} → {after:.2f}"]


def test_what_changes_is_counted_once_and_what_is_known_is_skipped() -> None:
    room = Room()
    form = [claim("The gap costs us time", piece("there is a gap"))]
    room.say("there is a gap", form=form)
    target = only(room).id
    again = room.say("there is a gap", form=form).report
    assert (again.stored, again.updated, again.skipped) == (0, 0, 2)
    named = [{"hypothesis": target, "text": "Interviews on the line floor."}]
    room.say("ok", wouldResolve=named)
    again = room.say("ok", wouldResolve=named).report
    assert (again.stored, again.updated, again.skipped) == (0, 0, 1)
    closed = piece("the gap closed in spring", stance="contradicts", strength="strong", hypothesis=target)
    room.say("the gap closed in spring", evidence=[closed])
    gone = room.say("it is over", archive=[{"hypothesis": target, "note": "Gone."}]).report
    assert (gone.stored, gone.updated, gone.skipped) == (0, 1, 0)


@pytest.mark.parametrize("bad", ["\x00", "\ud800"])
def test_text_that_cannot_be_stored_stays_out(bad: str) -> None:
    room = Room()
    outcome = room.say("there is a gap", form=[claim(f"The gap {bad} costs us time", piece("there is a gap"))])
    assert room.state.hypotheses == ()
    outcome.report.rejected[0].what.encode()
    assert "\x00" not in outcome.report.rejected[0].what
