"""`/readyz` knows whether workers are alive and take what is due, with and without one in the process."""

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx2
import psycopg
from prometheus_client import generate_latest

from mnemon.jobs.presence import WorkerPresence
from support.bounds import HANGS_S
from support.served import Served, served

TURN = {"userId": "ann", "messages": [{"role": "user", "content": "I live in Austin."}]}
READS = ("/api/memories?userId=ann", "/api/sessions?userId=ann", "/api/jobs", "/api/agents")
QUESTIONS = {
    "/api/memories/search": {"userId": "ann", "query": "Where does she live?"},
    "/api/context": {"userId": "ann", "query": "Where does she live?"},
}


def ready(server: Served) -> tuple[int, Any]:
    answer = httpx2.get(f"{server.url}/readyz", timeout=HANGS_S)
    return answer.status_code, answer.json()


def wait_until(holds: Callable[[], bool]) -> None:
    """Wait for something that a worker does; the bound only catches what never happens."""
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_the_worker_of_the_process_is_counted(database_url: str, tmp_path: Path) -> None:
    with served(database_url, tmp_path, model="offline", worker_concurrency=5) as server:
        status, body = ready(server)
        assert status == 200
        assert body["workers"] == {"alive": 1, "claiming": 1, "slots": 5, "busy": 0}
        assert body["overdueSeconds"] == 0


def test_a_worker_that_stopped_looking_for_work_makes_its_server_not_ready(database_url: str, tmp_path: Path) -> None:
    with served(database_url, tmp_path, model="offline") as server:
        presence: WorkerPresence = server.app.state.worker
        presence.note_claim = lambda *, busy: None  # type: ignore[method-assign]
        long_ago = presence.worker.claimed_at - timedelta(minutes=1)
        presence.worker = replace(presence.worker, seen_at=long_ago, claimed_at=long_ago)
        status, body = ready(server)
        assert (status, body["code"]) == (503, "worker_stuck")
        assert "log" in body["detail"]


def test_work_that_nobody_takes_makes_a_server_without_worker_not_ready(database_url: str, tmp_path: Path) -> None:
    with served(database_url, tmp_path, model="offline", worker=False) as server:
        client = server.client("acme")
        status, body = ready(server)
        assert (status, body["workers"]["alive"]) == (200, 0)
        assert client.post("/api/turns", json=TURN).status_code == 202
        assert ready(server)[0] == 200
        server.advance(seconds=61)
        status, body = ready(server)
        assert (status, body["code"]) == (503, "no_worker")
        assert "mnemon worker" in body["detail"]
        (tmp_path / "second").mkdir()
        now = server.clock_file.read_text()
        with served(database_url, tmp_path / "second", model="offline", start=now):
            wait_until(lambda: ready(server)[0] == 200)
            assert ready(server)[1]["workers"]["alive"] == 1
            server.settled(client)
        wait_until(lambda: ready(server)[1]["workers"]["alive"] == 0)
        assert ready(server)[1]["overdueSeconds"] == 0


def test_the_metrics_count_workers_and_restarts(database_url: str, tmp_path: Path) -> None:
    with served(database_url, tmp_path, model="offline") as server:
        wait_until(lambda: "mnemon_workers 1.0" in httpx2.get(f"{server.url}/metrics", timeout=HANGS_S).text)
        assert "# TYPE mnemon_task_restarts_total counter" in httpx2.get(f"{server.url}/metrics", timeout=HANGS_S).text
        assert "mnemon_database_up 1.0" in httpx2.get(f"{server.url}/metrics", timeout=HANGS_S).text


def test_what_stands_in_the_database_is_not_among_a_workers_own_figures() -> None:
    own = generate_latest().decode()
    assert "mnemon_task_restarts_total" in own
    assert "mnemon_database_up" not in own
    assert "mnemon_workers" not in own


