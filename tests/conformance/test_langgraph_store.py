"""The store tests in LangGraph's SQLite source package, pointed at our store over HTTP."""

from pathlib import Path

import pytest

from support.foreign import run_foreign
from support.served import Served
from support.sources import LANGGRAPH_SQLITE, fetched
from support.tally import counted

pytestmark = [pytest.mark.conformance, pytest.mark.timeout(900)]
pytest.importorskip("langgraph.store.base", reason="comes with `make conformance`")

INTERNALS = {
    "tests/test_store.py::test_vector_store_initialization": "looks for a table in the SQLite file",
    "tests/test_store.py::test_nonnull_migrations": "reads the list of SQLite migrations",
    "tests/test_store.py::test_escape_glob_literal": "tests a function that escapes SQLite's GLOB",
    "tests/test_store.py::test_namespace_match_pattern": "tests a function that builds a regular expression for SQLite",
    "tests/test_store.py::test_list_namespaces_prefix_uses_indexable_condition": "reads the SQL text sent to SQLite",
}


def test_the_store_behaves_as_langgraphs_own(server: Served, tmp_path: Path) -> None:
    # Expiry is measured in real seconds by these tests, so the server's clock must be the real one.
    folder = fetched(LANGGRAPH_SQLITE, tmp_path / "source")
    said = run_foreign(
        folder,
        ["tests/test_store.py", "tests/test_async_store.py", "tests/test_ttl.py"],
        plugin="support.langgraph_sqlite",
        deselected=list(INTERNALS),
        env={"MNEMON_URL": server.url, "MNEMON_KEY": server.key("acme")},
    )
    assert said.failed == (), said.output
    assert said.passed > 100
    counted(
        "LangGraph store tests (langgraph-checkpoint-sqlite)",
        LANGGRAPH_SQLITE.version,
        passed=said.passed,
        left_out=INTERNALS,
    )
