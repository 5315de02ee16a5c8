"""Audit logs to tamper with: written by the application over several connections, changed by the tables' owner."""

import random
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import psycopg

from mnemon.access.audit import record_write, verify_log
from mnemon.access.audit_chain import ChainBreak, LogHead
from mnemon.access.organizations import create_organization
from mnemon.clock import SystemClock
from mnemon.db.database import Database
from mnemon.scope import Scope

ORGS = ("acme", "globex")
ENTRIES = 25
"""In each organization, the one that its making wrote included."""
LANES = 3
"""In each organization."""
MOST_CONNECTIONS = 200
"""Tried for connections of different lanes: each goes to one of 16."""
MOST_TRIES = 50
"""For a change that changes something."""
ACTIONS = ("POST /api/memories", "DELETE /api/memories/{memory_id}", "mnemon keys create", 'say "é\\n\t\x7f\u2028" 🙂')
CHANGED = """select exists (
  (table audit except table kept_audit) union all (table kept_audit except table audit)) or exists (
  (table audit_heads except table kept_heads) union all (table kept_heads except table audit_heads))"""

Connection = psycopg.Connection[tuple[Any, ...]]
Tampering = Callable[[random.Random, Connection], None]
Place = tuple[int, int]
"""A lane and a number in it."""


@asynccontextmanager
async def writers(url: str, number: int = LANES) -> AsyncIterator[list[Database]]:
    """So many databases of one connection each, no two of which write to the same lane."""
    found: dict[int, Database] = {}
    async with AsyncExitStack() as stack:
        for _ in range(MOST_CONNECTIONS):
            db = Database(url, SystemClock(), pool_size=1)
            await db.open()
            stack.push_async_callback(db.close)
            async with db.tx(None) as tx:
                found.setdefault((await tx.fetch_one("select pg_backend_pid() % 16 as lane"))["lane"], db)
            if len(found) == number:
                break
        yield list(found.values())


async def write_log(url: str) -> None:
    """Two organizations with some entries each, as doors write them, in turn over the lanes."""
    async with writers(url) as dbs:
        for org in ORGS:
            async with dbs[0].tx(org) as tx:
                await create_organization(tx)
            for number in range(1, ENTRIES):
                async with dbs[number % LANES].tx(org) as tx:
                    targets = [tx.new_id("mem")] if number % 4 else []
                    actor = f"key_{number % 5}"
                    record_write(tx, Scope(org_id=org), actor=actor, action=ACTIONS[number % 4], targets=targets)


async def breaks(db: Database, *, page: int = 7, exported: LogHead | None = None) -> list[ChainBreak]:
    """What verifying every organization's log finds; the exported head is of the first one."""
    found = []
    for org in ORGS:
        async with db.owner_tx() as tx:
            kept = exported if org == ORGS[0] else None
            _, broken = await verify_log(tx, Scope(org_id=org), page=page, exported=kept)
        found += [broken] if broken is not None else []
    return found


@dataclass(frozen=True, kw_only=True)
class Tampered:
    """The log with one change, and the way back to how it was."""

    connection: Connection

    def keep(self) -> None:
        """Remember the log as it is."""
        self.connection.execute("create table kept_audit as select * from audit")
        self.connection.execute("create table kept_heads as select * from audit_heads")

    def put_back(self) -> None:
        """The log is as it was remembered."""
        with self.connection.transaction():
            self.connection.execute("delete from audit")
            self.connection.execute("insert into audit select * from kept_audit")
            self.connection.execute("delete from audit_heads")
            self.connection.execute("insert into audit_heads select * from kept_heads")

    def change(self, seed: int) -> str:
        """Make one random change; the name of its kind."""
        choice = random.Random(seed)
        kind = choice.choice(KINDS)
        for _ in range(MOST_TRIES):
            with self.connection.transaction():
                kind(choice, self.connection)
            # To swap the numbers of two entries that have the same one in their lanes, for example, is no change.
            row = self.connection.execute(CHANGED).fetchone()
            if row is not None and row[0]:
                return kind.__name__
        raise AssertionError(f"{kind.__name__} changed nothing with seed {seed}")


def places(connection: Connection) -> list[Place]:
    """Every lane and number of the first organization."""
    rows = connection.execute("select lane, seq from audit where org_id = 'acme' order by lane, seq").fetchall()
    return [(lane, seq) for lane, seq in rows]


def lanes(connection: Connection) -> list[int]:
    """The lanes of the first organization."""
    return sorted({lane for lane, _ in places(connection)})


