"""What lives with an open database: one object of each class, and none that another database has."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from mnemon.clock import ManualClock
from mnemon.db.database import Database
from mnemon.db.tx import SharedObjects
from mnemon.errors import Contended
from mnemon.memory.person_lock import lock_people
from mnemon.memory.recall.index_cache import IndexCache
from mnemon.memory.recall.query import RecallQuery
from mnemon.memory.recall.search import RecallCounter, recall
from mnemon.scope import person_scope


@pytest.fixture
async def other(database_url: str, clock: ManualClock) -> AsyncIterator[Database]:
    """A second application's way to the same rows."""
    database = Database(database_url, clock)
    await database.open()
    yield database
    await database.close()


def test_what_was_given_is_found_and_what_was_not_is_made_once() -> None:
    shelf = IndexCache(megabytes=3)
    attached = SharedObjects(shelf)
    assert attached.get_or_create(IndexCache) is shelf
    assert attached.get_or_create(RecallCounter) is attached.get_or_create(RecallCounter)


async def test_a_transaction_has_what_its_database_has(db: Database, org: str) -> None:
    async with db.tx(org) as tx, db.owner_tx() as owner:
        assert tx.attached is owner.attached is db.attached


async def test_two_applications_share_neither_index_nor_tally(db: Database, org: str, other: Database) -> None:
    scope, query = person_scope(org, "anna"), RecallQuery(text="tea", vector=None, model="none")
    for _ in range(2):  # the first is written at once
        await recall(db, scope, query)
    assert (len(db.attached.get_or_create(IndexCache)), len(other.attached.get_or_create(IndexCache))) == (1, 0)
    async with db.tx(org) as tx:
        assert (
            sum((await db.attached.get_or_create(RecallCounter).recalls_by_day(tx, scope, tx.now.date())).values()) == 2
        )
    async with other.tx(org) as tx:
        assert (
            sum((await other.attached.get_or_create(RecallCounter).recalls_by_day(tx, scope, tx.now.date())).values())
            == 1
        )


async def test_a_writer_waits_for_writers_of_the_same_application_only(db: Database, other: Database) -> None:
    async with lock_people(db, ["usr_1"]):
        async with asyncio.timeout(30), lock_people(other, ["usr_1"]), lock_people(db, ["usr_2"]):
            pass
        waiting = asyncio.create_task(lock_people(db, ["usr_1", "usr_2"]).__aenter__())
        await asyncio.sleep(0.05)
        assert not waiting.done()
    await waiting


async def test_a_job_stands_back_for_requests_of_its_own_application_only(db: Database, other: Database) -> None:
    ahead = db.request_priority.begin_request()
    assert (db.request_priority._ahead, other.request_priority._ahead) == (1, 0)
    ahead.release_priority()
    assert db.request_priority._ahead == 0


async def test_nobody_waits_for_the_writers_before_it_longer_than_a_statement_may_take(db: Database) -> None:
    async with lock_people(db, ["usr_1", "usr_2"]):
        with pytest.raises(Contended, match="Try again"):
            async with lock_people(db, ["usr_2"], wait_s=0.01):
                pytest.fail("two at once")
        async with lock_people(db, ["usr_3"], wait_s=0.01):
            pass
    async with lock_people(db, ["usr_2"], wait_s=0.01):
        pass
