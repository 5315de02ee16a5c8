from mnemon.engagement.layer import FIRST_SESSION_TEXT, document_layer
from support.engaged import Room, claim, piece


def test_the_layer_says_the_week_its_bias_and_why() -> None:
    room = Room()
    room.say("hello")
    made = document_layer(room.state)
    assert made.name == "L8"
    assert "week 1 (orientation)" in made.opening
    assert "too little is known to judge" in made.opening
    assert "do not recite" in made.opening
    assert made.items == ()
    assert "first session" in FIRST_SESSION_TEXT


def test_items_carry_their_sources_and_mixed_evidence_names_what_resolves_it() -> None:
    room = Room()
    room.say(
        "KPIs came without briefing; the slowdown has a structure; some call the slowdown culture",
        form=[
            claim("KPIs came without briefing", piece("KPIs came without briefing", strength="strong")),
            claim(
                "The slowdown is structural",
                piece("the slowdown has a structure"),
                piece("some call the slowdown culture", stance="contradicts", strength="weak"),
                falsified_by="interviews point to culture",
            ),
        ],
        unknowns=[{"question": "Who owns it?", "whyItMatters": "Decides the fix."}],
    )
    target = room.state.hypotheses[0].id
    memo = "On April 10 the memo on KPIs came without briefing"
    room.say(memo, who="tom", evidence=[piece(memo, strength="strong", hypothesis=target)])
    finding, hypothesis, unknown = document_layer(room.state).items
    assert finding.text == "Finding: KPIs came without briefing (tom, 2026-04-10)"
    assert "Hypothesis [0.56]" in hypothesis.text
    assert "this would resolve it: interviews point to culture" in hypothesis.text
    assert "against (dana, 2026-04-12): Said: some call the slowdown culture" in hypothesis.text
    assert unknown.text == "Unknown: Who owns it? It matters: Decides the fix."
    assert finding.value > hypothesis.value > unknown.value
    assert hypothesis.sources[0].startswith("hyp_")
    assert all(source.startswith("evd_") for source in hypothesis.sources[1:])


def test_a_claim_of_which_little_is_left_says_so() -> None:
    room = Room()
    room.say("the plant lacks people", form=[claim("The plant lacks people", piece("the plant lacks people"))])
    target = room.state.hypotheses[0].id
    for who in ("tom", "ann", "bob"):
        full = piece("the plant has people", stance="contradicts", strength="strong", hypothesis=target)
        room.say("the plant has people", who=who, evidence=[full])
    (item,) = document_layer(room.state).items
    assert "Hypothesis [0.05]" in item.text
    assert "proposed for archive" in item.text
