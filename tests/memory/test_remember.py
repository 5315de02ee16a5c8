"""Remembering in a real database: keys, versions, mentions, late facts, scopes."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from mnemon.clock import ManualClock
from mnemon.db.database import Database
from mnemon.embedding.fake import FakeEmbedder
from mnemon.memory import browse, edit, store
from mnemon.memory.fact import EntityType, Fact, FactEntity, FactType, MemoryType, QuoteLocation
from mnemon.memory.lifecycle import ArchiveReason, ArchiveStatus
from mnemon.memory.plan import MemoryOutcome
from mnemon.memory.remember import RememberedFact, remember_facts
from mnemon.scope import Scope
from mnemon.sessions.people import ensure_person, revision_of
from mnemon.vectors.text_vectors import embed_texts

JOHN = FactEntity(type=EntityType.PERSON, label="John Doe")


def lives_in(city: str, **more: Any) -> Fact:
    return Fact(type=MemoryType.PROFILE, content=f"Lives in {city}", attribute="lives in", **more)


class Person:
    """One person in one database, spoken to through the room's own functions."""

    def __init__(self, db: Database, org: str, name: str = "anna", persona: str | None = None) -> None:
        self.db, self.org, self.name, self.persona = db, org, name, persona

    async def remember(self, *facts: Fact, **options: Any) -> list[RememberedFact]:
        vectors = await embed_texts(FakeEmbedder(), [fact.content for fact in facts])
        async with self.db.tx(self.org) as tx:
            scope = await ensure_person(tx, self.org, self.name, self.persona)
            return await remember_facts(tx, scope, facts, vectors=vectors, **options)

    async def held(self, **wanted: Any) -> list[str]:
        async with self.db.tx(self.org) as tx:
            found = await browse.list_memories(tx, await self.scope(tx), store.MemoryFilter(**wanted), most=100)
        return [one.content for one in found]

    async def history(self, memory_id: str) -> Sequence[tuple[str, datetime, datetime | None]]:
        async with self.db.tx(self.org) as tx:
            versions = await browse.list_versions(tx, await self.scope(tx), memory_id)
        return [(one.content, one.valid_from, one.valid_to) for one in versions]

    async def scope(self, tx: Any) -> Scope:
        return await ensure_person(tx, self.org, self.name, self.persona)


@pytest.fixture
def anna(db: Database, org: str) -> Person:
    return Person(db, org)


async def test_the_same_key_updates_and_keeps_the_earlier_version(anna: Person, clock: ManualClock) -> None:
    start = clock.now()
    first = (await anna.remember(lives_in("Austin")))[0]
    clock.advance(timedelta(days=1))
    second = (await anna.remember(lives_in("Denver")))[0]
    assert (first.outcome, second.outcome) == (MemoryOutcome.CREATED, MemoryOutcome.UPDATED)
    assert second.memory.id == first.memory.id
    assert second.memory.content == "Lives in Denver"
    assert second.memory.mentions == 1
    assert await anna.history(first.memory.id) == [
        ("Lives in Austin", start, clock.now()),
        ("Lives in Denver", clock.now(), None),
    ]


async def test_similar_text_alone_retires_nothing(anna: Person) -> None:
    likes = [
        Fact(
            type=MemoryType.PEOPLE,
            content=f"John likes {what}",
            entity=JOHN,
            fact_type=FactType.PREFERENCE,
            attribute=what,
        )
        for what in ("tea", "jazz")
    ]
    await anna.remember(*likes)
    await anna.remember(Fact(type=MemoryType.PROFILE, content="Likes tea"))
    await anna.remember(Fact(type=MemoryType.PROFILE, content="Likes green tea"))
    assert sorted(await anna.held()) == ["John likes jazz", "John likes tea", "Likes green tea", "Likes tea"]


