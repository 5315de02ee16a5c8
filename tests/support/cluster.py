"""An embedded PostgreSQL for one test process."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from mnemon.db.embedded.cluster import ensure_running


@contextmanager
def embedded_cluster(folder: Path) -> Iterator[str]:
    """Its URL, while it runs. It does not wait for the disk: tests of crashes start their own."""
    cluster = asyncio.run(ensure_running(folder))
    try:
        with psycopg.connect(cluster.url, autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET fsync = off")
            connection.execute("SELECT pg_reload_conf()")
        yield cluster.url
    finally:
        asyncio.run(cluster.stop())
