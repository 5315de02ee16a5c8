"""Upkeep over real rows: folds that can be undone, spines that keep to what is global, seeds that load once."""

from datetime import timedelta
from typing import Any

import pytest

from mnemon.clock import ManualClock
from mnemon.db.database import Database
from mnemon.embedding.connect import connect_embedder
from mnemon.jobs.runner import Runner
from mnemon.llm.offline import OfflineLlm
from mnemon.llm.protocol import Llm
from mnemon.llm.scripted.model import ScriptedLlm
from mnemon.llm.scripted.script import Script
from mnemon.memory import store as memories
from mnemon.memory.curator import CuratorPlan, FoldAnswer
from mnemon.memory.edit import MemoryEdit, edit_memory
from mnemon.memory.entities.merge import job_kinds as matching
from mnemon.memory.fact import EntityType, Fact, FactEntity, FactType, MemoryType
from mnemon.memory.remember import remember_facts
from mnemon.memory.spine import SpinePart
from mnemon.memory.todos.store import NewTodo, add_todo
from mnemon.memory.todos.todo import TodoKind
from mnemon.memory.trust import Trust
from mnemon.memory.upkeep import curator_job, schedule, spine_job, store
from mnemon.memory.upkeep.curator_job import apply_plan, unfold_memory
from mnemon.memory.upkeep.curator_report import load_curator_reports
from mnemon.memory.upkeep.seed import apply_seed, parse_profile
from mnemon.scope import Scope
from mnemon.services import Services
from mnemon.sessions.people import ensure_person
from mnemon.sessions.state import load_session_state
from mnemon.settings import Settings


@pytest.fixture
async def ann(db: Database, org: str) -> Scope:
    async with db.tx(org) as tx:
        return await ensure_person(tx, org, "ann")


def services(db: Database, clock: ManualClock, llm: Llm | None = None, **settings: Any) -> Services:
    model = llm or OfflineLlm()
    return Services(
        db=db,
        llm=model,
        reflector=model,
        embedder=connect_embedder("local"),
        clock=clock,
        settings=Settings(**settings),
    )


def runner(house: Services) -> Runner:
    every = (*curator_job.job_kinds(house), *spine_job.job_kinds(house), *matching(house))
    return Runner(house.db, house.clock, {kind.name: kind for kind in every})


def fact(content: str, label: str | None = None, *, kind: FactType = FactType.FACT, **more: Any) -> Fact:
    entity = FactEntity(type=EntityType.PERSON, label=label) if label else None
    return Fact(
        type=MemoryType.PEOPLE if label else MemoryType.PROFILE, content=content, entity=entity, fact_type=kind, **more
    )


FRAGMENTS = [
    fact("John walks to work", "John", kind=FactType.HABIT),
    fact("John drinks tea", "John", kind=FactType.PREFERENCE),
    fact("John has a red bike", "John"),
    fact("John gets lost easily", "John", kind=FactType.FRICTION),
]


async def test_the_curator_folds_fragments_and_the_fold_can_be_undone(
    db: Database, ann: Scope, clock: ManualClock
) -> None:
    async with db.tx(ann.org_id) as tx:
        await remember_facts(tx, ann, FRAGMENTS)
        await schedule.enqueue_after_write(tx, ann)
    await runner(services(db, clock, curator_after=4)).drain()
    async with db.tx(ann.org_id) as tx:
        (fold,) = await store.global_memories(tx, ann, most=10)
        (run,) = await store.curator_runs(tx, ann, most=10)
        state = await load_session_state(tx, ann)
    assert fold.source == "curated_fold"
    assert len(fold.sources) == 4
    assert all(piece.content in fold.content for piece in FRAGMENTS)
    assert (run.folded, run.rejected, run.made_by) == ((fold.id,), (), "offline")
    assert state
    assert state.curator.last_memory_count_at_run == 1
    async with db.tx(ann.org_id) as tx:
        archived = await memories.by_ids(tx, ann, fold.sources)
        assert {one.archive_reason for one in archived} == {"folded"}
        await unfold_memory(tx, ann, fold.id)
        assert {one.content for one in await store.global_memories(tx, ann, most=10)} == {f.content for f in FRAGMENTS}


