"""Indexing and scoring leave the event loop free: in threads, once for all who wait, never seen half done."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

import pytest

from mnemon.clock import ManualClock
from mnemon.custody.forget_person import forget_person
from mnemon.db.database import Database
from mnemon.db.tx import SharedObjects
from mnemon.memory.fact import Fact, MemoryType
from mnemon.memory.recall import index_cache as shelves
from mnemon.memory.recall.index_cache import MAX_IDLE_S, ROWS_BUILT_INLINE, IndexCache
from mnemon.memory.recall.person_index import PersonIndex
from mnemon.memory.recall.query import RecallQuery
from mnemon.memory.recall.search import recall, search
from mnemon.memory.remember import remember_facts
from mnemon.memory.words import LONGEST_INDEXED, indexed_terms, terms
from mnemon.scope import Scope, person_scope
from mnemon.sessions.people import ensure_person

T = TypeVar("T")
MANY = ROWS_BUILT_INLINE + 20
LONGEST_S = 30
IDLE = """
select count(*)::int as number from pg_stat_activity
where datname = current_database() and state like 'idle in transaction%%'
"""


class Gate(ThreadPoolExecutor):
    """Threads that note who they are, wait for leave, and fail as often as they are told to."""

    def __init__(self) -> None:
        super().__init__(4)
        self.begun = 0
        self.threads: list[int] = []
        self.failures: list[Exception] = []
        self._open = threading.Event()
        self._open.set()

    def shut(self) -> None:
        self._open.clear()

    def open(self) -> None:
        self._open.set()

    def submit(self, work: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        self.begun += 1
        return super().submit(self._run, work, *args, **kwargs)

    def _run(self, work: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        self.threads.append(threading.get_ident())
        assert self._open.wait(LONGEST_S)
        if self.failures:
            raise self.failures.pop()
        return work(*args, **kwargs)

    async def reached(self, begun: int) -> None:
        """So much work was handed over, and everybody else had the time to come as far as they can."""
        async with asyncio.timeout(LONGEST_S):
            while self.begun < begun:
                await asyncio.sleep(0.001)
        await asyncio.sleep(0.2)


class House:
    """A person on a server whose threads the test lets through."""

    def __init__(self, db: Database, org: str, building: Gate, scoring: Gate) -> None:
        self.db, self.org, self.building, self.scoring = db, org, building, scoring
        self.shelf = db.attached.get_or_create(IndexCache)

    @property
    def scope(self) -> Scope:
        return person_scope(self.org, "anna")

    @property
    def books(self) -> PersonIndex | None:
        return next(iter(self.shelf._held.values()), None)

    async def learn(self, word: str, number: int = 1) -> None:
        facts = [Fact(type=MemoryType.PROFILE, content=f"{word} {n}", attribute=f"{word} {n}") for n in range(number)]
        async with self.db.tx(self.org) as tx:
            await ensure_person(tx, self.org, "anna")
            await remember_facts(tx, self.scope, facts)

    async def found(self, text: str) -> int:
        """How many memories with that word a door's recall finds among the best."""
        return _holding(text, await recall(self.db, self.scope, _query(text)))

    async def found_in_transaction(self, text: str) -> int:
        async with self.db.tx(self.org) as tx:
            return _holding(text, await search(tx, self.scope, _query(text)))

    async def idle_transactions(self) -> int:
        async with self.db.owner_tx() as tx:
            return int((await tx.fetch_one(IDLE))["number"])


def _query(text: str) -> RecallQuery:
    return RecallQuery(text=text, vector=None, model="none", limit=10_000)


def _holding(word: str, found: Any) -> int:
    return sum(word in hit.found.content for hit in found.hits)


@pytest.fixture
async def house(database_url: str, org: str, clock: ManualClock) -> AsyncIterator[House]:
    building, scoring = Gate(), Gate()
    shelf = IndexCache(megabytes=64, building=building, scoring=scoring)
    db = Database(database_url, clock, attached=SharedObjects(shelf))
    await db.open()
    yield House(db, org, building, scoring)
    for gate in (building, scoring):
        gate.open()
    shelf.close()
    await db.close()


