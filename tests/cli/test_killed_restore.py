"""A restore that is killed at any stage has changed nothing, or is finished before the database is used."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
from typer.testing import CliRunner, Result

from mnemon.cli.main import app
from mnemon.db.backup import count_contents
from support import killed_restore
from support.bounds import HANGS_S
from support.databases import name_of, new_database
from support.killed_restore import AFTER_COMMIT, BEFORE_COMMIT

Program = Callable[..., Result]
FORGOTTEN = ("zed", "yan")
BACKUP = "one.backup"
LEDGER = Path("data", "forgotten.ndjson")
GAP_WARNINGS = ("No ledger of forgettings was found", "This restore replaces no database,", "knew of withdrawals")


@dataclass(frozen=True)
class Prepared:
    """An organization `acme` with a backup, and what happened since: made once, copied for each test."""

    database: str
    folder: Path
    key: str
    """The id of the key that was revoked."""


@pytest.fixture(scope="module")
def prepared(cluster_url: str, template: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prepared]:
    folder = tmp_path_factory.mktemp("prepared")
    with new_database(cluster_url, template) as url:
        with pytest.MonkeyPatch.context() as patch:
            use(patch, folder, url)
            _, key = make_backup(folder)
        wait_until_alone(url)
        yield Prepared(name_of(url), folder, key)


@pytest.fixture
def database_url(cluster_url: str, prepared: Prepared) -> Iterator[str]:
    """A copy of the prepared database."""
    with new_database(cluster_url, prepared.database) as url:
        yield url


@pytest.fixture
def mnemon(database_url: str, prepared: Prepared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    """Runs the program over this test's copy, in which the ledger's file is lost."""
    shutil.copytree(prepared.folder, tmp_path, dirs_exist_ok=True)
    (tmp_path / LEDGER).unlink()
    use(monkeypatch, tmp_path, database_url)
    return call


def use(patch: pytest.MonkeyPatch, folder: Path, url: str | None = None) -> None:
    """Let commands work in this folder, over this database or an embedded one."""
    patch.chdir(folder)
    if url:
        patch.setenv("MNEMON_DATABASE_URL", url)
    patch.setenv("MNEMON_DATA_DIR", str(folder / "data"))
    patch.setenv("MNEMON_ORG", "acme")


@pytest.fixture
def empty_database_url(cluster_url: str) -> Iterator[str]:
    """A database without a table."""
    with new_database(cluster_url) as url:
        yield url


def call(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def done(*words: object) -> str:
    result = call(*words)
    assert result.exit_code == 0, result.output
    return result.stdout


def make_backup(folder: Path) -> tuple[Path, str]:
    """A backup, since which two people were forgotten, a key revoked, a source withdrawn and a memory added."""
    done("orgs", "create", "acme")
    key = str(json.loads(done("keys", "create", "--name", "lost", "--json"))["id"])
    for person in (*FORGOTTEN, "ann"):
        done("remember", f"Lives in Leeds, says {person}", "--user", person)
    backup = folder / BACKUP
    done("backup", backup)
    for person in FORGOTTEN:
        done("forget", "--user", person, "--yes")
    done("keys", "revoke", key)
    done("withdraw", "cli", "--user", "ann", "--yes")
    done("remember", "Moved to York", "--user", "new")
    file = folder / LEDGER
    assert len(file.read_text().splitlines()) == len(FORGOTTEN)
    return backup, key


def kill_at(stage: str, *words: object) -> None:
    """Run the program until it kills itself at the stage."""
    command = [sys.executable, "-m", "support.killed_restore", stage, *map(str, words)]
    tests = Path(killed_restore.__file__).parents[1]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, (str(tests), os.environ.get("PYTHONPATH")))),
    }
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=HANGS_S, env=environment)
    assert ended.returncode == -signal.SIGKILL, ended.stderr


def wait_until_alone(url: str) -> None:
    """Return when no other process is connected: `psql` may outlive the program that was killed."""
    end = time.monotonic() + HANGS_S
    while asyncio.run(count_contents(url)).others:
        assert time.monotonic() < end
        time.sleep(0.05)


def returned(key: str) -> list[str]:
    """What is back although it must not be."""
    keys = {one["id"]: one["revokedAt"] for one in json.loads(done("keys", "list", "--json"))}
    people = [person for person in FORGOTTEN if call("export", person).exit_code != 3]
    (source,) = json.loads(done("sources", "ann", "--json"))
    return [*people, *["key"] * (keys[key] is None), *["source"] * source["active"]]


def recorded_gaps(url: str) -> list[str]:
    with psycopg.connect(url) as connection:
        return [row[0] for row in connection.execute("select subject from restore_gaps order by 1")]


@pytest.mark.parametrize("stage", BEFORE_COMMIT)
def test_a_restore_killed_before_it_commits_has_changed_nothing(
    mnemon: Program, database_url: str, prepared: Prepared, tmp_path: Path, stage: str
) -> None:
    backup, key = tmp_path / BACKUP, prepared.key
    kill_at(stage, "restore", backup, "--force")
    wait_until_alone(database_url)
    assert "restore" not in {one["name"] for one in json.loads(mnemon("doctor", "--json").stdout)["checks"]}
    assert "York" in done("export", "new")
    assert returned(key) == []


@pytest.mark.parametrize(
    ("stage", "again"),
    [*((stage, "migrate") for stage in AFTER_COMMIT), ("after_load", "restore"), ("between_survivors", "restore")],
)
def test_a_restore_killed_after_it_commits_is_finished_before_the_database_is_used(
    mnemon: Program, database_url: str, prepared: Prepared, tmp_path: Path, stage: str, again: str
) -> None:
    backup, key = tmp_path / BACKUP, prepared.key
    kill_at(stage, "restore", backup, "--force")
    wait_until_alone(database_url)
    for words in (("keys", "list"), ("export", "zed"), ("backup", tmp_path / "two.backup"), ("worker",)):
        refused = mnemon(*words)
        assert refused.exit_code == 1, words
        assert "A restore of a backup was interrupted" in " ".join(refused.stderr.split()), words
    (check,) = [one for one in json.loads(mnemon("doctor", "--json").stdout)["checks"] if one["name"] == "restore"]
    assert check["state"] == "fail"
    assert check["fix"].startswith("mnemon migrate")
    if again == "migrate":
        notes = json.loads(done("migrate", "--json"))["restored"]
    else:
        notes = json.loads(done("restore", backup, "--force", "--json"))["notes"]
    assert len(notes) == 3
    assert "may be" not in " ".join(notes)
    assert returned(key) == []
    assert mnemon("export", "new").exit_code == 3, "the database is the backup's"
    assert recorded_gaps(database_url) == []
    assert json.loads(done("migrate", "--json"))["restored"] == [], "once"
    assert done("audit", "verify")


@pytest.mark.parametrize("again", ["migrate", "restore"])
def test_what_a_killed_restore_could_not_know_is_said_and_recorded(
    mnemon: Program,
    tmp_path: Path,
    empty_database_url: str,
    monkeypatch: pytest.MonkeyPatch,
    again: str,
) -> None:
    backup = tmp_path / BACKUP
    monkeypatch.setenv("MNEMON_DATABASE_URL", empty_database_url)
    kill_at("after_load", "restore", backup)
    wait_until_alone(empty_database_url)
    if again == "migrate":
        said = " ".join(mnemon("migrate").stderr.split())
        assert "A restore had been interrupted; it is finished now." in said
        assert all(warning in said for warning in GAP_WARNINGS), said
    else:
        notes = json.loads(done("restore", backup, "--force", "--json"))["notes"]
        assert notes[0].startswith(GAP_WARNINGS[0])
        assert all("had itself been restored without knowing" in note for note in notes[1:]), notes
    assert recorded_gaps(empty_database_url) == ["forgettings", "revocations", "withdrawals"]


def test_a_ledger_file_counts_also_where_another_machine_finishes_the_restore(
    mnemon: Program, prepared: Prepared, tmp_path: Path, empty_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    backup = tmp_path / BACKUP
    shutil.copy(prepared.folder / LEDGER, tmp_path / LEDGER)
    monkeypatch.setenv("MNEMON_DATABASE_URL", empty_database_url)
    kill_at("after_load", "restore", backup)
    wait_until_alone(empty_database_url)
    monkeypatch.setenv("MNEMON_DATA_DIR", str(tmp_path / "elsewhere"))
    notes = json.loads(mnemon("migrate", "--json").stdout)["restored"]
    assert notes[0].startswith("2 forgettings since the backup were carried out again. This rests on forgotten.ndjson")
    assert recorded_gaps(empty_database_url) == ["revocations", "withdrawals"]


def test_an_embedded_database_is_finished_by_the_next_command_that_migrates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, tmp_path)
    done("migrate")
    backup, key = make_backup(tmp_path)
    (tmp_path / LEDGER).unlink()
    kill_at("after_load", "restore", backup, "--force")
    made = call("keys", "create", "--name", "next", "--json")
    assert made.exit_code == 0, made.output
    assert "1 key that was revoked since the backup is revoked again." in " ".join(made.stderr.split())
    assert returned(key) == []
