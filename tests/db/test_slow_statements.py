"""A round that takes long is one line in the log, which names its statements and holds none of their values."""

import pytest
from structlog.testing import capture_logs

from mnemon.db import statements
from mnemon.db.database import Database
from mnemon.db.migrate import _UNUSABLE_TABLES_SQL
from mnemon.db.statements import statement_label
from mnemon.jobs.store import SQL


async def test_a_slow_round_is_one_line_without_values(single: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statements, "SLOW_S", 0.0)
    with capture_logs() as logs:
        async with single.tx("acme") as tx:
            await tx.fetch_all("select %(secret)s::text as said, 'marmalade'", secret="canary-7781")
    assert [(line["event"], line["log_level"]) for line in logs] == [("slow_statement", "warning")] * 2
    first, commit = logs
    assert first["statement"] == "select %(secret)s::text as said,"
    assert first["statements"] == 4
    assert first["ms"] >= 0
    assert commit["statement"] == "COMMIT"
    assert "canary" not in str(logs)
    assert "marmalade" not in str(logs)


async def test_a_round_that_fails_is_told_too(single: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statements, "SLOW_S", 0.0)
    with capture_logs() as logs, pytest.raises(Exception, match="division by zero"):
        await single.read_once("acme", "select 1 / 0")
    assert logs[0]["statement"] == "select 1 / 0, COMMIT"


async def test_what_is_quick_is_not_told(single: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statements, "SLOW_S", 1e9)
    with capture_logs() as logs:
        await single.read_once("acme", "select 1")
    assert logs == []


def test_a_statement_of_a_file_is_known_by_its_name() -> None:
    assert statement_label(SQL["claim"]) == "jobs:claim"
    assert statement_label(_UNUSABLE_TABLES_SQL) == "db:unusable_tables"
    assert statement_label("-- says nothing\nupdate  x\n set y = 'private'") == "update x set y ="
    assert len(statement_label("select " + "a, " * 100)) == 61
