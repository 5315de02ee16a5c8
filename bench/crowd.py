"""A crowd for measuring pages: a hundred people more, with a thousand memories each and the conversations around them.

It is written past the doors, because only reading is measured; the rows are such as the doors leave.
"""

from pathlib import Path

import psycopg

from mnemon.db.statements import parse_statements
from mnemon.scope import person_scope

PEOPLE = 100
EACH = 1000
"""Memories of each."""
SESSIONS = 20
TURNS = 5
"""Of each session."""
OTHERS = 2000
"""Lines of the audit log, runs and jobs."""

SQL = parse_statements(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"))
OF_EACH = ("person", "memories", "sessions", "turns", "messages", "reflections", "provenance")
OF_ALL = ("vectors", "runs", "work")


def gather(url: str, org: str, now: str) -> int:
    """The people and what they left by now are there, as after a vacuum; how many memories in all."""
    every = {"org": org, "now": now, "each": EACH, "sessions": SESSIONS, "turns": TURNS, "others": OTHERS}
    with psycopg.connect(url, autocommit=True) as connection:
        for number in range(PEOPLE):
            name = f"person-{number}"
            for statement in OF_EACH:
                connection.execute(SQL[statement], {**every, "name": name, "user": person_scope(org, name).user})
        for statement in OF_ALL:
            connection.execute(SQL[statement], every)
        with connection.transaction():
            connection.execute(SQL["organization"], every)
            for number in range(1, OTHERS + 1):
                connection.execute(SQL["audit"], {**every, "n": number})
        connection.execute("VACUUM ANALYZE")
        row = connection.execute("SELECT count(*) FROM memories WHERE org_id = %s", [org]).fetchone()
    assert row is not None
    return int(row[0])
