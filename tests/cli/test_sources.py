"""`mnemon sources` and `mnemon withdraw`, and what `mnemon recall` says about who said something."""

import json
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from typer.testing import CliRunner, Result

from mnemon.cli.main import app
from support.terminals import at_a_terminal

Mnemon = Callable[..., Result]


@pytest.fixture
def mnemon(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mnemon:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MNEMON_DATABASE_URL", database_url)
    monkeypatch.setenv("COLUMNS", "200")
    return lambda *words: CliRunner().invoke(app, list(words))


def said_by(
    mnemon: Mnemon, url: str, origin: str, text: str, *more: str, user: str = "ann", claim_of: str | None = None
) -> str:
    """A memory that this source, a tool, stated."""
    made = mnemon("remember", text, "--user", user, "--json", *more)
    assert made.exit_code == 0, made.output
    name = str(json.loads(made.stdout)["id"])
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "update memories set origin = %s, source = %s, trust_level = 'tool', trust = 'external', claim_of = %s "
            "where id = %s",
            [origin, origin, claim_of, name],
        )
    return name


def held(mnemon: Mnemon, user: str = "ann") -> int:
    return sum(one["active"] for one in json.loads(mnemon("sources", user, "--json").stdout))


def test_what_a_source_said_is_listed_with_its_ids(mnemon: Mnemon, database_url: str) -> None:
    one = said_by(mnemon, database_url, "tool:crm", "Owns a boat")
    two = said_by(mnemon, database_url, "tool:crm", "Owns a car")
    mnemon("remember", "Lives in Rome", "--user", "ann")
    assert mnemon("withdraw", "tool:crm", "--user", "ann", "--yes").exit_code == 0
    counts = mnemon("sources", "ann").stdout.splitlines()
    assert counts[1] == "tool:crm  tool  0 active (0 claims), 2 archived, 0 past, 0 todos"
    said_by(mnemon, database_url, "tool:web", "Lives in Oslo", user="ben", claim_of="profile|person|self|fact|home")
    assert mnemon("sources", "ben").stdout == "tool:web  tool  1 active (1 claim), 0 archived, 0 past, 0 todos\n"
    listed = mnemon("sources", "ann", "tool:crm")
    assert {line.split("  ")[0] for line in listed.stdout.splitlines()} == {one, two}
    assert "Owns a boat" in listed.stdout
    assert "Lives in Rome" not in listed.stdout
    plain = json.loads(mnemon("sources", "ann", "tool:crm", "--json").stdout)
    assert {(each["id"], each["status"]) for each in plain} == {(one, "ARCHIVED"), (two, "ARCHIVED")}


def test_a_source_of_which_only_past_versions_are_left_is_told_so(mnemon: Mnemon, database_url: str) -> None:
    home = ("--attribute", "home")
    said_by(mnemon, database_url, "tool:crm", "Lives in Rome", *home)
    said_by(mnemon, database_url, "tool:crm", "Lives in Oslo", *home)
    both = mnemon("sources", "ann", "tool:crm")
    assert "Lives in Oslo" in both.stdout
    assert both.stderr == "Not listed: 1 past version of a memory.\n"
    mnemon("remember", "Lives in Leeds", "--user", "ann", *home)
    past = mnemon("sources", "ann", "tool:crm")
    assert (past.exit_code, past.stdout) == (0, "")
    assert past.stderr == "No memory about ann is from this source now. Still on record: 2 past versions.\n"
    plain = mnemon("sources", "ann", "tool:crm", "--json")
    assert json.loads(plain.stdout) == []
    assert plain.stderr == past.stderr


def test_the_help_says_who_the_names_of_our_own_are() -> None:
    said = " ".join(CliRunner(env={"COLUMNS": "200"}).invoke(app, ["sources", "--help"]).stdout.split())
    assert "shadow_extraction is the person in conversation" in said.replace("`", "")


def test_a_source_that_never_spoke_is_not_found(mnemon: Mnemon, database_url: str) -> None:
    said_by(mnemon, database_url, "tool:crm", "Owns a boat")
    for words in (("withdraw", "tool:cmr", "--user", "ann", "--yes"), ("withdraw", "tool:cmr", "--everyone", "--yes"),
                  ("sources", "ann", "tool:cmr")):  # fmt: skip
        missing = mnemon(*words)
        assert missing.exit_code == 3, missing.output
        assert "`tool:crm`" in missing.stderr
    nobody = mnemon("sources", "nobody")
    assert "withdraw" not in nobody.output
    assert "No source has said anything about nobody." in nobody.stderr


