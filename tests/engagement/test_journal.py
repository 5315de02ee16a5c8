"""The section over a real database: the journal, the lock, what takes no part, forgetting, the past."""

import asyncio
import re
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, TypedDict

import pytest

from mnemon.access.organizations import create_organization
from mnemon.db.database import Database
from mnemon.engagement import reading, store
from mnemon.engagement.document import HypothesisStage
from mnemon.engagement.forget import forget_person, redact_quote, refold_document
from mnemon.engagement.journal import EngagementEntry, fold_entries
from mnemon.engagement.layer import FIRST_SESSION_TEXT, engagement_layer
from mnemon.engagement.proposal_applier import EngagementRules
from mnemon.engagement.reflect import EngagementSection, make_sections
from mnemon.engagement.withdrawal import GENERAL_FALSIFIER
from mnemon.layer import LayerRequest
from mnemon.scope import Scope, person_scope
from mnemon.section import Section, SectionResult
from mnemon.sessions.people import EngagementUse, put_persona
from mnemon.settings import Settings
from mnemon.turn import Turn
from support.engaged import START, answer, claim, piece, turn

ORG = Scope(org_id="acme")


class Place(TypedDict):
    """Where in a conversation some words stand."""

    turn_id: str
    message_id: str
    start: int
    end: int


EAGER = EngagementSection(EngagementRules(first_hypothesis_turns=0))


async def apply(db: Database, taken: Turn, section: Section = EAGER, **parts: Any) -> SectionResult:
    async with db.tx(taken.scope.org_id) as tx:
        return await section.apply_answer(tx, taken, answer(**parts))


async def held(db: Database, org: str = "acme") -> store.StoredEngagement:
    async with db.tx(org) as tx:
        return await store.load_engagement(tx, Scope(org_id=org))


async def journal(db: Database, org: str = "acme") -> list[EngagementEntry]:
    async with db.tx(org) as tx:
        return [entry async for entry in store.iterate_journal(tx, Scope(org_id=org))]


async def test_there_is_no_document_before_the_first_turn(db: Database, org: str) -> None:
    assert (await held(db)).document is None
    report = await apply(db, turn("hello"))
    state = await held(db)
    assert (report.stored, report.updated, report.skipped, report.rejected) == (0, 0, 0, ())
    assert state.document is not None
    assert (state.document.week, state.document.hypotheses, state.heard, state.seq) == (1, (), 0, 1)
    await apply(db, turn("we make valves", number=2))
    assert (await held(db)).heard == 1


async def test_an_applied_answer_is_journalled_with_turn_who_and_reason_and_a_second_time_changes_nothing(
    db: Database, org: str
) -> None:
    taken = turn("there is a gap")
    parts: dict[str, Any] = {"form": [claim("The gap costs us time", piece("there is a gap"))]}
    first = await apply(db, taken, **parts)
    before = await held(db)
    second = await apply(db, taken, **parts)
    assert (first.stored, second.stored, second.skipped) == (2, 0, 2)
    assert await held(db) == before
    entries = await journal(db)
    assert [entry.delta.kind for entry in entries] == ["opened", "formed", "collected"]
    assert {(entry.turn_id, entry.who, entry.user_id) for entry in entries} == {
        (taken.id, "dana", person_scope("acme", "dana").user)
    }
    assert entries[2].reason == "supports, moderate: confidence 0.50 → 0.65"
    assert fold_entries(entries) == before.document


async def test_the_end_of_the_journal_is_read_in_its_order(db: Database, org: str) -> None:
    await apply(db, turn("there is a gap"), form=[claim("The gap costs us time", piece("there is a gap"))])
    async with db.tx("acme") as tx:
        latest = await store.list_latest_entries(tx, ORG, most=2)
    assert latest == (await journal(db))[-2:]


async def test_the_settings_are_the_gates(db: Database, org: str) -> None:
    (section,) = make_sections(Settings(promotion_threshold=0.6, first_hypothesis_turns=2))
    parts: dict[str, Any] = {"form": [claim("The gap is wide", piece("there is a gap"))]}
    said = "in the handoffs there is a gap"
    early = await apply(db, turn(said, number=1), section, **parts)
    assert "1 of 2 user turns" in early.rejected[0].why
    await apply(db, turn(said, number=2), section, **parts)
    await apply(db, turn(said, number=3, who="tom"), section, **parts)
    document = (await held(db)).document
    assert document is not None
    assert document.findings[0].statement == "The gap is wide"


