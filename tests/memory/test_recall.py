"""Recall in a real database: what is found, by whom, ranked how; and the work that makes vectors."""

import math
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from mnemon.clock import ManualClock
from mnemon.db.database import Database
from mnemon.embedding.fake import FakeEmbedder
from mnemon.errors import ModelDown
from mnemon.jobs.runner import Runner
from mnemon.layer import LayerRequest
from mnemon.llm.scripted.model import ScriptedLlm
from mnemon.llm.scripted.script import Script
from mnemon.memory import layer
from mnemon.memory.entities.aliases import AliasLink
from mnemon.memory.entities.store import add_link
from mnemon.memory.fact import EntityType, Fact, FactEntity, MemoryType
from mnemon.memory.memory import StoredMemory
from mnemon.memory.ranking import Ranking
from mnemon.memory.recall.query import FoundMessage, RecallKind, RecallQuery, RecallResult
from mnemon.memory.recall.search import search
from mnemon.memory.remember import remember_facts
from mnemon.memory.todos import store as todo_store
from mnemon.memory.todos.todo import TodoKind
from mnemon.memory.vector_store import MemoryTexts
from mnemon.scope import Scope, person_scope
from mnemon.services import Services
from mnemon.sessions.boundary import SessionBoundary
from mnemon.sessions.messages import NewMessage
from mnemon.sessions.people import ensure_person
from mnemon.sessions.record import NewTurn, store_turn
from mnemon.settings import Settings
from mnemon.turn import Role
from mnemon.vectors.embed_job import job_kinds
from mnemon.vectors.text_vectors import embed_query, embed_texts, enqueue_embedding


class Embedder(FakeEmbedder):
    """One that can be down."""

    def __init__(self) -> None:
        super().__init__()
        self.down = False

    async def embed(self, texts: Sequence[str]) -> np.ndarray:
        if self.down:
            raise ModelDown("The embedder is down; it will be asked again.")
        return await super().embed(texts)


class House:
    """A person's memory, written and recalled as the rooms above do it."""

    def __init__(self, db: Database, org: str, clock: ManualClock) -> None:
        self.db, self.org, self.clock, self.embedder = db, org, clock, Embedder()
        model = ScriptedLlm(Script())
        self.services = Services(
            db=db, llm=model, reflector=model, embedder=self.embedder, clock=clock, settings=Settings()
        )

    def scope(self, persona: str | None = None) -> Scope:
        return person_scope(self.org, "anna", persona)

    async def remember(self, *facts: Fact, persona: str | None = None) -> None:
        vectors = await embed_texts(self.embedder, [fact.content for fact in facts])
        async with self.db.tx(self.org) as tx:
            await ensure_person(tx, self.org, "anna")
            await remember_facts(tx, self.scope(persona), facts, vectors=vectors)

    async def say(self, *lines: str, persona: str | None = None, role: Role = Role.USER) -> str:
        told = tuple(NewMessage(role=role, content=line) for line in lines)
        async with self.db.tx(self.org) as tx:
            turn = await store_turn(
                tx, self.scope(persona), NewTurn(user_name="anna", messages=told), SessionBoundary()
            )
            await enqueue_embedding(tx, self.scope(persona))
        return turn.session_id

    async def work(self) -> int:
        known = {kind.name: kind for kind in job_kinds(self.services, [MemoryTexts()])}
        return await Runner(self.db, self.clock, known).drain()

    async def search(self, text: str, persona: str | None = None, **more: Any) -> RecallResult:
        vector = await embed_query(self.embedder, text)
        query = RecallQuery(text=text, vector=vector, model=self.embedder.model, **more)
        async with self.db.tx(self.org) as tx:
            return await search(tx, self.scope(persona), query)

    async def ask(self, text: str, persona: str | None = None, session: str | None = None) -> LayerRequest:
        return LayerRequest(
            scope=self.scope(persona),
            query=text,
            vector=await embed_query(self.embedder, text),
            now=self.clock.now(),
            session_id=session,
            model=self.embedder.model,
        )


@pytest.fixture
def house(db: Database, org: str, clock: ManualClock) -> House:
    return House(db, org, clock)


