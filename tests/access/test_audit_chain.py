"""An audit log that was changed behind the application's back is found out, and one that was not is never accused."""

import asyncio
import random
from collections import Counter
from contextlib import suppress
from dataclasses import replace

import psycopg
import pytest

from mnemon.access import store
from mnemon.access.audit import ids_in, log_head, record_write, target_text, verify_log
from mnemon.access.audit_chain import AuditLink, ChainHead, LogHead, link_hash, parse_head, verify_chains
from mnemon.access.organizations import create_organization
from mnemon.clock import ManualClock
from mnemon.db.database import Database
from mnemon.db.migrate import migrate_database, shipped_migrations
from mnemon.errors import DatabaseDown, Invalid
from mnemon.scope import Scope
from support.databases import new_database
from support.tampering import KINDS, LANES, Tampered, breaks, remove_a_lane, write_log, writers

ACME = Scope(org_id="acme")
APPEND = "call append_audit(%(org)s, 'aud_x', %(now)s, 'key_1', 'GET /', null)"


def chain(number: int, lane: int = 0) -> list[AuditLink]:
    """A chain of that many entries."""
    made: list[AuditLink] = []
    for seq in range(1, number + 1):
        bare = AuditLink(
            org_id="acme", lane=lane, seq=seq, id=f"aud_{seq}", at_us=seq, actor="cli", action="x", target=None,
            hash=b"", linked_lane=None, linked_seq=None, linked_hash=None,
        )  # fmt: skip
        made.append(replace(bare, hash=link_hash(made[-1].hash if made else b"", bare)))
    return made


def head_of(*lanes: list[AuditLink]) -> LogHead:
    """The head of a log of these lanes."""
    return LogHead(lanes={one[-1].lane: ChainHead(seq=len(one), hash=one[-1].hash) for one in lanes})


def test_a_chain_holds_only_as_it_was_written() -> None:
    links, others = chain(5), chain(3, lane=7)
    head = head_of(links, others)
    assert verify_chains([*links, *others], head) is None
    assert verify_chains([], LogHead()) is None
    assert verify_chains([], LogHead(lanes={3: ChainHead()})) is None
    for place, link in enumerate(links):
        edited = [*links[:place], replace(link, actor="someone"), *links[place + 1 :], *others]
        found = verify_chains(edited, head)
        assert found is not None
        assert (found.lane, found.seq, found.id) == (0, place + 1, link.id)
    without_the_last = verify_chains([*links, *others[:2]], head)
    assert without_the_last is not None
    assert (without_the_last.lane, without_the_last.seq) == (7, 3)
    assert "end was removed" in without_the_last.meaning
    moved = verify_chains([*links, *(replace(one, lane=8) for one in others)], head)
    assert moved is not None
    assert (moved.lane, moved.seq) == (8, 1)


def test_a_log_that_was_rewritten_as_a_whole_differs_from_an_exported_head() -> None:
    links, others = chain(5), chain(3, lane=7)
    exported = parse_head(str(head_of(links[:3], others)))
    rewritten: list[AuditLink] = []
    for link in links:
        bare = replace(link, actor="someone")
        rewritten.append(replace(bare, hash=link_hash(rewritten[-1].hash if rewritten else b"", bare)))
    log, head = [*rewritten, *others], head_of(rewritten, others)
    assert verify_chains(log, head) is None
    found = verify_chains(log, head, exported=exported)
    assert found is not None
    assert (found.lane, found.seq) == (0, 3)
    shortened = verify_chains([*links[:2], *others], head_of(links[:2], others), exported=exported)
    assert shortened is not None
    without_a_lane = verify_chains(links, head_of(links), exported=exported)
    assert without_a_lane is not None
    assert (without_a_lane.lane, without_a_lane.seq) == (7, 1)
    assert verify_chains([*links, *others], head_of(links, others), exported=exported) is None


def test_a_head_is_read_as_it_is_printed() -> None:
    head = LogHead(lanes={15: ChainHead(seq=7, hash=b"a" * 32), 2: ChainHead(), 0: ChainHead(seq=1, hash=b"b" * 32)})
    text = str(head)
    assert text == f"0:1:{'62' * 32},15:7:{'61' * 32}"
    assert parse_head(f" {text}\n") == LogHead(lanes=head.filled_lanes)
    assert parse_head(str(LogHead())) == LogHead()
    assert head.entry_count == 8
    for wrong in ("", "3:zz", f"3:{'0' * 64}", f"{text},", f"{text},0:2:{'0' * 64}", "0:0:", f"-1:1:{'0' * 64}"):
        with pytest.raises(Invalid):
            parse_head(wrong)


