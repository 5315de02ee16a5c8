"""In a directory without data only the commands that begin something make a database; every other one says so."""

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from mnemon.cli.main import app
from mnemon.db.embedded.data_dir import has_database
from support.commands import commands, data_commands

MAKES_ONE = {"serve", "migrate", "restore", "demo"}
NEEDS_NONE = {"doctor", "login", "logout"}
HAS_ITS_OWN = {"eval"}
"""Works on a database of its own, which it removes (tests/cli/evaluation)."""
ARGUMENTS = {
    "backup": ("one.backup",),
    "chat": ("Hello",),
    "export": ("ann", "ann.ndjson"),
    "forget": ("mem_x", "--yes"),
    "import": (__file__,),
    "remember": ("Lives in Leeds",),
    "recall": ("Leeds",),
    "sources": ("ann",),
    "unfold": ("mem_x",),
    "withdraw": ("tool:crm", "--user", "ann", "--yes"),
    "orgs create": ("acme",),
    "orgs set": ("acme", "--engagement", "off"),
    "orgs show": ("acme",),
    "keys create": ("--name", "app"),
    "keys revoke": ("key_x",),
    "agents create": ("Scout",),
    "agents edit": ("Scout", "--prompt", "What changed?"),
    "agents show": ("Scout",),
    "agents reset": ("Scout",),
    "agents delete": ("Scout", "--yes"),
    "agents run": ("Scout",),
    "agents chat": ("Scout", "Hello"),
    "jobs retry": ("--parked",),
    "runs show": ("run_x",),
    "runs watch": ("run_x",),
    "runs cancel": ("run_x",),
    "runs re-examine": ("run_x",),
    "runs resolve": ("run_x", "correct"),
}


@pytest.fixture
def empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory without anything in it, in which no setting names a database elsewhere."""
    for name in [name for name in os.environ if name.startswith("MNEMON_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def called(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


@pytest.mark.parametrize("command", sorted(set(commands(app)) - MAKES_ONE - NEEDS_NONE - HAS_ITS_OWN))
def test_a_command_in_a_directory_without_data_says_what_is_missing(command: str, empty_directory: Path) -> None:
    refused = called(*command.split(), *ARGUMENTS.get(command, ()))
    assert refused.exit_code == 1, refused.output
    folder = empty_directory / ".mnemon"
    if command in data_commands(app):
        step = "start one with `mnemon serve`, or name a server with --url."
        assert f"There is no Mnemon data directory at {folder}; {step}" in refused.stderr
    else:
        assert f"There is no Mnemon data in {folder}." in refused.stderr
        assert "--data-dir" in refused.stderr
        assert "`mnemon serve`" in refused.stderr
    assert "MNEMON_DATA_DIR" in refused.stderr
    assert list(empty_directory.iterdir()) == []


@pytest.mark.parametrize("command", sorted(NEEDS_NONE))
def test_what_needs_no_database_makes_none(command: str, empty_directory: Path) -> None:
    assert "There is no Mnemon data" not in called(*command.split()).output
    assert list(empty_directory.iterdir()) == []


def test_data_that_went_missing_is_not_taken_for_a_directory_without_any(tmp_path: Path) -> None:
    assert not has_database(tmp_path)
    (tmp_path / "postgres.made").touch()
    assert has_database(tmp_path)


@pytest.mark.parametrize("command", ["recall", "remember", "doctor"])
def test_no_command_starts_with_an_unusable_setting(
    empty_directory: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("MNEMON_PORT", "99999")
    refused = CliRunner().invoke(app, [command, *ARGUMENTS.get(command, ())])
    assert refused.exit_code != 0
    assert "MNEMON_PORT" in refused.stderr + refused.stdout
