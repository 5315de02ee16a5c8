"""An audit log to tamper with: written by the application, changed behind its back by the tables' owner."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import psycopg

from mnemon.access.audit import record_write, verify_log
from mnemon.access.chain import ChainBreak
from mnemon.access.organizations import create_organization
from mnemon.db.database import Database
from mnemon.scope import Scope

ORGS = ("acme", "globex")
ENTRIES = 25
"""In each organization, the one that its making wrote included."""
ACTIONS = ("POST /api/memories", "DELETE /api/memories/{memory_id}", "mnemon keys create", 'say "é\\n\t\x7f\u2028" 🙂')

Connection = psycopg.Connection[tuple[Any, ...]]
Tampering = Callable[[random.Random, Connection], None]


async def write_log(db: Database) -> None:
    """Two organizations with some entries each, as doors write them."""
    for org in ORGS:
        async with db.tx(org) as tx:
            await create_organization(tx)
        for number in range(1, ENTRIES):
            async with db.tx(org) as tx:
                targets = [tx.new_id("mem")] if number % 3 else []
                actor = f"key_{number % 4}"
                record_write(tx, Scope(org_id=org), actor=actor, action=ACTIONS[number % 4], targets=targets)


async def breaks(db: Database, *, page: int = 7) -> list[ChainBreak]:
    """What verifying every organization's log finds."""
    found = []
    for org in ORGS:
        async with db.owner_tx() as tx:
            _, broken = await verify_log(tx, Scope(org_id=org), page=page)
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
        with self.connection.transaction():
            kind(choice, self.connection)
        return kind.__name__


def _place(choice: random.Random) -> int:
    return choice.randint(1, ENTRIES)


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
        ("org_id", "'globex'"),
    ])  # fmt: skip
    _update(connection, f"{column} = {value}", _place(choice))


def edit_and_hash_again(choice: random.Random, connection: Connection) -> None:
    """One entry says something else and has the hash that fits it; what follows it is left."""
    place = _place(choice)
    _update(connection, "actor = 'somebody'", place)
    previous = "coalesce((select p.hash from audit p where p.org_id = a.org_id and p.seq = a.seq - 1), '')"
    connection.execute(
        f"update audit a set hash = audit_hash({previous}, org_id, seq, id, at, actor, action, target) "
        "where org_id = 'acme' and seq = %s",
        (place,),
    )


def remove_entries(choice: random.Random, connection: Connection) -> None:
    """Some entries in a row are gone."""
    first = _place(choice)
    connection.execute(
        "delete from audit where org_id = 'acme' and seq between %s and %s", (first, first + choice.randint(0, 3))
    )


def remove_the_end(choice: random.Random, connection: Connection) -> None:
    """The last entries are gone, perhaps all of them, and perhaps the head counts what is left."""
    left = _place(choice) - 1
    connection.execute("delete from audit where org_id = 'acme' and seq > %s", (left,))
    if choice.random() < 0.5:
        connection.execute("update audit_heads set seq = %s where org_id = 'acme'", (left,))


def swap_two(choice: random.Random, connection: Connection) -> None:
    """Two entries have each other's place, hash, or what they say."""
    one, two = choice.sample(range(1, ENTRIES + 1), 2)
    columns = choice.choice(["seq", "hash", "id, at, actor, action, target", "seq, hash"])
    if columns.startswith("id"):
        connection.execute("alter table audit drop constraint audit_pkey")
    connection.execute(
        f"update audit a set ({columns}) = (select {columns} from audit b where b.org_id = 'acme' "
        "and b.seq = case a.seq when %(one)s then %(two)s else %(one)s end) "
        "where org_id = 'acme' and seq in (%(one)s, %(two)s)",
        {"one": one, "two": two},
    )
    if columns.startswith("id"):
        connection.execute("alter table audit add primary key (org_id, id)")


def insert_one(choice: random.Random, connection: Connection) -> None:
    """An entry stands there that nobody wrote: at a place that is taken or at the end, with a hash that fits or not."""
    place = choice.choice([_place(choice), ENTRIES + 1, 0, ENTRIES + 2])
    link = choice.choice([
        "sha256('guess')",
        "(select hash from audit where org_id = 'acme' and seq = 1)",
        ("audit_hash(coalesce((select hash from audit where org_id = 'acme' and seq = %(place)s - 1), ''), "
        "'acme', %(place)s, 'aud_new', '2026-01-01Z', 'key_1', 'GET /', null)"),
    ])  # fmt: skip
    connection.execute(
        "insert into audit (org_id, id, at, actor, action, target, seq, hash) "
        f"values ('acme', 'aud_new', '2026-01-01Z', 'key_1', 'GET /', null, %(place)s, {link})",
        {"place": place},
    )


def change_the_head(choice: random.Random, connection: Connection) -> None:
    """The head says something else, or is gone."""
    wanted = choice.choice(["seq = seq + 1", "seq = seq - 1", "hash = sha256(hash)", "seq = 0, hash = ''", ""])
    connection.execute(f"update audit_heads set {wanted}" if wanted else "delete from audit_heads")


KINDS: tuple[Tampering, ...] = (
    edit_a_field, edit_a_field, edit_a_field, edit_and_hash_again, remove_entries, remove_the_end, swap_two,
    insert_one, change_the_head,
)  # fmt: skip


def _update(connection: Connection, change: str, place: int) -> None:
    connection.execute(f"update audit set {change} where org_id = 'acme' and seq = %s", (place,))
