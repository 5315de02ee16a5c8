"""An embedded PostgreSQL for one test process."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mnemon.db.embedded.cluster import ensure_running


@contextmanager
def embedded_cluster(folder: Path) -> Iterator[str]:
    """Its URL, while it runs."""
    cluster = ensure_running(folder)
    try:
        yield cluster.url
    finally:
        cluster.stop()
