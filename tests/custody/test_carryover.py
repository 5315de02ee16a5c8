"""What a restore carries over from the database it replaces, and what it says of what it cannot know."""

from collections.abc import AsyncIterator, Iterator
from datetime import datetime, timedelta
from pathlib import Path

import psycopg
import pytest

from mnemon.access import store as access
from mnemon.access.carryover import RevocationCarryover
from mnemon.access.keys import create_key, revoke_key
from mnemon.access.organizations import create_organization
from mnemon.access.signin import open_session
from mnemon.clock import ManualClock, format_time
from mnemon.custody import ledger
from mnemon.custody.ledger import LedgerEntry, Receipt
from mnemon.custody.replay import LedgerCarryover
from mnemon.db.backup import load_gap, record_gap
from mnemon.db.database import Database
from mnemon.embedding.connect import connect_embedder
from mnemon.llm.scripted.model import ScriptedLlm
from mnemon.llm.scripted.script import Script
from mnemon.scope import Scope
from mnemon.services import Services
from mnemon.settings import Settings
from support.databases import new_database

ACME = Scope(org_id="acme")


@pytest.fixture
def other_url(cluster_url: str, template: str) -> Iterator[str]:
    with new_database(cluster_url, template) as url:
        yield url


@pytest.fixture
async def restored(other_url: str, clock: ManualClock, tmp_path: Path) -> AsyncIterator[Services]:
    """A database that was just restored, beside `db`, which it replaces."""
    database = Database(other_url, clock)
    await database.open()
    async with database.tx("acme") as tx:
        await create_organization(tx)
    llm = ScriptedLlm(Script())
    yield Services(
        db=database,
        llm=llm,
        reflector=llm,
        embedder=connect_embedder("local"),
        clock=clock,
        settings=Settings(data_dir=tmp_path),
    )
    await database.close()


def entry(number: int, at: datetime) -> LedgerEntry:
    return LedgerEntry(org_id="acme", id=f"fgt_{number}", kind="person", subject=f"usr_{number}", at=at)


async def put(db: Database, *entries: LedgerEntry) -> None:
    async with db.tx("acme") as tx:
        for one in entries:
            await ledger.add_entry(tx, one, Receipt(id=one.id, at=one.at))


async def listed(db: Database) -> list[str]:
    async with db.tx("acme") as tx:
        return [one.id for one in await ledger.list_entries(tx, "acme")]


async def gap(db: Database, subject: str) -> datetime | None:
    async with db.tx(None) as tx:
        return await load_gap(tx, subject)  # type: ignore[arg-type]


async def set_gap(db: Database, subject: str, since: datetime) -> None:
    async with db.tx(None) as tx:
        await record_gap(tx, subject, since)  # type: ignore[arg-type]


async def carry_forgettings(restored: Services, *replaced: Database) -> str:
    carried = LedgerCarryover()
    for one in replaced:
        await carried.read_from(one.url)
    return await carried.apply_to(restored)


async def test_what_the_replaced_database_forgot_is_forgotten_again(
    db: Database, org: str, restored: Services, clock: ManualClock, tmp_path: Path
) -> None:
    one, two, three = (entry(number, clock.now()) for number in (1, 2, 3))
    await put(restored.db, one)
    await put(db, one, two)
    assert await carry_forgettings(restored, db) == "1 forgetting since the backup was carried out again."
    assert await listed(restored.db) == ["fgt_1", "fgt_2"]
    assert ledger.load_file(tmp_path / ledger.LEDGER_FILE) == [one, two]
    assert await carry_forgettings(restored, db) == "Nothing had been forgotten since the backup."
    await put(db, three)
    ledger.append_to_file(tmp_path / ledger.LEDGER_FILE, [entry(4, clock.now())])
    assert await carry_forgettings(restored, db) == "2 forgettings since the backup were carried out again."
    assert await listed(restored.db) == ["fgt_1", "fgt_2", "fgt_3", "fgt_4"]
    assert await gap(restored.db, "forgettings") is None


async def test_without_any_ledger_the_gap_is_said_and_recorded_until_the_file_is_there(
    restored: Services, clock: ManualClock, tmp_path: Path
) -> None:
    first = clock.now()
    said = await carry_forgettings(restored)
    assert said.startswith("No ledger of forgettings was found")
    assert await gap(restored.db, "forgettings") == first
    clock.advance(timedelta(days=1))
    await carry_forgettings(restored)
    assert await gap(restored.db, "forgettings") == first, "the earlier record stays"
    ledger.append_to_file(tmp_path / ledger.LEDGER_FILE, [entry(1, first - timedelta(days=1))])
    said = await carry_forgettings(restored)
    assert said.startswith("1 forgetting since the backup was carried out again. This rests on forgotten.ndjson alone")
    assert await gap(restored.db, "forgettings") is None


async def test_a_restore_that_has_the_file_alone_says_until_when_it_knows(
    restored: Services, clock: ManualClock, tmp_path: Path
) -> None:
    first = entry(1, clock.now())
    await put(restored.db, first)
    ledger.append_to_file(tmp_path / ledger.LEDGER_FILE, [first])
    clock.advance(timedelta(days=1))
    said = await carry_forgettings(restored)
    assert said.startswith("forgotten.ndjson lists nothing that was forgotten since the backup.")
    assert f"whose last entry is of {format_time(first.at)}: what was forgotten after that" in said
    assert "restore again with --force" in said


