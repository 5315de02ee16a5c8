from datetime import timedelta

import pytest

from mnemon.engagement.proposal_applier import EngagementRules
from mnemon.engagement.week import WEEK_TABLE, week_rules
from mnemon.turn import Turn
from support.engaged import START, Room, claim, piece, turn

ADVANCE = {"advance": True, "reason": "The work of the week is done."}


def test_the_week_begins_at_one_and_is_vetoed_until_its_work_is_done() -> None:
    room = Room(rules=EngagementRules())
    room.say("hello")
    vetoed = room.say("we make valves", week=ADVANCE)
    assert room.state.week == 1
    assert "week 1 (orientation) is not done" in vetoed.report.rejected[0].why
    room.say("orders run late", unknowns=[{"question": "Who owns it?", "whyItMatters": "Decides."}])
    assert "user turns with content" in room.say("ok", week=ADVANCE).report.rejected[0].why
    assert room.say("the plant waits for sales", week=ADVANCE).report.updated == 1
    assert room.state.week == 2


def test_every_week_has_its_own_veto() -> None:
    room = Room(rules=EngagementRules())
    room.say("we make valves")
    room.say("orders run late", unknowns=[{"question": "Who owns it?", "whyItMatters": "Decides."}])
    room.say("the plant waits for sales", week=ADVANCE)
    assert "week 2" in room.say("d", week=ADVANCE).report.rejected[0].why
    room.say("there is a gap", form=[claim("The gap costs us time", piece("there is a gap"))], week=ADVANCE)
    assert room.state.week == 3
    assert "week 3" in room.say("e", week=ADVANCE).report.rejected[0].why
    held = room.state.hypotheses[0].id
    room.say("the gap is wide", evidence=[piece("the gap is wide", hypothesis=held)], week=ADVANCE)
    assert room.state.week == 4
    assert "week 4" in room.say("f", week=ADVANCE).report.rejected[0].why
    unknown = room.state.unknowns[0].id
    room.say("Tom owns it", answered=[{"unknown": unknown, "quote": "Tom owns it"}], week=ADVANCE)
    assert room.state.week == 5
    assert "since the week began" in room.say("g", week=ADVANCE).report.rejected[0].why


def test_at_most_one_step_a_turn_and_never_by_a_late_one() -> None:
    room = Room(rules=EngagementRules(first_hypothesis_turns=0))
    room.say("we make valves")
    room.say("orders run late")
    said = "in the handoffs there is a gap"
    room.say(said, form=[claim("The gap costs us time", piece("there is a gap"))], week=ADVANCE)
    again = room.take(_turn_three(), week=ADVANCE)
    assert room.state.week == 2
    assert again.report.skipped == 1
    late = room.say("old news", at=room.entries[0].at, week=ADVANCE)
    assert room.state.week == 2
    assert "a later turn" in late.report.rejected[0].why


def _turn_three() -> Turn:
    return turn("in the handoffs there is a gap", number=3, at=START + timedelta(hours=3))


def test_an_advance_needs_a_reason() -> None:
    room = Room()
    assert "reason is empty" in room.say("x", week={"advance": True, "reason": ""}).report.rejected[0].why
    assert room.say("x", week={"advance": False, "reason": "not yet"}).report.rejected == ()


@pytest.mark.parametrize(("number", "work"), [(1, "orientation"), (4, "synthesis"), (9, "synthesis")])
def test_the_bias_follows_the_week(number: int, work: str) -> None:
    assert week_rules(number).work == work
    assert "orientation" in WEEK_TABLE[0].bias
    assert "uncertain" in WEEK_TABLE[-1].bias