def edit_a_field(choice: random.Random, connection: Connection) -> None:
    """One field of one entry has another value."""
    column, value = choice.choice([
        ("actor", "actor || 'x'"), ("actor", "''"), ("actor", "upper(actor)"),
        ("action", "'GET /'"), ("action", "action || ' '"), ("action", "substr(action, 2)"),
        ("target", "coalesce(target || '0', 'mem_0')"), ("target", "case when target is null then '' end"),
        ("at", "at + interval '1 microsecond'"), ("at", "at - interval '1 year'"), ("at", "'infinity'"),
        ("at", "'0044-03-15 BC'"), ("id", "id || '0'"), ("id", "reverse(id)"),
        ("seq", "seq + 1000"), ("seq", "-seq"), ("seq", "seq + 1"), ("seq", "seq - 1"),
        ("hash", "sha256(hash)"), ("hash", "''"), ("hash", "set_byte(hash, 31, 255 - get_byte(hash, 31))"),
        ("org_id", "'globex'"), ("lane", "lane + 100"), ("lane", "-1"),
        ("linked_lane", "coalesce(linked_lane + 1, 0)"), ("linked_lane", "null"),
        ("linked_seq", "coalesce(linked_seq - 1, 1)"), ("linked_hash", "coalesce(sha256(linked_hash), '')"),
        ("linked_lane, linked_seq, linked_hash", "null, null, null"),
    ])  # fmt: skip
    _update(connection, f"({column}) = row({value})", choice.choice(places(connection)))


def edit_and_hash_again(choice: random.Random, connection: Connection) -> None:
    """One entry says something else and has the hash that fits it; what follows it is left."""
    place = choice.choice(places(connection))
    _update(connection, "actor = 'somebody'", place)
    _hash_again(connection, place)


def rewrite_the_end_of_a_lane(choice: random.Random, connection: Connection) -> None:
    """An entry says something else, and it, all that follow it in its lane and the lane's head have hashes that fit."""
    lane = choice.choice(lanes(connection))
    first = choice.randint(1, _last_named(connection, lane))
    _update(connection, "actor = 'somebody'", (lane, first))
    for place in places(connection):
        if place[0] == lane and place[1] >= first:
            _hash_again(connection, place)
    _fit_head(connection, lane)


def remove_entries(choice: random.Random, connection: Connection) -> None:
    """Some entries in a row are gone."""
    lane, first = choice.choice(places(connection))
    connection.execute(
        "delete from audit where org_id = 'acme' and lane = %s and seq between %s and %s",
        (lane, first, first + choice.randint(0, 3)),
    )


def remove_the_end(choice: random.Random, connection: Connection) -> None:
    """The last entries of a lane are gone, perhaps all of them, and perhaps the head counts what is left."""
    lane, first = choice.choice(places(connection))
    connection.execute("delete from audit where org_id = 'acme' and lane = %s and seq >= %s", (lane, first))
    if choice.random() < 0.5:
        connection.execute("update audit_heads set seq = %s where org_id = 'acme' and lane = %s", (first - 1, lane))


def remove_the_end_and_fit_the_head(choice: random.Random, connection: Connection) -> None:
    """The last entries of a lane are gone, and its head says that it ended before them."""
    lane = choice.choice(lanes(connection))
    first = choice.randint(1, _last_named(connection, lane))
    connection.execute("delete from audit where org_id = 'acme' and lane = %s and seq >= %s", (lane, first))
    _fit_head(connection, lane)


def remove_a_lane(choice: random.Random, connection: Connection) -> None:
    """A lane is gone, and its head too."""
    lane = choice.choice(lanes(connection))
    for table in ("audit", "audit_heads"):
        connection.execute(f"delete from {table} where org_id = 'acme' and lane = %s", (lane,))


def swap_two(choice: random.Random, connection: Connection) -> None:
    """Two entries, perhaps of two lanes, have each other's place, hash, or what they say."""
    one, two = choice.sample(places(connection), 2)
    columns = choice.choice([
        "seq", "hash", "lane", "lane, seq", "lane, seq, hash", "id, at, actor, action, target",
        "linked_lane, linked_seq, linked_hash",
    ])  # fmt: skip
    if columns.startswith("id"):
        connection.execute("alter table audit drop constraint audit_pkey")
    connection.execute(
        f"update audit a set ({columns}) = (select {columns} from audit b where b.org_id = 'acme' "
        "and (b.lane, b.seq) in ((%(lane)s, %(seq)s), (%(lane2)s, %(seq2)s)) and (b.lane, b.seq) <> (a.lane, a.seq)) "
        "where org_id = 'acme' and (lane, seq) in ((%(lane)s, %(seq)s), (%(lane2)s, %(seq2)s))",
        {"lane": one[0], "seq": one[1], "lane2": two[0], "seq2": two[1]},
    )
    if columns.startswith("id"):
        connection.execute("alter table audit add primary key (org_id, id)")