async def test_twenty_reflections_racing_on_one_organization_lose_nothing(db: Database, org: str) -> None:
    said = "a gap in the handoffs"
    await apply(db, turn(said, number=99), form=[claim("The gap costs us time", piece("a gap", strength="weak"))])
    document = (await held(db)).document
    assert document is not None
    target = document.hypotheses[0].id

    async def race(number: int) -> SectionResult:
        taken = turn(f"a gap at number{number}x and more", number=number, who=f"person{number}")
        mine = piece(f"a gap at number{number}x", strength="weak", hypothesis=target, line="A gap.")
        question = {"question": f"Who is q{number}?", "whyItMatters": "Decides."}
        stance = {"stance": "contradicts"} if number % 2 else {}
        return await apply(db, taken, evidence=[{**mine, **stance}], unknowns=[question])

    reports = await asyncio.gather(*(race(number) for number in range(20)))
    state = await held(db)
    assert state.document is not None
    assert [(report.stored, report.rejected) for report in reports] == [(2, ())] * 20
    assert len(state.document.hypotheses[0].evidence) == 21
    assert len(state.document.unknowns) == 20
    assert state.heard == 21
    entries = await journal(db)
    assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
    assert fold_entries(entries) == state.document


async def test_racing_reflections_are_gated_against_the_current_state(db: Database, org: str) -> None:
    """Twenty turns of one person that all form the same claim in the same words make one hypothesis with one line."""
    same: dict[str, Any] = {"form": [claim("The gap costs us time", piece("a gap", source="Diane"))]}
    await asyncio.gather(*(apply(db, turn("a gap", number=n), **same) for n in range(20)))
    document = (await held(db)).document
    assert document is not None
    assert [len(each.evidence) for each in document.hypotheses] == [1]


@pytest.mark.parametrize("text", ["Just between us, there is a gap", "there is a gap. Keep this between us."])
async def test_what_was_said_in_confidence_never_enters(db: Database, org: str, text: str) -> None:
    taken = turn(text)
    async with db.tx("acme") as tx:
        assert await EAGER.prepare_brief(tx, taken) is None
    report = await apply(db, taken, form=[claim("The gap costs us time", piece("there is a gap"))])
    assert report.stored == 0
    assert (await held(db)).document is None


WIDE_GAP = "a wide gap yawns between sales and the plant"


async def test_a_persona_with_engagement_switched_off_neither_adds_nor_sees(db: Database, org: str) -> None:
    async with db.tx("acme") as tx:
        await put_persona(tx, ORG, "coach", name="Coach", prompt="", engagement=EngagementUse.OFF)
        await put_persona(tx, ORG, "aria", name="Aria", prompt="", engagement=EngagementUse.SHARED)
    parts: dict[str, Any] = {
        "form": [claim("The gap costs us time", piece(WIDE_GAP, line="A wide gap yawns between sales and the plant."))]
    }
    await apply(db, turn(WIDE_GAP, persona="coach"), **parts)
    assert (await held(db)).document is None
    await apply(db, turn(WIDE_GAP, number=2, persona="aria"), **parts)
    recital = "You know, a wide gap yawns between sales and the plant, quite often."
    async with db.tx("acme") as tx:
        off = await engagement_layer(tx, asking("coach"))
        on = await engagement_layer(tx, asking("aria"))
        assert await reading.find_recital(tx, person_scope("acme", "dana", "coach"), recital) is None
        assert await reading.find_recital(tx, person_scope("acme", "dana", "aria"), recital) is not None
    assert (off.opening, off.items) == ("", ())
    assert "The gap costs us time" in on.items[0].text


def asking(persona: str | None = None) -> LayerRequest:
    return LayerRequest(
        scope=person_scope("acme", "dana", persona), query="hello", vector=None, now=START, sees_engagement=True
    )