async def test_an_empty_database_that_is_replaced_knew_nothing(
    cluster_url: str, restored: Services, clock: ManualClock
) -> None:
    with new_database(cluster_url) as url:
        forgettings, revocations = LedgerCarryover(), RevocationCarryover()
        await forgettings.read_from(url)
        await revocations.read_from(url)
    assert (await forgettings.apply_to(restored)).startswith("No ledger of forgettings was found")
    assert (await revocations.apply_to(restored)).startswith("This restore replaces no database")
    assert await gap(restored.db, "revocations") == clock.now()


@pytest.mark.parametrize(
    ("at", "in_backup", "in_replaced", "filled"),
    [
        (-1, False, False, True),  # made before the gap and known to neither: the file is the old one
        (0, False, False, False),  # made when the gap began: the replaced database may have made it
        (-1, True, False, False),  # the backup has it, so the file proves nothing
        (-1, False, True, False),  # so has the replaced database
    ],
)
async def test_a_file_fills_the_gap_only_with_entries_that_neither_database_has(
    db: Database,
    org: str,
    restored: Services,
    clock: ManualClock,
    tmp_path: Path,
    at: int,
    in_backup: bool,
    in_replaced: bool,
    filled: bool,
) -> None:
    since = clock.now()
    await set_gap(db, "forgettings", since)
    old = entry(1, since + timedelta(days=at))
    await put(restored.db, *[old] * in_backup)
    await put(db, *[old] * in_replaced)
    ledger.append_to_file(tmp_path / ledger.LEDGER_FILE, [old])
    said = await carry_forgettings(restored, db)
    assert ("had itself been restored without the ledger" in said) is not filled
    assert await gap(restored.db, "forgettings") == (None if filled else since)


async def test_a_replaced_database_with_a_gap_passes_it_on(
    db: Database, org: str, restored: Services, clock: ManualClock
) -> None:
    since = clock.now() - timedelta(days=9)
    await set_gap(db, "forgettings", since)
    await put(db, entry(1, clock.now()))
    said = await carry_forgettings(restored, db)
    assert said.startswith("1 forgetting since the backup was carried out again. The database that this one replaces")
    assert await gap(restored.db, "forgettings") == since


async def carry_revocations(restored: Services, replaced: Database) -> str:
    carried = RevocationCarryover()
    await carried.read_from(replaced.url)
    return await carried.apply_to(restored)


async def two_keys(db: Database, restored: Services) -> list[str]:
    """Two keys that both databases have, each with a session in the restored one."""
    async with db.tx("acme") as tx:
        made = [await create_key(tx, ACME, name="app") for _ in range(2)]
    with psycopg.connect(db.url) as source, psycopg.connect(restored.db.url, autocommit=True) as target:
        for row in source.execute("select org_id, key_id, name, secret, grants, created_at from keys"):
            target.execute(
                "insert into keys (org_id, key_id, name, secret, grants, created_at) values (%s, %s, %s, %s, %s, %s)",
                row,
            )
    async with restored.db.tx("acme") as tx:
        for key, _ in made:
            await open_session(tx, ACME, actor=key.id, grants=key.grants)
    return [key.id for key, _ in made]


async def revoked(db: Database) -> dict[str, datetime | None]:
    async with db.tx("acme") as tx:
        return {key.id: key.revoked_at for key in await access.list_keys(tx, ACME)}


async def test_a_key_revoked_since_the_backup_is_revoked_again_with_its_sessions(
    db: Database, org: str, restored: Services, clock: ManualClock
) -> None:
    one, two = await two_keys(db, restored)
    await set_gap(restored.db, "revocations", clock.now())  # the backup's own, which is filled now
    assert await carry_revocations(restored, db) == "No key of this backup had been revoked since."
    at = clock.now()
    async with db.tx("acme") as tx:
        await revoke_key(tx, ACME, one)
    clock.advance(timedelta(hours=1))
    assert await carry_revocations(restored, db) == "1 key that was revoked since the backup is revoked again."
    assert await revoked(restored.db) == {one: at, two: None}
    with psycopg.connect(restored.db.url) as connection:
        assert connection.execute("select actor from signins").fetchall() == [(two,)]
    assert await carry_revocations(restored, db) == "No key of this backup had been revoked since."
    assert await gap(restored.db, "revocations") is None


async def test_a_gap_in_the_revocations_is_passed_on(
    db: Database, org: str, restored: Services, clock: ManualClock
) -> None:
    keys, since = await two_keys(db, restored), clock.now() - timedelta(days=9)
    await set_gap(db, "revocations", since)
    said = await carry_revocations(restored, db)
    assert said.startswith("The database that this one replaces had itself been restored")
    async with db.tx("acme") as tx:
        for key in keys:
            await revoke_key(tx, ACME, key)
    said = await carry_revocations(restored, db)
    assert said.startswith("2 keys that were revoked since the backup are revoked again. The database that")
    assert await gap(restored.db, "revocations") == since