def test_a_name_is_taken_as_it_is_shown(mnemon: Mnemon, database_url: str) -> None:
    odd = "tool:a\x1b[2J\nb\u202e"
    said_by(mnemon, database_url, odd, "Owns a boat")
    shown = mnemon("sources", "ann").stdout.splitlines()[0].split("  ")[0]
    assert shown == r"tool:a\x1b[2J\nb\u202e"
    assert "Owns a boat" in mnemon("sources", "ann", shown).stdout
    done = json.loads(mnemon("withdraw", shown, "--user", "ann", "--yes", "--json").stdout)
    assert (done["source"], done["total"]) == (odd, 1)


def test_a_source_is_taken_back_from_everyone(mnemon: Mnemon, database_url: str) -> None:
    for user in ("ann", "ben"):
        said_by(mnemon, database_url, "tool:crm", "Owns a boat", user=user)
    for words in ((), ("--user", "ann", "--everyone"), ("--user", "")):
        assert mnemon("withdraw", "tool:crm", "--yes", *words).exit_code == 2
    done = mnemon("withdraw", "tool:crm", "--everyone", "--yes")
    assert "2 people. Memories: 2 archived" in done.output
    assert (held(mnemon), held(mnemon, "ben")) == (0, 0)


def test_without_a_terminal_nothing_is_taken_back_unasked(mnemon: Mnemon, database_url: str) -> None:
    said_by(mnemon, database_url, "tool:crm", "Owns a boat")
    for more in ((), ("--json",)):
        refused = mnemon("withdraw", "tool:crm", "--user", "ann", *more)
        assert refused.exit_code == 2
        assert "--yes" in refused.stderr
    assert held(mnemon) == 1


def test_at_a_terminal_the_counts_are_shown_and_a_no_changes_nothing(mnemon: Mnemon, database_url: str) -> None:
    said_by(mnemon, database_url, "tool:crm", "Owns a boat")
    said_by(mnemon, database_url, "tool:crm", "Owns a car")
    code, seen = at_a_terminal("withdraw", "tool:crm", "--user", "ann", answer="n")
    assert code == 1
    assert "tool:crm said 2 memories, 0 past versions and 0 open todos about ann. Withdraw all of it?" in seen
    assert held(mnemon) == 2
    code, seen = at_a_terminal("withdraw", "tool:crm", "--user", "ann", answer="y")
    assert (code, held(mnemon)) == (0, 0), seen


def test_recall_marks_what_is_not_the_persons_own(mnemon: Mnemon, database_url: str) -> None:
    mnemon("remember", "Drinks black tea", "--user", "ann", "--attribute", "tea")
    said_by(mnemon, database_url, "tool:crm", "Drinks green tea")
    said_by(mnemon, database_url, "tool:crm", "Drinks no tea", claim_of="profile|person|self|fact|tea")
    # Nothing is stored under the key that this one contradicts, so it is shown like any other statement of a tool.
    said_by(mnemon, database_url, "tool:crm", "Drinks tea at night", claim_of="profile|person|self|fact|night")
    shown = mnemon("recall", "tea", "--user", "ann").stdout
    assert "Drinks black tea\n" in shown
    assert "Drinks green tea (external: tool crm)" in shown
    assert "Drinks no tea (external claim: tool crm)" in shown
    assert shown.index("Drinks black tea") < shown.index("Drinks no tea")
    assert "Drinks tea at night (external: tool crm)" in shown
    found = [hit["memory"] for hit in json.loads(mnemon("recall", "tea", "--user", "ann", "--json").stdout)["results"]]
    told = {one["content"]: (one["trust"], one["trustLevel"], one["claimOf"], one["source"]) for one in found}
    assert told == {
        "Drinks black tea": ("person", "person", None, "cli"),
        "Drinks green tea": ("external", "tool", None, "tool:crm"),
        "Drinks no tea": ("external", "tool", "profile|person|self|fact|tea", "tool:crm"),
        "Drinks tea at night": ("external", "tool", "profile|person|self|fact|night", "tool:crm"),
    }


@pytest.mark.parametrize("words", [("--user", "a\nb"), ("--user", " "), ("--persona", "a\tb")])
def test_no_person_is_made_with_a_control_character(mnemon: Mnemon, words: tuple[str, str]) -> None:
    assert mnemon("remember", "Sails", *words).exit_code == 2
    assert mnemon("recall", "Sails", *words).exit_code == 2