async def test_every_fold_stands_for_itself_and_is_undone_by_itself(db: Database, ann: Scope) -> None:
    async with db.tx(ann.org_id) as tx:
        held = await remember_facts(tx, ann, FRAGMENTS)
        ids = [one.memory.id for one in held]
        plan = CuratorPlan(
            folds=[
                FoldAnswer(memories=ids[:2], content="John walks to work; John drinks tea"),
                FoldAnswer(memories=ids[2:], content="John has a red bike; John gets lost easily"),
            ]
        )
        run = await apply_plan(tx, ann, plan, made_by="scripted")
    assert len(set(run.folded)) == 2
    async with db.tx(ann.org_id) as tx:
        both = "John has a red bike; John gets lost easily; John walks to work; John drinks tea"
        further = CuratorPlan(folds=[FoldAnswer(memories=list(run.folded), content=both)])
        again = await apply_plan(tx, ann, further, made_by="scripted")
        (whole,) = again.folded
        reports = {one.id: one for one in await load_curator_reports(tx, ann, most=10)}
        undone = await unfold_memory(tx, ann, whole)
        active = {one.id for one in await store.global_memories(tx, ann, most=10)}
    assert [{one.id for one in fold.fragments} for fold in reports[again.id].folds] == [set(run.folded)]
    assert [{one.id for one in fold.fragments} for fold in reports[run.id].folds] == [set(ids[:2]), set(ids[2:])]
    assert {one.id for one in undone.restored} == active == set(run.folded)
    async with db.tx(ann.org_id) as tx:
        undone = await unfold_memory(tx, ann, run.folded[0])
    assert {one.id for one in undone.restored} == set(ids[:2])


@pytest.mark.parametrize("change", [{"pinned": True}, {"importance": 2}, {"content": "John walks to work at night"}])
async def test_a_later_fold_leaves_an_earlier_one_as_somebody_changed_it(
    db: Database, ann: Scope, change: dict[str, Any]
) -> None:
    async with db.tx(ann.org_id) as tx:
        ids = [one.memory.id for one in await remember_facts(tx, ann, FRAGMENTS)]
        first = CuratorPlan(folds=[FoldAnswer(memories=ids[:2], content="John walks to work; John drinks tea")])
        (fold,) = (await apply_plan(tx, ann, first, made_by="scripted")).folded
        kept = await edit_memory(tx, ann, fold, MemoryEdit(**change, source=Trust.OPERATOR))
        second = CuratorPlan(folds=[FoldAnswer(memories=ids[2:], content="John has a red bike; John gets lost easily")])
        (other,) = (await apply_plan(tx, ann, second, made_by="scripted")).folded
        now = {one.id: one for one in await store.global_memories(tx, ann, most=10)}
    assert now.keys() == {fold, other}
    assert (now[fold].content, now[fold].pinned, now[fold].importance) == (kept.content, kept.pinned, kept.importance)
    assert now[other].claim_of is None


async def test_the_curator_leaves_pins_alone_and_says_what_it_refused(db: Database, ann: Scope) -> None:
    async with db.tx(ann.org_id) as tx:
        held = await remember_facts(tx, ann, [*FRAGMENTS[:2], fact("John owes me rent", "John", pinned=True)])
        ids = [one.memory.id for one in held]
        plan = CuratorPlan(
            folds=[
                FoldAnswer(memories=[ids[0], ids[2]], content="John walks to work"),
                FoldAnswer(memories=ids[:2], content="John walks to work for money"),
            ]
        )
        run = await apply_plan(tx, ann, plan, made_by="scripted")
        kept = await store.global_memories(tx, ann, most=10)
    assert run.folded == ()
    assert [why for one in run.rejected if (why := one.why)] == [f"{ids[2]} is pinned", "its sources do not say: money"]
    assert len(kept) == 3


async def test_a_model_that_invents_changes_nothing(db: Database, ann: Scope, clock: ManualClock) -> None:
    script = Script()
    script.add_answers("CuratorPlan", {"folds": [{"memories": ["mem_1", "mem_2"], "content": "x"}], "archive": []})
    async with db.tx(ann.org_id) as tx:
        await remember_facts(tx, ann, FRAGMENTS)
        await schedule.enqueue_after_write(tx, ann)
    await runner(services(db, clock, ScriptedLlm(script), curator_after=2)).drain()
    async with db.tx(ann.org_id) as tx:
        assert len(await store.global_memories(tx, ann, most=10)) == 4
        (run,) = await store.curator_runs(tx, ann, most=10)
    assert "not one of the memories shown" in run.rejected[0].why


async def said(db: Database, scope: Scope, messages: int) -> None:
    async with db.tx(scope.org_id) as tx:
        await tx.execute(
            "insert into session_states (org_id, user_id, persona, message_count) "
            "values (%(org_id)s, %(user_id)s, %(persona)s, %(count)s) on conflict (org_id, user_id, persona) "
            "do update set message_count = session_states.message_count + excluded.message_count",
            org_id=scope.org_id,
            user_id=scope.user,
            persona=scope.persona_id or "",
            count=messages,
        )
        await schedule.enqueue_after_turn(tx, scope)


