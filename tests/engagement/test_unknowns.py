from support.engaged import Room

QUESTION = {"question": "Is the slowdown cultural or structural?", "whyItMatters": "Decides the fix."}


def test_the_same_question_asked_again_is_the_same_unknown() -> None:
    room = Room()
    room.say("hm", unknowns=[QUESTION])
    again = room.say("hm", unknowns=[{**QUESTION, "question": "is the slowdown cultural, or structural"}])
    assert len(room.state.unknowns) == 1
    assert again.report.skipped == 1


def test_an_answer_closes_it_with_its_evidence() -> None:
    room = Room()
    room.say("hm", unknowns=[QUESTION])
    (unknown,) = room.state.open_unknowns
    refused = room.say("no idea", answered=[{"unknown": unknown.id, "quote": "It is structural"}])
    assert "quote gate" in refused.report.rejected[0].why
    room.say(
        "It is structural, Diane says.", who="tom", answered=[{"unknown": unknown.id, "quote": "It is structural"}]
    )
    assert room.state.open_unknowns == ()
    answer = room.state.answered[0].answer
    assert answer is not None
    assert (answer.quote, answer.who, answer.turn_id, answer.start) == ("It is structural", "tom", "trn_3_tom", 0)
    assert room.say("It is cultural", answered=[{"unknown": unknown.id, "quote": "It is cultural"}]).report.skipped == 1


def test_a_question_needs_a_reason() -> None:
    room = Room()
    outcome = room.say("hm", unknowns=[{**QUESTION, "whyItMatters": ""}])
    assert outcome.report.rejected[0].why == "whyItMatters is empty"


def test_an_unknown_nobody_asked_is_reported() -> None:
    outcome = Room().say("yes", answered=[{"unknown": "unk_x", "quote": "yes"}])
    assert "no such unknown" in outcome.report.rejected[0].why