async def test_the_layer_is_the_preamble_before_the_first_session(db: Database, org: str) -> None:
    async with db.tx("acme") as tx:
        assert (await engagement_layer(tx, asking())).opening == FIRST_SESSION_TEXT
    await apply(db, turn("hello"))
    async with db.tx("acme") as tx:
        assert "week 1 (orientation)" in (await engagement_layer(tx, asking())).opening


async def test_the_brief_shows_handles_that_an_answer_may_name(db: Database, org: str) -> None:
    taken = turn("a gap; the gap is small")
    await apply(
        db,
        taken,
        form=[claim("The gap costs us time", piece("a gap"), piece("the gap is small", stance="contradicts"))],
        unknowns=[{"question": "Who owns it?", "whyItMatters": "Decides."}],
    )
    async with db.tx("acme") as tx:
        brief = await EAGER.prepare_brief(tx, taken)
    document = (await held(db)).document
    assert brief is not None
    assert document is not None
    hypothesis = document.hypotheses[0]
    shown = {item.text: item for item in brief.items}
    assert "- H1 hypothesis [0.50, mixed]: The gap costs us time" in shown
    contradiction = next(
        item for text, item in shown.items() if "- E2 contradicts, moderate, outstanding (dana)" in text
    )
    assert contradiction.urgent
    assert brief.items[contradiction.under or 0].text.startswith("- H1")
    assert any(text.startswith("- U1 unknown: Who owns it?") for text in shown)
    named = {"H1": hypothesis.id, "E1": hypothesis.evidence[0].id, "E2": hypothesis.evidence[1].id}
    assert brief.names == {**named, "U1": document.unknowns[0].id}


async def test_organizations_share_nothing(db: Database, org: str) -> None:
    async with db.tx("globex") as tx:
        await create_organization(tx)
    await apply(db, turn("a gap"), form=[claim("The gap costs us time", piece("a gap"))])
    assert (await held(db, "globex")).document is None
    async with db.tx("globex") as tx:
        assert (await store.load_engagement(tx, ORG)).document is None
        assert [entry async for entry in store.iterate_journal(tx, ORG)] == []


async def test_the_state_of_a_past_moment_is_told(db: Database, org: str) -> None:
    await apply(db, turn("a gap"), form=[claim("The gap costs us time", piece("a gap"))])
    document = (await held(db)).document
    assert document is not None
    target = document.hypotheses[0].id
    later = turn("a wide gap", number=2, at=START + timedelta(days=2))
    await apply(db, later, evidence=[piece("a wide gap", hypothesis=target, strength="strong")])
    async with db.tx("acme") as tx:
        past = await reading.load_document(tx, ORG, as_of=START + timedelta(days=1))
        assert await reading.load_document(tx, ORG, as_of=START - timedelta(days=1)) is None
        assert (
            await reading.load_document(tx, ORG, as_of=START + timedelta(days=3))
            == (await store.load_engagement(tx, ORG)).document
        )
    assert past == document


async def with_a_finding(db: Database) -> Turn:
    """Dana forms a claim, Tom's words make it a finding."""
    await apply(
        db, turn("KPIs came unannounced"), form=[claim("The KPIs came unannounced", piece("KPIs came unannounced"))]
    )
    document = (await held(db)).document
    assert document is not None
    target = document.hypotheses[0].id
    tom = turn("Tom here, the KPIs surprised us", number=2, who="tom", at=START + timedelta(days=1))
    await apply(db, tom, evidence=[piece("the KPIs surprised us", hypothesis=target, strength="strong", source="Tom")])
    document = (await held(db)).document
    assert document is not None
    assert document.findings
    return tom


async def test_forgetting_a_person_removes_their_part_and_reopens_what_stood_on_it(db: Database, org: str) -> None:
    tom = await with_a_finding(db)
    before = await held(db)
    async with db.tx("acme") as tx:
        counts = await forget_person(tx, tom.scope, tx.now)
    state = await held(db)
    assert counts == {"engagement_journal": 2, "engagement_turns": 1}
    assert state.document is not None
    assert state.heard == 1
    assert state.seq > before.seq
    (left,) = state.document.hypotheses
    assert left.stage is HypothesisStage.COLLECTING
    assert [line.who for line in left.evidence] == ["dana"]
    entries = await journal(db)
    assert "Tom" not in repr(entries) + repr(state.document)
    assert fold_entries(entries) == state.document


