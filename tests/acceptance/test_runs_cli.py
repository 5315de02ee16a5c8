"""`mnemon agents` and `mnemon runs` in a terminal, over a database of their own and a scripted model."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from mnemon.cli.main import app
from mnemon.llm.scripted.script import Script
from mnemon.llm.scripted.server import ScriptedServer

Mnemon = Callable[..., Result]
TRADE = {
    "symbol": "BTC-USD",
    "action": "LONG",
    "summary": "breakout above the range",
    "entry": 64250,
    "take_profit": 71900,
    "stop_loss": 61480,
    "confidence": 0.72,
}
HOLD = {"conviction_score": 72, "notes": "Volume confirmed it.", "suggested_action": "HOLD"}


@pytest.fixture
def script() -> Script:
    made = Script(fallback="The range holds.")
    made.set_default_answer("Card", lambda asked: HOLD if "conviction_score" in str(asked.schema) else TRADE)
    return made


@pytest.fixture
def mnemon(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: Script) -> Iterator[Mnemon]:
    monkeypatch.chdir(tmp_path)
    with ScriptedServer(script) as server:
        for name, value in {
            "DATABASE_URL": database_url,
            "DATA_DIR": str(tmp_path),
            "MODEL": "openai:scripted",
            "MODEL_BASE_URL": server.url,
            "MODEL_API_KEY": "test-key",
        }.items():
            monkeypatch.setenv(f"MNEMON_{name}", value)

        def call(*words: str) -> Result:
            return CliRunner().invoke(app, list(words))

        assert call("orgs", "create", "local").exit_code == 0
        yield call


def data(result: Result) -> Any:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def words(result: Result) -> str:
    """What stands on the screen, however wide it is."""
    assert result.exit_code == 0, result.output
    assert max(len(line) for line in result.stdout.splitlines()) <= 80
    return " ".join(result.stdout.split())


def test_a_council_decides_and_looks_again_in_a_terminal(mnemon: Mnemon) -> None:
    seats = [
        data(mnemon("agents", "create", name, "--role", "specialist", "--json"))["id"] for name in ("Macro", "Chart")
    ]
    made = mnemon(
        "agents", "create", "Lead", "--role", "lead", "--team", ",".join(seats), "--card", "trade-decision",
        "--prompt", "Analyse BTC.", "--memory", "--review", "--schedule", "0 * * * *",
    )  # fmt: skip
    assert "Lead is created." in made.output
    ran = mnemon("agents", "run", "Lead")
    assert ran.exit_code == 0, ran.output
    assert "Lead succeeded LONG · breakout above the range" in words(ran)
    assert "asks Macro" in ran.stderr
    assert "calls get_my_decisions" in ran.stderr
    run_id = data(mnemon("runs", "list", "--json"))[0]["id"]
    again = data(mnemon("runs", "re-examine", run_id, "--json"))
    assert (again["parentRunId"], again["resultJson"]) == (run_id, HOLD)
    shown = words(mnemon("runs", "show", run_id))
    assert "conviction history" in shown
    assert "██████████████ 72 HOLD Volume confirmed it." in shown
    listed = words(mnemon("runs", "list", "--agent", "Lead"))
    assert "just now Lead succeeded HOLD · Volume confirmed it." in listed
    assert f"manual · open · conviction 72 · {run_id}" in listed
    page = words(mnemon("agents", "show", "Lead"))
    assert "Carrying context, 0 scheduled runs" in page
    assert "just now · LONG BTC-USD · breakout above the range" in page
    assert "Lead lead of 2 · model · trade-decision · 0 * * * *" in words(mnemon("agents", "list"))
    resolved = mnemon("runs", "resolve", run_id, "exited", "--note", "took it off")
    assert f"{run_id} is resolved: exited." in resolved.output
    refused = mnemon("runs", "re-examine", run_id)
    assert refused.exit_code == 1
    assert "already resolved" in " ".join(refused.stderr.split())


def test_chat_reset_edit_and_removal(mnemon: Mnemon) -> None:
    made = data(mnemon("agents", "create", "Scout", "--memory", "--json"))
    said = mnemon("agents", "chat", "Scout", "Hello")
    assert said.stdout.strip() == "The range holds."
    assert data(mnemon("agents", "chat", "Scout", "Again", "--json"))["reply"] == "The range holds."
    assert data(mnemon("agents", "show", "Scout", "--json"))["memory"]["status"] == "Carrying context"
    assert "has an empty memory now" in mnemon("agents", "reset", "Scout").output
    assert data(mnemon("agents", "show", made["id"], "--json"))["memory"]["status"] == "Fresh"
    mnemon("agents", "edit", "Scout", "--name", "Ranger", "--no-memory", "--prompt", "Go.")
    shown = data(mnemon("agents", "show", "Ranger", "--json"))
    assert (shown["defaultPrompt"], shown["adapterConfig"]["memoryEnabled"]) == ("Go.", False)
    assert mnemon("agents", "delete", "Ranger", "--yes").exit_code == 0
    assert data(mnemon("agents", "list", "--json")) == []
    assert "mnemon agents create" in mnemon("agents", "list").stdout


def test_what_goes_wrong_has_its_exit_code_and_a_sentence(mnemon: Mnemon, script: Script) -> None:
    assert mnemon("agents", "show", "Nobody").exit_code == 3
    assert mnemon("runs", "show", "run_nobody").exit_code == 3
    assert mnemon("agents", "create", "X", "--role", "boss").exit_code == 2
    assert mnemon("agents", "create", "X", "--schedule", "hourly").exit_code == 2
    mnemon("agents", "create", "Solo", "--prompt", "Go.", "--card", "trade-decision")
    script.set_default_answer("Card", {"action": "BUY"})
    failed = mnemon("agents", "run", "Solo")
    assert failed.exit_code == 1
    assert "must be one of LONG, SHORT, WAIT" in " ".join(failed.stdout.split())
    for name in ("Twin", "Twin"):
        mnemon("agents", "create", name)
    twins = mnemon("agents", "show", "Twin")
    assert twins.exit_code == 2
    assert "Name one by its id" in " ".join(twins.stderr.split())


def test_card_types_are_listed(mnemon: Mnemon) -> None:
    assert "re-examinable until resolved: HOLD, CLOSE, SCALE" in words(mnemon("agents", "cards"))
    assert {card["type"] for card in data(mnemon("agents", "cards", "--json"))} >= {"trade-decision", "decision"}


def test_without_a_model_a_run_is_refused_in_one_sentence(mnemon: Mnemon, monkeypatch: pytest.MonkeyPatch) -> None:
    mnemon("agents", "create", "Solo", "--prompt", "Decide.")
    monkeypatch.setenv("MNEMON_MODEL", "offline")
    refused = mnemon("agents", "run", "Solo")
    assert refused.exit_code == 1
    assert "no language model is set" in " ".join(refused.stderr.split())
    assert data(mnemon("runs", "list", "--json")) == []
