"""A model that lies to the engagement, through the doors: each way in which it once succeeded."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mnemon.access.grants import Grant
from support.engaged import claim, piece
from support.served import served
from support.talk import Talk, history, ready

SLOW = "Approvals are slow"


@pytest.fixture
def talk(database_url: str, tmp_path: Path) -> Iterator[Talk]:
    with served(database_url, tmp_path, start="2026-04-20T09:00:00Z") as running:
        yield Talk(running, running.client("acme"))


def evidence_of(talk: Talk, place: int = 0) -> list[Any]:
    return list(talk.state("?expand=evidence")["hypotheses"][place]["evidence"])


def test_stray_words_do_not_make_the_cfo_a_fraud(talk: Talk) -> None:
    ready(talk)
    report = talk.say(
        "I met the team today.",
        form=[
            claim(
                "The CFO is committing fraud.",
                piece("the", strength="strong", line="The CFO is committing fraud."),
                piece("I", strength="strong", line="Diane Ortiz saw it.", source="Diane Ortiz"),
            ),
            claim("The team is committing fraud.", piece("I met the team", strength="strong", line="The team lies.")),
            claim("The CFO met the team.", piece("I met the team today", strength="strong")),
        ],
    )
    assert (report["stored"], report.get("updated", 0)) == (0, 0)
    assert any("nobody spoke of: cfo" in why for why in report["why"])
    assert any("support gate" in why for why in report["why"])
    state = talk.state("?include=archived")
    assert (state["hypotheses"], state["findings"], state["archived"]) == ([], [], [])


def test_evidence_that_does_not_speak_of_the_claim_is_rejected(talk: Talk) -> None:
    ready(talk)
    report = talk.say(
        "I met the team today. The canteen was full.",
        form=[
            claim("Approvals are slow in the plant", piece("I met the team today", strength="strong")),
            claim("Orders run late", falsified_by="They are in time."),
        ],
    )
    assert report["stored"] == 0
    assert "does not speak of “Approvals are slow in the plant”" in report["why"][0]
    assert report["why"][-1] == "it has no evidence from this turn"
    assert talk.state()["hypotheses"] == []


def test_one_quote_counts_once_under_whatever_names(talk: Talk) -> None:
    ready(talk)
    named = ("dana", "Dana (user)", "user", "the user", "", "Diane Ortiz", "CFO memo")
    pieces = [piece("approvals are slow", strength="strong", source=name) for name in named]
    talk.say("I tell you approvals are slow.", form=[claim(SLOW, *pieces)])
    (line,) = evidence_of(talk)
    assert (line["source"], line["sourceKey"], line["teller"]) == ("dana", "speaker:dana", "speaker:dana")
    (held,) = talk.state()["hypotheses"]
    assert held["confidence"] == 0.77


def test_saying_it_three_times_makes_it_no_surer(talk: Talk) -> None:
    ready(talk)
    said = "Approvals are slow, I am sure. I am really sure approvals are slow. I am very sure approvals are slow."
    quotes = ("Approvals are slow, I am sure", "really sure approvals are slow", "very sure approvals are slow")
    pieces = [piece(quote, strength="strong") for quote in quotes]
    talk.say(said, form=[claim(SLOW, *pieces)])
    assert [line["weight"] for line in evidence_of(talk)] == [1.0, 0.0, 0.0]
    (held,) = talk.state()["hypotheses"]
    assert (held["confidence"], held["stage"], talk.state()["findings"]) == (0.77, "collecting", [])
    again = {"strength": "strong", "hypothesis": held["id"]}
    still = piece("Approvals are still slow", **again)
    talk.say("Approvals are still slow.", at="2026-04-20T09:30:00Z", evidence=[still])
    said = "Did I say that approvals are slow? They are slow approvals."
    talk.say(said, at="2026-04-20T10:00:00Z", evidence=[piece("They are slow approvals", **again)])
    assert [line["weight"] for line in evidence_of(talk)] == [1.0, 0.0, 0.0, 0.5, 0.0]
    assert talk.state()["hypotheses"][0]["confidence"] == 0.86
    assert talk.state()["findings"] == []
    agreed = piece("slow approvals", strength="weak", hypothesis=held["id"])
    talk.say("Yes, slow approvals.", user="tom", evidence=[agreed])
    assert [each["id"] for each in talk.state()["findings"]] == [held["id"]]


def test_a_weak_word_does_not_dissolve_a_strong_contradiction_but_a_person_may(talk: Talk) -> None:
    ready(talk)
    talk.say("Approvals are slow.", form=[claim(SLOW, piece("Approvals are slow", strength="strong"))])
    (held,) = talk.state()["hypotheses"]
    target = {"hypothesis": held["id"]}
    talk.say("The audit found approvals quick.", user="ann", evidence=[
        piece("The audit found approvals quick", stance="contradicts", strength="strong", **target),
    ])  # fmt: skip
    against = next(line["id"] for line in evidence_of(talk) if line["stance"] == "contradicts")
    idle = talk.say("Still, I think so.", evidence=[
        piece("Still, I think so", strength="weak", line="Dana calls approvals slow.", resolves=[against], **target),
        piece("Still, I think so", strength="weak", resolves=[against], **target),
    ])  # fmt: skip
    assert idle["stored"] == 0
    weak = talk.say("Still, approvals feel slow to me.", evidence=[
        piece("approvals feel slow to me", strength="weak", resolves=[against], **target),
    ])  # fmt: skip
    assert "at least as strong" in weak["why"][0]
    assert next(line for line in evidence_of(talk) if line["id"] == against)["outstanding"]

    resolve = f"/api/engagement/hypotheses/{held['id']}/resolve"
    reader = talk.server.client("acme", grants=frozenset({Grant.ENGAGEMENT_READ, Grant.CHAT}))
    body = {"evidenceId": against, "note": "The audit was of another plant."}
    assert reader.post(resolve, json=body).status_code == 403
    assert talk.client.post(resolve, json={**body, "note": " "}).status_code == 422
    assert talk.client.post(resolve, json={**body, "evidenceId": "evd_none"}).status_code == 409
    assert talk.client.post(resolve.replace("hyp_", "hyp_0"), json=body).status_code == 404
    settled = talk.client.post(resolve, json=body)
    assert settled.status_code == 200, settled.text
    line = next(one for one in settled.json()["data"]["evidence"] if one["id"] == against)
    assert (line["outstanding"], line["settledNote"]) == (False, "The audit was of another plant.")
    last = history(talk.client)[-1]
    assert (last["kind"], last["reason"], last["turnId"]) == ("settled", "The audit was of another plant.", None)
    assert last["who"].startswith("key_")


def test_a_claim_is_archived_only_if_contradicted_or_superseded_or_by_a_person(talk: Talk) -> None:
    ready(talk)
    talk.say("Approvals are slow.", form=[claim(SLOW, piece("Approvals are slow", strength="strong"))])
    (held,) = talk.state()["hypotheses"]
    archive: dict[str, Any] = {"archive": [{"hypothesis": held["id"], "note": "Tired of it."}]}
    report = talk.say("Let us move on.", **archive)
    assert "nothing outstanding contradicts it" in report["why"][0]
    assert held["confidence"] == 0.77
    assert not held["proposedForArchive"]
    for user in ("ann", "bob", "cyd", "dan"):
        talk.say("Approvals are quick here.", user=user, evidence=[
            piece("Approvals are quick here", stance="contradicts", strength="strong", hypothesis=held["id"]),
        ])  # fmt: skip
    (held,) = talk.state()["hypotheses"]
    assert (held["confidence"], held["proposedForArchive"]) == (0.03, True)
    assert "proposed for archive" in talk.layer()
    talk.say("What now?")
    brief = talk.server.script.requests_on("Reflection")[-1].prompt
    assert "- H1 hypothesis [0.03, mixed, propose archive]" in brief
    assert "archived:" not in brief
    assert talk.say("So approvals are quick.", **archive)["updated"] == 1

    again = talk.say(
        "This week slow approvals are back.",
        form=[claim("The approvals are slow", piece("slow approvals are back", strength="weak"))],
    )
    assert again["updated"] == 1
    (back,) = talk.state()["hypotheses"]
    assert (back["id"], back["stage"], len(back["evidence"]), back["confidence"]) == (held["id"], "revising", 6, 0.03)
    assert [change["kind"] for change in history(talk.client)[-2:]] == ["restored", "collected"]
    by_hand = talk.client.post(f"/api/engagement/hypotheses/{held['id']}/archive", json={"note": "Closed for good."})
    assert (by_hand.status_code, by_hand.json()["data"]["note"]) == (200, "Closed for good.")
    twice = talk.client.post(f"/api/engagement/hypotheses/{held['id']}/archive", json={"note": "Again."})
    assert (twice.status_code, twice.json()["code"]) == (409, "already_archived")
    talk.say("And now?")
    brief = talk.server.script.requests_on("Reflection")[-1].prompt
    assert f"- H1 archived: {SLOW} (archived: Closed for good.)" in brief


@pytest.mark.parametrize(
    "line",
    [
        "In the warehouse 4500 pallets are missing.",
        "At the plant 120 operators quit.",
        "At the plant zwölf pallets are missing.",
        "Typically about 37.2% of the pallets are missing.",
    ],
)
def test_a_figure_that_nobody_gave_enters_in_no_spelling(talk: Talk, line: str) -> None:
    ready(talk)
    said = "Pallets are missing in the warehouse, and operators quit at the plant."
    report = talk.say(said, form=[claim("Pallets are missing", piece(said[:-1], line=line))])
    assert report["stored"] == 0
    assert any("number gate" in why for why in report["why"]), report["why"]
    assert talk.state()["hypotheses"] == []


def test_a_rounded_figure_is_accepted_and_kept_as_the_source_gave_it(talk: Talk) -> None:
    ready(talk)
    quote = "handoffs cost us $4,123,456"
    talk.say(f"The {quote}.", form=[claim("Handoffs cost too much", piece(quote, line="Handoffs cost $4.1M."))])
    [line] = evidence_of(talk)
    assert line["line"] == "Handoffs cost $4,123,456."


def test_three_hellos_open_no_gate(talk: Talk) -> None:
    for text in ("Hello!", "Hello, good morning.", "Hi there, how are you today?"):
        talk.say(text)
    form = [claim(SLOW, piece("approvals are slow"))]
    report = talk.say("The approvals are slow.", form=form, week={"advance": True, "reason": "We spoke."})
    assert "1 of 3 user turns with content" in report["why"][0]
    assert "week 1 (orientation) is not done" in report["why"][1]


def test_the_day_that_a_source_names_is_the_events(talk: Talk) -> None:
    ready(talk)
    talk.say(
        "Diane told me on April 12 that approvals are slow.",
        form=[claim(SLOW, piece("approvals are slow", strength="strong", source="Diane Ortiz, 2026-04-20"))],
    )
    (line,) = evidence_of(talk)
    assert (line["source"], line["sourceKey"], line["teller"]) == (
        "Diane, as told by dana", "person:diane", "speaker:dana",
    )  # fmt: skip
    assert (line["eventDate"], line["at"]) == ("2026-04-12", "2026-04-20T09:00:00Z")
    talk.say("Approvals are slow, I see it daily.", user="tom", evidence=[
        piece("Approvals are slow", hypothesis=SLOW, strength="moderate"),
    ])  # fmt: skip
    assert [each["source"] for each in talk.state()["findings"]] == ["Diane, as told by dana, 2026-04-12"]


def test_forgetting_who_formed_a_claim_keeps_what_three_others_support(talk: Talk) -> None:
    ready(talk)
    talk.say("Approvals are slow.", form=[claim(SLOW, piece("Approvals are slow"))])
    for user in ("ann", "bob", "cyd"):
        talk.say(f"Approvals are slow with us at {user}.", user=user, evidence=[
            piece("Approvals are slow with us", strength="strong", hypothesis=SLOW),
        ])  # fmt: skip
    (finding,) = talk.state()["findings"]
    reply = talk.client.delete("/api/users/dana")
    assert reply.status_code == 200
    (kept,) = talk.state()["findings"]
    assert (kept["id"], kept["statement"], len(kept["evidence"])) == (finding["id"], SLOW, 3)
    assert (finding["confidence"], kept["confidence"]) == (0.99, 0.97)
    changes = history(talk.client)
    assert (changes[-1]["kind"], changes[-1]["who"]) == ("withdrawn", "mnemon")
    assert changes[-1]["reason"] == "evidence of a forgotten person was withdrawn; confidence 0.99 → 0.97"
    assert "dana" not in str(changes)
    assert reply.json()["data"]["removed"]["engagement_journal"] > 0