async def test_a_spine_is_written_when_more_than_twenty_messages_came_across_personas(
    db: Database, ann: Scope, clock: ManualClock
) -> None:
    coach = ann.with_persona("coach")
    async with db.tx(ann.org_id) as tx:
        await remember_facts(tx, ann, [fact("Lives in Austin, Texas"), FRAGMENTS[0]])
        await remember_facts(tx, coach, [fact("Is scared of flying", private=True)])
        await add_todo(tx, ann, NewTodo(kind=TodoKind.THREAD, content="Which bank to use"), at=tx.now)
        await add_todo(tx, coach, NewTodo(kind=TodoKind.COMMITMENT, content="Run every morning"), at=tx.now)
    house = services(db, clock)
    await said(db, ann, 10)
    await said(db, coach, 10)
    await runner(house).drain()
    async with db.tx(ann.org_id) as tx:
        assert await store.latest_spine(tx, ann) is None
    await said(db, coach, 1)
    await runner(house).drain()
    async with db.tx(ann.org_id) as tx:
        spine = await store.latest_spine(tx, ann)
    assert spine
    assert (spine.version, spine.message_count) == (1, 21)
    texts = {part: [line.text for line in lines] for part, lines in spine.lines.items()}
    assert texts[SpinePart.PROFILE] == ["Lives in Austin, Texas"]
    assert texts[SpinePart.PEOPLE] == ["John walks to work"]
    assert texts[SpinePart.OPEN_LOOPS] == ["Which bank to use"]
    clock.advance(timedelta(hours=1))
    await said(db, ann, 20)
    await runner(house).drain()
    async with db.tx(ann.org_id) as tx:
        assert len(await store.list_spines(tx, ann, most=10)) == 1
    await said(db, ann, 1)
    await runner(house).drain()
    async with db.tx(ann.org_id) as tx:
        assert [one.version for one in await store.list_spines(tx, ann, most=10)] == [2, 1]


async def test_a_spine_line_that_nobody_said_is_left_out(db: Database, ann: Scope, clock: ManualClock) -> None:
    script = Script()
    script.add_answers(
        "Spine", {"PROFILE": ["Lives in Austin", "Is a spy"], "PROJECTS": [], "PEOPLE": [], "OPEN_LOOPS": []}
    )
    async with db.tx(ann.org_id) as tx:
        await remember_facts(tx, ann, [fact("Lives in Austin, Texas")])
    await said(db, ann, 21)
    await runner(services(db, clock, ScriptedLlm(script))).drain()
    async with db.tx(ann.org_id) as tx:
        spine = await store.latest_spine(tx, ann)
    assert spine
    assert [line.text for line in spine.lines[SpinePart.PROFILE]] == ["Lives in Austin"]


async def test_loading_a_seed_again_changes_nothing(db: Database, ann: Scope) -> None:
    profile = parse_profile("Lives in Austin, Texas\nPrefers dark mode\n")
    async with db.tx(ann.org_id) as tx:
        first = await apply_seed(tx, ann, profile)
        before = await tx.fetch_all("select * from memories where org_id = 'acme' order by id")
        people = await tx.fetch_all("select * from users where org_id = 'acme'")
        again = await apply_seed(tx, ann, profile)
        assert await tx.fetch_all("select * from memories where org_id = 'acme' order by id") == before
        assert await tx.fetch_all("select * from users where org_id = 'acme'") == people
    assert (first.stored, first.skipped) == (2, 0)
    assert (again.stored, again.updated, again.skipped, again.archived) == (0, 0, 2, 0)
    assert {row["source"] for row in before} == {"seeded_profile"}


async def test_a_changed_seed_adds_what_is_new_and_archives_what_is_gone(db: Database, ann: Scope) -> None:
    async with db.tx(ann.org_id) as tx:
        await apply_seed(tx, ann, parse_profile("Lives in Austin, Texas\nPrefers dark mode\n"))
        changed = await apply_seed(tx, ann, parse_profile("Lives in Austin, Texas\nIs a morning person\n"))
        active = {one.content for one in await store.global_memories(tx, ann, most=10)}
    assert (changed.stored, changed.skipped, changed.archived) == (1, 1, 1)
    assert active == {"Lives in Austin, Texas", "Is a morning person"}


async def test_clear_cases_are_merged_by_the_job(db: Database, ann: Scope, clock: ManualClock) -> None:
    async with db.tx(ann.org_id) as tx:
        await remember_facts(
            tx, ann, [fact("Makesh handles our backend", "Makesh"), fact("Mukesh handles backend", "Mukesh")]
        )
        await schedule.enqueue_after_write(tx, ann)
    await runner(services(db, clock)).drain()
    async with db.tx(ann.org_id) as tx:
        rows = await tx.fetch_all("select alias, target, made_by from entity_aliases where org_id = 'acme'")
    assert [(r["alias"], r["target"], r["made_by"]) for r in rows] == [("person:mukesh", "person:makesh", "rule")]
