"""`mnemon keys`: an empty word is a slip, never everything; a list says what each key may do and for how long."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from mnemon.access.grants import DEFAULT_PERSONAL_IN_ORDER
from mnemon.cli.main import app

Mnemon = Callable[..., Result]


@pytest.fixture
def mnemon(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mnemon:
    """Runs the program over this test's database, with an organization `acme`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MNEMON_DATABASE_URL", database_url)
    monkeypatch.setenv("MNEMON_ORG", "acme")

    def call(*words: str) -> Result:
        return CliRunner().invoke(app, list(words))

    assert call("orgs", "create", "acme").exit_code == 0
    return call


@pytest.mark.parametrize(
    "words",
    [
        ("--scopes", ""),
        ("--scopes", " "),
        ("--scopes", ", ,"),
        ("--user", ""),
        ("--user", "  "),
        ("--user", "a\nb"),
        ("--user", "x" * 201),
        ("--expires-in-days", ""),
        ("--expires-in-days", "0"),
        ("--org", ""),
    ],
)
def test_an_empty_word_makes_no_key(mnemon: Mnemon, words: tuple[str, str]) -> None:
    refused = mnemon("keys", "create", "--name", "app", *words)
    assert refused.exit_code == 2, refused.output
    assert "mnk_" not in refused.output
    assert json.loads(mnemon("keys", "list", "--json").stdout) == []


def test_the_refusal_says_how_to_get_everything(mnemon: Mnemon) -> None:
    assert "Leave `--scopes` out" in " ".join(mnemon("keys", "create", "--name", "app", "--scopes", "").stderr.split())
    assert mnemon("keys", "create", "--name", "app").exit_code == 0


def test_the_help_and_the_refusal_name_the_default_of_a_bound_key(mnemon: Mnemon) -> None:
    mnemon("keys", "create", "--name", "cat", "--user", "cat")
    [cat] = json.loads(mnemon("keys", "list", "--json").stdout)
    default = ", ".join(DEFAULT_PERSONAL_IN_ORDER)
    assert sorted(default.split(", ")) == cat["scopes"]
    said = CliRunner(env={"COLUMNS": "300"}).invoke(app, ["keys", "create", "--help"]).stdout
    assert f"with --user: {default}." in said
    assert "Days until the key expires." in said
    refused = mnemon("keys", "create", "--name", "app", "--scopes", "")
    assert f"for a key bound to a person {default})" in " ".join(refused.stderr.split())


def test_the_list_says_what_each_key_may_do_and_for_how_long(mnemon: Mnemon) -> None:
    mnemon("keys", "create", "--name", "all")
    mnemon("keys", "create", "--name", "reader", "--scopes", "memory:read, chat", "--expires-in-days", "30")
    mnemon("keys", "create", "--name", "cat", "--user", "cat")
    [full, reader, cat] = json.loads(mnemon("keys", "list", "--json").stdout)
    lines = mnemon("keys", "list").stdout.splitlines()
    assert lines[0] == f"{full['id']}  {'all':<24} not used yet, never expires"
    assert lines[1].strip() == "may everything"
    assert lines[2].endswith(f"not used yet, expires {reader['expiresAt'][:10]}")
    assert lines[3].strip() == "may chat, memory:read"
    assert lines[4].endswith("never expires, only for cat")
    assert lines[5].strip() == "may chat, custody, memory:read, memory:write"
    assert mnemon("keys", "revoke", cat["id"]).exit_code == 0
    assert "revoked 20" in mnemon("keys", "list").stdout.splitlines()[4]


def test_a_key_whose_time_is_over_is_listed_as_expired(
    mnemon: Mnemon, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    mnemon("keys", "create", "--name", "reader", "--expires-in-days", "1")
    [key] = json.loads(mnemon("keys", "list", "--json").stdout)
    (tmp_path / "clock").write_text("2040-01-01T00:00:00Z")
    monkeypatch.setenv("MNEMON_CLOCK_FILE", str(tmp_path / "clock"))
    assert mnemon("keys", "list").stdout.splitlines()[0].endswith(f"not used yet, expired {key['expiresAt'][:10]}")


def test_a_key_or_an_organization_that_is_not_there_is_told_where_to_look(mnemon: Mnemon) -> None:
    for words, step in (
        (("keys", "revoke", "key_nope"), "`mnemon keys list --org acme`"),
        (("audit", "verify", "--org", "nope"), "`mnemon orgs create nope`"),
    ):
        refused = mnemon(*words)
        told = " ".join(refused.stderr.split())
        assert refused.exit_code == 3
        assert step in told
        assert "that the key belongs" not in told
