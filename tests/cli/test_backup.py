"""A backup beside a running server comes back whole, or nothing is changed."""

import asyncio
import json
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from typer.testing import CliRunner, Result

from mnemon.access.keys import create_key
from mnemon.access.organizations import create_organization
from mnemon.cli import survivors
from mnemon.cli.main import app
from mnemon.clock import SystemClock
from mnemon.db.backup import GapSubject
from mnemon.db.database import Database
from mnemon.db.migrate import check_role
from mnemon.db.pending_restore import CarriedRecords
from mnemon.scope import Scope
from mnemon.services import Services


@pytest.fixture
def mnemon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Runs the program with these words, away from any settings file."""
    monkeypatch.chdir(tmp_path)
    return lambda *words: CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def filled(database_url: str) -> str:
    """A database with an organization and a key."""
    asyncio.run(_fill(database_url, "acme"))
    return database_url


@pytest.fixture
def other(cluster_url: str, database_url: str) -> Iterator[str]:
    """An empty database."""
    name = f"{conninfo_to_dict(database_url)['dbname']}_other"
    with psycopg.connect(cluster_url, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
        yield make_conninfo(**{**conninfo_to_dict(cluster_url), "dbname": name})  # type: ignore[arg-type]
        connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


async def _fill(url: str, org: str) -> None:
    db = Database(url, SystemClock(), pool_size=2)
    await db.open()
    async with db.tx(org) as tx:
        await create_organization(tx)
        await create_key(tx, Scope(org_id=org), name="kept")
    await db.close()


async def _check_walls(url: str) -> None:
    db = Database(url, SystemClock(), pool_size=2)
    await db.open()
    async with db.tx("acme") as tx:
        await check_role(tx)
        assert len(await tx.fetch_all("SELECT * FROM keys")) == 1
    async with db.tx("another") as tx:
        assert await tx.fetch_all("SELECT * FROM keys") == []
    await db.close()


def names_of_keys(url: str) -> list[tuple[str, str]]:
    with psycopg.connect(url) as connection:
        return connection.execute("SELECT org_id, name FROM keys ORDER BY 1, 2").fetchall()


def test_a_backup_made_beside_a_connection_comes_back_in_an_empty_database(
    filled: str, other: str, tmp_path: Path, mnemon: Callable[..., Result]
) -> None:
    file = tmp_path / "one.backup"
    with psycopg.connect(filled) as busy:
        busy.execute("SELECT 1")
        made = mnemon("backup", file, "--database-url", filled, "--json")
    assert made.exit_code == 0, made.stderr
    assert json.loads(made.stdout)["bytes"] == file.stat().st_size
    assert file.stat().st_mode & 0o777 == 0o600

    back = mnemon("restore", file, "--database-url", other, "--json")
    assert back.exit_code == 0, back.stderr
    assert json.loads(back.stdout)["tables"] == json.loads(made.stdout)["tables"]
    assert names_of_keys(other) == [("acme", "kept")]
    asyncio.run(_check_walls(other))


def test_a_database_that_holds_something_is_replaced_only_by_force(
    filled: str, tmp_path: Path, mnemon: Callable[..., Result]
) -> None:
    file = tmp_path / "one.backup"
    mnemon("backup", file, "--database-url", filled)
    asyncio.run(_fill(filled, "later"))

    refused = mnemon("restore", file, "--database-url", filled)
    assert refused.exit_code == 1
    assert "holds data" in refused.stderr
    assert "--force" in refused.stderr
    assert names_of_keys(filled) == [("acme", "kept"), ("later", "kept")]

    assert mnemon("restore", file, "--database-url", filled, "--force").exit_code == 0
    assert names_of_keys(filled) == [("acme", "kept")]


def test_nothing_is_replaced_while_others_are_connected(
    filled: str, tmp_path: Path, mnemon: Callable[..., Result]
) -> None:
    file = tmp_path / "one.backup"
    mnemon("backup", file, "--database-url", filled)
    with psycopg.connect(filled):
        refused = mnemon("restore", file, "--database-url", filled, "--force")
    assert refused.exit_code == 1
    assert "Stop `mnemon serve`" in refused.stderr


def test_a_cut_off_file_changes_nothing(filled: str, tmp_path: Path, mnemon: Callable[..., Result]) -> None:
    file = tmp_path / "one.backup"
    mnemon("backup", file, "--database-url", filled)
    file.write_bytes(file.read_bytes()[:-500])
    refused = mnemon("restore", file, "--database-url", filled, "--force")
    assert refused.exit_code != 0
    assert "error" in refused.stderr
    assert names_of_keys(filled) == [("acme", "kept")]


def test_a_backup_of_a_newer_version_is_refused_before_anything_is_touched(
    filled: str, other: str, tmp_path: Path, mnemon: Callable[..., Result]
) -> None:
    with psycopg.connect(filled) as connection:
        connection.execute("INSERT INTO schema_migrations VALUES (9999, 'newer', repeat('a', 64), '2026-01-01')")
    file = tmp_path / "one.backup"
    mnemon("backup", file, "--database-url", filled)
    refused = mnemon("restore", file, "--database-url", other)
    assert refused.exit_code == 1
    assert "newer version" in " ".join(refused.stderr.split())
    with psycopg.connect(other) as connection:
        assert connection.execute("SELECT to_regclass('schema_migrations')").fetchone() == (None,)


def test_an_existing_file_is_kept_and_a_place_that_cannot_be_written_is_named(
    filled: str, tmp_path: Path, mnemon: Callable[..., Result]
) -> None:
    file = tmp_path / "precious"
    file.write_text("mine")
    assert mnemon("backup", file, "--database-url", filled).exit_code == 1
    assert file.read_text() == "mine"
    nowhere = mnemon("backup", tmp_path / "no" / "such" / "file", "--database-url", filled)
    assert nowhere.exit_code == 1
    assert "cannot be written (No such file or directory)" in " ".join(nowhere.stderr.split())


def test_a_file_that_is_no_backup_is_refused(filled: str, tmp_path: Path, mnemon: Callable[..., Result]) -> None:
    (tmp_path / "text").write_text("hello")
    for name in ("text", "missing"):
        refused = mnemon("restore", tmp_path / name, "--database-url", filled, "--force")
        assert refused.exit_code == 2
        assert "mnemon backup" in " ".join(refused.stderr.split())


def test_what_must_survive_is_taken_from_the_old_database_and_given_to_the_new(
    filled: str, tmp_path: Path, mnemon: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Ledger:
        subject: GapSubject = "forgettings"
        keys = 0

        async def read_from(self, url: str) -> None:
            self.keys = len(names_of_keys(url))

        def carried_records(self, data_dir: Path, at: datetime) -> CarriedRecords:
            return CarriedRecords(subject=self.subject, at=at, found=True, gap=None, rows=(json.dumps(self.keys),))

        def take_over(self, records: CarriedRecords) -> None:
            (row,) = records.rows
            self.keys = json.loads(row)

        async def apply_to(self, services: Services) -> str:
            async with services.db.tx("acme") as tx:
                return f"{self.keys} before, {len(await tx.fetch_all('SELECT 1 FROM keys'))} now"

    file = tmp_path / "one.backup"
    mnemon("backup", file, "--database-url", filled)
    asyncio.run(_fill(filled, "later"))
    monkeypatch.setattr(survivors, "SURVIVORS", (Ledger,))
    back = mnemon("restore", file, "--database-url", filled, "--force", "--json")
    assert json.loads(back.stdout)["notes"] == ["2 before, 1 now"]


def test_an_embedded_database_comes_back_in_a_new_directory(tmp_path: Path, mnemon: Callable[..., Result]) -> None:
    first, second, file = tmp_path / "first", tmp_path / "second", tmp_path / "one.backup"
    assert mnemon("migrate", "--data-dir", first).exit_code == 0
    made = mnemon("backup", file, "--data-dir", first)
    assert made.exit_code == 0, made.stderr
    assert f"mnemon restore {file} --data-dir NEW_DIRECTORY" in made.stderr
    assert f"(stop the server first): mnemon restore {file} --force" in made.stderr
    back = mnemon("restore", file, "--data-dir", second)
    assert back.exit_code == 0, back.stderr
    assert "the database is up to date" in mnemon("migrate", "--data-dir", second).stdout


def test_a_directory_is_not_overruled_by_a_database_that_the_environment_names(
    filled: str, tmp_path: Path, mnemon: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "one.backup"
    mnemon("backup", file, "--database-url", filled)
    asyncio.run(_fill(filled, "later"))
    monkeypatch.setenv("MNEMON_DATABASE_URL", filled)

    refused = mnemon("restore", file, "--data-dir", tmp_path / "beside", "--force")
    assert refused.exit_code == 2
    assert "MNEMON_DATABASE_URL" in refused.stderr
    assert names_of_keys(filled) == [("acme", "kept"), ("later", "kept")]

    advised = mnemon("restore", file)
    assert advised.exit_code == 1
    assert "--database-url URL_OF_AN_EMPTY_ONE" in advised.stderr
