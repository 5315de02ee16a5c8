"""A database that is gone: 503 with Retry-After, soon; and served again when it is back."""

import time
import uuid
from pathlib import Path

import psycopg

from mnemon.settings import Settings
from support.bounds import HANGS_S
from support.served import served


def test_a_dead_database_is_a_503_and_not_a_hang(cluster_url: str, template: str, tmp_path: Path) -> None:
    name = f"mnemon_away_{uuid.uuid4().hex[:12]}"
    admin = psycopg.connect(cluster_url, autocommit=True)
    admin.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
    url = psycopg.conninfo.make_conninfo(cluster_url, dbname=name)
    with served(url, tmp_path, model="offline", worker=False) as server:
        client = server.client()
        assert client.get("/api/jobs").status_code == 200
        admin.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false')
        admin.execute("select pg_terminate_backend(pid) from pg_stat_activity where datname = %s", (name,))
        client.get("/api/jobs")  # the first one may wait until the pool has seen that nothing can be had
        began = time.monotonic()
        refused = client.get("/api/jobs")
        assert time.monotonic() - began < Settings().database_timeout_s * 0.8  # it did not wait for a connection again
        assert (refused.status_code, refused.json()["code"]) == (503, "database_unavailable")
        assert int(refused.headers["Retry-After"]) >= 1
        assert client.get("/readyz").status_code == 503
        assert client.get("/healthz").status_code == 200
        admin.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS true')
        until = time.monotonic() + HANGS_S
        while client.get("/api/jobs").status_code != 200:
            assert time.monotonic() < until, "it is back and must be served again"
            time.sleep(0.2)
    admin.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
    admin.close()