def about(label: str, content: str, **more: Any) -> Fact:
    entity = FactEntity(type=EntityType.PERSON, label=label)
    return Fact(type=MemoryType.PEOPLE, content=content, entity=entity, attribute=content, **more)


def contents(found: RecallResult) -> list[str]:
    return [hit.found.content for hit in found.hits]


ALL = tuple(Ranking)
MESSAGES = frozenset({RecallKind.MESSAGES})


@pytest.mark.parametrize("ranking", ALL)
async def test_messages_are_found_by_the_persona_they_were_said_to_and_by_no_other(
    house: House, ranking: Ranking
) -> None:
    await house.say("the violin recital is on Sunday", persona="coach")
    await house.say("the violin is at the repair shop")
    await house.work()
    with_coach = await house.search("violin", persona="coach", kinds=MESSAGES, ranking=ranking)
    assert contents(with_coach) == ["the violin recital is on Sunday"]
    assert contents(await house.search("violin", kinds=MESSAGES, ranking=ranking)) == [
        "the violin is at the repair shop"
    ]
    assert contents(await house.search("violin", persona="boss", kinds=MESSAGES, ranking=ranking)) == []
    assert isinstance(with_coach.hits[0].found, FoundMessage)


async def test_memories_and_messages_are_ranked_together(house: House) -> None:
    await house.remember(about("Sam", "Sam plays the violin"))
    await house.say("I bought violin strings")
    await house.work()
    both = frozenset(RecallKind)
    found = await house.search("violin", kinds=both)
    assert {type(hit.found) for hit in found.hits} == {StoredMemory, FoundMessage}
    assert [hit.score for hit in found.hits] == sorted((hit.score for hit in found.hits), reverse=True)


@pytest.mark.parametrize("ranking", ALL)
async def test_what_is_not_embedded_is_found_by_words_and_embedded_later(house: House, ranking: Ranking) -> None:
    house.embedder.down = True
    await house.remember(about("Sam", "Sam plays the violin"), about("Sam", "Sam lives in Oslo"))
    assert contents(await house.search("who plays violin", ranking=ranking))[0] == "Sam plays the violin"
    house.embedder.down = False
    assert contents(await house.search("who plays violin", ranking=ranking))[0] == "Sam plays the violin"
    await house.work()
    found = await house.search("Sam plays the violin", ranking=Ranking.SIMILARITY)
    assert found.hits[0].parts["similarity"] == pytest.approx(1.0, abs=1e-3)


async def test_a_down_embedder_delays_the_work_and_loses_none(house: House, clock: ManualClock) -> None:
    house.embedder.down = True
    await house.remember(about("Sam", "Sam plays the violin"))
    await house.work()
    house.embedder.down = False
    clock.advance(timedelta(minutes=10))
    assert await house.work() == 1
    found = await house.search("Sam plays the violin", ranking=Ranking.SIMILARITY)
    assert found.hits[0].parts["similarity"] == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("ranking", ALL)
async def test_as_of_finds_past_versions_by_their_own_words(house: House, clock: ManualClock, ranking: Ranking) -> None:
    fact = Fact(type=MemoryType.PROFILE, content="Lives in Austin", attribute="city")
    await house.remember(fact)
    before = clock.now() + timedelta(days=1)
    clock.advance(timedelta(days=2))
    await house.remember(Fact(type=MemoryType.PROFILE, content="Lives in Denver", attribute="city"))
    await house.work()
    then = await house.search("Austin", ranking=ranking, as_of=before)
    assert contents(then) == ["Lives in Austin"]
    if ranking is Ranking.SIMILARITY:
        assert then.hits[0].score > 0.5
    assert contents(await house.search("Austin", ranking=ranking)) == ["Lives in Denver"]


async def test_merged_entities_count_as_one_in_frequency_and_on_the_card(house: House, clock: ManualClock) -> None:
    await house.remember(
        about("Makesh", "Makesh cooks", importance=2),
        about("Mukesh", "Mukesh sings", importance=2),
        about("Ann", "Ann dances"),
    )
    async with house.db.tx(house.org) as tx:
        link = AliasLink(
            alias="person:makesh",
            target="person:mukesh",
            asked_from="person:makesh",
            merge_id="mrg_1",
            made_by="person",
        )
        await add_link(tx, house.scope(), link)
    found = await house.search("cooks sings dances", ranking=Ranking.BLENDED)
    frequency = {hit.found.content: hit.parts["frequency"] for hit in found.hits}
    assert frequency == pytest.approx({"Makesh cooks": 2 / 3, "Mukesh sings": 2 / 3, "Ann dances": 1 / 3})
    assert [card.key for card in found.cards] == ["person:mukesh"]
    assert set(found.cards[0].facts) == {"Makesh cooks", "Mukesh sings"}


