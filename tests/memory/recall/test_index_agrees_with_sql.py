"""The index in process and the path through SQL: the same answers, whatever was written in between."""

import random
from datetime import timedelta

import pytest

from mnemon.clock import ManualClock
from mnemon.db.database import Database
from mnemon.embedding.fake import FakeEmbedder
from mnemon.evidence.stems import stem_words
from mnemon.memory import edit
from mnemon.memory.entities.aliases import AliasLink
from mnemon.memory.entities.store import add_link
from mnemon.memory.fact import EntityType, Fact, FactEntity, MemoryType
from mnemon.memory.lifecycle import ArchiveStatus
from mnemon.memory.recall import index_cache as shelves
from mnemon.memory.recall.index_cache import IndexCache
from mnemon.memory.recall.query import RecallKind, RecallQuery, RecallResult
from mnemon.memory.recall.search import search
from mnemon.memory.remember import remember_facts
from mnemon.memory.vector_store import VectorKind, save_vectors
from mnemon.scope import Scope, person_scope
from mnemon.sessions.boundary import SessionBoundary
from mnemon.sessions.messages import NewMessage
from mnemon.sessions.people import bump_revision, ensure_person
from mnemon.sessions.record import NewTurn, store_turn
from mnemon.turn import Role
from mnemon.vectors.text_vectors import embed_query, embed_texts

WORDS = sorted(
    stem_words(
        "violin lake house oslo lisbon tea jazz running dashboard sister bread taxes garden train museum "
        "letter summer doctor cat bicycle kitchen yesterday monday moved bought painted called lost found visited"
    )
)
NAMES = ("Sam", "Anna", "Old Tom", "Acme")
PERSONAS = (None, "coach")
KINDS = tuple(map(frozenset, ({RecallKind.MEMORIES}, {RecallKind.MESSAGES}, set(RecallKind))))
CLOSE = 1e-4


@pytest.fixture
def shelf(db: Database) -> IndexCache:
    return db.attached.get_or_create(IndexCache)


class House:
    """A person about whom things are written and asked."""

    def __init__(self, db: Database, org: str, clock: ManualClock, shelf: IndexCache, seed: int = 7) -> None:
        self.db, self.org, self.clock, self.shelf = db, org, clock, shelf
        self.embedder = FakeEmbedder()
        self.random = random.Random(seed)
        self.held: list[str] = []

    def scope(self, persona: str | None) -> Scope:
        return person_scope(self.org, "anna", persona)

    def sentence(self) -> str:
        said = " ".join(self.random.choices(WORDS, k=self.random.randint(1, 14)))
        opening = self.random.choice(("", "", f"{self.random.choice(NAMES)}: ", f"{self.random.choice(NAMES)} "))
        return f"{opening}{said}{self.random.choice(('', '.', '?'))}"

    async def say(self, persona: str | None) -> None:
        """A turn of one to three messages, some of them embedded already."""
        roles = (Role.USER, Role.ASSISTANT, Role.TOOL)
        told = tuple(
            NewMessage(
                role=roles[place],
                content=self.sentence(),
                name=self.random.choice((None, None, *NAMES)),
                at=self.clock.now() - timedelta(minutes=self.random.choice((0, 0, 0, 7, 500))),
            )
            for place in range(self.random.randint(1, 3))
        )
        scope = self.scope(persona)
        async with self.db.tx(self.org) as tx:
            turn = await store_turn(tx, scope, NewTurn(user_name="anna", messages=told), SessionBoundary())
        waiting = [one for one in turn.messages if self.random.random() < 0.8]
        vectors = await self.embedder.embed([one.content for one in waiting])
        async with self.db.tx(self.org) as tx:
            made = {(VectorKind.MESSAGE, one.message_id): vector for one, vector in zip(waiting, vectors, strict=True)}
            await save_vectors(tx, scope, self.embedder.model, made, revision=await bump_revision(tx, scope))

    async def learn(self, persona: str | None) -> None:
        """A few facts, some of which replace earlier ones."""
        facts = []
        for _ in range(self.random.randint(1, 4)):
            label = self.random.choice(NAMES)
            entity = FactEntity(type=EntityType.PERSON, label=label) if self.random.random() < 0.6 else None
            content, attribute = self.sentence(), self.random.choice((None, "place", "work", "pet"))
            kind = self.random.choice(tuple(MemoryType))
            facts.append(
                Fact(
                    type=kind,
                    content=content,
                    entity=entity,
                    attribute=attribute,
                    importance=self.random.choice((1, 2, 3)),
                    private=self.random.random() < 0.3,
                )
            )
        vectors = await embed_texts(self.embedder, [fact.content for fact in facts if self.random.random() < 0.8])
        async with self.db.tx(self.org) as tx:
            await ensure_person(tx, self.org, "anna")
            changes = await remember_facts(tx, self.scope(persona), facts, vectors=vectors)
        self.held = sorted({*self.held, *(change.memory.id for change in changes)})

    async def archive(self) -> None:
        if self.held:
            memory_id = self.held.pop(self.random.randrange(len(self.held)))
            async with self.db.tx(self.org) as tx:
                wanted = edit.MemoryEdit(status=ArchiveStatus.ARCHIVED, reason="outdated")
                await edit.edit_memory(
                    tx, self.scope(None), memory_id, wanted, vectors=await embed_texts(self.embedder, [])
                )

    async def merge(self) -> None:
        link = AliasLink(alias="person:old_tom", target="person:sam", asked_from="person:old_tom", merge_id="mrg_1")
        async with self.db.tx(self.org) as tx:
            await bump_revision(tx, self.scope(None))
            await add_link(tx, self.scope(None), link)

    async def both(self, persona: str | None) -> tuple[RecallResult, RecallResult]:
        """A random query by the index and by SQL."""
        text = self.random.choice(("", "When did ", "What does Sam ", "my ")) + self.sentence()
        vector = await embed_query(self.embedder, text) if self.random.random() < 0.9 else None
        query = RecallQuery(
            text=text,
            vector=vector,
            model=self.embedder.model,
            kinds=self.random.choice(KINDS),
            limit=self.random.choice((1, 5, 10, 50)),
            types=frozenset(self.random.sample(tuple(MemoryType), k=self.random.choice((1, 3, 3)))),
        )
        async with self.db.tx(self.org) as tx:
            indexed = await search(tx, self.scope(persona), query)
            room, self.shelf.megabytes = self.shelf.megabytes, 0
            plain = await search(tx, self.scope(persona), query)
            self.shelf.megabytes = room
        return indexed, plain


