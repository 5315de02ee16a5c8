import pytest
from pydantic import ValidationError

from mnemon.engagement.answer import EngagementReflection
from support.engaged import answer, claim, piece


def test_what_is_left_out_or_null_found_nothing():
    empty = EngagementReflection().engagement
    assert EngagementReflection.model_validate({}).engagement == empty
    assert answer(form=None, week=None, answered=None).engagement == empty
    landing = {**piece("a gap"), "hypothesis": "hyp_1", "resolves": None}
    assert answer(evidence=[landing]).engagement.evidence[0].resolves == []


def test_the_contracts_fields_are_the_schemas():
    schema = EngagementReflection.model_json_schema(by_alias=True)["$defs"]
    fields = {name: set(schema[name]["properties"]) for name in ("Proposal", "Form", "Landing", "Question", "AnswerTo")}
    e = {"line", "quote", "source", "stance", "strength"}
    assert fields == {
        "Proposal": {"form", "evidence", "wouldResolve", "unknowns", "answered", "archive", "week"},
        "Form": {"statement", "falsifiedBy", "evidence"},
        "Landing": {*e, "hypothesis", "resolves"},
        "Question": {"question", "whyItMatters"},
        "AnswerTo": {"unknown", "quote"},
    }
    assert set(schema["Archive"]["properties"]) == {"hypothesis", "note"}
    assert set(schema["Advance"]["properties"]) == {"advance", "reason"}
    assert set(schema["WouldResolve"]["properties"]) == {"hypothesis", "text"}


def test_a_stance_nobody_knows_is_refused():
    with pytest.raises(ValidationError):
        answer(form=[claim("The gap costs us time", piece("a gap", stance="doubts"))])