async def test_forgetting_everyone_leaves_an_engagement_that_has_not_begun(db: Database, org: str) -> None:
    tom = await with_a_finding(db)
    async with db.tx("acme") as tx:
        await forget_person(tx, tom.scope, tx.now)
        await forget_person(tx, person_scope("acme", "dana"), tx.now)
    state = await held(db)
    assert state.document is None
    assert state.heard == 0
    await apply(db, turn("hello again", number=7))
    assert (await held(db)).document is not None


async def test_a_claim_that_others_support_survives_the_one_who_formed_it(db: Database, org: str) -> None:
    await with_a_finding(db)
    ann = turn("I was surprised by the KPIs as well, unannounced", number=3, who="ann", at=START + timedelta(days=2))
    line = piece("I was surprised by the KPIs as well", hypothesis="The KPIs came unannounced", strength="strong")
    await apply(db, ann, evidence=[line])
    before = await held(db)
    assert before.document is not None
    (finding,) = before.document.findings
    async with db.tx("acme") as tx:
        await forget_person(tx, person_scope("acme", "dana"), tx.now)
    state = await held(db)
    assert state.document is not None
    (left,) = state.document.findings
    assert (left.id, [line.who for line in left.evidence]) == (finding.id, ["tom", "ann"])
    entries = await journal(db)
    formed = next(entry for entry in entries if entry.delta.kind == "formed")
    assert (formed.who, formed.user_id, formed.turn_id, formed.at) == ("mnemon", None, "trn_2_tom", tom_at())
    assert entries[-1].delta.kind == "withdrawn"
    assert entries[-1].reason == "evidence of a forgotten person was withdrawn; confidence 0.95 → 0.92"
    assert "dana" not in repr(entries) + repr(state.document)
    assert fold_entries(entries) == state.document


def tom_at() -> datetime:
    return START + timedelta(days=1)


async def test_a_claim_keeps_no_word_that_only_the_forgotten_person_gave(db: Database, org: str) -> None:
    await apply(
        db,
        turn("Zanzibar is late with the valves, at 7342 pieces"),
        form=[claim("Zanzibar is late with the valves", piece("Zanzibar is late with the valves"),
                    falsified_by="Zanzibar delivers 7342 pieces")],
    )  # fmt: skip
    said = piece("the valves are late", hypothesis="Zanzibar is late with the valves", line="The valves are late.")
    await apply(db, turn("the valves are late", number=2, who="tom"), evidence=[said])
    async with db.tx("acme") as tx:
        await forget_person(tx, person_scope("acme", "dana"), tx.now)
    document = (await held(db)).document
    assert document is not None
    (left,) = document.hypotheses
    assert (left.statement, left.falsified_by) == ("The valves are late.", GENERAL_FALSIFIER)
    assert not {"Zanzibar", "7342"} & set(re.findall(r"\w+", repr(await journal(db)) + repr(document)))


async def test_a_finding_that_loses_its_second_source_is_reopened_and_the_journal_says_why(
    db: Database, org: str
) -> None:
    await with_a_finding(db)
    async with db.tx("acme") as tx:
        await forget_person(tx, person_scope("acme", "dana"), tx.now)
    document = (await held(db)).document
    assert document is not None
    (left,) = document.hypotheses
    assert (left.stage, left.reopened, [line.who for line in left.evidence]) == (
        HypothesisStage.COLLECTING, 1, ["tom"],
    )  # fmt: skip
    assert [entry.delta.kind for entry in await journal(db)][-2:] == ["withdrawn", "reopened"]