def assert_same(one: RecallResult, two: RecallResult) -> None:
    """The same hits in the same order; where scores are within the tolerance the order may differ."""
    assert one.considered == two.considered
    assert len(one.hits) == len(two.hits)
    scores = {hit.found.id: hit.score for hit in two.hits}
    least = min(scores.values(), default=0.0)
    if {hit.found.id for hit in one.hits} == set(scores):
        assert {card.key: card for card in one.cards} == {card.key: card for card in two.cards}
        assert {hit.found.id: hit.found for hit in one.hits} == {hit.found.id: hit.found for hit in two.hits}
    for mine, theirs in zip(one.hits, two.hits, strict=True):
        assert mine.score == pytest.approx(theirs.score, abs=CLOSE)
        assert scores.get(mine.found.id, least) == pytest.approx(mine.score, abs=CLOSE)
        assert sum(mine.weights[name] * part for name, part in mine.parts.items()) == pytest.approx(
            mine.score, abs=1e-6
        )


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("inline", [True, False], ids=["inline", "in threads"])
@pytest.mark.parametrize("queries", [250, pytest.param(2000, marks=pytest.mark.soak("recall-paths"))])
async def test_index_and_sql_give_the_same_answers_over_random_writes_and_queries(
    db: Database,
    org: str,
    clock: ManualClock,
    shelf: IndexCache,
    queries: int,
    inline: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if not inline:  # whatever is new makes the books anew, however little it is
        monkeypatch.setattr(shelves, "ROWS_BUILT_INLINE", 0)
        monkeypatch.setattr(shelves, "ROWS_SCORED_INLINE", 0)
    house = House(db, org, clock, shelf)
    asked = 0
    while asked < queries:
        clock.advance(timedelta(minutes=house.random.choice((1, 1, 1, 45))))
        persona = house.random.choice(PERSONAS)
        action = house.random.random()
        if action < 0.6:
            await house.say(persona)
        elif action < 0.9:
            await house.learn(persona)
        else:
            await house.archive()
        if asked == queries // 50 * 25:
            await house.merge()
        for _ in range(25):
            assert_same(*await house.both(house.random.choice(PERSONAS)))
            asked += 1
