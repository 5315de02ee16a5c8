"""A stored vector is of the text that stands beside it, whatever changed the text and whoever made the vector."""

import hashlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from mnemon.clock import ManualClock
from mnemon.db.database import Database
from mnemon.embedding.embedder import scale_to_unit
from mnemon.embedding.fake import FakeEmbedder
from mnemon.memory import edit
from mnemon.memory.fact import Fact, MemoryType
from mnemon.memory.memory import StoredMemory
from mnemon.memory.remember import remember_facts
from mnemon.memory.vector_store import MemoryTexts
from mnemon.scope import Scope, person_scope
from mnemon.services import Services
from mnemon.sessions.people import ensure_person
from mnemon.vectors.embed_job import embed_batch
from mnemon.vectors.text_vectors import TextVectors, embed_texts
from support.reflecting import basement_of

ANNA = person_scope("acme", "anna")
_STORED = """
select coalesce(m.content, v.content) as content, e.vector::text as vector
from embeddings e
left join memories m on e.kind = 'memory' and m.id = e.id
left join memory_versions v on e.kind = 'version' and v.memory_id || '/' || v.number = e.id
where e.org_id = 'acme'
"""


class Exact(FakeEmbedder):
    """Gives every spelling of a text another vector."""

    async def embed(self, texts: Sequence[str]) -> np.ndarray:
        seeds = [int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") for text in texts]
        return scale_to_unit(np.stack([np.random.default_rng(seed).normal(size=self.dimension) for seed in seeds]))


EXACT = Exact()


def lives_in(city: str) -> Fact:
    return Fact(type=MemoryType.PROFILE, content=f"Lives in {city}", attribute="lives in")


async def state(db: Database, fact: Fact, vectors: TextVectors | None) -> StoredMemory:
    async with db.tx("acme") as tx:
        await ensure_person(tx, "acme", "anna")
        return (await remember_facts(tx, ANNA, [fact], vectors=vectors))[0].memory


async def supersede(db: Database, held: StoredMemory, vectors: TextVectors | None) -> None:
    await state(db, lives_in("Denver"), vectors)


async def put_in_other_words(db: Database, held: StoredMemory, vectors: TextVectors | None) -> None:
    await state(db, lives_in("AUSTIN"), vectors)


async def edit_by_hand(db: Database, held: StoredMemory, vectors: TextVectors | None) -> None:
    async with db.tx("acme") as tx:
        await edit.edit_memory(tx, ANNA, held.id, edit.MemoryEdit(content="Lives in Denver"), vectors=vectors)


async def bring_back_a_version(db: Database, held: StoredMemory, vectors: TextVectors | None) -> None:
    await supersede(db, held, vectors)
    async with db.tx("acme") as tx:
        await edit.restore_memory(tx, ANNA, held.id, version=1, vectors=vectors)


async def tell_what_was_before(db: Database, held: StoredMemory, vectors: TextVectors | None) -> None:
    await state(db, replace(lives_in("Denver"), valid_from=held.valid_from - timedelta(days=9)), vectors)


async def tell_it_all_at_once(db: Database, held: StoredMemory, vectors: TextVectors | None) -> None:
    async with db.tx("acme") as tx:
        await remember_facts(tx, ANNA, [lives_in("Denver"), lives_in("AUSTIN"), lives_in("Austin")], vectors=vectors)


CHANGES: list[Callable[[Database, StoredMemory, TextVectors | None], Awaitable[None]]] = [
    supersede,
    put_in_other_words,
    edit_by_hand,
    bring_back_a_version,
    tell_what_was_before,
    tell_it_all_at_once,
]


async def wrong_texts(db: Database) -> list[str]:
    """Texts whose stored vector is another text's."""
    async with db.tx("acme") as tx:
        rows = await tx.fetch_all(_STORED)
    wrong = []
    for row in rows:
        stored = np.array([float(number) for number in row["vector"].strip("[]").split(",")])
        if float((await EXACT.embed([row["content"]]))[0] @ stored) < 0.99:
            wrong.append(row["content"])
    return wrong


async def waiting_texts(db: Database) -> list[str]:
    async with db.tx("acme") as tx:
        return [one.content for one in await MemoryTexts().list_unembedded(tx, ANNA, EXACT.model, most=100)]


async def works_due(db: Database) -> int:
    async with db.tx("acme") as tx:
        return int((await tx.fetch_one("select count(*) as n from work where org_id = 'acme' and kind = 'embed'"))["n"])


@pytest.fixture
def house(db: Database, org: str, clock: ManualClock) -> Services:
    return replace(basement_of(db, clock), embedder=EXACT)


@pytest.fixture
async def held(house: Services, clock: ManualClock) -> StoredMemory:
    """A memory that has its vector, an hour old."""
    fact = lives_in("Austin")
    made = await state(house.db, fact, await embed_texts(EXACT, [fact.content]))
    clock.advance(timedelta(hours=1))
    return made


@pytest.mark.parametrize("change", CHANGES)
async def test_a_changed_text_has_its_own_vector_where_one_comes_with_it(
    house: Services, held: StoredMemory, change: Callable[[Database, StoredMemory, TextVectors | None], Awaitable[None]]
) -> None:
    texts = [f"Lives in {city}" for city in ("Austin", "AUSTIN", "Denver")]
    await change(house.db, held, await embed_texts(EXACT, texts))
    assert await wrong_texts(house.db) == []
    if await waiting_texts(house.db):
        assert await works_due(house.db) == 1


@pytest.mark.parametrize("change", CHANGES)
async def test_a_changed_text_has_no_vector_while_the_embedder_is_down_and_its_own_afterwards(
    house: Services, held: StoredMemory, change: Callable[[Database, StoredMemory, TextVectors | None], Awaitable[None]]
) -> None:
    await change(house.db, held, None)
    assert await wrong_texts(house.db) == []
    assert await waiting_texts(house.db)
    assert await works_due(house.db) == 1
    await embed_batch(house, MemoryTexts(), ANNA)
    assert await waiting_texts(house.db) == []
    assert await wrong_texts(house.db) == []


class Meddling(Exact):
    """Lets somebody change a text while its vector is being made, once."""

    def __init__(self, meddle: Callable[[], Awaitable[None]]) -> None:
        super().__init__()
        self._meddle: Callable[[], Awaitable[None]] | None = meddle

    async def embed(self, texts: Sequence[str]) -> np.ndarray:
        made = await super().embed(texts)
        if self._meddle is not None:
            meddle, self._meddle = self._meddle, None
            await meddle()
        return made


async def test_a_text_changed_while_its_vector_is_made_does_not_get_the_old_ones(house: Services) -> None:
    memory = await state(house.db, lives_in("Austin"), None)
    meddling = Meddling(lambda: edit_by_hand(house.db, memory, None))
    await embed_batch(replace(house, embedder=meddling), MemoryTexts(), ANNA)
    assert await wrong_texts(house.db) == []
    assert "Lives in Denver" in await waiting_texts(house.db)


async def test_a_text_changed_and_given_its_vector_meanwhile_keeps_it(house: Services) -> None:
    memory = await state(house.db, lives_in("Austin"), None)
    denver = await embed_texts(EXACT, ["Lives in Denver"])
    meddling = Meddling(lambda: edit_by_hand(house.db, memory, denver))
    await embed_batch(replace(house, embedder=meddling), MemoryTexts(), ANNA)
    assert await wrong_texts(house.db) == []


async def test_the_scope_of_one_person_is_not_anothers(house: Services, held: StoredMemory) -> None:
    async with house.db.tx("acme") as tx:
        await ensure_person(tx, "acme", "ben")
        ben = Scope(org_id="acme", user_id=person_scope("acme", "ben").user)
        await remember_facts(tx, ben, [lives_in("Austin")], vectors=await embed_texts(EXACT, ["Lives in Austin"]))
    await put_in_other_words(house.db, held, None)
    assert await waiting_texts(house.db) == ["Lives in AUSTIN"]
    async with house.db.tx("acme") as tx:
        assert await MemoryTexts().list_unembedded(tx, ben, EXACT.model, most=9) == []
