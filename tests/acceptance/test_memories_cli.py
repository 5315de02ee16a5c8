"""`mnemon remember` and `mnemon recall` in the terminal."""

import json
import re
from collections.abc import Callable

import pytest
from typer.testing import CliRunner, Result

from mnemon.cli.main import app

Mnemon = Callable[..., Result]


@pytest.fixture
def mnemon(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Mnemon:
    monkeypatch.setenv("MNEMON_DATABASE_URL", database_url)
    monkeypatch.setenv("COLUMNS", "120")
    return lambda *words: CliRunner().invoke(app, list(words))


def test_what_was_remembered_is_recalled_with_its_reasons(mnemon: Mnemon) -> None:
    told = mnemon(
        "remember",
        "John is my cofounder",
        "--type",
        "people",
        "--about",
        "person:John Doe",
        "--fact-type",
        "relationship",
    )
    assert told.exit_code == 0, told.output
    assert "Remembered John is my cofounder" in told.output
    assert "people|person|john_doe|relationship · said once" in told.output
    again = mnemon("remember", "Lives in Austin", "--attribute", "city")
    assert again.exit_code == 0
    found = mnemon("recall", "who is John", "--why", "--ranking", "blended")
    assert found.exit_code == 0, found.output
    lines = found.output.splitlines()
    assert lines[0] == "[person:john_doe]: John is my cofounder"
    assert lines[2].split()[2:] == ["John", "is", "my", "cofounder"]
    assert any(line.split()[0] == "similarity" and "× 0.40" in line for line in lines if line.strip())
    assert any(line.split()[0] == "frequency" and "× 0.30" in line for line in lines if line.strip())


def test_the_id_of_what_was_remembered_stands_on_the_line_of_its_key(
    mnemon: Mnemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    told = mnemon("remember", "Lives in Austin", "--attribute", "a city with a long name")
    assert told.exit_code == 0, told.output
    assert re.fullmatch(r"profile\|\S+ · said once · mem_\w+", told.output.splitlines()[1])
    promised = mnemon("remember", "Call John back about the contract", "--type", "open_loop")
    assert re.fullmatch(r"todo · \w+ · \w+", promised.output.splitlines()[1])


def test_json_is_the_wires_shape(mnemon: Mnemon) -> None:
    made = json.loads(mnemon("remember", "Lives in Austin", "--attribute", "city", "--json").stdout)
    assert (made["outcome"], made["userId"], made["memoryKey"]) == ("created", "me", "profile|person|self|fact|city")
    assert made["subtype"] == {"entityType": "person", "factType": "fact"}
    updated = json.loads(mnemon("remember", "Lives in Denver", "--attribute", "city", "--json").stdout)
    assert (updated["outcome"], updated["id"], updated["mentions"]) == ("updated", made["id"], 1)
    found = json.loads(mnemon("recall", "where", "--json").stdout)
    assert [hit["memory"]["content"] for hit in found["results"]] == ["Lives in Denver"]
    assert set(found["results"][0]) == {"memory", "score", "why", "weights"}


def test_an_open_loop_is_a_todo(mnemon: Mnemon) -> None:
    made = json.loads(mnemon("remember", "I'll call mom", "--type", "OPEN_LOOP", "--json").stdout)
    assert (made["kind"], made["status"]) == ("commitment", "open")


def test_an_empty_memory_teaches_what_to_type(mnemon: Mnemon) -> None:
    assert "mnemon remember" in mnemon("remember", "--help").output
    mnemon("remember", "Plays chess", "--user", "someone-else")
    assert 'mnemon remember "Lives in Austin"' in mnemon("recall", "anything").output


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("recall", "x", "--as-of", "yesterday"), 2),
        (("remember", "x", "--about", "John"), 2),
        (("remember", "x", "--fact-type", "rumour"), 2),
        (("recall", "x", "--org", "nowhere"), 3),
    ],
)
def test_mistakes_are_named_with_their_exit_code(mnemon: Mnemon, words: tuple[str, ...], code: int) -> None:
    done = mnemon(*words)
    assert done.exit_code == code, done.output
    assert "error" in done.stderr


def test_another_embedder_than_the_stored_one_is_told_and_nothing_is_searched(
    mnemon: Mnemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert mnemon("remember", "Plays the cello").exit_code == 0
    monkeypatch.setenv("MNEMON_EMBEDDER", "fake")
    for command in (("recall", "cello"), ("remember", "Sings")):
        refused = mnemon(*command)
        assert refused.exit_code == 1
        assert "mnemon reembed" in refused.stderr


def test_what_a_source_said_is_listed_and_taken_back(mnemon: Mnemon) -> None:
    mnemon("remember", "Lives in Austin", "--attribute", "city")
    [listed] = json.loads(mnemon("sources", "me", "--json").stdout)
    assert (listed["origin"], listed["trustLevel"], listed["active"]) == ("cli", "person", 1)
    assert mnemon("sources", "me").stdout.startswith("cli  person  1 active (0 claims)")
    done = mnemon("withdraw", "cli", "--user", "me", "--yes")
    assert done.exit_code == 0, done.output
    assert "Memories: 1 archived" in done.output
    again = json.loads(mnemon("withdraw", "cli", "--user", "me", "--yes", "--json").stdout)
    assert (again["origin"], again["total"]) == ("cli", 0)
    assert mnemon("withdraw", "cli", "--user", "nobody", "--yes").exit_code == 3


def test_the_next_step_for_nothing_found_names_the_same_person(mnemon: Mnemon) -> None:
    assert 'Try: mnemon remember "Lives in Austin"\n' in mnemon("recall", "where").stdout
    found = mnemon("recall", "where", "--user", "cat o'nine", "--persona", "coach")
    step = """Try: mnemon remember "Lives in Austin" --user 'cat o'"'"'nine' --persona coach\n"""
    assert step in found.stdout
