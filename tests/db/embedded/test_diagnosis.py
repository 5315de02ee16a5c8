"""PostgreSQL's words become a cause and a next step."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemon.db.embedded.diagnosis import diagnose_failure, last_error_line
from mnemon.errors import DatabaseDown, Misconfigured, MnemonError

DATA_DIR = Path("/data/of/ours")

WORDS = [
    ('FATAL:  could not write to file "pg_wal/xlogtemp.29": No space left on device', DatabaseDown, "Free some space"),
    ("FATAL:  pre-existing shared memory block (key 5, ID 1) is still in use", DatabaseDown, "start again"),
    ('FATAL:  lock file "postmaster.pid" already exists', Misconfigured, "Stop it"),
    ('FATAL:  could not bind Unix address "/x/.s.PGSQL.5432": Address already in use', Misconfigured, "short path"),
    ("FATAL:  database files are incompatible with server", Misconfigured, "mnemon restore"),
    ("PANIC:  could not locate a valid checkpoint record at 0/1", Misconfigured, "mnemon restore"),
    ("FATAL:  could not map anonymous shared memory: Cannot allocate memory", DatabaseDown, "memory"),
    ('FATAL:  configuration file "/x/postgresql.conf" contains errors', Misconfigured, "Take out the line"),
    ('FATAL:  could not open file "x": Permission denied', Misconfigured, "chown -R"),
    ('FATAL:  could not create lock file "postmaster.pid": Read-only file system', Misconfigured, "writable"),
    ("initdb: error: could not look up effective user ID 4711: user does not exist", Misconfigured, "/etc/passwd"),
]


@pytest.mark.parametrize(("words", "kind", "step"), WORDS)
def test_a_known_complaint_gets_its_cause_and_next_step(words: str, kind: type[MnemonError], step: str) -> None:
    error = diagnose_failure(f"2026-11-15 09:00:00.000 UTC [1] LOG:  starting\n{words}\n", data_dir=DATA_DIR)
    assert type(error) is kind
    assert step in error.detail
    assert str(DATA_DIR) in error.detail


@given(st.text(max_size=200))
def test_any_words_at_all_become_an_error_with_a_next_step(words: str) -> None:
    error = diagnose_failure(words, data_dir=DATA_DIR)
    assert isinstance(error, DatabaseDown | Misconfigured)
    assert error.detail.endswith(".")


def test_the_last_complaint_is_told_without_its_time() -> None:
    words = "2026-11-15 09:00:00.000 UTC [1] FATAL:  it went wrong\n2026-11-15 09:00:01.000 UTC [1] LOG:  bye\n"
    assert last_error_line(words) == "it went wrong"
    assert last_error_line("") == "it said nothing"
