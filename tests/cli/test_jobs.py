"""`mnemon jobs`: what waits, runs or is parked can be seen and run again from a terminal."""

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import get_args

import psycopg
import pytest
from typer.testing import CliRunner, Result

from mnemon.api.jobs import KindOfJob
from mnemon.app import all_job_kinds, make_services
from mnemon.cli.main import app
from mnemon.clock import SystemClock
from mnemon.settings import Settings

Mnemon = Callable[..., Result]
NO_KEY = "model_refused: The model's server refused the key."


@pytest.fixture
def mnemon(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mnemon:
    """Runs a command over a database with a session of three turns and a job of another organization."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MNEMON_DATABASE_URL", database_url)

    def call(*words: str) -> Result:
        return CliRunner().invoke(app, list(words))

    for org in ("local", "acme"):
        assert call("orgs", "create", org).exit_code == 0
    now = SystemClock().now()
    parked: dict[str, object] = {"attempts": 8, "error": NO_KEY, "parked_at": now}
    rows: list[tuple[str, str, dict[str, object]]] = [
        ("job_1", "local", parked),
        ("job_2", "local", {"attempts": 2, "error": NO_KEY, "due_at": now + timedelta(minutes=5)}),
        ("job_3", "local", {}),
        ("job_4", "local", {**parked, "lane": "ses_2"}),
        ("job_5", "acme", parked),
        ("job_6", "local", {"lane": None, "lease_until": now + timedelta(hours=1)}),
    ]
    with psycopg.connect(database_url) as connection:
        for seq, (job, org, more) in enumerate(rows):
            row: dict[str, object] = {"org_id": org, "kind": "reflect", "key": job, "job_id": job, "lane": "ses_1"}
            row |= {"seq": seq, "enqueued_at": now, "due_at": now, **more}
            names, values = ", ".join(row), ", ".join(f"%({name})s" for name in row)
            connection.execute(f"insert into work ({names}) values ({values})", row)
    return call


def listed(mnemon: Mnemon, *words: str) -> dict[str, dict[str, object]]:
    done = mnemon("jobs", "list", "--json", *words)
    assert done.exit_code == 0, done.output
    return {one["id"]: one for one in json.loads(done.stdout)}


def test_jobs_are_listed_with_their_error_and_with_what_they_wait_for(mnemon: Mnemon) -> None:
    found = listed(mnemon)
    assert {job: one["status"] for job, one in found.items()} == {
        "job_1": "parked",
        "job_2": "queued",
        "job_3": "queued",
        "job_4": "parked",
        "job_6": "running",
    }
    assert {job: one["waitsFor"] for job, one in found.items() if one["waitsFor"]} == {"job_3": "job_2"}
    assert set(listed(mnemon, "--status", "parked")) == {"job_1", "job_4"}
    assert set(listed(mnemon, "--org", "acme")) == {"job_5"}
    words = mnemon("jobs", "list").stdout
    assert NO_KEY in words
    assert "waits for job_2" in words
    assert mnemon("jobs", "list", "--status", "done").exit_code == 2
    assert set(listed(mnemon, "--kind", "spine")) == set()
    wrong = mnemon("jobs", "list", "--kind", "reflect")
    assert wrong.exit_code == 2
    assert "'reflection'" in wrong.stderr
    assert "No running jobs" in mnemon("jobs", "list", "--status", "running", "--org", "acme").stdout


async def test_the_kinds_to_filter_by_are_those_of_the_worker(database_url: str, tmp_path: Path) -> None:
    async with make_services(Settings(data_dir=tmp_path), database_url) as services:
        assert set(get_args(KindOfJob)) == set(all_job_kinds(services))


def test_every_parked_job_of_the_organization_is_due_again_with_all_its_tries(mnemon: Mnemon) -> None:
    assert "2 jobs are due now." in mnemon("jobs", "retry", "--parked").stdout
    found = listed(mnemon)
    for job in ("job_1", "job_4"):
        assert (found[job]["status"], found[job]["attempts"], found[job]["parkedAt"]) == ("queued", 0, None)
    assert found["job_2"]["attempts"] == 2
    assert listed(mnemon, "--org", "acme")["job_5"]["status"] == "parked"
    assert "no parked jobs" in mnemon("jobs", "retry", "--parked").stdout


def test_a_job_is_retried_by_its_id(mnemon: Mnemon) -> None:
    assert json.loads(mnemon("jobs", "retry", "job_1", "job_2", "--json").stdout) == {"retried": ["job_1", "job_2"]}
    assert {listed(mnemon)[job]["attempts"] for job in ("job_1", "job_2")} == {0}
    assert mnemon("jobs", "retry", "job_5").exit_code == 3
    running = mnemon("jobs", "retry", "job_6")
    assert running.exit_code == 1
    assert "running now" in running.stderr
    assert mnemon("jobs", "retry").exit_code == 2
    assert mnemon("jobs", "retry", "job_1", "--parked").exit_code == 2


def test_the_doctor_names_the_command_and_the_organization(mnemon: Mnemon, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MNEMON_PORT", "0")

    def work() -> dict[str, str]:
        return next(one for one in json.loads(mnemon("doctor", "--json").stdout)["checks"] if one["name"] == "work")

    assert "3 work items are parked" in work()["detail"]
    assert "failed for good" not in work()["detail"]
    assert work()["fix"].startswith("mnemon jobs list --status parked  # then: mnemon jobs retry --parked")
    assert mnemon("jobs", "retry", "--parked").exit_code == 0
    assert work()["fix"].startswith("mnemon jobs list --status parked --org acme")
