"""Databases for tests: each a copy of one that was migrated once."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg


@contextmanager
def new_database(cluster_url: str, template: str | None = None) -> Iterator[str]:
    """The URL of a database that is dropped afterwards: a copy of the template, or empty."""
    name = f"mnemon_{uuid.uuid4().hex[:16]}"
    # Copying files takes a third of the time of logging each block, and nothing of it has to survive a crash.
    copied = f' TEMPLATE "{template}" STRATEGY file_copy' if template else ""
    _admin(cluster_url, f'CREATE DATABASE "{name}"{copied}')
    try:
        yield psycopg.conninfo.make_conninfo(cluster_url, dbname=name)
    finally:
        _admin(cluster_url, f'DROP DATABASE "{name}" WITH (FORCE)')


def name_of(url: str) -> str:
    """The database that the URL names."""
    return str(psycopg.conninfo.conninfo_to_dict(url)["dbname"])


def _admin(url: str, statement: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statement)