def test_only_ids_become_targets() -> None:
    one, two = "mem_" + "0" * 26, "usr_" + "1" * 26
    assert target_text([one, "ann", None, "person:ann", two, one]) == f"{one} {two}"
    assert target_text(["ann"]) is None
    many = target_text(f"mem_{number:026}" for number in range(1_000))
    assert many is not None
    assert many.endswith(f"mem_{9:026} +990")


def test_the_ids_of_an_answer_are_those_at_its_top() -> None:
    one, two = (f"mem_01KP14J4E0941R5CJSWAFG9KH{end}" for end in "SA")
    answer = {"id": one, "turnId": two, "userId": "ann", "count": 5, "memory": {"id": two}, "valid": one}
    assert ids_in(answer) == [one, two]
    assert ids_in([{"id": two}, 5, [{"id": one}], None]) == [two, one]
    assert ids_in("text") == ids_in(None) == []


def test_more_than_ten_targets_are_counted() -> None:
    ids = [f"mem_01KP14J4E0941R5CJSWAFG9K{number:02}" for number in range(12)]
    assert target_text(ids[:10]) == " ".join(ids[:10])
    assert target_text([*ids, ids[0]]) == " ".join([*ids[:10], "+2"])
    assert target_text([None, "ann"]) is None


async def test_postgresql_and_we_hash_the_same(db: Database, org: str) -> None:
    texts = [*map(chr, range(1, 0x300)), 'a"b\\c', "\u2028\ufeff🙂", "", "null"]
    for text in texts:
        async with db.tx(org) as tx:
            record_write(tx, ACME, actor=text, action=text[::-1])
    async with db.owner_tx() as tx:
        reached, broken = await verify_log(tx, ACME, page=100)
    assert broken is None
    assert reached.entry_count == len(texts) + 1


async def test_a_hundred_tampered_logs_are_found_and_untouched_ones_never(db: Database, database_url: str) -> None:
    await write_log(database_url)
    with psycopg.connect(database_url, autocommit=True) as connection:
        log = Tampered(connection=connection)
        log.keep()
        missed, kinds = [], Counter[str]()
        for seed in range(100):
            assert await breaks(db) == []
            kind = log.change(seed)
            kinds[kind] += 1
            if not await breaks(db):
                missed.append((seed, kind))
            log.put_back()
    assert missed == []
    assert len(kinds) == len(set(KINDS))


async def test_the_application_cannot_change_the_log(db: Database, org: str) -> None:
    for sql in (
        "update audit set actor = 'x'",
        "delete from audit",
        "truncate audit",
        "insert into audit values ('acme', 'aud_x', now(), 'key_1', 'GET /', null, 0, 9, '', null, null, null)",
        "update audit_heads set seq = 0",
        "delete from audit_heads",
        "insert into audit_heads values ('acme', 0, 0, '')",
    ):
        with pytest.raises(DatabaseDown, match="lacks a right"):
            async with db.tx(org) as tx:
                await tx.execute(sql)


async def test_nobody_appends_to_another_organizations_log(db: Database, org: str) -> None:
    async with db.tx("globex") as tx:
        await create_organization(tx)
    with pytest.raises(DatabaseDown, match="lacks a right"):
        async with db.tx("globex") as tx:
            await tx.execute(APPEND, org=org, now=tx.now)
    async with db.tx("globex") as tx:
        assert await log_head(tx, ACME) == LogHead()


async def test_entries_are_appended_with_the_commit_or_not_at_all(db: Database, org: str) -> None:
    with suppress(LookupError):
        async with db.tx(org) as tx:
            record_write(tx, ACME, actor="cli", action="lost")
            raise LookupError
    async with db.tx(org) as tx:
        record_write(tx, ACME, actor="cli", action="kept")
        # Others are not kept waiting by what is still to be committed: no head is locked yet.
        locks = "select mode from pg_locks where relation = 'audit_heads'::regclass and mode like 'Row%%'"
        assert await tx.fetch_all(locks) == []
    async with db.tx(org) as tx:
        found = await tx.fetch_all("select action from audit")
    assert sorted(row["action"] for row in found) == ["kept", "mnemon orgs create"]


