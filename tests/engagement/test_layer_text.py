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
        "KPIs came without briefing; nobody was told; perhaps culture",
        form=[
            claim(
                "KPIs came unannounced",
                piece("KPIs came without briefing", strength="strong"),
                piece("nobody was told"),
            ),
            claim(
                "The slowdown is structural",
                piece("nobody was told"),
                piece("perhaps culture", stance="contradicts", strength="weak"),
                falsified_by="interviews point to culture",
            ),
        ],
        unknowns=[{"question": "Who owns it?", "whyItMatters": "Decides the fix."}],
    )
    finding, hypothesis, unknown = document_layer(room.state).items
    assert finding.text == "Finding: KPIs came unannounced (dana, 2026-04-12)"
    assert "Hypothesis [0.56]" in hypothesis.text
    assert "this would resolve it: interviews point to culture" in hypothesis.text
    assert "against (dana, 2026-04-12): Said: perhaps culture" in hypothesis.text
    assert unknown.text == "Unknown: Who owns it? It matters: Decides the fix."
    assert finding.value > hypothesis.value > unknown.value
    assert hypothesis.sources[0].startswith("hyp_")
    assert all(source.startswith("evd_") for source in hypothesis.sources[1:])