async def test_an_older_fact_applied_late_becomes_a_past_version(anna: Person, clock: ManualClock) -> None:
    now = clock.now()
    made = (await anna.remember(lives_in("Denver")))[0].memory
    late = (await anna.remember(lives_in("Austin", valid_from=now - timedelta(days=30))))[0]
    earlier = (await anna.remember(lives_in("Boston", valid_from=now - timedelta(days=60))))[0]
    assert late.outcome is MemoryOutcome.UPDATED
    assert late.memory.content == earlier.memory.content == "Lives in Denver"
    assert await anna.history(made.id) == [
        ("Lives in Boston", now - timedelta(days=60), now - timedelta(days=30)),
        ("Lives in Austin", now - timedelta(days=30), now),
        ("Lives in Denver", now, None),
    ]


async def test_one_batch_may_tell_a_whole_history_in_any_order(anna: Person, clock: ManualClock) -> None:
    now = clock.now()
    days = {"Austin": 90, "Denver": 60, "Boston": 30}
    told = [lives_in(city, valid_from=now - timedelta(days=days[city])) for city in ("Denver", "Boston", "Austin")]
    made = (await anna.remember(*told))[-1].memory
    assert [content for content, *_ in await anna.history(made.id)] == [
        "Lives in Austin",
        "Lives in Denver",
        "Lives in Boston",
    ]


async def test_a_thousand_identical_writes_at_once_make_one_memory_with_a_thousand_mentions(anna: Person) -> None:
    gate = asyncio.Semaphore(40)

    async def write() -> MemoryOutcome:
        async with gate:
            return (await anna.remember(lives_in("Austin")))[0].outcome

    outcomes = await asyncio.gather(*(write() for _ in range(1000)))
    assert outcomes.count(MemoryOutcome.CREATED) == 1
    assert outcomes.count(MemoryOutcome.UPDATED) == 999
    kept = (await anna.remember(lives_in("Austin")))[0].memory
    assert kept.mentions == 1001
    assert await anna.held() == ["Lives in Austin"]


async def test_a_private_fact_never_overwrites_a_global_one(db: Database, org: str) -> None:
    coach, anna = Person(db, org, persona="coach"), Person(db, org)
    await anna.remember(lives_in("Austin"))
    await coach.remember(lives_in("a secret place", private=True))
    assert await anna.held() == ["Lives in Austin"]
    assert sorted(await coach.held()) == ["Lives in Austin", "Lives in a secret place"]
    assert await Person(db, org, persona="doctor").held() == ["Lives in Austin"]


async def test_people_and_organizations_stay_apart(db: Database, org: str) -> None:
    await Person(db, org, "anna").remember(lives_in("Austin"))
    await Person(db, org, "ben").remember(lives_in("Denver"))
    await Person(db, "globex", "anna").remember(lives_in("Boston"))
    assert await Person(db, org, "anna").held() == ["Lives in Austin"]
    assert await Person(db, org, "ben").held() == ["Lives in Denver"]


def said(quote: str, message: str = "msg_1", session: str = "ses_1", at: datetime | None = None) -> QuoteLocation:
    when = at or datetime.fromisoformat("2026-04-01T10:00:00Z")
    return QuoteLocation(
        turn_id="trn_1", session_id=session, message_id=message, start=0, end=len(quote), quote=quote, at=when
    )


async def test_where_it_was_said_is_kept_and_the_same_statement_counts_once(anna: Person) -> None:
    fact = lives_in("Austin", ground=said("I live in Austin"), source="shadow_extraction")
    at = datetime.fromisoformat("2026-04-01T10:00:00Z")
    once = (await anna.remember(fact, at=at, extracted=True))[0]
    twice = (await anna.remember(fact, at=at, extracted=True))[0]
    again = (await anna.remember(replace(fact, ground=said("I live in Austin", "msg_2")), at=at, extracted=True))[0]
    assert [one.outcome for one in (once, twice, again)] == [
        MemoryOutcome.CREATED,
        MemoryOutcome.SKIPPED,
        MemoryOutcome.UPDATED,
    ]
    assert again.memory.mentions == 2
    assert [(one.message_id, one.quote) for one in again.memory.provenance] == [
        ("msg_2", "I live in Austin"),
        ("msg_1", "I live in Austin"),
    ]
    assert again.memory.created_at == again.memory.updated_at == at


