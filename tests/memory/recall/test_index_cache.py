"""The index cache: never stale, never ahead of a rollback, bounded."""

from contextlib import suppress

import pytest

from mnemon.clock import ManualClock
from mnemon.custody.forget_memory import forget_memory
from mnemon.custody.forget_person import forget_person
from mnemon.db.database import Database
from mnemon.db.tx import Tx
from mnemon.memory import edit
from mnemon.memory.fact import Fact, MemoryType
from mnemon.memory.recall.index_cache import IndexCache
from mnemon.memory.recall.query import RecallKind, RecallQuery
from mnemon.memory.recall.search import RecallCounter, recall, search
from mnemon.memory.remember import remember_facts
from mnemon.scope import Scope, person_scope
from mnemon.sessions.boundary import SessionBoundary
from mnemon.sessions.messages import NewMessage
from mnemon.sessions.people import ensure_person
from mnemon.sessions.record import NewTurn, store_turn
from mnemon.turn import Role


class Cancelled(Exception):
    """The caller changed its mind."""


@pytest.fixture
def shelf(db: Database) -> IndexCache:
    return db.attached.get_or_create(IndexCache)


class House:
    """One person's memory on one server; another server has a shelf of its own."""

    def __init__(self, db: Database, org: str, user: str = "anna") -> None:
        self.db, self.org, self.user = db, org, user

    def scope(self, persona: str | None = None) -> Scope:
        return person_scope(self.org, self.user, persona)

    async def learn(self, *contents: str, persona: str | None = None) -> list[str]:
        async with self.db.tx(self.org) as tx:
            return await self.learn_in(tx, *contents, persona=persona)

    async def learn_in(self, tx: Tx, *contents: str, persona: str | None = None) -> list[str]:
        await ensure_person(tx, self.org, self.user)
        private = persona is not None
        facts = [Fact(type=MemoryType.PROFILE, content=one, attribute=one[:20], private=private) for one in contents]
        return [one.memory.id for one in await remember_facts(tx, self.scope(persona), facts)]

    async def say_in(self, tx: Tx, text: str, persona: str | None = None) -> None:
        said = (NewMessage(role=Role.USER, content=text),)
        await store_turn(tx, self.scope(persona), NewTurn(user_name=self.user, messages=said), SessionBoundary())

    async def ask(self, text: str, persona: str | None = None) -> list[str]:
        """As a door asks, and within a transaction; both find the same."""
        query = RecallQuery(text=text, vector=None, model="none", kinds=frozenset(RecallKind), limit=50)
        at_the_door = [hit.found.content for hit in (await recall(self.db, self.scope(persona), query)).hits]
        async with self.db.tx(self.org) as tx:
            assert await self.ask_in(tx, text, persona) == at_the_door
        return at_the_door

    async def ask_in(self, tx: Tx, text: str, persona: str | None = None) -> list[str]:
        query = RecallQuery(text=text, vector=None, model="none", kinds=frozenset(RecallKind), limit=50)
        return [hit.found.content for hit in (await search(tx, self.scope(persona), query)).hits]


@pytest.fixture
def house(db: Database, org: str, clock: ManualClock, shelf: IndexCache) -> House:
    return House(db, org)


async def test_a_write_is_found_by_the_next_search_on_every_server(house: House, clock: ManualClock) -> None:
    other = Database(house.db.url, clock)
    await other.open()
    servers = (house, House(other, house.org))
    for number in range(6):
        await servers[number % 2].learn(f"lesson {number}")
        for server in servers:
            assert f"lesson {number}" in await server.ask("lesson")
    await other.close()


async def test_a_transaction_finds_what_it_wrote_and_a_rollback_leaves_nothing(house: House) -> None:
    [kept] = await house.learn("violin lesson")
    assert await house.ask("violin") == ["violin lesson"]
    with suppress(Cancelled):
        async with house.db.tx(house.org) as tx:
            await house.say_in(tx, "the violin is broken")
            await edit.edit_memory(tx, house.scope(), kept, edit.MemoryEdit(content="violin lesson on Monday"))
            assert set(await house.ask_in(tx, "violin")) == {"the violin is broken", "violin lesson on Monday"}
            raise Cancelled
    assert await house.ask("violin") == ["violin lesson"]
    await house.learn("violin strings")
    assert set(await house.ask("violin")) == {"violin lesson", "violin strings"}


async def test_a_first_search_inside_a_writing_transaction_keeps_only_what_is_committed(house: House) -> None:
    await house.learn("violin lesson")
    with suppress(Cancelled):
        async with house.db.tx(house.org) as tx:
            await house.say_in(tx, "the violin is broken")
            assert set(await house.ask_in(tx, "violin")) == {"violin lesson", "the violin is broken"}
            raise Cancelled
    assert await house.ask("violin") == ["violin lesson"]


