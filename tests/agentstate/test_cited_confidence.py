"""No answer of a model, however chosen, gives an assumption more confidence than its distinct sources allow."""

from dataclasses import replace
from datetime import UTC, datetime
from itertools import count

from hypothesis import given, settings
from hypothesis import strategies as st

from mnemon.agentstate.cited_evidence import CitedEvidence, cite_texts
from mnemon.agentstate.claim import highest_confidence, is_same_claim
from mnemon.agentstate.delta import AssumptionProposal, StateDelta, TentativeProposal
from mnemon.agentstate.reducer import apply_delta
from mnemon.agentstate.state import AgentState
from mnemon.turn import Role, ToolOutcome, TurnMessage

NOW = datetime(2026, 4, 12, 15, 22, tzinfo=UTC)
TEXTS = {
    "u1": (Role.USER, "The cluster is in Frankfurt."),
    "u2": (Role.USER, "Yes, the cluster is in Frankfurt. The quota is 40."),
    "u3": (Role.USER, "I say it again: the cluster is in Frankfurt."),
    "u4": (Role.USER, "Is the quota 400?"),
    "a1": (Role.ASSISTANT, "The cluster is in Frankfurt. The quota is 400."),
}
RESULTS = (
    ToolOutcome(id="r1", action="describe", output={"cluster": "Frankfurt"}),
    ToolOutcome(id="r2", action="describe", output={"cluster": "Frankfurt", "quota": 40}),
    ToolOutcome(id="r3", action="recall", output="The quota is 400."),
)
SOURCES = cite_texts(
    [TurnMessage(message_id=id_, role=role, content=text, name=None, at=NOW) for id_, (role, text) in TEXTS.items()],
    [(result, NOW) for result in RESULTS],
    "dana",
)
CITED = CitedEvidence(sources=SOURCES, speaker="dana", told=tuple(text for _, text in TEXTS.values()))
CLAIMS = ["The cluster is in Frankfurt", "The quota is 40", "The quota is 400", "The cluster is in Dublin"]
IDS = ["h1", "h2", "h3"]
pieces = st.lists(st.sampled_from([*SOURCES, "made_up"]), max_size=5).map(tuple)
proposals = st.builds(
    AssumptionProposal,
    id=st.none() | st.sampled_from(IDS),
    hypothesis=st.none() | st.sampled_from(CLAIMS),
    confidence=st.none() | st.sampled_from([0.0, 0.5, 0.7, 0.95, 1.0]),
    evidence=pieces,
    contradicted_by=st.just(()) | pieces,
)
guesses = st.builds(TentativeProposal, id=st.none() | st.sampled_from(IDS), hypothesis=st.sampled_from(CLAIMS))
answers = st.builds(
    StateDelta,
    assumptions=st.lists(proposals, max_size=4).map(tuple),
    tentative_hypotheses=st.lists(guesses, max_size=2).map(tuple),
    cited=st.just(CITED),
)


@settings(deadline=None, max_examples=150)
@given(st.lists(answers, min_size=1, max_size=6))
def test_no_answers_give_more_confidence_than_distinct_sources_allow(given_answers: list[StateDelta]) -> None:
    numbers = count(1)
    state = AgentState(session_id="ses")
    claimed: dict[str, str] = {}
    for delta in given_answers:
        state = apply_delta(state, delta, now=NOW, new_id=lambda prefix: f"{prefix}_{next(numbers)}").state
        for held in state.assumptions:
            saying = [id_ for id_ in held.evidence if CITED.claim_fault(held.hypothesis, id_) is None]
            assert saying, "an assumption that nothing cited says"
            sources = [key for id_ in saying if (key := CITED.source_key(id_)) is not None]
            assert held.confidence <= highest_confidence(sources) + 1e-5
            # An id never comes to mean another claim.
            assert is_same_claim(claimed.setdefault(held.id, held.hypothesis), held.hypothesis)
            assert held.hypothesis not in ("The quota is 400", "The cluster is in Dublin") or held.confidence <= 0.5
            assert "made_up" not in held.evidence


def test_one_source_gives_at_most_one_and_a_half_steps() -> None:
    assert [round(highest_confidence(["user:dana"] * times), 2) for times in (0, 1, 2, 3, 9)] == [
        0.5,
        0.65,
        0.71,
        0.71,
        0.71,
    ]
    assert round(highest_confidence(["user:dana", "tool:describe"]), 2) == 0.77


def test_a_piece_that_fell_out_of_a_full_list_does_not_count_again() -> None:
    fillers = {f"a{number}": replace(SOURCES["a1"], id=f"a{number}") for number in range(20)}
    cited = CitedEvidence(sources={"u1": SOURCES["u1"], **fillers, "u3": SOURCES["u3"]}, speaker="dana")
    state = AgentState(session_id="ses")
    for id_ in ("u1", *fillers, "u3", "u1"):
        proposal = AssumptionProposal(id="h1", hypothesis=CLAIMS[0], evidence=(id_,))
        delta = StateDelta(assumptions=(proposal,), cited=cited)
        state = apply_delta(state, delta, now=NOW, new_id=lambda prefix: prefix).state
    assert "u3" in state.assumptions[0].evidence
    assert round(state.assumptions[0].confidence, 2) == 0.65
