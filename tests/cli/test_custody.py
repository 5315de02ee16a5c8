"""`mnemon export`, `import` and `forget`, and a restore that does not bring the forgotten back."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from typer.testing import CliRunner, Result

from mnemon.cli.main import app
from support.databases import new_database
from support.terminals import at_a_terminal


@pytest.fixture
def mnemon(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Runs the program over this test's database, with an organization `acme`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MNEMON_DATABASE_URL", database_url)
    monkeypatch.setenv("MNEMON_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("MNEMON_ORG", "acme")

    def call(*words: object) -> Result:
        return CliRunner().invoke(app, [str(word) for word in words])

    assert call("orgs", "create", "acme").exit_code == 0
    return call


@pytest.fixture
def empty_database_url(cluster_url: str) -> Iterator[str]:
    """A database without a table."""
    with new_database(cluster_url) as url:
        yield url


def remembered(mnemon: Callable[..., Result], text: str) -> str:
    made = mnemon("remember", text, "--user", "ann", "--json")
    assert made.exit_code == 0, made.stderr
    return str(json.loads(made.stdout)["id"])


def test_an_export_comes_back_after_the_person_was_forgotten(mnemon: Callable[..., Result], tmp_path: Path) -> None:
    remembered(mnemon, "Lives in Leeds")
    file = tmp_path / "ann.ndjson"
    assert mnemon("export", "ann", file).exit_code == 0
    assert mnemon("export", "ann").stdout_bytes == file.read_bytes()
    gone = mnemon("forget", "--user", "ann", "--json")
    assert json.loads(gone.stdout)["removed"]["memories"] == 1
    assert mnemon("export", "ann").exit_code == 3
    back = mnemon("import", file, "--json")
    assert json.loads(back.stdout)["stored"]["memories"] == 1
    assert mnemon("export", "ann").stdout_bytes == file.read_bytes()


def test_an_import_says_how_many_rows_had_been_forgotten(mnemon: Callable[..., Result], tmp_path: Path) -> None:
    memory = remembered(mnemon, "Lives in Leeds")
    file = tmp_path / "ann.ndjson"
    assert mnemon("export", "ann", file).exit_code == 0
    assert mnemon("forget", memory, "--yes").exit_code == 0
    assert "1 were left out: they had been forgotten here." in " ".join(mnemon("import", file).stdout.split())


def test_forgetting_asks_first_and_names_what_is_wrong(mnemon: Callable[..., Result]) -> None:
    memory = remembered(mnemon, "Lives in Leeds")
    code, seen = at_a_terminal("forget", memory, answer="n")
    assert code == 1
    assert f"Forget {memory} for good?" in seen
    assert "Lives in Leeds" in mnemon("export", "ann").stdout
    assert mnemon("forget").exit_code == 2
    assert mnemon("forget", "mem_nothing", "--yes").exit_code == 3
    done = mnemon("forget", memory, "--yes")
    assert "Receipt fgt_" in done.stdout
    assert "Lives in Leeds" not in mnemon("export", "ann").stdout


def test_without_a_terminal_nothing_is_forgotten_unasked(mnemon: Callable[..., Result]) -> None:
    memory = remembered(mnemon, "Lives in Leeds")
    for words in ((memory,), ("--user", "ann")):
        refused = mnemon("forget", *words)
        assert refused.exit_code == 2
        assert "Nothing was forgotten: there is no terminal to confirm it at. Add --yes." in refused.stderr
    assert "Lives in Leeds" in mnemon("export", "ann").stdout


def test_nobody_is_asked_about_a_memory_that_is_not_there(mnemon: Callable[..., Result]) -> None:
    code, seen = at_a_terminal("forget", "mem_nope", answer="y")
    assert code == 3
    assert "for good?" not in seen


def test_an_export_takes_the_person_as_an_option_too(mnemon: Callable[..., Result], tmp_path: Path) -> None:
    remembered(mnemon, "Lives in Leeds")
    plain = mnemon("export", "ann").stdout
    assert mnemon("export", "--user", "ann").stdout == plain
    assert mnemon("export", "--user", "ann", tmp_path / "ann.ndjson").exit_code == 0
    assert (tmp_path / "ann.ndjson").read_text() == plain
    for words in ((), ("ann", tmp_path / "one", "--user", "ann")):
        assert mnemon("export", *words).exit_code == 2
    assert not (tmp_path / "one").exists()


def test_what_is_no_export_is_refused(mnemon: Callable[..., Result], tmp_path: Path) -> None:
    file = tmp_path / "nonsense"
    file.write_text("hello\n")
    assert mnemon("import", file).exit_code == 2


def test_a_restore_does_not_bring_back_what_was_forgotten_since(mnemon: Callable[..., Result], tmp_path: Path) -> None:
    secret = remembered(mnemon, "The alarm word is marmalade")
    remembered(mnemon, "Lives in Leeds")
    backup = tmp_path / "one.backup"
    assert mnemon("backup", backup).exit_code == 0
    assert mnemon("forget", secret, "--yes").exit_code == 0
    back = mnemon("restore", backup, "--force", "--json")
    assert back.exit_code == 0, back.stderr
    assert json.loads(back.stdout)["notes"] == [
        "1 forgetting since the backup was carried out again.",
        "No key of this backup had been revoked since.",
        "No source had been withdrawn since the backup.",
    ]
    text = mnemon("export", "ann").stdout
    assert "Lives in Leeds" in text
    assert "marmalade" not in text
    assert "marmalade" not in (tmp_path / "data" / "forgotten.ndjson").read_text()


def test_a_head_saved_after_the_backup_points_to_the_restore_and_not_to_tampering(
    mnemon: Callable[..., Result], tmp_path: Path
) -> None:
    backup = tmp_path / "one.backup"
    assert mnemon("backup", backup).exit_code == 0
    for _ in range(3):
        made = json.loads(mnemon("keys", "create", "--name", "laptop", "--json").stdout)["id"]
    assert mnemon("keys", "revoke", made).exit_code == 0
    head = mnemon("audit", "head").stdout.strip()
    back = mnemon("restore", backup, "--force", "--json")
    assert json.loads(back.stdout)["notes"][1] == "No key of this backup had been revoked since."
    verified = mnemon("audit", "verify", "--head", head)
    assert verified.exit_code == 1
    assert "does not match the head that you saved" in verified.stdout
    assert "has an entry `mnemon restore`" in verified.stdout
    assert "changed outside Mnemon" not in verified.stdout
    assert mnemon("audit", "verify").exit_code == 0


def test_a_restore_keeps_a_key_revoked_that_was_valid_in_the_backup(
    mnemon: Callable[..., Result], tmp_path: Path
) -> None:
    key = json.loads(mnemon("keys", "create", "--name", "laptop", "--json").stdout)["id"]
    other = json.loads(mnemon("keys", "create", "--name", "server", "--json").stdout)["id"]
    backup = tmp_path / "one.backup"
    assert mnemon("backup", backup).exit_code == 0
    assert mnemon("keys", "revoke", key).exit_code == 0
    back = mnemon("restore", backup, "--force", "--json")
    assert json.loads(back.stdout)["notes"][1] == "1 key that was revoked since the backup is revoked again."
    revoked = {one["id"]: one["revokedAt"] is not None for one in json.loads(mnemon("keys", "list", "--json").stdout)}
    assert (revoked[key], revoked[other]) == (True, False)


def test_a_restore_into_a_new_place_says_what_it_could_not_know(
    mnemon: Callable[..., Result], tmp_path: Path, empty_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = remembered(mnemon, "The alarm word is marmalade")
    backup = tmp_path / "one.backup"
    assert mnemon("backup", backup).exit_code == 0
    assert mnemon("forget", secret, "--yes").exit_code == 0
    monkeypatch.setenv("MNEMON_DATABASE_URL", empty_database_url)
    monkeypatch.setenv("MNEMON_DATA_DIR", str(tmp_path / "elsewhere"))
    notes = json.loads(mnemon("restore", backup, "--json").stdout)["notes"]
    assert "may be back" in notes[0]
    assert "valid again" in notes[1]
    # With the ledger's file beside it, what was forgotten stays forgotten.
    (tmp_path / "elsewhere").mkdir(exist_ok=True)
    (tmp_path / "elsewhere" / "forgotten.ndjson").write_bytes((tmp_path / "data" / "forgotten.ndjson").read_bytes())
    notes = json.loads(mnemon("restore", backup, "--force", "--json").stdout)["notes"]
    again = "1 forgetting since the backup was carried out again."
    assert notes[0].startswith(f"{again} This rests on forgotten.ndjson alone")
    assert "marmalade" not in mnemon("export", "ann").stdout
    # And now it is known for good.
    assert json.loads(mnemon("restore", backup, "--force", "--json").stdout)["notes"][0] == again


def test_a_second_restore_without_the_ledger_knows_no_more_than_the_first(
    mnemon: Callable[..., Result], tmp_path: Path, empty_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = remembered(mnemon, "The alarm word is marmalade")
    key = json.loads(mnemon("keys", "create", "--name", "laptop", "--json").stdout)["id"]
    backup = tmp_path / "one.backup"
    assert mnemon("backup", backup).exit_code == 0
    assert mnemon("forget", secret, "--yes").exit_code == 0
    assert mnemon("keys", "revoke", key).exit_code == 0
    monkeypatch.setenv("MNEMON_DATABASE_URL", empty_database_url)
    monkeypatch.setenv("MNEMON_DATA_DIR", str(tmp_path / "elsewhere"))
    first = json.loads(mnemon("restore", backup, "--json").stdout)["notes"]
    other = remembered(mnemon, "Lives in Leeds")
    assert mnemon("forget", other, "--yes").exit_code == 0  # which makes a ledger, of what was forgotten here
    for _ in range(2):
        notes = json.loads(mnemon("restore", backup, "--force", "--json").stdout)["notes"]
        assert ["may be back" in first[0], "may be back" in notes[0]] == [True, True], notes
        assert ["valid again" in first[1], "valid again" in notes[1]] == [True, True], notes
        assert ["speaks again" in first[2], "speak again" in notes[2]] == [True, True], notes
        assert not [one for one in notes if one.startswith(("Nothing had", "No key had", "No source had"))]
    # A backup of what was restored so is no better.
    later = tmp_path / "two.backup"
    assert mnemon("backup", later).exit_code == 0
    assert "may be back" in json.loads(mnemon("restore", later, "--force", "--json").stdout)["notes"][0]
    (tmp_path / "elsewhere" / "forgotten.ndjson").write_bytes((tmp_path / "data" / "forgotten.ndjson").read_bytes())
    notes = json.loads(mnemon("restore", backup, "--force", "--json").stdout)["notes"]
    assert "rests on forgotten.ndjson alone" in notes[0], notes
    assert "marmalade" not in mnemon("export", "ann").stdout


def test_a_restore_withdraws_again_what_was_withdrawn_since(
    mnemon: Callable[..., Result], tmp_path: Path, empty_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    remembered(mnemon, "Lives in Leeds")
    backup = tmp_path / "one.backup"
    assert mnemon("backup", backup).exit_code == 0
    assert json.loads(mnemon("withdraw", "cli", "--user", "ann", "--yes", "--json").stdout)["total"] == 1
    notes = json.loads(mnemon("restore", backup, "--force", "--json").stdout)["notes"]
    assert notes[2] == "1 source that was withdrawn since the backup is withdrawn again: cli."
    [listed] = json.loads(mnemon("sources", "ann", "--json").stdout)
    assert (listed["active"], listed["archived"]) == (0, 1)
    # What it said after it was withdrawn is not touched by a withdrawal that the backup knows.
    later = tmp_path / "two.backup"
    remembered(mnemon, "Sails")
    assert mnemon("backup", later).exit_code == 0
    notes = json.loads(mnemon("restore", later, "--force", "--json").stdout)["notes"]
    assert notes[2] == "No source had been withdrawn since the backup."
    assert json.loads(mnemon("sources", "ann", "--json").stdout)[0]["active"] == 1
    # Somewhere else nothing tells of it.
    monkeypatch.setenv("MNEMON_DATABASE_URL", empty_database_url)
    assert "speaks again" in json.loads(mnemon("restore", backup, "--json").stdout)["notes"][2]


def test_a_forgotten_persons_withdrawals_go_with_them(mnemon: Callable[..., Result], database_url: str) -> None:
    remembered(mnemon, "Lives in Leeds")
    assert mnemon("withdraw", "cli", "--user", "ann", "--yes").exit_code == 0
    gone = json.loads(mnemon("forget", "--user", "ann", "--json").stdout)
    assert gone["removed"]["withdrawals"] == 1


def test_a_restore_says_how_to_start_what_it_restored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    first, second, file = tmp_path / "first", tmp_path / "sec ond", tmp_path / "one.backup"

    def call(*words: object) -> Result:
        return CliRunner().invoke(app, [str(word) for word in words])

    assert call("migrate", "--data-dir", first).exit_code == 0
    assert call("backup", file, "--data-dir", first).exit_code == 0
    back = call("restore", file, "--data-dir", second)
    assert back.exit_code == 0, back.stderr
    assert f"MNEMON_DATA_DIR='{second}' mnemon serve" in back.stderr


def test_a_receipt_names_the_rows_that_somebody_has_to_look_at(
    mnemon: Callable[..., Result], database_url: str
) -> None:
    remembered(mnemon, "Lives in Leeds")
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("insert into engagements (org_id, seq, heard, updated_at) values ('acme', 4711, 0, now())")
        connection.execute(
            "insert into engagement_journal (org_id, seq, at, recorded_at, who, reason, delta) "
            "values ('acme', 4711, now(), now(), 'operator', 'asked for by ann', '{\"kind\": \"opened\"}')"
        )
    told = mnemon("forget", "--user", "ann", "--yes").stdout
    assert "look at these rows yourself" in told
    assert "4711" in told
