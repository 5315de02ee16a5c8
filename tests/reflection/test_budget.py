"""The largest state that rooms can hold fits into a reflection's budget, and every section is applied all the same."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemon.agentstate import store as agent_states
from mnemon.agentstate.change import StateChange
from mnemon.agentstate.state import (
    DEFAULT_LIMITS,
    AgentState,
    Assumption,
    Dependency,
    ItemKind,
    StateEntity,
    StateExpectation,
    StateItem,
    TentativeHypothesis,
    Understanding,
    bound_state,
)
from mnemon.agentstate.store import ChangeAuthor, StateEntry
from mnemon.clock import ManualClock
from mnemon.db.database import Database
from mnemon.engagement import store as engagements
from mnemon.engagement.document import (
    EXTRA_CONTRADICTIONS,
    MAX_ARCHIVED,
    MAX_EVIDENCE,
    MAX_FINDINGS,
    MAX_OPEN,
    MAX_UNKNOWNS,
    Engagement,
    Hypothesis,
    HypothesisStage,
    Unknown,
)
from mnemon.engagement.gates import MAX_TEXT_CHARS
from mnemon.engagement.store import StoredEngagement
from mnemon.evidence.confidence import EvidenceLine, Stance, Strength
from mnemon.llm.scripted.script import Script
from mnemon.memory.words import terms
from mnemon.reflection import store
from mnemon.reflection.job import all_sections
from mnemon.reflection.prompt import DEFAULT_BUDGET, choose_items
from mnemon.reflection.report import ReflectionStatus
from mnemon.scope import Scope
from mnemon.section import BriefItem
from mnemon.settings import Settings
from mnemon.tokens import estimate_tokens
from mnemon.turn import Turn
from support.reflecting import basement_of, runner_of, told

ACME = Scope(org_id="acme")
AT = datetime(2026, 5, 1, 9, tzinfo=UTC)


def long_text(number: int, length: int) -> str:
    """A text of exactly this length that no other number gives."""
    return (f"{number} " + f"supplier delay depot customs {number} " * (length // 20))[:length]


def evidence(number: int) -> tuple[EvidenceLine, ...]:
    return tuple(
        EvidenceLine(
            id=f"evd_{number}_{place}", line=long_text(place, MAX_TEXT_CHARS), quote="q", source="Ann", who="Ann",
            stance=Stance.SUPPORTS if place < MAX_EVIDENCE else Stance.CONTRADICTS, strength=Strength.STRONG, at=AT,
            turn_id=f"trn_{place}", message_id="msg_1", start=0, end=1,
        )
        for place in range(MAX_EVIDENCE + EXTRA_CONTRADICTIONS)
    )  # fmt: skip


def hypothesis(number: int, stage: HypothesisStage) -> Hypothesis:
    return Hypothesis(
        id=f"hyp_{stage}_{number}", statement=long_text(number, MAX_TEXT_CHARS),
        falsified_by=long_text(number, MAX_TEXT_CHARS), formed_at=AT, formed_in="trn_1", stage=stage,
        evidence=evidence(number), note="over" if stage is HypothesisStage.ARCHIVED else None, archived_at=AT,
    )  # fmt: skip


def largest_engagement() -> Engagement:
    stages = (
        (HypothesisStage.REVISING, MAX_OPEN), (HypothesisStage.FINDING, MAX_FINDINGS),
        (HypothesisStage.ARCHIVED, MAX_ARCHIVED),
    )  # fmt: skip
    unknowns = (
        Unknown(
            id=f"unk_{one}", question=long_text(one, MAX_TEXT_CHARS), why_it_matters="w" * MAX_TEXT_CHARS, asked_at=AT
        )
        for one in range(MAX_UNKNOWNS)
    )
    claims = tuple(hypothesis(number, stage) for stage, most in stages for number in range(most))
    return replace(Engagement(), hypotheses=claims, unknowns=tuple(unknowns))


def largest_state(session_id: str) -> AgentState:
    limits = DEFAULT_LIMITS
    entities = tuple(
        StateEntity(id=f"{one}" + "e" * 190, kind="k" * 200, name="n" * 200) for one in range(limits.entities)
    )
    links = tuple(
        Dependency(source=entities[one % 200].id, target=entities[one // 2 % 200].id, rel=f"{one}" + "r" * 190)
        for one in range(limits.dependencies)
    )
    state = AgentState(
        session_id=session_id,
        current_understanding=Understanding(entities=entities, dependencies=links),
        assumptions=tuple(
            Assumption(id=f"asm_{one}", hypothesis=long_text(one, 2_000), confidence=0.6, evidence=("m" * 26,) * 20)
            for one in range(limits.assumptions)
        ),
        expectations=tuple(
            StateExpectation(id=f"exp_{one}", action="a" * 200, expected_outcome=long_text(one, 2_000))
            for one in range(limits.expectations)
        ),
        tentative_hypotheses=tuple(
            TentativeHypothesis(id=f"tnt_{one}", hypothesis=long_text(one, 2_000), reason="r" * 2_000)
            for one in range(limits.tentative_hypotheses)
        ),
        items=tuple(
            StateItem(id=f"itm_{one}", kind=ItemKind.TASK, title=long_text(one, 200), details="d" * 8_000,
                      created_at=AT, updated_at=AT)
            for one in range(limits.items)
        ),
    )  # fmt: skip
    assert bound_state(state) == state, "it is as large as is legal, and legal"
    return state


async def fill(db: Database, turn: Turn) -> None:
    async with db.tx("acme") as tx:
        held = StoredEngagement(document=largest_engagement(), seq=1, heard=50)
        await engagements.lock_engagement(tx, ACME)
        await engagements.store_engagement(tx, ACME, held)
        await agent_states.lock_state(tx, turn.scope, turn.session_id)
        entry = StateEntry(
            seq=1, turn_id=None, who=ChangeAuthor.API, reason="test", change=StateChange(), at=AT, recorded_at=AT
        )
        await agent_states.append_entry(tx, turn.scope, largest_state(turn.session_id), entry)


@pytest.mark.parametrize("text", ["hello again", "The depot says that customs delay 7 is over."])
async def test_the_largest_state_fits_the_budget_and_every_section_is_applied(
    db: Database, org: str, clock: ManualClock, text: str
) -> None:
    script = Script()
    services = basement_of(db, clock, script)
    runner = runner_of(services, all_sections(Settings()))
    for greeting in ("hello", "hi", "good morning"):  # with the fourth message a rolling summary is due
        await told(db, greeting)
        await runner.drain()
    turn = await told(db, text)
    await fill(db, turn)
    script.asked.clear()
    await runner.drain()
    (asked,) = script.requests_on("Reflection")
    assert list((asked.schema or {})["properties"]) == [
        "memories", "todos", "engagement", "agent_state", "rolling_summary",
    ]  # fmt: skip
    assert estimate_tokens(asked.system) + estimate_tokens(asked.prompt) <= DEFAULT_BUDGET
    assert text in asked.prompt
    for name in ("engagement", "agent_state"):
        assert f"Held now by `{name}`" in asked.prompt
    async with db.tx("acme") as tx:
        done = await store.find(tx, turn.scope, turn.id)
    assert done is not None
    assert done.status is ReflectionStatus.DONE
    assert {label: (one.due, one.applied) for label, one in done.sections.items()} == dict.fromkeys(
        ("memory", "todos", "engagement", "agentState", "rollingSummary"), (True, True)
    )


@st.composite
def briefs(draw: st.DrawFn) -> list[BriefItem]:
    words = st.sampled_from(["delay", "depot", "customs", "price", "Bern", "lake"])
    items: list[BriefItem] = []
    for place in range(draw(st.integers(0, 12))):
        text = " ".join(draw(st.lists(words, min_size=1, max_size=30)))
        under = draw(st.none() | st.integers(0, place - 1)) if place else None
        items.append(BriefItem(text=text, urgent=draw(st.booleans()), under=under))
    return items


@given(briefs(), st.sampled_from(["", "customs", "the price in Bern"]), st.integers(0, 120))
def test_what_is_chosen_fits_and_stands_with_what_it_belongs_to(items: list[BriefItem], about: str, room: int) -> None:
    chosen = choose_items(items, dict.fromkeys(terms(about), 1.0), room)
    assert chosen == sorted(set(chosen))
    assert sum(estimate_tokens(items[place].text) + 1 for place in chosen) <= room
    for place in chosen:
        under = items[place].under
        assert under is None or under in chosen


def test_the_urgent_and_the_relevant_come_first() -> None:
    items = [BriefItem(text=one) for one in ("depot delay", "customs price", "lake Bern", "lake depot")]
    room = 2 * estimate_tokens("customs price") + 2
    assert choose_items(items, dict.fromkeys(terms("customs"), 1.0), room) == [1, 3], "then the latest"
    items[0] = replace(items[0], urgent=True)
    assert choose_items(items, dict.fromkeys(terms("customs"), 1.0), room) == [0, 1]
