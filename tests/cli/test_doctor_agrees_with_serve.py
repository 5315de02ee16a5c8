"""Whatever keeps the server from starting: `serve` and `doctor` name one cause, with a next step and no traceback."""

import asyncio
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from typer.testing import CliRunner

from mnemon.cli.main import app
from mnemon.db.embedded.cluster import ensure_running
from mnemon.db.embedded.programs import wheel_folder


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str, str]]:
    """With these variables: the exit code and words of `serve`, and what the doctor finds failing."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MNEMON_PORT", "0")

    def run(**variables: object) -> tuple[int, str, str]:
        env = {f"MNEMON_{name.upper()}": str(value) for name, value in variables.items()}
        served = CliRunner().invoke(app, ["serve"], env=env)
        assert served.exception is None or isinstance(served.exception, SystemExit), served.exception
        assert "Traceback" not in served.stderr
        examined = CliRunner().invoke(app, ["doctor", "--json"], env=env)
        assert examined.exit_code == 1
        bad = [one["detail"] for one in json.loads(examined.stdout)["checks"] if one["state"] == "fail"]
        return served.exit_code, " ".join(served.stderr.split()), " ".join(bad)

    return run


def test_a_half_made_data_directory(told: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    half = tmp_path / "data" / "postgres"
    half.mkdir(parents=True)
    (half / "PG_VERSION").write_text("18\n")
    if os.geteuid() == 0:
        os.chown(half, 65534, 65534)
    code, served, examined = told(data_dir=tmp_path / "data")
    assert code == 1
    assert "not a database that mnemon finished making" in served
    assert "not a database that mnemon finished making" in examined
    assert [path.name for path in half.iterdir()] == ["PG_VERSION"]


def test_a_database_that_went_missing(told: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    (tmp_path / "data").mkdir(mode=0o700)
    (tmp_path / "data" / "postgres.made").write_text("made\n")
    code, served, examined = told(data_dir=tmp_path / "data")
    assert code == 1
    assert "is gone" in served
    assert "is gone" in examined
    assert not (tmp_path / "data" / "postgres").exists()


@pytest.mark.parametrize(
    ("written", "cause"), [(None, "No such file"), ("", "not an ISO-8601"), ("soon", "not an ISO")]
)
def test_a_clock_file_without_a_time(
    told: Callable[..., tuple[int, str, str]], tmp_path: Path, written: str | None, cause: str
) -> None:
    if written is not None:
        (tmp_path / "clock").write_text(written)
    code, served, examined = told(clock_file=tmp_path / "clock", data_dir=tmp_path / "data")
    assert code == 1
    for words in (served, examined):
        assert f"holds no time ({cause}" in words
    assert "date -u" in served
    assert not (tmp_path / "data").exists()


def test_a_host_where_nothing_answers(told: Callable[..., tuple[int, str, str]]) -> None:
    code, served, examined = told(database_url="postgresql://u:secret@127.0.0.1:1/memory")
    assert code == 5
    assert "Nothing answers at 127.0.0.1:1" in served
    assert "Nothing answers at 127.0.0.1:1" in examined
    assert "secret" not in served + examined


def test_a_wrong_password_and_a_missing_extension(told: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    cluster = asyncio.run(ensure_running(tmp_path / "other", bin_dir=_without_pgvector(tmp_path)))
    try:
        with psycopg.connect(cluster.url, autocommit=True) as connection:
            connection.execute("CREATE ROLE guest LOGIN PASSWORD 'right'")
            hba = tmp_path / "other" / "postgres" / "pg_hba.conf"
            hba.write_text(f"local all guest scram-sha-256\n{hba.read_text()}")
            connection.execute("SELECT pg_reload_conf()")
            folder = str(conninfo_to_dict(cluster.url)["host"])
            wrong = make_conninfo(host=folder, user="guest", password="wr0ng-secret", dbname="mnemon")
            right = make_conninfo(host=folder, user="guest", password="right", dbname="mnemon")

            code, served, examined = told(database_url=wrong)
            assert code == 5
            assert "refused the password of role guest" in served
            assert "refused the password of role guest" in examined
            assert "wr0ng-secret" not in served + examined

            code, served, examined = told(database_url=right)
            assert code == 1
            assert "has no pgvector" in served
            assert "has no pgvector" in examined
    finally:
        asyncio.run(cluster.stop())


def _without_pgvector(tmp_path: Path) -> Path:
    """The wheel's programs, the extension left out."""
    install = wheel_folder().parent
    wheel = install.parent
    copy = tmp_path / "wheel"
    copy.mkdir()
    for part in (install, wheel.with_name(f"{wheel.name}.libs")):
        subprocess.run(["cp", "-a", str(part), str(copy)], check=True)
    # The programs look for their libraries two folders up and across, as they stand in the wheel.
    home = copy / wheel.name
    home.mkdir()
    shutil.move(copy / install.name, home / install.name)
    for left in (home / install.name / "share" / "postgresql" / "extension").glob("vector*"):
        left.unlink()
    return home / install.name / "bin"