def swap_two_lanes(choice: random.Random, connection: Connection) -> None:
    """Two lanes have each other's number, with their heads or without."""
    one, two = choice.sample(lanes(connection), 2)
    for table in ("audit", "audit_heads") if choice.random() < 0.5 else ("audit",):
        for old, new in ((one, -5), (two, one), (-5, two)):
            connection.execute(f"update {table} set lane = %s where org_id = 'acme' and lane = %s", (new, old))


def move_to_another_lane(choice: random.Random, connection: Connection) -> None:
    """An entry stands at the end of another lane, perhaps with a hash that fits, perhaps with a head that fits too."""
    lane, seq = choice.choice(places(connection))
    other = choice.choice([one for one in lanes(connection) if one != lane])
    end = max(place for one, place in places(connection) if one == other) + 1
    _update(connection, f"lane = {other}, seq = {end}", (lane, seq))
    fits = choice.choice(["nothing", "hash", "head"])
    if fits != "nothing":
        _hash_again(connection, (other, end))
    if fits == "head":
        _fit_head(connection, other)


def insert_one(choice: random.Random, connection: Connection) -> None:
    """An entry stands there that nobody wrote, anywhere or in a lane of its own, with a hash that fits or not."""
    lane, seq = choice.choice(places(connection))
    end = max(place for one, place in places(connection) if one == lane)
    lane, seq = choice.choice([(lane, seq), (lane, end + 1), (lane, 0), (lane, end + 2), (99, 1)])
    connection.execute(
        "insert into audit (org_id, id, at, actor, action, target, lane, seq, hash) "
        "values ('acme', 'aud_new', '2026-01-01Z', 'key_1', 'GET /', null, %s, %s, sha256('guess'))",
        (lane, seq),
    )
    if choice.random() < 0.5:
        _hash_again(connection, (lane, seq), only="aud_new")


def change_the_head(choice: random.Random, connection: Connection) -> None:
    """A lane's head says something else, is of another lane, or is gone."""
    wanted = choice.choice([
        "seq = seq + 1", "seq = seq - 1", "hash = sha256(hash)", "seq = 0, hash = ''", "lane = 77",
        "org_id = 'globex', lane = 78", "",
    ])  # fmt: skip
    sql = f"update audit_heads set {wanted}" if wanted else "delete from audit_heads"
    connection.execute(f"{sql} where org_id = 'acme' and lane = %s", (choice.choice(lanes(connection)),))


KINDS: tuple[Tampering, ...] = (
    edit_a_field, edit_a_field, edit_a_field, edit_and_hash_again, rewrite_the_end_of_a_lane, remove_entries,
    remove_the_end, remove_the_end_and_fit_the_head, remove_a_lane, swap_two, swap_two_lanes, move_to_another_lane,
    insert_one, change_the_head,
)  # fmt: skip


def _update(connection: Connection, change: str, place: Place) -> None:
    connection.execute(f"update audit set {change} where org_id = 'acme' and lane = %s and seq = %s", place)


def _hash_again(connection: Connection, place: Place, *, only: str | None = None) -> None:
    """Give the entry at this place the hash that follows from the one before it."""
    connection.execute(
        "update audit a set hash = audit_hash(coalesce((select p.hash from audit p where p.org_id = a.org_id "
        "and p.lane = a.lane and p.seq = a.seq - 1 limit 1), ''), org_id, lane, seq, id, at, actor, action, target, "
        "linked_lane, linked_seq, linked_hash) "
        "where org_id = 'acme' and lane = %s and seq = %s and (%s::text is null or id = %s)",
        (*place, only, only),
    )


def _fit_head(connection: Connection, lane: int) -> None:
    """Let the lane's head say what its last entry says; without entries there is none."""
    connection.execute("delete from audit_heads where org_id = 'acme' and lane = %s", (lane,))
    connection.execute(
        "insert into audit_heads (org_id, lane, seq, hash) select org_id, lane, seq, hash from audit "
        "where org_id = 'acme' and lane = %s order by seq desc limit 1",
        (lane,),
    )


def _last_named(connection: Connection, lane: int) -> int:
    """The last entry of the lane that an entry of another lane names; what comes after it has no witness yet."""
    row = connection.execute(
        "select max(linked_seq) from audit where org_id = 'acme' and linked_lane = %s", (lane,)
    ).fetchone()
    assert row is not None
    return int(row[0])
