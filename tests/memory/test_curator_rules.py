"""The curator's gates: one entity, never a pin, nothing that the fragments do not say."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemon.evidence.fold import distinguishing_tokens, fold_fault
from mnemon.memory.curator import ArchiveAnswer, CuratorPlan, FoldAnswer, GatedPlan, gate_plan, is_due, plan_by_rule
from mnemon.memory.fact import EntityType, FactType, MemoryType
from mnemon.memory.lifecycle import ArchiveStatus
from mnemon.memory.memory import StoredMemory
from mnemon.memory.trust import Trust

NOW = datetime(2026, 4, 12, tzinfo=UTC)


def memory(number: int, content: str, *, about: str | None = "john", **changes: Any) -> StoredMemory:
    refs = (f"person:{about}",) if about else ()
    return replace(
        StoredMemory(
            id=f"mem_{number:03}",
            persona_id=None,
            type=MemoryType.PEOPLE if about else MemoryType.PROFILE,
            content=content,
            entity_refs=refs,
            entity_label=about.title() if about else None,
            entity_type=EntityType.PERSON,
            fact_type=FactType.FACT,
            attribute=None,
            importance=1,
            pinned=False,
            memory_key=f"key{number}",
            source="shadow_extraction",
            origin="shadow_extraction",
            trust=Trust.PERSON,
            claim_of=None,
            status=ArchiveStatus.ACTIVE,
            archive_reason=None,
            archived_at=None,
            note=None,
            confidence=0.9,
            mentions=1,
            valid_from=NOW - timedelta(days=10),
            valid_to=None,
            stated_at=NOW,
            version=1,
            versions=1,
            sources=(),
            created_at=NOW - timedelta(days=10),
            updated_at=NOW - timedelta(days=10),
            revision=1,
        ),
        **changes,
    )


def tools(number: int, content: str, origin: str) -> StoredMemory:
    """A fragment that a tool gave back."""
    return memory(number, content, trust=Trust.TOOL, origin=origin)


FRAGMENTS = [
    memory(1, "John plays chess"),
    memory(2, "John drinks tea"),
    memory(3, "John has a red bike"),
    memory(4, "John sings in a choir"),
]


def same(key: str) -> str:
    return key


def gated(plan: CuratorPlan, memories: list[StoredMemory]) -> GatedPlan:
    return gate_plan(plan, memories, NOW, same)


def fold(*ids: str, content: str) -> CuratorPlan:
    return CuratorPlan(folds=[FoldAnswer(memories=list(ids), content=content)])


def test_it_is_due_after_enough_new_memories() -> None:
    assert is_due(count=25, count_at_last_run=None, after=25)
    assert not is_due(count=40, count_at_last_run=25, after=25)
    assert is_due(count=50, count_at_last_run=25, after=25)


def test_fragments_about_one_entity_fold_into_what_they_say() -> None:
    result = gated(fold("mem_001", "mem_002", content="John plays chess and drinks tea"), FRAGMENTS)
    assert [f.content for f in result.folds] == ["John plays chess and drinks tea"]
    assert result.rejected == ()


@pytest.mark.parametrize(
    ("plan", "memories", "why"),
    [
        (fold("mem_001", "mem_002", content="John plays chess in Paris"), FRAGMENTS, "do not say"),
        (fold("mem_001", "mem_002", content="John plays 30 games of chess"), FRAGMENTS, "30"),
        (fold("mem_001", content="John plays chess"), FRAGMENTS, "two memories"),
        (fold("mem_001", "mem_009", content="John plays chess"), FRAGMENTS, "not one of"),
        (
            fold("mem_001", "mem_005", content="John plays chess"),
            [*FRAGMENTS, memory(5, "Ann plays chess", about="ann")],
            "different entities",
        ),
        (
            fold("mem_001", "mem_005", content="John plays chess"),
            [*FRAGMENTS, memory(5, "John plays go", pinned=True, importance=3)],
            "pinned",
        ),
        (
            fold("mem_001", "mem_005", content="John plays chess"),
            [*FRAGMENTS, memory(5, "John owes me money", persona_id="coach")],
            "persona",
        ),
        (
            fold("mem_001", "mem_005", content="John plays chess"),
            [*FRAGMENTS, memory(5, "John plays go", trust=Trust.TOOL)],
            "tool",
        ),
        (
            fold("mem_005", "mem_006", content="John plays chess"),
            [tools(5, "John plays chess", "tool:a"), tools(6, "John plays go", "tool:b")],
            "different external sources",
        ),
        (
            fold("mem_005", "mem_006", content="John plays chess"),
            [tools(5, "John plays chess", "tool:a"), replace(tools(6, "John plays go", "tool:a"), claim_of="key1")],
            "claim",
        ),
    ],
)
def test_a_fold_that_breaks_a_rule_is_rejected_with_the_reason(
    plan: CuratorPlan, memories: list[StoredMemory], why: str
) -> None:
    result = gated(plan, memories)
    assert result.folds == ()
    assert why in result.rejected[0].why


def test_archiving_needs_something_newer_or_staleness() -> None:
    old = memory(5, "John works at Acme", updated_at=NOW - timedelta(days=30))
    plan = CuratorPlan(archive=[ArchiveAnswer(memory="mem_005", reason="changed jobs")])
    assert [one.memory.id for one in gated(plan, [*FRAGMENTS, old]).outdated] == ["mem_005"]
    assert "nothing newer" in gated(plan, [old]).rejected[0].why


def test_a_pinned_memory_is_never_archived() -> None:
    pinned = memory(5, "John works at Acme", pinned=True, importance=3, updated_at=NOW - timedelta(days=300))
    plan = CuratorPlan(archive=[ArchiveAnswer(memory="mem_005", reason="old")])
    assert gated(plan, [*FRAGMENTS, pinned]).outdated == ()


def test_by_rule_a_pile_of_fragments_folds_and_stale_trivia_goes() -> None:
    trivia = memory(9, "had soup for lunch", about=None, importance=0, updated_at=NOW - timedelta(days=120))
    plan = plan_by_rule([*FRAGMENTS, trivia], NOW, same)
    assert [set(f.memories) for f in plan.folds] == [{m.id for m in FRAGMENTS}]
    assert [a.memory for a in plan.archive] == ["mem_009"]


def test_by_rule_unlike_facts_about_the_person_are_left_alone() -> None:
    facts = [memory(n, text, about=None) for n, text in enumerate(["Likes tea", "Owns a dog", "Runs at dawn", "Skis"])]
    assert plan_by_rule(facts, NOW, same) == CuratorPlan()


def test_by_rule_near_duplicates_about_the_person_fold() -> None:
    facts = [memory(1, "Likes black coffee", about=None), memory(2, "likes Black Coffee.", about=None)]
    assert len(plan_by_rule(facts, NOW, same).folds) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("My blood pressure on 3 May was 118 over 76", "My blood pressure on 9 May was 148 over 96"),
        ("I paid invoice 1041 to Acme", "I paid invoice 1047 to Acme"),
        ("I am allergic to penicillin", "I am not allergic to penicillin"),
        ("The booking reference is kx81bq72", "The booking reference is kx81bf40"),
        ("Drives to work without a car", "Drives to work with a car"),
        ("Really does like black coffee", "Really doesn't like black coffee"),
    ],
)
def test_by_rule_what_differs_in_a_figure_or_a_no_stays_apart(one: str, other: str) -> None:
    facts = [memory(1, one, about=None), memory(2, other, about=None)]
    assert plan_by_rule(facts, NOW, same).folds == []


contents = st.text(alphabet="abcdefg hij.", min_size=3, max_size=30).filter(lambda t: t.strip(" ."))
piles = st.lists(st.tuples(contents, st.sampled_from(["john", "ann", None]), st.integers(0, 3)), max_size=15)


@given(piles)
def test_what_the_rules_propose_passes_the_gates(pile: list[tuple[str, str | None, int]]) -> None:
    memories = [
        memory(n, text, about=about, importance=importance, pinned=importance == 3)
        for n, (text, about, importance) in enumerate(pile)
    ]
    result = gated(plan_by_rule(memories, NOW, same), memories)
    assert result.rejected == ()
    assert not any(m.pinned for f in result.folds for m in f.memories)


def test_a_newer_word_of_a_tool_does_not_make_the_persons_outdated() -> None:
    """Without the order of trust a model may archive what the person said because a tool said something later."""
    own = memory(1, "John plays chess", importance=2)
    plan = CuratorPlan(archive=[ArchiveAnswer(memory=own.id, reason="no longer")])
    later = replace(tools(2, "John plays go", "tool:a"), updated_at=NOW)
    assert gated(plan, [own, later]).outdated == ()
    assert [one.memory for one in gated(plan, [own, replace(later, trust=Trust.PERSON)]).outdated] == [own]


_DOSES = st.sampled_from(["5 mg", "15 mg", "50 mg", "$4.1M", "12%", "7"])
_WHO = st.sampled_from(["Ann", "Bob", "Berlin", "Acme"])
_DAYS = st.sampled_from(["on May 3", "on June 3", "on 2026-04-12", "at 9:30", ""])
_FORMS = st.sampled_from(
    [
        "John gave {who} {dose} {day}",
        "John did not give {who} {dose} {day}",
        "John no longer gives {who} {dose} {day}",
        "John wants to give {who} {dose} {day}",
    ]
)
_said = st.builds(
    lambda form, who, dose, day: form.format(who=who, dose=dose, day=day).strip(), _FORMS, _WHO, _DOSES, _DAYS
)


def test_a_fold_keeps_which_figure_was_denied() -> None:
    """Without it "did not give 5 mg" vanished into "gave 5 mg; did not give 15 mg": each word was there, somewhere."""
    gave, denied = "John gave Ann 5 mg on May 3", "John did not give Ann 15 mg on May 3"
    lost = "John did not give Ann 5 mg on May 3"
    assert fold_fault(f"{gave}; {denied}", [gave, denied]) is None
    assert fold_fault(f"{gave}; {denied}", [gave, denied, lost]) is not None
    assert fold_fault("John gave Ann 15 mg; John did not give Ann 5 mg", ["John gave Ann 5 mg"]) is not None


@given(st.lists(_said, min_size=2, max_size=5), st.data())
def test_no_fold_that_passes_loses_a_figure_a_name_a_date_or_a_negation(texts: list[str], data: st.DataObject) -> None:
    held = [memory(number, text) for number, text in enumerate(texts)]
    # What a model may propose: some of the fragments joined, one of them alone, or one with the words of another.
    kept = data.draw(st.lists(st.sampled_from(texts), min_size=1, max_size=len(texts)))
    content = data.draw(st.sampled_from(["; ".join(kept), ". ".join(kept), " and ".join(kept), kept[0]]))
    plan = CuratorPlan(folds=[FoldAnswer(memories=[one.id for one in held], content=content)])
    for fold in gated(plan, held).folds:
        folded = distinguishing_tokens(fold.content)
        for fragment in fold.memories:
            for before, after in zip(distinguishing_tokens(fragment.content), folded, strict=True):
                assert before <= after, (fragment.content, fold.content)


def test_the_rules_fold_loses_nothing_either() -> None:
    plan = plan_by_rule(FRAGMENTS, NOW, same)
    (fold,) = gated(plan, FRAGMENTS).folds
    for fragment in FRAGMENTS:
        assert fragment.content in fold.content
