"""Deadlocks of a server's database: how many PostgreSQL counted, and which statements were in them."""

import re

from support.soak.server import Server

_DEADLOCKS = "select deadlocks from pg_stat_database where datname = current_database()"
_SPEAKING = {"log_error_verbosity": "'default'", "log_min_error_statement": "error"}
"""Ours keeps statements out of its log; a deadlock is understood by its statements only."""


def log_statements(server: Server) -> None:
    """Let PostgreSQL's log name the statements that failed."""
    for name, value in _SPEAKING.items():
        server.set_default(name, value)


def count_deadlocks(server: Server) -> int:
    """How many deadlocks PostgreSQL has broken so far."""
    with server.connect() as connection:
        row = connection.execute(_DEADLOCKS).fetchone()
    assert row is not None
    return int(row[0])


def statements_in_deadlocks(server: Server) -> list[str]:
    """What PostgreSQL's log says about each deadlock: which statement waited for which."""
    said = (server.data_dir / "postgres.log").read_text()
    return re.findall(r"deadlock detected\n.*?DETAIL:.*?(?=HINT:)", said, re.DOTALL)
