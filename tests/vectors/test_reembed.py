"""Moving to another embedding model: while writing goes on, resumable, and never an empty result."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from mnemon.app import embeddable_texts
from mnemon.clock import ManualClock
from mnemon.db.database import Database
from mnemon.embedding.connect import connect_embedder
from mnemon.embedding.embedder import Embedder
from mnemon.embedding.fake import FakeEmbedder
from mnemon.errors import Misconfigured, ModelDown
from mnemon.jobs.runner import Runner
from mnemon.llm.scripted.model import ScriptedLlm
from mnemon.llm.scripted.server import ScriptedServer
from mnemon.memory.fact import Fact, MemoryType
from mnemon.memory.ranking import Ranking
from mnemon.memory.recall.query import RecallQuery
from mnemon.memory.recall.search import search
from mnemon.memory.remember import remember_facts
from mnemon.notes import store as notes
from mnemon.notes.note import NoteSearch, PutNote
from mnemon.scope import person_scope
from mnemon.services import Services
from mnemon.sessions.people import ensure_person
from mnemon.settings import Settings
from mnemon.vectors import embed_job
from mnemon.vectors.active_model import (
    assert_active,
    assert_dimension,
    enqueue_unsettled,
    list_other_models,
    list_unsettled_orgs,
)
from mnemon.vectors.embed_job import job_kinds
from mnemon.vectors.reembed import ReembedProgress, delete_other_vectors, reembed_org, reembed_progress
from mnemon.vectors.text_vectors import embed_query, embed_texts, probe_dimension

ROOMS = embeddable_texts()
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
def old(db: Database, clock: ManualClock) -> Services:
    """A server of the old model."""
    llm = ScriptedLlm()
    return Services(db=db, llm=llm, reflector=llm, embedder=OLD, clock=clock, settings=Settings())


@pytest.fixture
def new(old: Services) -> Services:
    """The operator's command, with the new model."""
    return replace(old, embedder=NEW)


async def write(house: Services, org: str, user: str, *contents: str) -> None:
    vectors = await embed_texts(house.embedder, contents)
    facts = [Fact(type=MemoryType.PROFILE, content=text, attribute=text) for text in contents]
    async with house.db.tx(org) as tx:
        await ensure_person(tx, org, user)
        await remember_facts(tx, person_scope(org, user), facts, vectors=vectors)


async def found(house: Services, org: str, user: str, text: str) -> list[float]:
    """Similarities of what is found by meaning alone."""
    vector = await embed_query(house.embedder, text)
    query = RecallQuery(text=text, vector=vector, model=house.embedder.model, ranking=Ranking.SIMILARITY)
    async with house.db.tx(org) as tx:
        return [hit.parts["similarity"] for hit in (await search(tx, person_scope(org, user), query)).hits]


async def put(house: Services, org: str, user: str, key: str, text: str) -> None:
    """A note that is found by meaning, as a server of this model writes it."""
    made = await embed_texts(house.embedder, [text])
    vectors = {"text": made.by_text[text]} if text in made.by_text else {}
    note = PutNote(namespace=("a",), key=key, value=text, texts={"text": text}, vectors=vectors, model=made.model)
    async with house.db.tx(org) as tx:
        scope = await ensure_person(tx, org, user)
        await notes.apply_changes(tx, scope, [note])


async def noted(house: Services, org: str, user: str, text: str) -> list[str]:
    """Notes near the text, nearest first."""
    [vector] = await house.embedder.embed([text])
    wanted = NoteSearch(vector=vector, model=house.embedder.model)
    async with house.db.tx(org) as tx:
        return [note.key for note in await notes.search_notes(tx, person_scope(org, user), wanted)]


async def check(house: Services, embedder: Embedder) -> None:
    async with house.db.owner_tx() as tx:
        await assert_active(tx, embedder.model)


async def test_a_fresh_database_takes_any_embedder_and_the_first_to_write_stays(old: Services, org: str) -> None:
    for embedder in (OLD, NEW):
        await check(old, embedder)
    async with old.db.owner_tx() as tx:
        assert await list_other_models(tx, NEW.model) == {}
    await write(old, org, "anna", "green tea")
    async with old.db.owner_tx() as tx:
        assert await list_other_models(tx, NEW.model) == {org: OLD.model}


async def test_another_embedder_than_the_stored_one_is_a_clear_error(old: Services, org: str) -> None:
    await write(old, org, "anna", *LIKES)
    await check(old, OLD)
    with pytest.raises(Misconfigured, match="mnemon reembed") as caught:
        await check(old, NEW)
    assert "fake-96" in caught.value.detail
    assert "fake-32" in caught.value.detail


async def test_all_texts_move_and_recall_goes_on_with_either_model(old: Services, new: Services, org: str) -> None:
    for user in ("anna", "ben", "cleo"):
        await write(old, org, user, *LIKES)
    seen: list[ReembedProgress] = []
    assert await reembed_org(new, ROOMS, org, seen.append) == 15
    assert (seen[0].done, seen[0].texts) == (0, 15)
    assert (seen[-1].done, seen[-1].texts) == (15, 15)
    await check(new, NEW)
    with pytest.raises(Misconfigured):
        await check(old, OLD)
    for house in (old, new):
        assert max(await found(house, org, "ben", "green tea")) > 0.9


