"""An embedded PostgreSQL for one test process."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mnemon.db.embedded.cluster import ensure_running


@contextmanager
def embedded_cluster(folder: Path) -> Iterator[str]:
    """Its URL, while it runs."""
    cluster = asyncio.run(ensure_running(folder))
    try:
        yield cluster.url
    finally:
        asyncio.run(cluster.stop())