async def test_writers_at_once_make_chains_that_hold(db: Database, org: str) -> None:
    async def write(number: int) -> None:
        async with db.tx(org) as tx:
            record_write(tx, ACME, actor=f"key_{number}", action="x")
            record_write(tx, ACME, actor=f"key_{number}", action="y")

    await asyncio.gather(*(write(number) for number in range(50)))
    async with db.tx(org) as tx:
        reached, broken = await verify_log(tx, ACME)
    assert (reached.entry_count, broken) == (101, None)


async def test_a_writer_does_not_wait_for_one_in_another_lane(org: str, database_url: str) -> None:
    async with writers(database_url, 2) as (one, two):
        async with one.tx(org) as first:
            await first.execute(APPEND, org=org, now=first.now)
            async with two.tx(org) as second:
                await second.execute("set local lock_timeout = '5s'")
                record_write(second, ACME, actor="cli", action="meanwhile")
            async with two.tx(org) as look:
                assert (await log_head(look, ACME)).entry_count == 2
        async with one.tx(org) as look:
            reached, broken = await verify_log(look, ACME)
    assert (reached.entry_count, broken) == (3, None)


async def test_a_lane_removed_with_its_head_is_missed_by_entries_of_other_lanes(
    db: Database, database_url: str
) -> None:
    await write_log(database_url)
    async with db.owner_tx() as tx:
        exported = await log_head(tx, ACME)
    assert len(exported.filled_lanes) == LANES
    with psycopg.connect(database_url, autocommit=True) as connection:
        remove_a_lane(random.Random(1), connection)
        (found,) = await breaks(db)
        assert "was written after this entry, which is gone" in found.meaning
        # Without the other lanes nobody misses it but whoever kept the head.
        connection.execute("delete from audit where org_id = 'acme'")
        connection.execute("delete from audit_heads where org_id = 'acme'")
    assert await breaks(db) == []
    (found,) = await breaks(db, exported=exported)
    assert found.lane == min(exported.filled_lanes)


async def test_a_log_without_its_heads_goes_on_and_stays_broken(db: Database, database_url: str) -> None:
    async with writers(database_url, 1) as (one,):
        async with one.tx("acme") as tx:
            await create_organization(tx)
        with psycopg.connect(database_url, autocommit=True) as connection:
            connection.execute("delete from audit_heads")
        async with one.tx("acme") as tx:
            record_write(tx, ACME, actor="cli", action="x")
    found = (await breaks(db))[0]
    assert found.seq == 2


async def test_the_log_is_listed_by_time_over_all_lanes(database_url: str) -> None:
    async with writers(database_url, 2) as dbs:
        async with dbs[0].tx("acme") as tx:
            await create_organization(tx)
        for number in range(9):
            async with dbs[number in (4, 5, 7)].tx("acme") as tx:
                record_write(tx, ACME, actor="cli", action=str(number))
        pages, before = [], None
        async with dbs[0].tx("acme") as tx:
            for _ in range(4):
                pages.append(await store.list_audit_entries(tx, ACME, before=before, most=4))
                before = pages[-1][-1].id if pages[-1] else None
    assert [[one.action for one in page] for page in pages[:3]] == [
        ["8", "7", "6", "5"],
        ["4", "3", "2", "1"],
        ["0", "mnemon orgs create"],
    ]
    assert pages[3] == []


async def test_entries_of_earlier_versions_are_chained_without_what_is_no_id(
    cluster_url: str, clock: ManualClock
) -> None:
    with new_database(cluster_url) as url:
        await migrate_database(url, clock.now(), steps=[step for step in shipped_migrations() if step.number < 97])
        with psycopg.connect(url, autocommit=True) as connection:
            for org in ("acme", "globex"):
                connection.execute("insert into organizations values (%s, now())", (org,))
                for number, target in enumerate((f"mem_{0:026}", "person:ann into person:anna", None)):
                    connection.execute(
                        "insert into audit values (%s, %s, now(), 'operator', 'x', %s)", (org, f"aud_{number}", target)
                    )
        await migrate_database(url, clock.now())
        db = Database(url, clock)
        await db.open()
        try:
            async with db.tx("acme") as tx:
                record_write(tx, ACME, actor="cli", action="new")
            assert await breaks(db) == []
            async with db.tx("acme") as tx:
                targets = [
                    row["target"] for row in await tx.fetch_all("select target from audit order by lane, seq, at")
                ]
        finally:
            await db.close()
    assert targets == [f"mem_{0:026}", None, None, None]
