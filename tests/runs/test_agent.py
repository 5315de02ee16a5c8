"""What an agent may be configured with, how a run may move, and how a decision reads."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mnemon.errors import Conflict, Invalid
from mnemon.runs.agent import AdapterConfig, AgentDraft, AgentRole, format_config, parse_config, team_faults
from mnemon.runs.card import load_cards
from mnemon.runs.decisions import MadeDecision, decision_as_of, format_decision, format_review
from mnemon.runs.run import FINAL_STATUSES, RunStatus, require_transition

NOW = datetime(2026, 3, 3, tzinfo=UTC)


def test_everything_is_off_by_default() -> None:
    config = parse_config({})
    assert not (config.memory_enabled)
    assert not (config.memory_read_only)
    assert not (config.review_decisions)


def test_a_change_keeps_what_it_does_not_name() -> None:
    config = parse_config({"reviewDecisions": True}, AdapterConfig(memory_enabled=True))
    assert config.memory_enabled
    assert config.review_decisions


def test_the_wire_form_reads_back_as_written() -> None:
    config = parse_config({"memoryEnabled": True, "model": "claude-opus", "maxTurns": 3, "timeoutSeconds": 2.5})
    assert parse_config(format_config(config)) == config


REFUSED: list[dict[str, Any]] = [
    {"args": ["--dangerously-skip-permissions"]},
    {"model": "--dangerously-skip-permissions"},
    {"model": "a b"},
    {"model": ""},
    {"maxTurns": 0},
    {"maxTurns": True},
    {"maxTurns": "5"},
    {"timeoutSeconds": -1},
    {"timeoutSeconds": float("nan")},
    {"memoryEnabled": "yes"},
    {"env": {"PATH": "/evil"}},
    {"allowedTools": ["Bash"]},
]


@pytest.mark.parametrize("given", REFUSED, ids=str)
def test_nothing_unchecked_gets_into_the_configuration(given: dict[str, Any]) -> None:
    with pytest.raises(Invalid) as caught:
        parse_config(given)
    assert caught.value.faults[0].pointer == f"/adapterConfig/{next(iter(given))}"


def test_only_a_lead_has_a_team() -> None:
    assert team_faults(AgentDraft(name="x", team=("agt_1",)))
    assert not team_faults(AgentDraft(name="x", role=AgentRole.LEAD, team=("agt_1",)))
    assert team_faults(AgentDraft(name="x", role=AgentRole.LEAD, team=("agt_1", "agt_1")))


@pytest.mark.parametrize("over", sorted(FINAL_STATUSES))
@pytest.mark.parametrize("to", list(RunStatus))
def test_a_run_that_is_over_stays_as_it_is(over: RunStatus, to: RunStatus) -> None:
    with pytest.raises(Conflict):
        require_transition("run_1", over, to)


def test_a_run_lives_from_queued_to_its_end() -> None:
    assert (
        require_transition("r", require_transition("r", RunStatus.QUEUED, RunStatus.RUNNING), RunStatus.SUCCEEDED)
        is RunStatus.SUCCEEDED
    )
    assert require_transition("r", RunStatus.RUNNING, RunStatus.QUEUED) is RunStatus.QUEUED
    with pytest.raises(Conflict):
        require_transition("r", RunStatus.QUEUED, RunStatus.SUCCEEDED)


def decided(at: datetime, headline: str, **more: Any) -> MadeDecision:
    made = {"card_type": "decision", "result": None, "outcome": None, "conviction": None, **more}
    return MadeDecision(run_id="run_1", finished_at=at, headline=headline, **made)


@pytest.mark.parametrize(
    ("age", "shown"),
    [
        (timedelta(days=2, hours=3), "2d ago"),
        (timedelta(hours=23, minutes=59), "23h ago"),
        (timedelta(minutes=5), "5m ago"),
        (timedelta(seconds=5), "just now"),
    ],
)
def test_a_decision_reads_as_one_line(age: timedelta, shown: str) -> None:
    made = decision_as_of(decided(NOW - age, "WAIT · range unresolved"), None, NOW)
    assert made.line == f"{shown} · WAIT · range unresolved"


def test_a_line_tells_subject_outcome_and_conviction() -> None:
    trade = load_cards()["trade-decision"]
    result = {"symbol": "BTC-USD", "action": "LONG", "summary": "breakout"}
    made = decided(NOW - timedelta(days=2), "LONG · breakout", result=result, outcome="stop_loss", conviction=40)
    shown = decision_as_of(made, trade, NOW)
    assert shown.line == "2d ago · LONG BTC-USD · breakout → stop_loss · conviction 40"
    assert (shown.subject, shown.headline) == ("BTC-USD", "LONG · breakout")
    assert decision_as_of(made, None, NOW).subject is None


@pytest.mark.parametrize(
    ("headline", "subject", "line"),
    [
        ("WAIT · range unresolved", None, "WAIT · range unresolved"),
        ("GO · ship the export", "Export", "GO · ship the export"),
        ("GO", "x" * 80, f"GO {'x' * 59}…"),
        ("", "BTC-USD", "BTC-USD"),
    ],
)
def test_a_subject_stands_once_and_is_short(headline: str, subject: str | None, line: str) -> None:
    assert format_decision(headline, subject, None, None) == line
    assert format_decision(headline, subject, None, 0) == f"{line} · conviction 0"


def test_no_decisions_are_said_to_be_none() -> None:
    assert format_review(()) == "No decisions yet."