async def test_a_large_index_is_built_in_a_thread_and_a_small_one_on_the_spot(house: House) -> None:
    await house.learn("tea", 20)
    assert await house.found("tea") == 20
    assert house.building.threads == []
    await house.learn("violin", MANY)
    assert await house.found("violin") == MANY
    assert house.building.threads
    assert threading.get_ident() not in house.building.threads


async def test_many_rows_are_scored_in_a_thread(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shelves, "ROWS_SCORED_INLINE", 50)
    await house.learn("violin", 80)
    assert [await house.found("violin"), await house.found_in_transaction("violin")] == [80, 80]
    assert len(house.scoring.threads) == 2
    assert threading.get_ident() not in house.scoring.threads


async def test_what_goes_through_sql_is_weighed_in_a_thread(house: House) -> None:
    house.shelf.megabytes = 0
    await house.learn("violin", MANY)
    assert await house.found("violin") == MANY
    assert house.building.threads
    assert threading.get_ident() not in house.building.threads


async def test_no_transaction_is_open_while_an_index_is_built(house: House) -> None:
    await house.learn("violin", MANY)
    house.building.shut()
    asked = asyncio.create_task(house.found("violin"))
    await house.building.reached(1)
    assert await house.idle_transactions() == 0
    house.building.open()
    assert await asked == MANY


@pytest.mark.parametrize("in_transaction", [False, True])
async def test_those_who_want_the_same_index_wait_for_one_build(house: House, in_transaction: bool) -> None:
    await house.learn("violin", MANY)
    house.building.shut()
    ask = house.found_in_transaction if in_transaction else house.found
    asked = [asyncio.create_task(ask("violin")) for _ in range(3)]
    await house.building.reached(1)
    assert not any(one.done() for one in asked)
    house.building.open()
    assert await asyncio.gather(*asked) == [MANY] * 3
    assert house.building.begun == 1


@pytest.mark.parametrize("in_transaction", [False, True])
async def test_one_who_goes_away_leaves_the_build_to_the_others(house: House, in_transaction: bool) -> None:
    await house.learn("violin", MANY)
    house.building.shut()
    ask = house.found_in_transaction if in_transaction else house.found
    first = asyncio.create_task(ask("violin"))
    await house.building.reached(1)
    second = asyncio.create_task(ask("violin"))
    await asyncio.sleep(0.2)
    first.cancel()
    with suppress(asyncio.CancelledError):
        await first
    house.building.open()
    assert await second == MANY
    assert house.building.begun == 1


async def test_an_index_nobody_waits_for_any_more_is_there_for_the_next(house: House) -> None:
    await house.learn("violin", MANY)
    house.building.shut()
    alone = asyncio.create_task(house.found("violin"))
    await house.building.reached(1)
    alone.cancel()
    with suppress(asyncio.CancelledError):
        await alone
    house.building.open()
    assert await house.found("violin") == MANY
    assert house.building.begun == 1


async def test_a_build_that_fails_fails_for_those_who_wait_and_the_next_begins_anew(house: House) -> None:
    await house.learn("violin", MANY)
    house.building.failures.append(MemoryError("no room"))
    house.building.shut()
    asked = [asyncio.create_task(house.found("violin")) for _ in range(2)]
    await house.building.reached(1)
    house.building.open()
    assert [type(one) for one in await asyncio.gather(*asked, return_exceptions=True)] == [MemoryError] * 2
    assert await house.found("violin") == MANY


async def test_books_do_not_change_while_a_thread_reads_them(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shelves, "ROWS_SCORED_INLINE", 50)
    await house.learn("violin", 80)
    await house.found("violin")
    house.scoring.shut()
    before = asyncio.create_task(house.found("violin"))
    await house.scoring.reached(2)
    await house.learn("violin strings")
    after = asyncio.create_task(house.found("violin"))
    await asyncio.sleep(0.2)
    assert house.books is not None
    assert (house.books.memories.size, after.done()) == (80, False)
    before.cancel()  # its thread reads on
    await asyncio.sleep(0.05)
    assert (house.books.memories.size, after.done()) == (80, False)
    house.scoring.open()
    assert await after == 81


