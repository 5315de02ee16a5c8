"""`mnemon engagement`, over a real database."""

import asyncio
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any, get_args

import pytest
from typer.testing import CliRunner, Result

from mnemon.access.organizations import create_organization
from mnemon.cli.engagement import _change_subject
from mnemon.cli.main import app
from mnemon.cli.terminal import out
from mnemon.clock import ManualClock
from mnemon.db.database import Database
from mnemon.engagement.document import UnknownAnswer
from mnemon.engagement.journal import (
    ContradictionSettled,
    EngagementDelta,
    EngagementEntry,
    EngagementOpened,
    EvidenceCollected,
    EvidenceWithdrawn,
    HypothesisArchived,
    HypothesisFormed,
    HypothesisPromoted,
    HypothesisReopened,
    HypothesisRestored,
    ResolutionNamed,
    UnknownAnswered,
    UnknownAsked,
    WeekAdvanced,
)
from mnemon.engagement.proposal_applier import EngagementRules
from mnemon.engagement.reflect import EngagementSection
from mnemon.engagement.shape import ChangeShape
from mnemon.evidence.confidence import EvidenceLine, Stance, Strength
from support.engaged import START, answer, claim, piece, turn

FIRST = turn(
    "KPIs [bold] came unannounced; the slowdown has a structure; Tom says the slowdown is culture; "
    "the plant lacks people, though all shifts of the plant are full",
)
FIRST_ANSWER = answer(
    form=[
        claim("KPIs [bold] came unannounced", piece("KPIs [bold] came unannounced", strength="strong")),
        claim(
            "The slowdown is structural",
            piece("the slowdown has a structure", line="The slowdown has a structure."),
            piece("the slowdown is culture", stance="contradicts", strength="weak", source="Tom"),
            falsified_by="interviews point to culture",
        ),
        claim(
            "The plant lacks people",
            piece("the plant lacks people"),
            piece("all shifts of the plant are full", stance="contradicts"),
        ),
    ],
    archive=[{"hypothesis": "The plant lacks people", "note": "Shifts are full."}],
    unknowns=[{"question": "Who owns it?", "whyItMatters": "Decides the fix."}],
)
SECOND = turn("the KPIs [bold] came unannounced, I saw it", number=2, who="tom", at=START + timedelta(hours=1))
SECOND_ANSWER = answer(
    evidence=[piece("the KPIs [bold] came unannounced", hypothesis="KPIs [bold] came unannounced", source="tom")]
)

DOUBTED = [
    (
        turn("approvals are slow", org="doubted"),
        answer(form=[claim("Approvals are slow", piece("approvals are slow", strength="weak"))]),
    ),
    *(
        (
            turn("approvals are quick here", number=number, who=who, org="doubted"),
            answer(
                evidence=[
                    piece(
                        "approvals are quick here",
                        stance="contradicts",
                        strength="strong",
                        hypothesis="Approvals are slow",
                    )
                ]
            ),
        )
        for number, who in enumerate(("ann", "bob"), 2)
    ),
]


