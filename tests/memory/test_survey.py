"""The table of memories: pages and counts agree with a slow count in Python, for whatever filters."""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest

from mnemon.access.organizations import create_organization
from mnemon.db.database import Database
from mnemon.memory import survey as survey_room
from mnemon.memory.edit import MemoryEdit, edit_memory
from mnemon.memory.fact import EntityType, Fact, FactEntity, MemoryType
from mnemon.memory.lifecycle import ArchiveStatus
from mnemon.memory.remember import remember_facts
from mnemon.memory.survey import MemorySurvey, OwnedMemory, SurveyFilters, survey_memories
from mnemon.scope import Scope, person_scope
from mnemon.sessions.people import ensure_person

TEXTS = (
    "Drinks TEA",
    "İstanbul in spring",
    "Café Über",
    "5% of a_b\\c",
    "Milk and tea",
    "日本の茶",
    "Kraków",
    "straße",
)
WORDS = (
    "tea",
    "istanbul",
    "CAFÉ",
    "über",
    "5%",
    "a_b\\",
    "milk",
    "の茶",
    "ików",
    "kraków",
    "STRASSE",
    "%",
    "_",
    "nobody",
)


async def tell(db: Database, org: str) -> None:
    """Three people with memories of every kind."""
    chance = random.Random(5)
    for name in ("ann", "ben", "cleo"):
        for persona in (None, "coach"):
            async with db.tx(org) as tx:
                scope = await ensure_person(tx, org, name, persona)
                facts = [
                    Fact(
                        type=chance.choice(list(MemoryType)),
                        content=f"{text} ({name} {persona} {number})",
                        entity=FactEntity(type=EntityType.PERSON, label=f"Friend {number % 3}"),
                        attribute=f"{persona}{number}",
                        source=chance.choice(["conversation", "import"]),
                        private=persona is not None,
                    )
                    for number, text in enumerate(TEXTS)
                ]
                made = await remember_facts(tx, scope, facts, vectors=None)
            async with db.tx(org) as tx:
                for one in made:
                    wanted = chance.choice(
                        [None, MemoryEdit(pinned=True), MemoryEdit(status=ArchiveStatus.ARCHIVED, reason="wrong")]
                    )
                    if wanted is not None:
                        await edit_memory(tx, scope, one.memory.id, wanted)


async def look(db: Database, org: str, filters: SurveyFilters, user: str = "", **more: int) -> MemorySurvey:
    scope = person_scope(org, user) if user else Scope(org_id=org)
    async with db.tx(org) as tx:
        return await survey_memories(tx, scope, filters, **{"most": 500, **more})


def passes(one: OwnedMemory, filters: SurveyFilters) -> bool:
    memory = one.memory
    return (
        filters.type in (None, memory.type.value)
        and filters.status in (None, memory.status.value)
        and filters.source in (None, memory.source)
        and filters.persona_id in (None, memory.persona_id)
        and filters.pinned in (None, memory.pinned)
        and (filters.entity is None or filters.entity in memory.entity_refs)
        and (filters.words is None or filters.words.lower() in memory.content.lower().replace("i̇", "i"))
    )


FACETS: dict[str, tuple[str, Callable[[OwnedMemory], str | None]]] = {
    "status": ("status", lambda one: one.memory.status.value),
    "type": ("type", lambda one: one.memory.type.value),
    "source": ("source", lambda one: one.memory.source),
    "persona": ("persona_id", lambda one: one.memory.persona_id),
    "pinned": ("pinned", lambda one: str(one.memory.pinned)),
}


def agree(found: MemorySurvey, every: list[OwnedMemory], filters: SurveyFilters, user: str) -> None:
    """What was found is what a walk through all of them finds."""
    mine = [one for one in every if user in ("", one.user)]
    kept = [one for one in mine if passes(one, filters)]
    assert [one.memory.id for one in found.found] == [one.memory.id for one in kept]
    assert found.facets.total == len(kept)
    for facet, (column, value) in FACETS.items():
        others = replace(filters, **{column: None})
        counted = Counter(str(value(one)) for one in mine if value(one) is not None and passes(one, others))
        assert found.facets.by[facet] == counted, facet
    assert found.facets.by["user"] == Counter(one.user for one in every if passes(one, filters))
    refs = [ref for one in mine if passes(one, replace(filters, entity=None)) for ref in one.memory.entity_refs]
    assert found.facets.by["entity"] == (Counter(refs) if user else {})


@pytest.fixture(params=[survey_room.MOST_READ_ONE_BY_ONE, 3], ids=["few match", "many match"])
def few(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """What counts as few: with three, nearly every search is one of many matches."""
    monkeypatch.setattr(survey_room, "MOST_READ_ONE_BY_ONE", request.param)


@pytest.mark.usefixtures("few")
async def test_pages_and_counts_agree_with_a_count_by_hand(db: Database, org: str) -> None:
    await tell(db, org)
    every = list((await look(db, org, SurveyFilters())).found)
    assert len(every) > 30
    chance = random.Random(7)
    for _ in range(60):
        filters = SurveyFilters(
            type=chance.choice([None, None, "PEOPLE", "PROFILE"]),
            status=chance.choice([None, "ACTIVE", "ARCHIVED"]),
            source=chance.choice([None, None, "conversation"]),
            persona_id=chance.choice([None, None, "coach"]),
            entity=chance.choice([None, None, "person:friend_1"]),
            pinned=chance.choice([None, None, True]),
            words=chance.choice([None, None, *WORDS]),
        )
        user = chance.choice(["", "", "ann", "nobody"])
        agree(await look(db, org, filters, user), every, filters, user)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("words", WORDS)
async def test_words_are_found_in_any_case_and_mean_themselves(db: Database, org: str, words: str) -> None:
    await tell(db, org)
    every = list((await look(db, org, SurveyFilters())).found)
    agree(await look(db, org, SurveyFilters(words=words)), every, SurveyFilters(words=words), "")


@pytest.mark.usefixtures("few")
async def test_pages_follow_each_other(db: Database, org: str) -> None:
    await tell(db, org)
    for filters in (
        SurveyFilters(),
        SurveyFilters(words="tea"),
        SurveyFilters(status="ACTIVE", entity="person:friend_2"),
    ):
        whole = [one.memory.id for one in (await look(db, org, filters)).found]
        parts = []
        for skip in range(0, len(whole) + 4, 4):
            parts += [one.memory.id for one in (await look(db, org, filters, most=4, skip=skip)).found]
        assert parts == whole


async def test_another_organization_counts_nothing_of_it(db: Database, org: str) -> None:
    await tell(db, org)
    async with db.tx("rival") as tx:
        await create_organization(tx)
    for filters in (SurveyFilters(), SurveyFilters(words="tea")):
        seen = await look(db, "rival", filters)
        assert (seen.found, seen.facets.total, seen.facets.by["user"]) == ((), 0, {})
