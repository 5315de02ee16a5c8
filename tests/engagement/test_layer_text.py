import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from mnemon.context.pack import pack_layers
from mnemon.engagement.document import Engagement, Hypothesis, HypothesisStage, Unknown, UnknownAnswer
from mnemon.engagement.layer import FIRST_SESSION_TEXT, document_layer
from mnemon.evidence.confidence import EvidenceLine, Stance, Strength
from support.engaged import Room, claim, piece

DAY = datetime(2026, 4, 12, tzinfo=UTC)


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
    assert hypothesis.value > finding.value > unknown.value
    assert [item.urgent for item in (finding, hypothesis, unknown)] == [False, True, False]
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


def finding(number: int) -> Hypothesis:
    at = DAY + timedelta(days=number)
    line = replace(support("strong"), id=f"evd_{number}", at=at)
    return Hypothesis(
        id=f"hyp_{number}", statement=f"Plant {number} ships late on Fridays", falsified_by="It ships on time",
        formed_at=at, formed_in="trn_1", stage=HypothesisStage.FINDING, promoted_at=at, evidence=(line,),
    )  # fmt: skip


def support(strength: str, stance: str = "supports") -> EvidenceLine:
    room = Room()
    room.say("the plant ships late", form=[claim("The plant ships late", piece("the plant ships late"))])
    [made] = room.state.hypotheses[0].evidence
    return replace(made, strength=Strength(strength), stance=Stance(stance))


def shown(document: Engagement, message: str = "", budget: int = 4000) -> str:
    return pack_layers([document_layer(document, message)], budget).system


def test_with_thirty_findings_the_newest_of_every_kind_are_shown_and_the_rest_is_counted() -> None:
    open_claim = replace(finding(99), id="hyp_open", statement="Overtime hides the delay", stage=HypothesisStage.FORMED)
    asked = tuple(
        Unknown(id=f"unk_{n}", question=f"Who signs form {n}?", why_it_matters="It decides.", asked_at=DAY)
        for n in range(10)
    )
    document = Engagement(hypotheses=(*map(finding, range(30)), open_claim), unknowns=asked)
    text = shown(document)
    assert "Plant 29" in text
    assert "Plant 0 " not in text
    assert "Overtime hides the delay" in text
    assert "Who signs form 9?" in text
    count = int(re.findall(r"(\d+) more are not shown: ask with get_engagement\.", text)[0])
    assert count + text.count("Finding:") + text.count("Hypothesis") + text.count("Unknown:") == 41


def test_what_bears_on_the_message_comes_before_what_is_newer() -> None:
    document = Engagement(hypotheses=tuple(map(finding, range(60))))
    assert "Plant 3 " not in shown(document)
    assert "Plant 3 " in shown(document, "Does plant 3 ship late on Fridays?")


def test_a_strong_contradiction_is_shown_however_old_it_is() -> None:
    against = replace(support("strong", "contradicts"), id="evd_against", line="Said: it ships on time")
    later = tuple(replace(support("weak"), id=f"evd_{n}", line=f"Said: late again {n}") for n in range(6))
    claimed = replace(finding(1), stage=HypothesisStage.REVISING, evidence=(against, *later))
    document = Engagement(hypotheses=(*map(finding, range(2, 32)), claimed))
    text = shown(document, budget=500)
    assert "against" in text
    assert "it ships on time" in text
    assert "3 more pieces of evidence" in text


def test_answers_and_given_up_claims_are_told_where_they_bear_on_the_message() -> None:
    answer = UnknownAnswer(
        quote="Tom signs it", who="dana", at=DAY, turn_id="trn_1", message_id="msg_1", start=0, end=12
    )
    asked = Unknown(
        id="unk_1", question="Who signs the export form?", why_it_matters="It decides.", asked_at=DAY, answer=answer
    )
    wrong = replace(
        finding(1), statement="Customs delays exports", stage=HypothesisStage.ARCHIVED, note="Logs show no stop"
    )
    document = Engagement(hypotheses=(wrong,), unknowns=(asked,))
    about = shown(document, "Do customs delay our exports, and who signs the export form?")
    assert "Answered: Who signs the export form? “Tom signs it” (dana, 2026-04-12)" in about
    assert "do not propose it again without new evidence: Customs delays exports (Logs show no stop)" in about
    other = shown(document, "What shall I cook?")
    assert "Tom signs" not in other
    assert "Customs" not in other
