"""PostgreSQL's planner keeps no sample of what people said."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest

from mnemon.db import migrate as migrations
from mnemon.db.migrate import migrate_database
from support.databases import new_database

NOW = datetime(2026, 4, 12, 15, 22, tzinfo=UTC)
PLANNED_BY = frozenset({
    "org_id", "user_id", "id", "message_id", "agent_id", "turn_id", "session_id", "memory_id", "run_id",
    "parent_run_id", "persona_id", "job_id", "worker_id", "key_id", "tool_id", "merge_id", "closing_turn_id",
    "session_id_before", "session_id_after", "subject_user_id", "resumed_from", "persona", "role", "who", "kind",
    "status", "type", "trust_level", "fact_type", "entity_type", "trust", "model", "part", "content_hash", "digest",
    "origin", "concerns", "linked_hash",
    "hash", "secret", "grants", "fingerprint", "caller", "made_by", "summarized_by", "ended_by", "archive_reason",
    "memory_ids", "sources", "folded", "archived", "spans", "stones", "subject", "receipt", "usage", "waits_for",
    "action", "actor", "adapter", "schedule", "card_type", "team", "resolution_status", "symbol", "lane",
    "engagement",
})  # fmt: skip
"""Columns that hold ids, codes and hashes; the planner may know them."""
OF_THE_ORGANIZATION = frozenset({"agents", "organization_settings", "personas", "schema_migrations", "work"})
"""Tables of configuration and ids."""
_WORDY = """
select c.relname as in_table, a.attname as name, coalesce(a.attstattarget, -1) as target
from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
where n.nspname = 'public' and c.relkind = 'r' and a.attnum > 0 and not a.attisdropped
  and format_type(a.atttypid, null) in ('text', 'text[]', 'jsonb', 'json', 'bytea', 'vector', 'halfvec')
"""


def test_every_column_that_may_hold_words_is_left_out(database_url: str) -> None:
    with psycopg.connect(database_url) as connection:
        rows = connection.execute(_WORDY).fetchall()
    sampled = {f"{table}.{name}" for table, name, target in rows if target != 0}
    words = {
        one for one in sampled if one.split(".")[1] not in PLANNED_BY and one.split(".")[0] not in OF_THE_ORGANIZATION
    }
    assert words == set()


def test_an_older_database_loses_its_samples(cluster_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    every = migrations.shipped_migrations()
    with new_database(cluster_url) as url:
        monkeypatch.setattr(migrations, "shipped_migrations", lambda: [one for one in every if one.number < 96])
        asyncio.run(migrate_database(url, NOW))
        with psycopg.connect(url, autocommit=True) as connection:
            for number in range(300):
                connection.execute(
                    "insert into users (org_id, user_id, external_id, created_at) values ('acme', %s, %s, now())",
                    (f"usr_{number}", f"zoltup-{number % 3}"),
                )
            connection.execute("analyze users")
            assert "zoltup" in _sampled(connection)
            monkeypatch.undo()
            asyncio.run(migrate_database(url, NOW))
            assert "zoltup" not in _sampled(connection)
            connection.execute("analyze users")
            assert "zoltup" not in _sampled(connection)


def _sampled(connection: psycopg.Connection[Any]) -> str:
    return str(connection.execute("select * from pg_stats where schemaname = 'public'").fetchall())
