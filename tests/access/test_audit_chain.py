"""An audit log that was changed behind the application's back is found out, and one that was not is never accused."""

import asyncio
from collections import Counter
from contextlib import suppress
from dataclasses import replace

import psycopg
import pytest

from mnemon.access.audit import audit_head, record_write, target_text, verify_log
from mnemon.access.chain import AuditLink, ChainHead, link_hash, parse_head, verify_chain
from mnemon.access.organizations import create_organization
from mnemon.clock import ManualClock
from mnemon.db.database import Database
from mnemon.db.migrate import migrate, shipped
from mnemon.errors import DatabaseDown, Invalid
from mnemon.scope import Scope
from support.databases import new_database
from support.tampering import ENTRIES, Tampered, breaks, write_log

ACME = Scope(org_id="acme")
APPEND = "call append_audit(%(org)s, 'aud_x', %(now)s, 'key_1', 'GET /', null)"


def chain(number: int) -> list[AuditLink]:
    """A chain of that many entries."""
    made: list[AuditLink] = []
    for seq in range(1, number + 1):
        bare = AuditLink(
            org_id="acme", seq=seq, id=f"aud_{seq}", at_us=seq, actor="cli", action="x", target=None, hash=b""
        )
        made.append(replace(bare, hash=link_hash(made[-1].hash if made else b"", bare)))
    return made


def test_a_chain_holds_only_as_it_was_written() -> None:
    links = chain(5)
    head = ChainHead(seq=5, hash=links[-1].hash)
    assert verify_chain(links, head) is None
    assert verify_chain([], None) is None
    assert verify_chain([], ChainHead()) is None
    for place, link in enumerate(links):
        edited = [*links[:place], replace(link, actor="someone"), *links[place + 1 :]]
        found = verify_chain(edited, head)
        assert found is not None
        assert (found.seq, found.id) == (place + 1, link.id)
    without_the_last = verify_chain(links[:4], head)
    assert without_the_last is not None
    assert without_the_last.seq == 5
    assert "end was removed" in without_the_last.meaning


def test_a_log_that_was_rewritten_as_a_whole_differs_from_an_exported_head() -> None:
    links = chain(5)
    exported = parse_head(str(ChainHead(seq=3, hash=links[2].hash)))
    rewritten: list[AuditLink] = []
    for link in links:
        bare = replace(link, actor="someone")
        rewritten.append(replace(bare, hash=link_hash(rewritten[-1].hash if rewritten else b"", bare)))
    head = ChainHead(seq=5, hash=rewritten[-1].hash)
    assert verify_chain(rewritten, head) is None
    found = verify_chain(rewritten, head, exported=exported)
    assert found is not None
    assert found.seq == 3
    shortened = verify_chain(links[:2], ChainHead(seq=2, hash=links[1].hash), exported=exported)
    assert shortened is not None
    assert verify_chain(links, ChainHead(seq=5, hash=links[-1].hash), exported=exported) is None
    with pytest.raises(Invalid):
        parse_head("3:zz")


def test_only_ids_become_targets() -> None:
    one, two = "mem_" + "0" * 26, "usr_" + "1" * 26
    assert target_text([one, "ann", None, "person:ann", two, one]) == f"{one} {two}"
    assert target_text(["ann"]) is None
    many = target_text(f"mem_{number:026}" for number in range(1_000))
    assert many is not None
    assert many.endswith(f"mem_{9:026} +990")


async def test_postgresql_and_we_hash_the_same(db: Database, org: str) -> None:
    texts = [*map(chr, range(1, 0x300)), 'a"b\\c', "\u2028\ufeff🙂", "", "null"]
    for text in texts:
        async with db.tx(org) as tx:
            record_write(tx, ACME, actor=text, action=text[::-1])
    async with db.owner_tx() as tx:
        reached, broken = await verify_log(tx, ACME, page=100)
    assert broken is None
    assert reached.seq == len(texts) + 1


async def test_a_hundred_tampered_logs_are_found_and_untouched_ones_never(db: Database, database_url: str) -> None:
    await write_log(db)
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
    assert len(kinds) == 7


async def test_the_application_cannot_change_the_log(db: Database, org: str) -> None:
    for sql in (
        "update audit set actor = 'x'",
        "delete from audit",
        "truncate audit",
        "insert into audit (org_id, id, at, actor, action, seq, hash) values ('acme', 'a', now(), 'x', 'y', 9, '')",
        "update audit_heads set seq = 0",
        "delete from audit_heads",
        "insert into audit_heads values ('acme', 0, '')",
    ):
        with pytest.raises(DatabaseDown, match="lacks a right"):
            async with db.tx(org) as tx:
                await tx.run(sql)


async def test_nobody_appends_to_another_organizations_log(db: Database, org: str) -> None:
    async with db.tx("globex") as tx:
        await create_organization(tx)
    with pytest.raises(DatabaseDown, match="lacks a right"):
        async with db.tx("globex") as tx:
            await tx.run(APPEND, org=org, now=tx.now)
    async with db.tx("globex") as tx:
        assert await audit_head(tx, ACME) is None


async def test_entries_are_appended_with_the_commit_or_not_at_all(db: Database, org: str) -> None:
    with suppress(LookupError):
        async with db.tx(org) as tx:
            record_write(tx, ACME, actor="cli", action="lost")
            raise LookupError
    async with db.tx(org) as tx:
        record_write(tx, ACME, actor="cli", action="kept")
        await tx.all("select 1")
        # Others are not kept waiting by what is still to be committed.
        async with db.tx(org) as other:
            record_write(other, ACME, actor="cli", action="meanwhile")
    async with db.tx(org) as tx:
        found = await tx.all("select action from audit order by seq")
    assert [row["action"] for row in found] == ["mnemon orgs create", "meanwhile", "kept"]


async def test_writers_at_once_make_one_chain(db: Database, org: str) -> None:
    async def write(number: int) -> None:
        async with db.tx(org) as tx:
            record_write(tx, ACME, actor=f"key_{number}", action="x")

    await asyncio.gather(*(write(number) for number in range(50)))
    async with db.tx(org) as tx:
        reached, broken = await verify_log(tx, ACME)
    assert (reached.seq, broken) == (51, None)


async def test_a_log_without_its_head_goes_on_and_stays_broken(db: Database, database_url: str) -> None:
    await write_log(db)
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("delete from audit_heads")
    async with db.tx("acme") as tx:
        record_write(tx, ACME, actor="cli", action="x")
    found = (await breaks(db))[0]
    assert found.seq == ENTRIES + 1


async def test_entries_of_earlier_versions_are_chained_without_what_is_no_id(
    cluster_url: str, clock: ManualClock
) -> None:
    with new_database(cluster_url) as url:
        await migrate(url, clock.now(), steps=[step for step in shipped() if step.number < 97])
        with psycopg.connect(url, autocommit=True) as connection:
            for org in ("acme", "globex"):
                connection.execute("insert into organizations values (%s, now())", (org,))
                for number, target in enumerate((f"mem_{0:026}", "person:ann into person:anna", None)):
                    connection.execute(
                        "insert into audit values (%s, %s, now(), 'operator', 'x', %s)", (org, f"aud_{number}", target)
                    )
        await migrate(url, clock.now())
        db = Database(url, clock)
        await db.open()
        try:
            async with db.tx("acme") as tx:
                record_write(tx, ACME, actor="cli", action="new")
            assert await breaks(db) == []
            async with db.tx("acme") as tx:
                targets = [row["target"] for row in await tx.all("select target from audit order by seq")]
        finally:
            await db.close()
    assert targets == [f"mem_{0:026}", None, None, None]
