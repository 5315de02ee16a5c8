"""A fold is undone when one of its fragments is withdrawn, replaced or edited, and forgets no more than it holds."""

from typing import Any

import pytest

from mnemon.custody.forget_memory import forget_memory
from mnemon.db.database import Database
from mnemon.db.tx import Tx
from mnemon.errors import Conflict
from mnemon.memory import store as memories
from mnemon.memory.curator import CuratorPlan, FoldAnswer
from mnemon.memory.edit import MemoryEdit, edit_memory, restore_memory
from mnemon.memory.fact import CURATED_FOLD, EntityType, Fact, FactEntity, MemoryType
from mnemon.memory.memory import StoredMemory
from mnemon.memory.remember import remember_facts
from mnemon.memory.sources.withdrawal import withdraw_source
from mnemon.memory.trust import Trust
from mnemon.memory.upkeep import store
from mnemon.memory.upkeep.curator_job import apply_plan, unfold_memory
from mnemon.scope import Scope
from mnemon.sessions.people import ensure_person

CELLO, OSLO, TEA = "Mia plays the cello", "Mia lives in Oslo", "Mia drinks tea"


@pytest.fixture
async def ann(db: Database, org: str) -> Scope:
    async with db.tx(org) as tx:
        return await ensure_person(tx, org, "ann")


def fact(content: str, attribute: str, **more: Any) -> Fact:
    mia = FactEntity(type=EntityType.PERSON, label="Mia")
    return Fact(type=MemoryType.PEOPLE, content=content, entity=mia, attribute=attribute, **more)


async def remember(tx: Tx, scope: Scope, *facts: Fact) -> list[str]:
    return [one.memory.id for one in await remember_facts(tx, scope, list(facts))]


async def fold(tx: Tx, scope: Scope, ids: list[str], *contents: str) -> str:
    plan = CuratorPlan(folds=[FoldAnswer(memories=ids, content="; ".join(contents))])
    run = await apply_plan(tx, scope, plan, made_by="scripted")
    assert not run.rejected
    return run.folded[0]


async def active(tx: Tx, scope: Scope) -> dict[str, StoredMemory]:
    return {one.content: one for one in await store.global_memories(tx, scope, most=20)}


async def test_a_withdrawn_source_does_not_live_on_in_a_fold_of_folds(db: Database, ann: Scope) -> None:
    async with db.tx(ann.org_id) as tx:
        ids = await remember(
            tx, ann, fact(CELLO, "part", source="user:bob"), fact(OSLO, "home"), fact(TEA, "drink", pinned=None)
        )
        inner = await fold(tx, ann, ids[:2], CELLO, OSLO)
        outer = await fold(tx, ann, [inner, ids[2]], CELLO, OSLO, TEA)
        receipt = await withdraw_source(tx, ann, "user:bob")
        assert (await active(tx, ann)).keys() == {OSLO, TEA}
        assert set(receipt.archived) == {inner, outer, ids[0]}
        assert set(receipt.restored) == set(ids[1:])
        again = await withdraw_source(tx, ann, "user:bob")
        assert again.total == 0


async def test_what_a_withdrawn_source_had_replaced_comes_back_out_of_a_fold(db: Database, ann: Scope) -> None:
    async with db.tx(ann.org_id) as tx:
        ids = await remember(tx, ann, fact("Mia plays the flute", "part"), fact(OSLO, "home"))
        await remember(tx, ann, fact(CELLO, "part", source="app"))
        made = await fold(tx, ann, ids, CELLO, OSLO)
        await edit_memory(tx, ann, made, MemoryEdit(pinned=True, source=Trust.OPERATOR))
        await withdraw_source(tx, ann, "app")
        now = await active(tx, ann)
    assert now.keys() == {"Mia plays the flute", OSLO}
    assert (now[OSLO].pinned, now["Mia plays the flute"].pinned) == (True, False)


async def test_withdrawing_the_curator_gives_back_what_it_folded(db: Database, ann: Scope) -> None:
    async with db.tx(ann.org_id) as tx:
        ids = await remember(tx, ann, fact(CELLO, "part"), fact(OSLO, "home"))
        await fold(tx, ann, ids, CELLO, OSLO)
        await withdraw_source(tx, ann, CURATED_FOLD)
        assert (await active(tx, ann)).keys() == {CELLO, OSLO}
        assert (await withdraw_source(tx, ann, CURATED_FOLD)).total == 0


@pytest.mark.parametrize("way", ["stated", "edited", "version"])
async def test_a_replaced_fragment_leaves_its_fold_and_the_fold_goes(db: Database, ann: Scope, way: str) -> None:
    async with db.tx(ann.org_id) as tx:
        ids = await remember(tx, ann, fact("Mia lives in Bergen", "home"), fact(CELLO, "part"))
        await remember(tx, ann, fact(OSLO, "home"))
        made = await fold(tx, ann, ids, OSLO, CELLO)
        if way == "stated":
            await remember(tx, ann, fact("Mia lives in Bergen", "home"))
        elif way == "edited":
            changed = MemoryEdit(content="Mia lives in Bergen", source=Trust.OPERATOR)
            assert (await edit_memory(tx, ann, ids[0], changed)).status == "ACTIVE"
        else:
            await restore_memory(tx, ann, ids[0], version=1, source=Trust.OPERATOR)
        assert (await active(tx, ann)).keys() == {"Mia lives in Bergen", CELLO}
        (gone,) = await memories.by_ids(tx, ann, [made])
    assert (gone.status, gone.archive_reason) == ("ARCHIVED", "outdated")


async def test_a_repeated_fragment_leaves_its_fold_as_it_is(db: Database, ann: Scope) -> None:
    async with db.tx(ann.org_id) as tx:
        ids = await remember(tx, ann, fact(CELLO, "part"), fact(OSLO, "home"))
        made = await fold(tx, ann, ids, CELLO, OSLO)
        await remember_facts(tx, ann, [fact(OSLO, "home")], extracted=True)
        assert [one.id for one in (await active(tx, ann)).values()] == [made]


async def test_forgetting_an_edited_fold_forgets_its_fragments(db: Database, ann: Scope) -> None:
    async with db.tx(ann.org_id) as tx:
        ids = await remember(tx, ann, fact(CELLO, "part"), fact(OSLO, "home"))
        made = await fold(tx, ann, ids, CELLO, OSLO)
        await edit_memory(tx, ann, made, MemoryEdit(content=f"{CELLO}; {OSLO}, Norway", source=Trust.OPERATOR))
        receipt = await forget_memory(tx, ann, made)
        assert receipt.removed["memories"] == 3
        assert await memories.by_ids(tx, ann, [*ids, made]) == []


async def test_forgetting_an_undone_fold_leaves_the_memories_that_stand_again(db: Database, ann: Scope) -> None:
    async with db.tx(ann.org_id) as tx:
        ids = await remember(tx, ann, fact(CELLO, "part"), fact(OSLO, "home"))
        made = await fold(tx, ann, ids, CELLO, OSLO)
        await unfold_memory(tx, ann, made)
        receipt = await forget_memory(tx, ann, made)
        assert receipt.removed["memories"] == 1
        assert (await active(tx, ann)).keys() == {CELLO, OSLO}


async def test_a_memory_that_only_names_the_curator_is_no_fold(db: Database, ann: Scope) -> None:
    async with db.tx(ann.org_id) as tx:
        (made,) = await remember(tx, ann, fact(CELLO, "part", source=CURATED_FOLD))
        with pytest.raises(Conflict, match="not a fold"):
            await unfold_memory(tx, ann, made)
