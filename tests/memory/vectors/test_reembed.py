"""Moving to another embedding model: while writing goes on, resumable, and never an empty result."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from mnemon.basement import Basement
from mnemon.clock import ManualClock
from mnemon.db.database import Database
from mnemon.embedding.fake import FakeEmbedder
from mnemon.embedding.protocol import Embedder
from mnemon.errors import Misconfigured, ModelDown
from mnemon.jobs.runner import Runner
from mnemon.llm.scripted.model import ScriptedLlm
from mnemon.memory.fact import Fact, MemoryType
from mnemon.memory.ranking import Ranking
from mnemon.memory.recall.query import Query
from mnemon.memory.recall.search import search
from mnemon.memory.remember import remember
from mnemon.memory.vectors import reembed as moving
from mnemon.memory.vectors.active import assert_active, settle, unsettled
from mnemon.memory.vectors.embed import embed_query, embed_texts
from mnemon.memory.vectors.job import kinds
from mnemon.memory.vectors.reembed import Progress, drop_others, progress, reembed
from mnemon.scope import person
from mnemon.sessions.people import ensure_person
from mnemon.settings import Settings

OLD, NEW = FakeEmbedder(dimension=32), FakeEmbedder(dimension=96)
LIKES = ["green tea", "black coffee", "long walks", "old maps", "quiet rooms"]


class Dying(FakeEmbedder):
    """Answers a number of times, then is down."""

    def __init__(self, answers: int) -> None:
        super().__init__(dimension=NEW.dimension)
        self.answers = answers

    async def embed(self, texts: Sequence[str]) -> np.ndarray:
        if self.answers <= 0:
            raise ModelDown("The embedder is down.")
        self.answers -= 1
        return await super().embed(texts)


@pytest.fixture
def old(db: Database, clock: ManualClock) -> Basement:
    """A server of the old model."""
    llm = ScriptedLlm()
    return Basement(db=db, llm=llm, reflector=llm, embedder=OLD, clock=clock, settings=Settings())


@pytest.fixture
def new(old: Basement) -> Basement:
    """The operator's command, with the new model."""
    return replace(old, embedder=NEW)


async def write(house: Basement, org: str, user: str, *contents: str) -> None:
    vectors = await embed_texts(house.embedder, contents)
    facts = [Fact(type=MemoryType.PROFILE, content=text, attribute=text) for text in contents]
    async with house.db.tx(org) as tx:
        await ensure_person(tx, org, user)
        await remember(tx, person(org, user), facts, vectors=vectors)


async def found(house: Basement, org: str, user: str, text: str) -> list[float]:
    """Similarities of what is found by meaning alone."""
    vector = await embed_query(house.embedder, text)
    query = Query(text=text, vector=vector, model=house.embedder.model, ranking=Ranking.SIMILARITY)
    async with house.db.tx(org) as tx:
        return [hit.parts["similarity"] for hit in (await search(tx, person(org, user), query)).hits]


async def check(house: Basement, embedder: Embedder) -> None:
    async with house.db.owner_tx() as tx:
        await assert_active(tx, embedder.model)


async def test_a_fresh_database_takes_any_embedder(old: Basement, org: str) -> None:
    await check(old, OLD)
    await check(old, NEW)


async def test_another_embedder_than_the_stored_one_is_a_clear_error(old: Basement, org: str) -> None:
    await write(old, org, "anna", *LIKES)
    await check(old, OLD)
    with pytest.raises(Misconfigured, match="mnemon reembed") as caught:
        await check(old, NEW)
    assert "fake-96" in caught.value.detail
    assert "fake-32" in caught.value.detail


async def test_all_texts_move_and_recall_goes_on_with_either_model(old: Basement, new: Basement, org: str) -> None:
    for user in ("anna", "ben", "cleo"):
        await write(old, org, user, *LIKES)
    seen: list[Progress] = []
    assert await reembed(new, org, seen.append) == 15
    assert (seen[0].done, seen[0].texts) == (0, 15)
    assert (seen[-1].done, seen[-1].texts) == (15, 15)
    await check(new, NEW)
    with pytest.raises(Misconfigured):
        await check(old, OLD)
    for house in (old, new):
        assert max(await found(house, org, "ben", "green tea")) > 0.9


async def test_a_run_that_broke_is_taken_up_where_it_ended(
    old: Basement, new: Basement, org: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moving, "BATCH", 2)
    await write(old, org, "anna", *LIKES)
    await write(old, org, "ben", *LIKES)
    with pytest.raises(ModelDown):
        await reembed(replace(new, embedder=Dying(3)), org, lambda _: None)
    begun = (await progress(new, org)).done
    assert 0 < begun < 10
    await check(old, OLD)
    assert await reembed(new, org, lambda _: None) == 10 - begun
    await check(new, NEW)


async def test_what_is_written_meanwhile_moves_too(old: Basement, new: Basement, org: str) -> None:
    await write(old, org, "anna", *LIKES)

    class Meanwhile(FakeEmbedder):
        written = False

        async def embed(self, texts: Sequence[str]) -> np.ndarray:
            if not self.written:
                self.written = True
                await write(old, org, "anna", "fresh bread")
                await write(old, org, "zoe", "new songs")
            return await super().embed(texts)

    assert await reembed(replace(new, embedder=Meanwhile(dimension=96)), org, lambda _: None) == 7
    assert max(await found(new, org, "zoe", "new songs")) > 0.9


async def test_what_the_old_server_wrote_after_the_flip_is_embedded_at_the_next_start(
    old: Basement, new: Basement, org: str
) -> None:
    await write(old, org, "anna", *LIKES)
    await reembed(new, org, lambda _: None)
    await write(old, org, "anna", "late news")
    async with new.db.owner_tx() as tx:
        waiting = await unsettled(tx, NEW.model)
    assert waiting == [org]
    await settle(new, waiting)
    await Runner(new.db, new.clock, {kind.name: kind for kind in kinds(new)}).drain()
    assert max(await found(new, org, "anna", "late news")) > 0.9
    async with new.db.owner_tx() as tx:
        assert await unsettled(tx, NEW.model) == []


async def test_old_vectors_stay_until_they_are_dropped(old: Basement, new: Basement, org: str) -> None:
    await write(old, org, "anna", *LIKES)
    await reembed(new, org, lambda _: None)
    assert (await progress(old, org)).done == 5
    assert await drop_others(new, org) == 5
    assert (await progress(old, org)).done == 0
    assert (await progress(new, org)).done == 5