async def test_many_new_rows_are_indexed_beside_the_books_that_are_there(house: House) -> None:
    await house.learn("violin", 30)
    await house.found("violin")
    old = house.books
    await house.learn("tea", MANY)
    house.building.shut()
    asked = asyncio.create_task(house.found("tea"))
    await house.building.reached(1)
    assert house.books is old is not None
    assert old.memories.size == 30
    house.building.open()
    assert await asked == MANY
    assert house.books is not old
    assert await house.found("violin") == 30
    assert house.building.begun == 1


async def test_a_person_forgotten_while_indexed_is_not_found(house: House) -> None:
    from mnemon.custody.forget_person import forget_person

    await house.learn("violin", MANY)
    house.building.shut()
    asked = asyncio.create_task(house.found("violin"))
    await house.building.reached(1)
    async with house.db.tx(house.org) as tx:
        await forget_person(tx, house.scope)
    house.building.open()
    assert await asked == 0
    await house.learn("tea")
    assert [await house.found("violin"), await house.found("tea")] == [0, 1]


async def test_a_transaction_that_wrote_much_finds_it_and_leaves_nothing_behind(house: House) -> None:
    class Cancelled(Exception):
        """The caller changed its mind."""

    await house.learn("violin", 30)
    await house.found("violin")
    facts = [Fact(type=MemoryType.PROFILE, content=f"tea {n}", attribute=f"tea {n}") for n in range(MANY)]
    with suppress(Cancelled):
        async with house.db.tx(house.org) as tx:
            await remember_facts(tx, house.scope, facts)
            assert _holding("tea", await search(tx, house.scope, _query("tea"))) == MANY
            raise Cancelled
    assert [await house.found("tea"), await house.found("violin")] == [0, 30]
    await house.learn("milk")
    assert await house.found("milk") == 1


async def test_a_few_long_texts_are_indexed_in_a_thread(house: House) -> None:
    await house.learn("short " * 10, 3)
    assert await house.found_in_transaction("short") == 3
    assert house.building.begun == 0
    await house.learn("long " * 3_000, 4)
    assert await house.found_in_transaction("long") == 4
    assert house.building.begun == 1


async def test_of_a_very_long_text_the_beginning_is_indexed() -> None:
    words = [f"word{number}" for number in range(20_000)]
    read = indexed_terms(" ".join(words))
    assert read[0] == "word0"
    assert len(" ".join(read)) <= LONGEST_INDEXED
    assert len(" ".join(read)) > LONGEST_INDEXED - 20
    assert len("".join(indexed_terms("\ufdfa" * 100_000))) <= LONGEST_INDEXED
    assert indexed_terms("Ünïque " * 100) == terms("Ünïque " * 100)


async def test_nothing_stays_in_memory_of_a_person_who_is_forgotten(house: House) -> None:
    await house.learn("violin", 5)
    assert await house.found("violin") == 5
    assert len(house.shelf) == 1
    async with house.db.tx(house.org) as tx:
        await forget_person(tx, house.scope)
    assert (len(house.shelf), house.shelf.bytes) == (0, 0)


async def test_books_that_nobody_uses_go_when_others_come(house: House) -> None:
    moment = [0.0]
    house.shelf._now = lambda: moment[0]
    await house.learn("violin", 5)
    assert await house.found("violin") == 5
    moment[0] = MAX_IDLE_S / 2
    assert await house.found("violin") == 5
    other = Scope(org_id=house.org, user_id=person_scope(house.org, "bob").user)
    for moment[0], held in ((MAX_IDLE_S * 1.4, 2), (MAX_IDLE_S * 1.6, 1)):
        house.shelf._drop_index((house.org, other.user, None, "none"))
        await recall(house.db, other, _query("violin"))
        assert len(house.shelf) == held