async def test_a_changed_memory_is_found_by_its_new_words_only(house: House) -> None:
    [lesson] = await house.learn("violin lesson")
    await house.ask("violin")
    async with house.db.tx(house.org) as tx:
        await edit.edit_memory(tx, house.scope(), lesson, edit.MemoryEdit(content="cello lesson"))
    assert await house.ask("cello") == ["cello lesson"]


async def test_what_was_found_before_is_given_as_it_stands_now(house: House) -> None:
    [lesson] = await house.learn("violin lesson")
    for note in ("violin lesson on Monday", "violin lesson on Friday"):
        await house.ask("violin")
        async with house.db.tx(house.org) as tx:
            await edit.edit_memory(tx, house.scope(), lesson, edit.MemoryEdit(content=note))
        assert await house.ask("violin") == [note]
        assert await house.ask("violin") == [note]


async def test_what_was_found_before_a_rollback_is_not_given_after_it(house: House) -> None:
    [lesson] = await house.learn("violin lesson")
    with suppress(Cancelled):
        async with house.db.tx(house.org) as tx:
            await edit.edit_memory(tx, house.scope(), lesson, edit.MemoryEdit(content="violin lesson never"))
            assert await house.ask_in(tx, "violin") == ["violin lesson never"]
            raise Cancelled
    async with house.db.tx(house.org) as tx:
        await edit.edit_memory(tx, house.scope(), lesson, edit.MemoryEdit(content="violin lesson ever"))
    assert await house.ask("violin") == ["violin lesson ever"]


async def test_what_is_forgotten_is_gone_from_the_index(house: House) -> None:
    secret, _ = await house.learn("the secret password is swordfish", "likes tea")
    assert len(await house.ask("swordfish")) == 2
    async with house.db.tx(house.org) as tx:
        await forget_memory(tx, house.scope(), secret)
    assert await house.ask("swordfish") == ["likes tea"]


async def test_a_person_forgotten_and_met_again_starts_from_nothing(house: House) -> None:
    await house.learn("plays the violin")
    await house.ask("violin")
    async with house.db.tx(house.org) as tx:
        await forget_person(tx, house.scope())
    assert await house.ask("violin") == []
    await house.learn("likes tea")
    assert await house.ask("violin tea") == ["likes tea"]


async def test_each_persona_has_books_of_its_own(house: House) -> None:
    await house.learn("violin for everyone")
    await house.learn("violin for the coach", persona="coach")
    for _ in range(2):
        assert set(await house.ask("violin", "coach")) == {"violin for everyone", "violin for the coach"}
        assert await house.ask("violin") == ["violin for everyone"]
        assert await house.ask("violin", "boss") == ["violin for everyone"]


async def test_the_least_recently_used_books_go_when_memory_is_short(
    db: Database, org: str, clock: ManualClock, shelf: IndexCache
) -> None:
    shelf.megabytes = 1
    houses = [House(db, org, f"user{number}") for number in range(4)]
    for house in houses:
        await house.learn(*(f"{house.user} lesson {number} " + "and so on " * 20 for number in range(500)))
        assert len(await house.ask(f"{house.user} lesson")) == 50
    assert shelf.bytes <= 1 << 20
    assert len(shelf) < 4
    assert all([len(await house.ask("lesson")) == 50 for house in houses])


async def test_books_that_do_not_fit_are_read_from_sql(
    db: Database, org: str, clock: ManualClock, shelf: IndexCache
) -> None:
    shelf.megabytes = 1
    house = House(db, org)
    await house.learn(*(f"lesson {number} of the violin" for number in range(1000)))
    await house.learn(*(f"lesson {number} of the cello" for number in range(1000)))
    for _ in range(2):
        assert len(await house.ask("cello lesson")) == 50
    assert len(shelf) == 0


async def test_a_question_asked_again_is_one_round_trip_and_every_one_is_counted(
    house: House, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    await house.learn("violin lesson", "likes tea")
    scope, query = house.scope(), RecallQuery(text="violin", vector=None, model="none", limit=5)
    await recall(house.db, scope, query)
    with monkeypatch.context() as nothing_more:
        nothing_more.setattr(house.db, "tx", None)
        again = await recall(house.db, scope, query)
    assert [hit.found.content for hit in again.hits] == ["violin lesson", "likes tea"]
    async with house.db.tx(house.org) as tx:
        assert (
            sum((await tx.attached.get_or_create(RecallCounter).recalls_by_day(tx, scope, tx.now.date())).values()) == 2
        )