async def test_every_write_moves_the_persons_revision(anna: Person) -> None:
    seen = []
    for city in ("Austin", "Austin", "Denver"):
        made = (await anna.remember(lives_in(city)))[0].memory
        async with anna.db.tx(anna.org) as tx:
            seen.append(await revision_of(tx, await anna.scope(tx)))
        assert made.revision == seen[-1]
    assert seen == [1, 2, 3]


async def test_archived_facts_come_back_when_stated_but_not_when_merely_found(anna: Person) -> None:
    made = (await anna.remember(lives_in("Austin")))[0].memory
    async with anna.db.tx(anna.org) as tx:
        wanted = edit.MemoryEdit(status=ArchiveStatus.ARCHIVED, reason="wrong")
        gone = await edit.edit_memory(tx, await anna.scope(tx), made.id, wanted)
    assert gone.archive_reason is ArchiveReason.WRONG
    assert await anna.held(status=ArchiveStatus.ACTIVE) == []
    found = (await anna.remember(lives_in("Austin", ground=said("Austin")), extracted=True))[0]
    assert (found.outcome, found.why) == (MemoryOutcome.SKIPPED, "archived as wrong")
    stated = (await anna.remember(lives_in("Austin")))[0]
    assert stated.memory.status is ArchiveStatus.ACTIVE
    assert await anna.held(status=ArchiveStatus.ACTIVE) == ["Lives in Austin"]


async def test_a_pin_keeps_the_text_forces_three_and_goes_when_a_statement_says_so(anna: Person) -> None:
    await anna.remember(lives_in("Austin", pinned=True, importance=0))
    again = (await anna.remember(lives_in("Austin", importance=1)))[0].memory
    assert (again.pinned, again.importance) == (True, 3)
    beside = (await anna.remember(lives_in("Denver", importance=1)))[0].memory
    assert beside.claim_of == again.memory_key
    loose = (await anna.remember(lives_in("Denver", pinned=False, importance=1)))[0].memory
    assert (loose.id, loose.content, loose.pinned, loose.importance) == (again.id, "Lives in Denver", False, 1)


@pytest.mark.parametrize("days", [-1, 0, 1])
async def test_a_repeat_gives_the_wording_unless_a_newer_one_did(anna: Person, clock: ManualClock, days: int) -> None:
    now = clock.now()
    await anna.remember(lives_in("Austin", valid_from=now - timedelta(days=9)))
    await anna.remember(lives_in("AUSTIN", valid_from=now))
    again = (await anna.remember(lives_in("austin", valid_from=now + timedelta(days=days))))[0].memory
    assert again.content == ("Lives in AUSTIN" if days < 0 else "Lives in austin")
    assert again.mentions == 3
    assert await anna.held() == [again.content]


async def test_a_repeat_of_what_was_before_changes_nothing_of_what_is_held(anna: Person, clock: ManualClock) -> None:
    now = clock.now()
    await anna.remember(lives_in("Austin", valid_from=now - timedelta(days=9)))
    held = (await anna.remember(lives_in("Denver", valid_from=now, importance=2, confidence=0.9)))[0].memory
    clock.advance(timedelta(days=1))
    old = lives_in("AUSTIN", valid_from=now - timedelta(days=5), importance=0, confidence=0.1, pinned=True)
    again = (await anna.remember(old))[0].memory
    assert again == replace(held, revision=again.revision)
    async with anna.db.tx(anna.org) as tx:
        versions = await browse.list_versions(tx, await anna.scope(tx), held.id)
    assert [one.mentions for one in versions] == [2, 1]
    assert [content for content, *_ in await anna.history(held.id)] == ["Lives in Austin", "Lives in Denver"]
