from datetime import timedelta
from typing import Any

import pytest

from mnemon.engagement.apply_proposal import ProposalOutcome
from mnemon.engagement.document import EXTRA_CONTRADICTIONS, MAX_EVIDENCE, MAX_OPEN, Hypothesis, HypothesisStage
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
    }
    assert next_stage(stage, event) == drawn.get((stage.value, event.value))
    assert len(TRANSITIONS) == len(drawn)


def test_the_seeds_confidence() -> None:
    room = Room()
    room.say(
        "we lose time; there is a gap",
        form=[claim("The gap costs us time", piece("we lose time"), piece("there is a gap", strength="weak"))],
    )
    assert round_confidence(confidence_of(only(room))) == 0.72
    assert only(room).stage is HypothesisStage.COLLECTING


def test_no_hypothesis_before_enough_turns_and_then_one() -> None:
    room = Room(rules=EngagementRules())
    form = [claim("The gap costs us time", piece("there is a gap"))]
    assert "1 of 3 user turns" in whys(room.say("there is a gap", form=form))[0]
    assert "2 of 3 user turns" in whys(room.say("there is a gap", form=form))[0]
    assert room.state.hypotheses == ()
    assert room.say("there is a gap", form=form).report.stored == 2


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
    room.say("and it is wide", form=[claim("the gap costs us time.", piece("it is wide"))])
    assert len(only(room).evidence) == 2


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
        "KPIs came without briefing; nobody was told",
        form=[
            claim(
                "KPIs were rolled out without briefing",
                piece("KPIs came without briefing", strength="strong", source="Diane Ortiz, 2026-04-12"),
                piece("nobody was told"),
            )
        ],
    )
    return only(room)


def test_enough_evidence_makes_a_finding_with_its_source() -> None:
    room = Room()
    finding = promoted(room)
    assert finding.stage is HypothesisStage.FINDING
    assert format_source(finding) == "Diane Ortiz, 2026-04-12"
    assert "no contradiction outstanding" in room.entries[-1].reason


def test_the_threshold_is_a_setting() -> None:
    room = Room(rules=EngagementRules(promotion_threshold=0.9, first_hypothesis_turns=0))
    assert promoted(room).stage is HypothesisStage.COLLECTING


def test_a_contradicted_finding_is_reopened_with_its_history_and_promoted_again_once_resolved() -> None:
    room = Room()
    finding = promoted(room)
    against = piece("we did brief them", stance="contradicts", strength="weak", hypothesis=finding.id)
    room.say("we did brief them", evidence=[against])
    reopened = only(room)
    assert (reopened.stage, reopened.reopened, len(reopened.evidence)) == (HypothesisStage.REVISING, 1, 3)
    assert is_mixed(reopened.evidence)
    assert resolution_text(reopened) == "the logs show otherwise"
    room.say(
        "everyone says nobody was briefed",
        evidence=[piece("nobody was briefed", strength="strong", hypothesis=finding.id)],
    )
    assert only(room).stage is HypothesisStage.REVISING
    assert confidence_of(only(room)) > 0.85
    contradiction = reopened.evidence[-1].id
    room.say(
        "that briefing was for another plant",
        evidence=[piece("for another plant", hypothesis=finding.id, resolves=[contradiction], strength="weak")],
    )
    assert only(room).stage is HypothesisStage.FINDING
    assert not is_mixed(only(room).evidence)


def test_only_support_resolves_and_only_what_is_outstanding() -> None:
    room = Room()
    finding = promoted(room)
    room.say("we did", evidence=[piece("we did", stance="contradicts", hypothesis=finding.id)])
    contradiction = only(room).evidence[-1].id
    outcome = room.say(
        "we did not; so they say",
        evidence=[
            piece("so they say", stance="contradicts", hypothesis=finding.id, resolves=[contradiction]),
            piece("we did not", hypothesis=finding.id, resolves=["evd_unheard_of"]),
        ],
    )
    assert only(room).stage is HypothesisStage.REVISING
    assert "only supporting evidence" in whys(outcome)[0]
    assert "no such contradiction" in whys(outcome)[1]


