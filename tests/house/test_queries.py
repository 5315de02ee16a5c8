"""Every SQL statement names the owner of every table it touches."""

import re
from pathlib import Path

import pytest

from mnemon.db.migrate import UNSCOPED_TABLES, shipped_migrations
from mnemon.db.statements import parse_statements

SOURCE = Path(__file__).parents[2] / "src" / "mnemon"
TABLE = re.compile(r"create table (?:if not exists )?(\w+) \((.*?)\n\)", re.IGNORECASE | re.DOTALL)
OWNERLESS = {"workers", "restore_gaps"}
"""Belongs to the installation, not to an organization: who works here and how it was restored, without any content."""

tables = {match[1]: match[2] for migration in shipped_migrations() for match in TABLE.finditer(migration.sql)}
statements = [
    pytest.param(name, sql, id=f"{path.parent.relative_to(SOURCE)}:{name}")
    for path in sorted(SOURCE.rglob("queries.sql"))
    for name, sql in parse_statements(path.read_text()).items()
]


def body(sql: str) -> str:
    """The statement without its comments."""
    return re.sub(r"--.*", "", sql)


def touched(sql: str) -> set[str]:
    words = set(re.findall(r"\b(?:from|join|into|update|using)\s+(?:only\s+)?(\w+)", body(sql), re.IGNORECASE))
    return words & set(tables)


def test_the_tables_are_read_from_the_migrations() -> None:
    assert {"work", "keys", "organizations", "users"} <= set(tables)


@pytest.mark.parametrize("table", sorted(set(tables) - OWNERLESS))
def test_every_key_of_a_tenant_table_begins_with_its_owner(table: str) -> None:
    if "org_id" not in tables[table]:
        pytest.fail(f"{table} has no owner column")
    owners = ["org_id", "user_id"] if re.search(r"^\s*user_id\s", tables[table], re.MULTILINE) else ["org_id"]
    for kind, columns in re.findall(r"(primary key|unique|references \w+) \(([^)]*)\)", tables[table], re.IGNORECASE):
        names = [column.strip() for column in columns.split(",")]
        assert set(owners) <= set(names), f"{table}: {kind} ({columns}) lacks {owners}"


@pytest.mark.parametrize("table", sorted(tables))
def test_nothing_happens_behind_a_statements_back(table: str) -> None:
    assert "on delete set null" not in tables[table].lower()


@pytest.mark.parametrize(("name", "sql"), statements)
def test_a_statement_names_its_owner_columns(name: str, sql: str) -> None:
    own = touched(sql) - UNSCOPED_TABLES
    text = body(sql)
    if own:
        assert "org_id" in text, f"{name} touches {own} and never says whose"
    user_owned = {t for t in own if re.search(r"^\s*user_id\s", tables[t], re.MULTILINE)}
    if user_owned:
        assert "user_id" in text, f"{name} touches {user_owned} and never says which person's"


@pytest.mark.parametrize(("name", "sql"), statements)
def test_time_comes_from_our_clock(name: str, sql: str) -> None:
    assert not re.search(r"\bnow\(\)|current_timestamp|clock_timestamp|current_date", body(sql), re.IGNORECASE)