async def test_cards_hold_nothing_private_to_another_persona(house: House) -> None:
    await house.remember(about("Sam", "Sam plays the violin", importance=2))
    secret = about("Sam", "Sam is being fired", importance=3, private=True)
    await house.remember(secret, persona="boss")
    assert (await house.search("Sam")).cards[0].facts == ("Sam plays the violin",)
    assert "Sam is being fired" in (await house.search("Sam", persona="boss")).cards[0].facts


@pytest.mark.parametrize("ranking", ALL)
async def test_what_has_no_words_is_no_obstacle_on_either_side(house: House, ranking: Ranking) -> None:
    await house.remember(about("Sam", "Sam plays the violin"), about("Sam", "!!!"))
    for text in ("???", "🎻", "  "):
        found = await house.search(text, ranking=ranking)
        assert {hit.found.content for hit in found.hits} <= {"Sam plays the violin", "!!!"}
        assert all(math.isfinite(hit.score) for hit in found.hits)
    assert contents(await house.search("violin", ranking=ranking))[0] == "Sam plays the violin"


async def test_the_persons_layer_has_pins_first_then_the_seeded_profile(house: House) -> None:
    await house.remember(
        Fact(type=MemoryType.PROFILE, content="Is called Anna", source="seeded_profile"),
        Fact(type=MemoryType.PROFILE, content="Is allergic to nuts", pinned=True),
        Fact(type=MemoryType.PROFILE, content="Likes tea"),
    )
    async with house.db.tx(house.org) as tx:
        made = layer.person_layer(await layer.recall_for_prompt(tx, await house.ask("hello")))
    assert [item.text for item in made.items] == ["Is allergic to nuts", "Is called Anna"]
    assert made.recalled


async def test_foundation_holds_twenty_pins_at_most(house: House) -> None:
    pins = [Fact(type=MemoryType.PROFILE, content=f"Fact {n}", pinned=True) for n in range(25)]
    await house.remember(*pins)
    async with house.db.tx(house.org) as tx:
        made = layer.person_layer(await layer.recall_for_prompt(tx, await house.ask("hello")))
    assert len(made.items) == 20


async def test_the_relevant_layer_has_cards_on_top_then_memories_then_what_was_said_elsewhere(
    house: House, clock: ManualClock
) -> None:
    await house.remember(about("Sam", "Sam plays the violin", importance=2))
    await house.remember(Fact(type=MemoryType.PROFILE, content="Owns a violin", source="tool:crm", attribute="violin"))
    await house.say("my violin broke")
    clock.advance(timedelta(days=1))
    running = await house.say("can Sam fix a violin")
    await house.work()
    async with house.db.tx(house.org) as tx:
        ask = await house.ask("can Sam fix my violin", session=running)
        made = layer.relevant_layer(await layer.recall_for_prompt(tx, ask), running)
    texts = [item.text for item in made.items]
    assert texts[0] == "[person:sam]: Sam plays the violin"
    assert "Owns a violin (external: tool crm)" in texts
    assert any("my violin broke" in text for text in texts)
    assert not any("can Sam fix a violin" in text for text in texts)
    assert [item.value for item in made.items] == sorted((item.value for item in made.items), reverse=True)


async def test_open_todos_are_shown_to_their_persona_alone(house: House) -> None:
    async with house.db.tx(house.org) as tx:
        await ensure_person(tx, house.org, "anna")
        draft = todo_store.NewTodo(kind=TodoKind.COMMITMENT, content="Go for a walk")
        await todo_store.add_todo(tx, house.scope("coach"), draft, at=tx.now)
        shown = await layer.todo_items(tx, await house.ask("hi", persona="coach"))
        assert [item.text for item in shown] == ["Open commitment: Go for a walk"]
        assert await layer.todo_items(tx, await house.ask("hi")) == ()
