"""How long the console's pages take at 100,000 memories: `PYTHONPATH=tests .venv/bin/python -m bench.console`.

Over the demo's story, a hundred people more with a thousand memories each, written past the doors because only reading
is measured. Each page is asked for once and then nine times; the table shows the median and the slowest of the nine.
"""

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

import httpx2
import psycopg
from bench.screenshots import STATES, database

from mnemon.scope import person
from support import atlas
from support.storied import ORG, signed_in, storied

PEOPLE = 100
EACH = 1000
TIMES = 9
MORE = (
    "/memories?q=ghost",
    "/memories?page=200",
    "/memories?user=person-7",
    "/memories?type=PEOPLE&status=any",
    "/entities?user=person-7",
    "/recall?q=what+about+bread&user=person-7&versus=blended",
    "/context?q=what+about+bread&user=person-7",
)
_PERSON = """INSERT INTO users (org_id, user_id, external_id, revision, created_at)
SELECT %(org)s, %(user)s, %(name)s, 1, now() - interval '9 days'"""
_MEMORIES = """INSERT INTO memories (org_id, user_id, id, type, content, entity_refs, entity_label, entity_type,
  fact_type, attribute, importance, memory_key, source, trust, confidence, valid_from, stated_at, revision,
  created_at, updated_at, recorded_at)
SELECT %(org)s, %(user)s, 'mem_' || %(name)s || '_' || n, (ARRAY['PROFILE', 'PEOPLE', 'PROJECT'])[1 + n %% 3],
  'Fact ' || n || ' is about ' || (ARRAY['tea', 'jazz', 'bread', 'Lisbon', 'chess', 'taxes', 'rowing'])[1 + n %% 7],
  ARRAY['person:friend_' || n %% 50], 'Friend ' || n %% 50, 'person', 'fact', 'a' || n, 1,
  'PEOPLE|person|friend_' || n %% 50 || '|fact|a' || n, 'conversation', 'person', 0.7, at, at, 1, at, at, at
FROM generate_series(1, %(each)s) n, LATERAL (SELECT now() - n * interval '7 minutes' AS at) times"""
_VECTORS = """INSERT INTO embeddings (org_id, user_id, model, kind, id, vector, revision)
SELECT org_id, user_id, known.model, 'memory', id, known.vector, 1 FROM memories
JOIN (SELECT model, vector, row_number() OVER () AS place, count(*) OVER () AS every FROM embeddings
  WHERE org_id = %(org)s AND kind = 'memory') known
  ON known.place = 1 + abs(hashtext(id)) %% known.every
WHERE org_id = %(org)s AND id LIKE 'mem\\_person-%%'"""


def main() -> None:
    """Prints a table, and fails where a page takes longer than it may."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most-ms", type=float, default=200)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, database(Path(folder)) as url, storied(url, Path(folder)) as server:
        held = fill(url)
        with httpx2.Client(base_url=server.url, cookies=signed_in(server), timeout=120) as visitor:
            addresses = [*atlas.by_route(visitor).values(), *STATES, *MORE]
            figures = {address: measured(visitor, address) for address in addresses}
    sys.stdout.write(f"{held:,} memories\n\n| page | median ms | slowest ms |\n|---|---|---|\n")
    for address, (middle, slowest) in sorted(figures.items(), key=lambda one: -one[1][0]):
        sys.stdout.write(f"| `{address}` | {middle:.0f} | {slowest:.0f} |\n")
    slow = [address for address, (middle, _) in figures.items() if middle > given.most_ms]
    sys.exit(f"slower than {given.most_ms:.0f} ms: {', '.join(slow)}" if slow else 0)


def fill(url: str) -> int:
    """The people and their memories are there; how many memories in all."""
    with psycopg.connect(url, autocommit=True) as connection:
        for number in range(PEOPLE):
            name = f"person-{number}"
            who = {"org": ORG, "user": person(ORG, name).user, "name": name, "each": EACH}
            connection.execute(_PERSON, who)
            connection.execute(_MEMORIES, who)
        connection.execute(_VECTORS, {"org": ORG})
        connection.execute("ANALYZE")
        row = connection.execute("SELECT count(*) FROM memories").fetchone()
    assert row is not None
    return int(row[0])


def measured(visitor: httpx2.Client, address: str) -> tuple[float, float]:
    """Median and slowest of several visits, in milliseconds."""
    took = []
    for _ in range(TIMES + 1):
        began = time.perf_counter()
        answer = visitor.get(address)
        took.append((time.perf_counter() - began) * 1000)
        assert answer.status_code == 200, f"{address} answered {answer.status_code}"
    return statistics.median(took[1:]), max(took[1:])


if __name__ == "__main__":
    main()