def test_a_database_that_nothing_can_be_written_to_is_said_at_once(database_url: str, tmp_path: Path) -> None:
    with served(database_url, tmp_path, model="offline") as server:
        with psycopg.connect(database_url, autocommit=True) as owner:
            name = owner.info.dbname
            owner.execute(f'alter database "{name}" set default_transaction_read_only = on')
            end_connections(owner)
            status, body = ready(server)
            assert (status, body["code"]) == (503, "database_read_only")
            assert "primary" in body["detail"]
            owner.execute(f'alter database "{name}" reset default_transaction_read_only')
            end_connections(owner)
        wait_until(lambda: ready(server)[0] == 200)


def test_a_lost_privilege_makes_the_server_not_ready_but_a_table_of_a_running_migration_does_not(
    database_url: str, tmp_path: Path
) -> None:
    with served(database_url, tmp_path, model="offline") as server, psycopg.connect(database_url) as owner:
        owner.execute("create table not_granted_yet (org_id text)")
        owner.commit()
        assert ready(server)[0] == 200
        owner.execute("revoke select on memories from mnemon_app")
        owner.commit()
        status, body = ready(server)
        assert (status, body["code"]) == (503, "database_forbidden")
        assert "mnemon migrate" in body["detail"]
        owner.execute("grant select on memories to mnemon_app")
        owner.commit()
        assert ready(server)[0] == 200


def test_a_read_only_database_is_read_however_long_the_key_was_not_used(database_url: str, tmp_path: Path) -> None:
    with served(database_url, tmp_path, model="offline", worker=False) as server:
        client = server.client("acme")
        memory = {"userId": "ann", "type": "PROFILE", "content": "Lives in Leeds"}
        assert client.post("/api/memories", json=memory).status_code == 201
        with psycopg.connect(database_url, autocommit=True) as owner:
            owner.execute(f'alter database "{owner.info.dbname}" set default_transaction_read_only = on')
            end_connections(owner)
            server.advance(seconds=3600)  # a key's use is kept once a minute
            documented = client.get("/openapi.json").json()["paths"]
            paths = [path for path, known in documented.items() if "get" in known and "{" not in path]
            paths.remove("/readyz")
            reads = {path: client.get(path, params={"userId": "ann"}).status_code for path in paths}
            assert 503 not in reads.values(), reads
            reads = {path: client.get(path).status_code for path in READS}
            reads |= {path: client.post(path, json=body).status_code for path, body in QUESTIONS.items()}
            assert set(reads.values()) == {200}, reads
            # An export is put on record in the audit log, so it is refused like a write.
            for refused in (client.post("/api/memories", json=memory), client.get("/api/users/ann/export")):
                assert (refused.status_code, refused.json()["code"]) == (503, "database_read_only")


def end_connections(owner: psycopg.Connection[Any]) -> None:
    """End the server's connections, so that new ones take the database's new setting."""
    owner.execute(
        "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() "
        "and pid <> pg_backend_pid() and backend_type = 'client backend'"
    )


def test_the_process_tells_its_figures_while_the_database_is_away(database_url: str, tmp_path: Path) -> None:
    elsewhere = psycopg.conninfo.make_conninfo(database_url, dbname="postgres")
    name = psycopg.conninfo.conninfo_to_dict(database_url)["dbname"]
    with served(database_url, tmp_path, model="offline", worker=False) as server:
        with psycopg.connect(elsewhere, autocommit=True) as owner:
            owner.execute(f'alter database "{name}" with allow_connections false')
            owner.execute("select pg_terminate_backend(pid) from pg_stat_activity where datname = %s", (name,))
            answer = httpx2.get(f"{server.url}/metrics", timeout=60)
            owner.execute(f'alter database "{name}" with allow_connections true')
        assert answer.status_code == 200
        assert "mnemon_database_up 0.0" in answer.text
        assert "mnemon_workers NaN" in answer.text
        assert "process_resident_memory_bytes" in answer.text
