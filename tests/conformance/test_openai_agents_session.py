"""The session tests in the OpenAI Agents SDK's source package, pointed at our session over HTTP."""

from pathlib import Path

import pytest

from support.foreign import run_foreign
from support.served import Served
from support.sources import OPENAI_AGENTS, fetched
from support.tally import counted

pytestmark = [pytest.mark.conformance, pytest.mark.timeout(600)]
pytest.importorskip("agents", reason="comes with `make conformance`")

_FILE = "tests/memory/test_session.py::"
INTERNALS = {
    f"{_FILE}test_await_mutation_cancellation_hides_later_failure_without_loop_error": "tests a private function",
    f"{_FILE}test_sqlite_session_close_closes_worker_thread_connections": "counts SQLite connections",
    f"{_FILE}test_sqlite_session_reaps_connections_from_exited_worker_threads": "counts SQLite connections",
    f"{_FILE}test_sqlite_session_closes_retired_connections_before_the_next_allocation": "counts SQLite connections",
    f"{_FILE}test_sqlite_session_keeps_connections_of_live_worker_threads": "counts SQLite connections",
    f"{_FILE}test_sqlite_session_closed_rejects_empty_add_items": "closes the session's own database connection",
    f"{_FILE}test_sqlite_session_pop_item_skips_corrupt_most_recent": "writes a broken row by SQL",
    f"{_FILE}test_sqlite_session_pop_item_returns_none_after_dropping_only_corrupt_rows": "writes a broken row by SQL",
    f"{_FILE}test_sqlite_session_get_items_limit_skips_corrupt_newest_rows": "writes a broken row by SQL",
    f"{_FILE}test_sqlite_session_get_items_session_settings_limit_skips_corrupt_rows": "writes a broken row by SQL",
    f"{_FILE}test_sqlite_session_file_lock_is_shared_across_instances": "reads SQLite's file lock",
    f"{_FILE}test_sqlite_session_failed_add_items_releases_write_lock": "replaces a private method of SQLite's",
    f"{_FILE}test_sqlite_session_failed_clear_session_rolls_back": "replaces SQLite's connection",
    f"{_FILE}test_sqlite_session_failed_pop_item_releases_write_lock": "replaces SQLite's connection",
    f"{_FILE}test_sqlite_session_rollback_failure_evicts_connection": "replaces SQLite's connection",
    f"{_FILE}test_sqlite_session_close_retries_quarantined_connection": "replaces SQLite's connection",
    f"{_FILE}test_sqlite_session_post_commit_cancellation_propagates_after_known_outcome": "replaces a connection",
}


def test_the_session_behaves_as_the_sdks_own(server: Served, tmp_path: Path) -> None:
    folder = fetched(OPENAI_AGENTS, tmp_path / "source")
    said = run_foreign(
        folder,
        ["tests/memory/test_session.py", "tests/memory/test_session_limit.py"],
        plugin="support.openai_sqlite",
        deselected=list(INTERNALS),
        env={"MNEMON_URL": server.url, "MNEMON_KEY": server.key("acme"), "OPENAI_API_KEY": "test-key"},
    )
    assert said.failed == (), said.output
    assert said.passed >= 40
    counted("OpenAI Agents SDK session tests", OPENAI_AGENTS.version, passed=said.passed, left_out=INTERNALS)