def test_what_would_resolve_mixed_evidence_is_named() -> None:
    room = Room()
    room.say(
        "some say culture; the org chart says structure",
        form=[
            claim(
                "The slowdown is structural",
                piece("the org chart says structure"),
                piece("some say culture", stance="contradicts", strength="weak"),
            )
        ],
    )
    held = only(room)
    room.say("ok then", wouldResolve=[{"hypothesis": held.id, "text": "Interviews on the line floor."}])
    assert resolution_text(only(room)) == "Interviews on the line floor."


def test_archiving_needs_a_note_and_ends_it() -> None:
    room = Room()
    room.say("there is a gap", form=[claim("The gap costs us time", piece("there is a gap"))])
    held = only(room)
    assert "note is empty" in whys(room.say("no gap", archive=[{"hypothesis": held.id, "note": " "}]))[0]
    room.say("no gap at all", archive=[{"hypothesis": held.id, "note": "The gap closed in spring."}])
    assert (only(room).stage, only(room).note) == (HypothesisStage.ARCHIVED, "The gap closed in spring.")
    late = room.say("a new gap", evidence=[piece("a new gap", hypothesis=held.id)])
    assert "archived" in whys(late)[0]


def test_a_finding_is_not_archived_before_it_is_contradicted() -> None:
    room = Room()
    finding = promoted(room)
    assert "finding" in whys(room.say("drop it", archive=[{"hypothesis": finding.id, "note": "Dropped."}]))[0]
    room.say(
        "it was wrong",
        evidence=[piece("it was wrong", stance="contradicts", strength="strong", hypothesis=finding.id)],
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


def test_the_document_is_bounded() -> None:
    room = Room()
    for place in range(MAX_OPEN):
        room.say(f"gap {place}x", form=[claim(f"The gap called g{place} is costly", falsified_by="no cost is found")])
    outcome = room.say("more", form=[claim("One more gap is costly", falsified_by="no cost is found")])
    assert len(room.state.open_hypotheses) == MAX_OPEN
    assert "which is the limit" in whys(outcome)[0]
    target = room.state.open_hypotheses[0].id
    for place in range(MAX_EVIDENCE + EXTRA_CONTRADICTIONS + 5):
        stance = "contradicts" if place % 2 else "supports"
        words = f"word{'abcdefghij'[place // 10]}{'abcdefghij'[place % 10]}"
        room.say(words, evidence=[piece(words, stance=stance, strength="weak", hypothesis=target)])
    assert len(room.state.open_hypotheses[0].evidence) <= MAX_EVIDENCE + EXTRA_CONTRADICTIONS


def test_support_ends_at_its_limit_and_leaves_room_for_contradiction() -> None:
    room = Room()
    room.say("there is a gap", form=[claim("The gap costs us time", falsified_by="no cost is found")])
    target = only(room).id

    def add(place: int, stance: str) -> list[str]:
        words = f"word{'abcdefghij'[place // 10]}{'abcdefghij'[place % 10]}"
        return whys(room.say(words, evidence=[piece(words, stance=stance, strength="weak", hypothesis=target)]))

    for place in range(MAX_EVIDENCE):
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
    form = [claim("The gap costs us time", falsified_by="no cost is found")]
    room.say("there is a gap", form=form)
    target = only(room).id
    again = room.say("there is a gap", form=form).report
    assert (again.stored, again.updated, again.skipped) == (0, 0, 1)
    named = [{"hypothesis": target, "text": "Interviews on the line floor."}]
    room.say("ok", wouldResolve=named)
    again = room.say("ok", wouldResolve=named).report
    assert (again.stored, again.updated, again.skipped) == (0, 0, 1)
    gone = room.say("it is over", archive=[{"hypothesis": target, "note": "Gone."}]).report
    assert (gone.stored, gone.updated, gone.skipped) == (0, 1, 0)


@pytest.mark.parametrize("bad", ["\x00", "\ud800"])
def test_text_that_cannot_be_stored_stays_out(bad: str) -> None:
    room = Room()
    outcome = room.say("there is a gap", form=[claim(f"The gap {bad} costs us time", piece("there is a gap"))])
    assert room.state.hypotheses == ()
    outcome.report.rejected[0].what.encode()
    assert "\x00" not in outcome.report.rejected[0].what