async def test_redacting_a_quote_removes_what_cites_it_and_what_its_turn_made_of_it(db: Database, org: str) -> None:
    tom = await with_a_finding(db)
    text = "the KPIs surprised us"
    start = tom.messages[0].content.index(text)
    async with db.tx("acme") as tx:
        place: Place = {"turn_id": tom.id, "message_id": tom.messages[0].message_id, "start": start, "end": start + 21}
        removed = await redact_quote(tx, tom.scope, tx.now, **place, text=text)
        again = await redact_quote(tx, tom.scope, tx.now, **place, text=text)
    document = (await held(db)).document
    assert (removed, again) == (1, 0)
    assert document is not None
    assert text not in repr(document) + repr(await journal(db))
    assert document.hypotheses[0].stage is HypothesisStage.COLLECTING


async def test_redacting_reaches_the_words_wherever_they_were_repeated(db: Database, org: str) -> None:
    tom = turn("the code word is Zebra42", who="tom")
    await apply(db, tom, unknowns=[{"question": "Is Zebra42 still in use?", "whyItMatters": "It opens the plant."}])
    async with db.tx("acme") as tx:
        place: Place = {"turn_id": tom.id, "message_id": tom.messages[0].message_id, "start": 0, "end": 24}
        assert await redact_quote(tx, tom.scope, tx.now, **place, text="the code word is Zebra42") == 1
    assert "Zebra42" not in repr(await held(db)) + repr(await journal(db))


async def test_folding_again_changes_nothing_but_the_version(db: Database, org: str) -> None:
    await with_a_finding(db)
    before = await held(db)
    async with db.tx("acme") as tx:
        await refold_document(tx, ORG, tx.now)
    after = await held(db)
    assert after == replace(before, seq=after.seq)


async def test_an_answer_that_is_left_out_still_counts_the_turn(db: Database, org: str) -> None:
    async with db.tx("acme") as tx:
        report = await EAGER.apply_answer(tx, turn("we make valves"), EAGER.answer.model_validate({}))
    assert (report.stored, (await held(db)).heard) == (0, 1)


async def test_offline_passes_the_same_gates(db: Database, org: str) -> None:
    taken = turn("We don't know whether the slowdown is cultural, and it matters because it costs us $3M.")
    async with db.tx("acme") as tx:
        brief = await EAGER.prepare_brief(tx, taken)
        assert brief is not None
        report = await EAGER.apply_answer(tx, taken, EAGER.answer_by_rule(taken, brief))
    document = (await held(db)).document
    assert report.stored == 1
    assert document is not None
    assert document.unknowns[0].why_it_matters == "It costs us $3M."


async def test_a_finding_is_judged_by_the_threshold_of_its_promotion(db: Database, org: str) -> None:
    """With a lower threshold in force, forgetting something else does not take a finding down."""
    (lenient,) = make_sections(Settings(promotion_threshold=0.6, first_hypothesis_turns=0))
    await apply(db, turn("a gap"), lenient, form=[claim("The gap is wide", piece("a gap"))])
    again = [piece("the gap is wide", hypothesis="The gap is wide")]
    await apply(db, turn("the gap is wide", number=3, at=START + timedelta(days=1)), lenient, evidence=again)
    await apply(db, turn("hello", number=2, who="tom"), lenient)
    async with db.tx("acme") as tx:
        await forget_person(tx, person_scope("acme", "tom"), tx.now)
    document = (await held(db)).document
    assert document is not None
    assert [each.statement for each in document.findings] == ["The gap is wide"]


async def test_redacting_leaves_what_others_said_and_what_only_shares_common_words(db: Database, org: str) -> None:
    tom = turn("we think there is a gap because of approvals, and the canteen closes", who="tom")
    said = piece("there is a gap because of approvals", line="Tom thinks there is a gap because of approvals.")
    await apply(db, tom, form=[claim("There is a gap because nobody cares", said)])
    await apply(db, turn("the canteen closes", number=2), unknowns=[
        {"question": "Why does the canteen close? The canteen closes early.", "whyItMatters": "Morale."}
    ])  # fmt: skip
    text = "the canteen closes"
    start = tom.messages[0].content.index(text)
    before = await held(db)
    async with db.tx("acme") as tx:
        place: Place = {
            "turn_id": tom.id,
            "message_id": tom.messages[0].message_id,
            "start": start,
            "end": start + len(text),
        }
        assert await redact_quote(tx, tom.scope, tx.now, **place, text=text) == 0
    assert await held(db) == before