async def test_a_run_that_broke_is_taken_up_where_it_ended(
    old: Services, new: Services, org: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embed_job, "BATCH_SIZE", 2)
    await write(old, org, "anna", *LIKES)
    await write(old, org, "ben", *LIKES)
    with pytest.raises(ModelDown):
        await reembed_org(replace(new, embedder=Dying(3)), ROOMS, org, lambda _: None)
    begun = (await reembed_progress(new, ROOMS, org)).done
    assert 0 < begun < 10
    await check(old, OLD)
    assert await reembed_org(new, ROOMS, org, lambda _: None) == 10 - begun
    await check(new, NEW)


async def test_what_is_written_meanwhile_moves_too(old: Services, new: Services, org: str) -> None:
    await write(old, org, "anna", *LIKES)

    class Meanwhile(FakeEmbedder):
        written = False

        async def embed(self, texts: Sequence[str]) -> np.ndarray:
            if not self.written:
                self.written = True
                await write(old, org, "anna", "fresh bread")
                await write(old, org, "zoe", "new songs")
            return await super().embed(texts)

    assert await reembed_org(replace(new, embedder=Meanwhile(dimension=96)), ROOMS, org, lambda _: None) == 7
    assert max(await found(new, org, "zoe", "new songs")) > 0.9


async def test_what_the_old_server_wrote_after_the_flip_is_embedded_at_the_next_start(
    old: Services, new: Services, org: str
) -> None:
    await write(old, org, "anna", *LIKES)
    await reembed_org(new, ROOMS, org, lambda _: None)
    await write(old, org, "anna", "late news")
    async with new.db.owner_tx() as tx:
        waiting = await list_unsettled_orgs(tx, NEW.model)
    assert waiting == [org]
    await enqueue_unsettled(new, waiting)
    await Runner(new.db, new.clock, {kind.name: kind for kind in job_kinds(new, ROOMS)}).drain()
    assert max(await found(new, org, "anna", "late news")) > 0.9
    async with new.db.owner_tx() as tx:
        assert await list_unsettled_orgs(tx, NEW.model) == []


async def test_old_vectors_stay_until_they_are_dropped(old: Services, new: Services, org: str) -> None:
    await write(old, org, "anna", *LIKES)
    await reembed_org(new, ROOMS, org, lambda _: None)
    assert (await reembed_progress(old, ROOMS, org)).done == 5
    assert await delete_other_vectors(new, ROOMS, org) == 5
    assert (await reembed_progress(old, ROOMS, org)).done == 0
    assert (await reembed_progress(new, ROOMS, org)).done == 5


async def test_notes_alone_fix_the_embedder_too(old: Services, org: str) -> None:
    await put(old, org, "anna", "tea", "green tea")
    await check(old, OLD)
    with pytest.raises(Misconfigured, match="mnemon reembed"):
        await check(old, NEW)


async def test_notes_move_and_are_found_with_either_model(old: Services, new: Services, org: str) -> None:
    await put(old, org, "anna", "tea", "green tea")
    await put(old, org, "anna", "maps", "old maps")
    await write(old, org, "anna", *LIKES)
    assert await noted(new, org, "anna", "green tea") == []
    seen: list[ReembedProgress] = []
    assert await reembed_org(new, ROOMS, org, seen.append) == 7
    assert (seen[0].done, seen[0].texts, seen[-1].done, seen[-1].texts) == (0, 7, 7, 7)
    for house in (old, new):
        assert (await noted(house, org, "anna", "green tea"))[0] == "tea"
    assert await delete_other_vectors(new, ROOMS, org) == 7
    assert await noted(old, org, "anna", "green tea") == []
    assert (await noted(new, org, "anna", "old maps"))[0] == "maps"


async def test_what_a_program_embedded_itself_is_neither_moved_nor_dropped(
    old: Services, new: Services, org: str
) -> None:
    own = PutNote(namespace=("a",), key="own", value=1, vectors={"text": [1.0, 0.0, 0.0]})
    async with old.db.tx(org) as tx:
        await notes.apply_changes(tx, await ensure_person(tx, org, "anna"), [own])
    assert await reembed_org(new, ROOMS, org, lambda _: None) == 0
    assert await delete_other_vectors(new, ROOMS, org) == 0
    async with new.db.tx(org) as tx:
        found = await notes.search_notes(tx, person_scope(org, "anna"), NoteSearch(vector=[1.0, 0.0, 0.0]))
    assert [note.score for note in found] == [1.0]


async def test_a_note_written_while_the_embedder_is_down_is_found_once_it_is_back(old: Services, org: str) -> None:
    await put(replace(old, embedder=Dying(0)), org, "anna", "tea", "green tea")
    assert await noted(old, org, "anna", "green tea") == []
    await Runner(old.db, old.clock, {kind.name: kind for kind in job_kinds(old, ROOMS)}).drain()
    assert await noted(old, org, "anna", "green tea") == ["tea"]


async def test_another_model_under_the_same_name_is_a_clear_error(old: Services, org: str) -> None:
    await write(old, org, "anna", "green tea")
    async with old.db.owner_tx() as tx:
        await assert_dimension(tx, OLD.model, 32)
        await assert_dimension(tx, NEW.model, 96)
        with pytest.raises(Misconfigured, match="returns vectors of 96 dimensions, but the stored ones have 32"):
            await assert_dimension(tx, OLD.model, 96)


async def test_an_endpoint_is_asked_how_long_its_vectors_are() -> None:
    with ScriptedServer() as server:
        embedder = connect_embedder("openai:unknown", base_url=server.url)
        assert embedder.dimension == 0
        assert await probe_dimension(embedder) == 64
        server.script.add_fault("error", on="embeddings", times=None)
        down = connect_embedder("openai:another", base_url=server.url)
        assert await probe_dimension(down) == 0
        await embedder.close()
        await down.close()
