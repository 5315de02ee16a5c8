import pytest
from pydantic import ValidationError

from mnemon.engagement.lifecycle import confidence_of
from mnemon.engagement.proposal import EngagementReflection
from mnemon.evidence.confidence import round_confidence
from support.engaged import Room, answer, claim, piece


def test_what_is_left_out_or_null_found_nothing() -> None:
    empty = EngagementReflection().engagement
    assert EngagementReflection.model_validate({}).engagement == empty
    assert answer(form=None, week=None, answered=None).engagement == empty
    landing = {**piece("a gap"), "hypothesis": "hyp_1", "resolves": None}
    assert answer(evidence=[landing]).engagement.evidence[0].resolves == []


def test_the_contracts_fields_are_read() -> None:
    schema = EngagementReflection.model_json_schema(by_alias=True)["$defs"]
    e = {"line", "quote", "source", "stance", "strength"}
    expected = {
        "EngagementProposal": {"form", "evidence", "wouldResolve", "unknowns", "answered", "archive", "week"},
        "HypothesisProposal": {"statement", "falsifiedBy", "evidence"},
        "AddedEvidence": {*e, "hypothesis", "resolves"},
        "UnknownProposal": {"question", "whyItMatters"},
        "AnswerProposal": {"unknown", "quote"},
    }
    assert {name: set(schema[name]["properties"]) for name in expected} == expected
    assert set(schema["ArchiveProposal"]["properties"]) == {"hypothesis", "note", "supersededBy"}
    assert set(schema["WeekProposal"]["properties"]) == {"advance", "reason"}
    assert set(schema["ResolutionProposal"]["properties"]) == {"hypothesis", "text"}


def test_a_stance_nobody_knows_is_refused() -> None:
    with pytest.raises(ValidationError):
        answer(form=[claim("The gap costs us time", piece("a gap", stance="doubts"))])


def test_a_missing_text_is_for_the_gates() -> None:
    assert answer(form=[{"statement": "The gap costs us time"}]).engagement.form[0].falsified_by == ""


def test_evidence_for_a_new_claim_may_stand_among_the_other_evidence() -> None:
    formed = [{"statement": "One", "falsifiedBy": "x"}, {"statement": "Two", "falsifiedBy": "y", "evidence": None}]
    lines = [{**piece("a gap"), "hypothesis": name} for name in ("N2", "hyp_1", "n1", "N3", "N2")]
    read = answer(form=formed, evidence=lines).engagement
    assert [len(one.evidence) for one in read.form] == [1, 2]
    assert [one.hypothesis for one in read.evidence] == ["hyp_1", "N3"]


def test_an_entry_with_a_part_missing_costs_itself_only() -> None:
    room = Room()
    outcome = room.say(
        "there is a gap",
        form=[
            {"statement": "The gap costs us time", "evidence": [piece("there is a gap")]},
            claim("The gap is wide", {"line": "A gap.", "stance": "supports", "strength": "weak"}),
            claim("The gap is ours", piece("there is a gap")),
        ],
        archive=[{"hypothesis": "The gap is ours"}],
        unknowns=[{"question": "Who owns it?"}],
        answered=[{}],
        evidence=[{"stance": "supports", "strength": "weak"}],
    )
    assert [each.statement for each in room.state.open_hypotheses] == ["The gap is ours"]
    assert len(outcome.report.rejected) == 7


def test_a_models_own_confidence_is_never_taken_over() -> None:
    room = Room()
    room.say("there is a gap", form=[{**claim("The gap costs us time", piece("there is a gap")), "confidence": 0.99}])
    assert round_confidence(confidence_of(room.state.hypotheses[0])) == 0.65