@pytest.fixture
def shown(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Runs the command over an organization with a little history."""
    monkeypatch.setenv("MNEMON_DATABASE_URL", database_url)
    monkeypatch.setattr(out, "width", 200)

    async def begin() -> None:
        db = Database(database_url, ManualClock(START), pool_size=2)
        await db.open()
        for org in ("acme", "empty", "doubted"):
            async with db.tx(org) as tx:
                await create_organization(tx)
        async with db.tx("acme") as tx:
            for said, reflected in ((FIRST, FIRST_ANSWER), (SECOND, SECOND_ANSWER)):
                await EngagementSection(EngagementRules(first_hypothesis_turns=0)).apply_answer(tx, said, reflected)
        async with db.tx("doubted") as tx:
            for said, reflected in DOUBTED:
                await EngagementSection(EngagementRules(first_hypothesis_turns=0)).apply_answer(tx, said, reflected)
        await db.close()

    asyncio.run(begin())
    return lambda *words: CliRunner().invoke(app, ["engagement", *words])


def test_the_page_shows_confidence_what_resolves_unknowns_and_sources(shown: Callable[..., Result]) -> None:
    page = shown("--org", "acme")
    assert page.exit_code == 0, page.output
    for words in (
        "week 1, orientation",
        "███████████░░░░░░░░░ 0.56  The slowdown is structural",
        "+ The slowdown has a structure.  dana, 2026-04-12, moderate",
        "− Said: the slowdown is culture  Tom, as told by dana, 2026-04-12, weak",
        "this would resolve it: interviews point to culture",
        "? Who owns it?",
        "✓ KPIs [bold] came unannounced",
        "dana, 2026-04-12",
    ):
        assert words in page.stdout
    assert "The plant lacks people" not in page.stdout
    assert "Shifts are full." in shown("--org", "acme", "--archived").stdout


def test_the_page_says_which_claim_is_proposed_for_archive(shown: Callable[..., Result]) -> None:
    assert "0.11  Approvals are slow  (proposed for archive)" in shown("--org", "doubted").stdout
    assert "proposed for archive" not in shown("--org", "acme").stdout


def test_the_history_tells_what_changed_and_why(shown: Callable[..., Result]) -> None:
    told = shown("--org", "acme", "--history").stdout
    assert "promoted KPIs [bold] came unannounced" in told
    assert "archived The plant lacks people" in told
    assert "confidence 0.86, above 0.85" in told


def test_programs_get_json(shown: Callable[..., Result]) -> None:
    document = json.loads(shown("--org", "acme", "--json").stdout)
    assert document["findings"][0]["source"] == "dana, 2026-04-12"
    assert document["hypotheses"][0]["evidence"][1]["stance"] == "contradicts"
    changes = json.loads(shown("--org", "acme", "--history", "--json").stdout)
    assert changes[0]["kind"] == "opened"
    assert json.loads(shown("--org", "empty", "--json").stdout) is None
    assert json.loads(shown("--org", "acme", "--json", "--as-of", "2026-01-01T00:00:00Z").stdout) is None


def test_an_empty_engagement_teaches_how_it_begins(shown: Callable[..., Result]) -> None:
    empty = shown("--org", "empty")
    assert (empty.exit_code, empty.stdout) == (0, "")
    assert "mnemon chat" in empty.stderr


def test_what_cannot_be_shown_is_told_with_an_exit_code(shown: Callable[..., Result]) -> None:
    assert shown("--org", "nowhere").exit_code == 3
    assert shown("--org", "acme", "--as-of", "yesterday").exit_code == 2


EVIDENCE = EvidenceLine(
    id="evd_1",
    line="Said: approvals are quick here",
    quote="approvals are quick here",
    source="ann",
    stance=Stance.CONTRADICTS,
    strength=Strength.STRONG,
    who="ann",
    at=START,
    turn_id="trn_1",
    message_id="msg_1",
    start=0,
    end=24,
)
ANSWER = UnknownAnswer(quote="Jo", who="ann", at=START, turn_id="trn_1", message_id="msg_1", start=0, end=2)
EVERY_KIND: dict[str, tuple[EngagementDelta, str]] = {
    delta.kind: (delta, subject)
    for delta, subject in (
        (EngagementOpened(), "the engagement"),
        (HypothesisFormed(hypothesis="hyp_1", statement="Approvals are slow", falsified_by=""), "Approvals are slow"),
        (EvidenceCollected(hypothesis="hyp_1", evidence=EVIDENCE), EVIDENCE.line),
        (ResolutionNamed(hypothesis="hyp_1", text="An interview"), "Approvals are slow"),
        (HypothesisPromoted(hypothesis="hyp_1", threshold=0.85), "Approvals are slow"),
        (HypothesisReopened(hypothesis="hyp_1"), "Approvals are slow"),
        (HypothesisArchived(hypothesis="hyp_1", note="Old."), "Approvals are slow"),
        (HypothesisRestored(hypothesis="hyp_1"), "Approvals are slow"),
        (ContradictionSettled(hypothesis="hyp_1", evidence="evd_1", note="Another plant."), EVIDENCE.line),
        (EvidenceWithdrawn(hypothesis="hyp_1", pieces=1), "Approvals are slow"),
        (UnknownAsked(unknown="unk_1", question="Who owns it?", why_it_matters="The fix."), "Who owns it?"),
        (UnknownAnswered(unknown="unk_1", answer=ANSWER), "Who owns it?"),
        (WeekAdvanced(week=2), "to week 2"),
    )
}


def change_of(delta: EngagementDelta) -> dict[str, Any]:
    """Return the change as the API gives it."""
    entry = EngagementEntry(seq=1, at=START, turn_id=None, user_id=None, who="ann", reason="why", delta=delta)
    return ChangeShape.from_entry(entry).change


def test_the_history_names_the_subject_of_every_kind_of_change() -> None:
    kinds = {delta.__dataclass_fields__["kind"].default for delta in get_args(get_args(EngagementDelta)[0])}
    assert set(EVERY_KIND) == kinds
    named: dict[str, str] = {}
    for kind, (delta, subject) in EVERY_KIND.items():
        assert _change_subject(change_of(delta), named) == subject, kind


def test_a_settled_contradiction_whose_evidence_was_forgotten_is_named_by_its_hypothesis() -> None:
    settled = change_of(EVERY_KIND["settled"][0])
    assert _change_subject(settled, {"hyp_1": "Approvals are slow"}) == "Approvals are slow"
    assert _change_subject(settled, {}) == "hyp_1"
