"""The doctor says what is so, how bad it is and the line that mends it; it changes nothing and never falls over."""

import asyncio
import json
import os
import signal
import socket
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from typer.testing import CliRunner

from mnemon.access.organizations import create_organization
from mnemon.cli.checkup import machine
from mnemon.cli.checkup.check import CheckState
from mnemon.cli.main import app
from mnemon.clock import SystemClock
from mnemon.custody import ledger
from mnemon.db.database import Database
from mnemon.db.embedded.cluster import ensure_running
from mnemon.scope import Scope
from mnemon.vectors.active_model import switch_active_model
from support.processes import servers_on

Report = dict[str, dict[str, Any]]


@pytest.fixture
def doctor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Report]:
    """Runs the doctor with these variables set; its findings by name. The exit code must agree with them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MNEMON_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("MNEMON_PORT", "0")

    def run(**variables: object) -> Report:
        with pytest.MonkeyPatch.context() as patch:
            for name, value in variables.items():
                patch.setenv(f"MNEMON_{name.upper()}", str(value))
            done = CliRunner().invoke(app, ["doctor", "--json"])
        said = json.loads(done.stdout)
        assert done.exit_code == (0 if said["ok"] else 1)
        assert said["ok"] == all(one["state"] != "fail" for one in said["checks"])
        return {one["name"]: one for one in said["checks"]}

    return run


def test_a_fresh_machine_is_well_and_nothing_is_made(doctor: Callable[..., Report], tmp_path: Path) -> None:
    found = doctor()
    assert {one["state"] for one in found.values()} == {"ok"}
    assert "no embedded database yet" in found["cluster"]["detail"]
    assert found["cluster"]["fix"] == "mnemon serve"
    assert "Offline: rules" in found["model"]["detail"]
    assert "256 dimensions" in found["embedder"]["detail"]
    assert not (tmp_path / "data").exists()


def test_a_migrated_database_is_well(doctor: Callable[..., Report], database_url: str) -> None:
    found = doctor(database_url=database_url)
    assert found["database"]["state"] == found["schema"]["state"] == found["isolation"]["state"] == "ok"
    assert "none yet" in found["organizations"]["detail"]


def test_a_database_without_the_schema_is_told_to_migrate(
    doctor: Callable[..., Report], cluster_url: str, database_url: str
) -> None:
    with psycopg.connect(database_url) as connection:
        connection.execute("DELETE FROM schema_migrations WHERE number = (SELECT max(number) FROM schema_migrations)")
    found = doctor(database_url=database_url)
    assert found["schema"]["state"] == "warn"
    assert found["schema"]["fix"].startswith("mnemon migrate")
    assert "isolation" not in found


def test_a_database_of_a_newer_version_fails(doctor: Callable[..., Report], database_url: str) -> None:
    with psycopg.connect(database_url) as connection:
        connection.execute("INSERT INTO schema_migrations VALUES (9999, 'newer', repeat('a', 64), '2026-01-01')")
    assert "newer version" in doctor(database_url=database_url)["schema"]["detail"]


def test_a_table_without_its_wall_fails(doctor: Callable[..., Report], database_url: str) -> None:
    with psycopg.connect(database_url) as connection:
        connection.execute("ALTER TABLE keys DISABLE ROW LEVEL SECURITY")
    found = doctor(database_url=database_url)
    assert found["isolation"]["state"] == "fail"
    assert "mnemon migrate" in found["isolation"]["detail"]


def test_a_url_that_leads_nowhere_fails_with_the_next_step(doctor: Callable[..., Report], cluster_url: str) -> None:
    parts = conninfo_to_dict(cluster_url)
    missing = make_conninfo(**{**parts, "dbname": "no_such_database"})  # type: ignore[arg-type]
    assert "createdb no_such_database" in doctor(database_url=missing)["database"]["detail"]
    assert "not a PostgreSQL URL" in doctor(database_url="nonsense")["database"]["detail"]
    assert "Nothing answers" in doctor(database_url="postgresql://u:p@127.0.0.1:1/x")["database"]["detail"]


def test_an_embedded_database_is_looked_into_and_left_stopped(doctor: Callable[..., Report], tmp_path: Path) -> None:
    assert CliRunner().invoke(app, ["migrate"]).exit_code == 0
    found = doctor()
    assert "was shut down cleanly" in found["cluster"]["detail"]
    assert found["isolation"]["state"] == "ok"
    assert not (tmp_path / "data" / "postgres" / "postmaster.pid").exists()
    (tmp_path / "data" / "postgres" / "mnemon-cluster").unlink()
    assert "finished making" in doctor()["cluster"]["detail"]
    (tmp_path / "data" / "postgres").rename(tmp_path / "elsewhere")
    assert "is gone" in doctor()["cluster"]["detail"]


def test_vectors_of_another_embedder_fail(doctor: Callable[..., Report], database_url: str) -> None:
    assert CliRunner().invoke(app, ["orgs", "create", "acme"], env={"MNEMON_DATABASE_URL": database_url}).exit_code == 0
    asyncio.run(_flip(database_url, "another-embedder"))
    found = doctor(database_url=database_url)
    assert found["vectors"]["state"] == "fail"
    assert "mnemon reembed" in found["vectors"]["detail"]


async def _flip(url: str, model: str) -> None:
    db = Database(url, SystemClock(), pool_size=2)
    await db.open()
    async with db.tx("acme") as tx:
        await switch_active_model(tx, Scope(org_id="acme"), model)
    await db.close()


def test_missing_programs_fail(doctor: Callable[..., Report], tmp_path: Path) -> None:
    found = doctor(postgres_bin_dir=tmp_path)
    assert found["programs"]["state"] == "fail"
    assert "cluster" not in found


def test_a_port_that_somebody_else_has_fails(doctor: Callable[..., Report]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        found = doctor(port=taken.getsockname()[1])
    assert found["port"]["state"] == "fail"
    assert "--port" in found["port"]["fix"]


def test_an_address_of_another_machine_fails_and_no_other_server_is_blamed(doctor: Callable[..., Report]) -> None:
    found = doctor(host="192.0.2.1")["port"]
    assert found["state"] == "fail"
    assert "does not have the address 192.0.2.1" in found["detail"]
    assert "Another server" not in found["detail"]
    assert found["fix"] == "export MNEMON_HOST=127.0.0.1"


def test_a_ledger_file_that_lacks_a_forgetting_is_noticed(
    doctor: Callable[..., Report], database_url: str, tmp_path: Path
) -> None:
    assert "ledger file" not in doctor(database_url=database_url)
    entry = asyncio.run(_forget_somebody(database_url))
    behind = doctor(database_url=database_url)["ledger file"]
    assert behind["state"] == "warn"
    assert "lacks 1 of 1 forgettings" in behind["detail"]
    ledger.append_to_file(tmp_path / "data" / ledger.LEDGER_FILE, [entry])
    assert (tmp_path / "data" / ledger.LEDGER_FILE).stat().st_mode & 0o077 == 0
    assert doctor(database_url=database_url)["ledger file"]["state"] == "ok"


async def _forget_somebody(url: str) -> ledger.LedgerEntry:
    """Add an entry to the ledger of `acme` as a forgetting does, and return it."""
    now = SystemClock().now()
    entry = ledger.LedgerEntry(org_id="acme", id="fgt_1", kind="person", subject="usr_1", at=now)
    db = Database(url, SystemClock())
    await db.open()
    async with db.tx("acme") as tx:
        await create_organization(tx)
    async with db.tx("acme") as tx:
        await ledger.add_entry(tx, entry, ledger.Receipt(id=entry.id, at=now))
    await db.close()
    return entry


def test_a_configured_model_is_not_said_to_reply(doctor: Callable[..., Report]) -> None:
    found = doctor(model="openai:m", model_base_url="http://127.0.0.1:9/v1", model_api_key="sk")["model"]
    assert found["detail"].endswith("is configured to reply; no test request was sent.")


def test_a_server_open_to_the_network_is_pointed_out(doctor: Callable[..., Report]) -> None:
    assert doctor(host="0.0.0.0")["network"]["state"] == "warn"


def test_wrong_models_fail_with_their_names(doctor: Callable[..., Report]) -> None:
    found = doctor(model="gpt-9", embedder="cloud")
    assert "names no provider" in found["model"]["detail"]
    assert "not known" in found["embedder"]["detail"]


def test_a_clock_file_is_read(doctor: Callable[..., Report], tmp_path: Path) -> None:
    (tmp_path / "clock").write_text("2030-01-01T00:00:00Z")
    assert "uses the time 2030-01-01T00:00:00Z" in doctor(clock_file=tmp_path / "clock")["clock"]["detail"]
    (tmp_path / "clock").write_text("tomorrow")
    assert doctor(clock_file=tmp_path / "clock")["clock"]["state"] == "fail"
    assert doctor(clock_file=tmp_path / "missing")["clock"]["state"] == "fail"


def test_a_setting_that_cannot_be_read_is_a_finding(doctor: Callable[..., Report]) -> None:
    found = doctor(pool_size="many")
    assert found["settings"]["state"] == "fail"
    assert "MNEMON_POOL_SIZE" in found["settings"]["detail"]


def test_a_misspelt_variable_is_noticed(tmp_path: Path) -> None:
    found = machine.check_setting_names({"MNEMON_DATABSE_URL": "x", "HOME": "/"}, tmp_path)
    assert found.state is CheckState.WARN
    assert found.fix == "unset MNEMON_DATABSE_URL; export MNEMON_DATABASE_URL=…"
    assert (
        machine.check_setting_names({"MNEMON_PORT": "1", "MNEMON_ORG": "local", "MNEMON_USER": "me"}, tmp_path).state
        == "ok"
    )


@pytest.mark.parametrize("name", ["MNEMON_TYPO_SETING", "MNEMON_FOO", "MNEMON_SIZE"])
def test_for_a_name_like_no_setting_none_is_suggested(name: str, tmp_path: Path) -> None:
    assert machine.check_setting_names({name: "1"}, tmp_path).fix == f"unset {name}"


def test_every_unknown_name_is_told_how_to_mend_it(tmp_path: Path) -> None:
    found = machine.check_setting_names({"MNEMON_FOO": "1", "MNEMON_PROT": "1"}, tmp_path)
    assert found.fix == "unset MNEMON_FOO; unset MNEMON_PROT; export MNEMON_PORT=…"


def test_a_misspelt_name_in_a_file_is_noticed(doctor: Callable[..., Report], tmp_path: Path) -> None:
    (tmp_path / "mnemon.toml").write_text("data_dri = 'x'\npool_size = 3\n[server]\nport = 1\n")
    (tmp_path / ".env").write_text("MNEMON_RATE_LIMIT=5\nOTHER=1\nmnemon_pool_size=4\n")
    found = doctor()["settings"]
    assert found["state"] == "warn"
    for words in ("data_dri in mnemon.toml", "server in mnemon.toml", "MNEMON_RATE_LIMIT in .env"):
        assert f"{words} is not a setting" in found["detail"]
    assert "pool_size" not in found["detail"]
    assert "MNEMON_RATE_LIMIT_PER_MINUTE in .env" in found["fix"]
    (tmp_path / ".env").unlink()
    assert "write data_dir in mnemon.toml" in doctor()["settings"]["fix"]


def test_a_settings_file_that_cannot_be_read_is_named(doctor: Callable[..., Report], tmp_path: Path) -> None:
    for name, written in (("mnemon.toml", b"port = = 1"), (".env", b"MNEMON_PORT=\xff")):
        (tmp_path / name).write_bytes(written)
        found = doctor()["settings"]
        assert found["state"] == "fail"
        assert f"{tmp_path / name} cannot be read" in found["detail"]
        served = CliRunner().invoke(app, ["serve"])
        assert served.exit_code == 1
        assert name in served.stderr
        (tmp_path / name).unlink()


def test_little_room_is_told_in_time(tmp_path: Path) -> None:
    states = [machine.check_disk_space(tmp_path, free).state for free in (10_000_000, 500_000_000, 50_000_000_000)]
    assert states == [CheckState.FAIL, CheckState.WARN, CheckState.OK]


def test_a_data_directory_others_can_read_or_nobody_can_make_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir(mode=0o755)
    assert machine.check_data_dir(tmp_path / "open")[0].state is CheckState.WARN
    (tmp_path / "file").write_text("")
    assert machine.check_data_dir(tmp_path / "file" / "data")[0].state is CheckState.FAIL
    assert machine.check_data_dir(tmp_path / "new" / "data")[0].state is CheckState.OK


def test_completion_is_offered(tmp_path: Path) -> None:
    assert machine.check_completion(tmp_path, "/bin/zsh").fix == "mnemon --install-completion"
    (tmp_path / ".zfunc").mkdir()
    (tmp_path / ".zfunc" / "_mnemon").write_text("")
    assert machine.check_completion(tmp_path, "/bin/zsh").fix is None


def test_people_get_words_and_marks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["doctor", "--data-dir", str(tmp_path / "data")])
    assert "ok   python" in done.stdout
    assert " failed." in done.stdout


@pytest.fixture
def work(database_url: str) -> Callable[..., None]:
    """Puts a row into `work`, due so many seconds ago; more columns by name."""

    def put(job: str, ago: float, **columns: object) -> None:
        now = SystemClock().now()
        row = {"org_id": "acme", "kind": "reflect", "key": job, "job_id": job, "enqueued_at": now - timedelta(hours=1)}
        row |= {"due_at": now - timedelta(seconds=ago), **columns}
        named = ", ".join(row), ", ".join(f"%({name})s" for name in row)
        with psycopg.connect(database_url) as connection:
            connection.execute(f"insert into work ({named[0]}) values ({named[1]})", row)

    return put


def test_a_session_whose_first_turn_is_tried_again_waits_for_the_model_and_for_no_worker(
    doctor: Callable[..., Report], database_url: str, work: Callable[..., None]
) -> None:
    work("job_1", -30, lane="ses_1", seq=1, attempts=3, error="model_unavailable: The model answered 500.")
    work("job_2", 112, lane="ses_1", seq=2)
    found = doctor(database_url=database_url)["work"]
    assert found["state"] == "warn"
    assert "no worker takes it" not in found["detail"]
    assert "1 work item is being retried" in found["detail"]
    assert "The model answered 500." in found["detail"]


def test_work_that_nobody_takes_is_told_from_work_whose_workers_are_busy(
    doctor: Callable[..., Report], database_url: str, work: Callable[..., None]
) -> None:
    work("job_1", 112)
    assert "no worker takes it" in doctor(database_url=database_url)["work"]["detail"]
    now = SystemClock().now()
    with psycopg.connect(database_url) as connection:
        connection.execute("insert into workers values ('wrk_1', %s, %s, %s, 8, 8)", (now, now, now))
    found = doctor(database_url=database_url)["work"]
    assert "busy with 8 of 8 slots" in found["detail"]


def test_a_read_only_database_fails(doctor: Callable[..., Report], database_url: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        name = connection.info.dbname
        connection.execute(f'ALTER DATABASE "{name}" SET default_transaction_read_only = on')
    found = doctor(database_url=database_url)["database"]
    assert found["state"] == "fail"
    assert "read-only" in found["detail"]


def test_missing_privileges_fail_and_migrate_says_that_it_mended_them(
    doctor: Callable[..., Report], database_url: str
) -> None:
    with psycopg.connect(database_url) as connection:
        connection.execute("REVOKE SELECT ON memories FROM mnemon_app")
        connection.execute("REVOKE DELETE ON work FROM mnemon_app")
    report = doctor(database_url=database_url)
    found = report["privileges"]
    assert found["state"] == "fail"
    assert report["audit log"]["state"] == "ok", "nothing that the server may not do hides a changed log"
    assert "memories, work" in found["detail"]
    assert found["fix"].startswith("mnemon migrate")
    done = CliRunner().invoke(app, ["migrate", "--database-url", database_url])
    assert "mnemon_app restored on: memories, work." in done.stdout
    assert doctor(database_url=database_url)["privileges"]["state"] == "ok"
    assert "privileges" not in CliRunner().invoke(app, ["migrate", "--database-url", database_url]).stdout


def test_an_embedded_database_that_a_signal_stopped_is_told_how_to_go_on(
    doctor: Callable[..., Report], tmp_path: Path
) -> None:
    cluster = asyncio.run(ensure_running(tmp_path / "data"))
    try:
        os.kill(cluster.pid, signal.SIGSTOP)
        found = doctor()
    finally:
        os.kill(cluster.pid, signal.SIGCONT)
        asyncio.run(cluster.stop())
    assert found["cluster"]["state"] == "fail"
    assert found["cluster"]["fix"] == f"kill -CONT {cluster.pid}"
    assert not [one for one in found.values() if "MNEMON_DATABASE_URL" in f"{one['detail']} {one['fix']}"]


def test_a_suspended_child_of_the_embedded_database_is_found_too(doctor: Callable[..., Report], tmp_path: Path) -> None:
    cluster = asyncio.run(ensure_running(tmp_path / "data"))
    child = min(pid for pid in servers_on(tmp_path / "data" / "postgres") if pid != cluster.pid)
    try:
        os.kill(child, signal.SIGSTOP)
        found = doctor()["cluster"]
    finally:
        os.kill(child, signal.SIGCONT)
        asyncio.run(cluster.stop())
    assert (found["state"], found["fix"]) == ("fail", f"kill -CONT {child}")
