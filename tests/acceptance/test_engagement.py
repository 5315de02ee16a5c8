"""Seed 000 through the doors: its example, a story of four weeks, what stays out, and who may look."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from mnemon.access.grants import Grant
from support.asked import turn_of
from support.engaged import claim, piece
from support.served import Served, served
from support.talk import Talk, history, ready

SEED: dict[str, Any] = {
    "weekNumber": 4,
    "hypotheses": [
        {
            "statement": "The largest dollar lever is in Sales→Ops handoffs, not inside Manufacturing.",
            "confidence": 0.72,
            "evidence": [
                "User cited $4.1M on deal-approval handoffs in session 2.",
                "Diane Ortiz interview surfaced a structural coordination gap.",
            ],
        }
    ],
    "unknowns": [
        {
            "question": "Is the Mfg Ops slowdown cultural or structural?",
            "whyItMatters": "Determines whether the fix is a process change or a comms rollout.",
        }
    ],
    "findings": [
        {
            "statement": "Three new KPIs rolled out to the line floor without briefing.",
            "source": "Diane Ortiz, 2026-04-12",
            "recordedAt": "2026-04-12T15:22:00Z",
        }
    ],
}
LEVER = SEED["hypotheses"][0]["statement"]
DONE = {"advance": True, "reason": "The work of this week is done."}


@pytest.fixture
def engaged(database_url: str, tmp_path: Path) -> Iterator[Served]:
    """A server whose clock stands a month before the seed's example."""
    with served(database_url, tmp_path, start="2026-03-16T09:00:00Z") as running:
        yield running


@pytest.fixture
def talk(engaged: Served) -> Talk:
    return Talk(engaged, engaged.client("acme"))


def seed_fields(data: Any) -> Any:
    """The document without what Mnemon adds to the seed's fields."""
    kept = {name: set(SEED[name][0]) for name in ("hypotheses", "unknowns", "findings")}
    only = {
        name: [{field: entry[field] for field in entry if field in fields} for entry in data[name]]
        for name, fields in kept.items()
    }
    return {"weekNumber": data["weekNumber"], **only}


def test_the_seeds_example_field_for_field(talk: Talk) -> None:
    assert talk.state() is None
    assert "first session" in talk.layer()
    talk.say("We make valves, and orders slow down somewhere between sales and the plant.", unknowns=SEED["unknowns"])
    talk.say("Manufacturing says it is sales, sales says it is manufacturing.")
    talk.say(
        "In session 2 finance cited $4.1M on deal-approval handoffs from Sales to Ops, more than inside Manufacturing.",
        at="2026-03-23T09:00:00Z",
        form=[
            claim(
                LEVER,
                piece("$4.1M on deal-approval handoffs", line=SEED["hypotheses"][0]["evidence"][0]),
                falsified_by="A breakdown shows larger losses inside Manufacturing.",
            )
        ],
        week=DONE,
    )
    lever = talk.state()["hypotheses"][0]["id"]
    second = piece(
        "a structural gap in the coordination of handoffs",
        line=SEED["hypotheses"][0]["evidence"][1],
        strength="weak",
        source="Diane Ortiz",
        hypothesis=lever,
    )
    talk.say(
        "I spoke with Diane Ortiz. She sees a structural gap in the coordination of handoffs.",
        at="2026-04-06T09:00:00Z",
        evidence=[second],
        week=DONE,
    )
    rolled = "three new KPIs rolled out to the line floor without briefing"
    talk.say(
        f"We have it in writing: {rolled}.",
        at="2026-04-12T15:20:00Z",
        form=[
            claim(
                SEED["findings"][0]["statement"],
                piece(rolled),
                falsified_by="A briefing is on record.",
            )
        ],
        week=DONE,
    )
    kpis = talk.state()["hypotheses"][1]["id"]
    assert talk.state()["findings"] == []
    talk.say(
        f"I saw it: {rolled}.",
        user="Diane Ortiz",
        at="2026-04-12T15:22:00Z",
        evidence=[piece(rolled, strength="strong", source="Diane Ortiz", hypothesis=kpis)],
    )
    assert seed_fields(talk.state()) == SEED


def test_twelve_turns_over_four_weeks(talk: Talk) -> None:
    """Orientation, hypotheses, mixed evidence, a finding, its reopening, an archive, and a week at a time."""
    early = talk.say("Hello, I run operations.", form=[claim("Ops is slow", falsified_by="it is fast")], week=DONE)
    assert early["stored"] == 0
    assert [why.split(":")[0] for why in early["why"]] == ["first-hypothesis gate", "week 1 (orientation) is not done"]
    talk.say(
        "Orders take long.", unknowns=[{"question": "Who approves deals?", "whyItMatters": "Finds the bottleneck."}]
    )
    assert talk.say("We want them faster.", week=DONE)["updated"] == 1
    assert "week 2 (hypothesis collection)" in talk.layer()
    vetoed = talk.say("As I said.", at="2026-03-23T09:00:00Z", week=DONE)
    assert "at least one hypothesis" in vetoed["why"][0]
    talk.say(
        "Approvals wait 9 days on average. The log shows it. The plant is short of people, I feel.",
        form=[
            claim(
                "Approvals are the bottleneck",
                piece("Approvals wait 9 days on average", line="Approvals wait 9 days on average."),
            ),
            claim(
                "The plant lacks people",
                piece("The plant is short of people", strength="weak"),
                falsified_by="shifts are full",
            ),
        ],
        week=DONE,
    )
    approvals, people = (each["id"] for each in talk.state()["hypotheses"])
    talk.say("Tom says approvals take an hour.", at="2026-03-30T09:00:00Z", evidence=[
        piece("approvals take an hour", line="Tom says approvals take an hour.", source="Tom", stance="contradicts",
              strength="weak", hypothesis=approvals),
    ], wouldResolve=[{"hypothesis": approvals, "text": "The approval log of one plant."}])  # fmt: skip
    mixed = next(each for each in talk.state("?expand=evidence")["hypotheses"] if each["id"] == approvals)
    assert (mixed["mixed"], mixed["wouldResolve"]) == (True, "The approval log of one plant.")
    assert mixed["evidence"][1]["source"] == "Tom, as told by dana"
    assert "The approval log of one plant." in talk.layer()
    contradiction = mixed["evidence"][1]["id"]
    talk.say("The log of plant 2 shows long waits for approvals.", user="ann", evidence=[
        piece("The log of plant 2 shows long waits for approvals", strength="strong", hypothesis=approvals),
    ])  # fmt: skip
    assert talk.state()["findings"] == []
    talk.say("Tom meant the approvals of small orders.", evidence=[
        piece("Tom meant the approvals of small orders", line="Tom meant the approvals of small orders.", source="Tom",
              strength="moderate", hypothesis=approvals, resolves=[contradiction]),
    ], week=DONE)  # fmt: skip
    assert [each["id"] for each in talk.state()["findings"]] == [approvals]
    assert "week 4 (synthesis)" in talk.layer()
    talk.say("All shifts of the plant are full, by the way.", at="2026-04-06T09:00:00Z", evidence=[
        piece("All shifts of the plant are full", stance="contradicts", strength="strong", hypothesis=people),
    ], archive=[{"hypothesis": people, "note": "Shifts are full."}])  # fmt: skip
    unknown = talk.state()["unknowns"][0]["id"]
    talk.say(
        "The regional lead approves deals.", answered=[{"unknown": unknown, "quote": "The regional lead approves"}]
    )
    talk.say("New log: approvals are automated.", evidence=[
        piece("approvals are automated", stance="contradicts", strength="moderate", hypothesis=approvals),
    ])  # fmt: skip
    talk.say("So we look elsewhere.", week=DONE)

    state = talk.state("?include=archived")
    assert state["weekNumber"] == 5
    assert state["findings"] == []
    assert [(each["id"], each["reopened"], len(each["evidence"])) for each in state["hypotheses"]] == [
        (approvals, 1, 5)
    ]
    assert [(each["id"], each["note"]) for each in state["archived"]] == [(people, "Shifts are full.")]
    assert state["answered"][0]["answer"]["quote"] == "The regional lead approves"
    assert "archived" not in talk.state()
    past = talk.state("?asOf=2026-04-01T00:00:00Z")
    assert (past["weekNumber"], [each["id"] for each in past["findings"]]) == (4, [approvals])
    assert talk.state("?asOf=2026-03-01T00:00:00Z") is None
    changes = history(talk.client)
    assert [change["seq"] for change in changes] == list(range(1, len(changes) + 1))
    told = [change["kind"] for change in changes if change["kind"] not in ("opened", "formed", "collected", "wondered")]
    assert told == [
        "advanced", "advanced", "resolvable", "promoted", "advanced", "archived", "answered", "reopened", "advanced",
    ]  # fmt: skip
    assert all(change["turnId"] and change["who"] in {"dana", "ann"} and change["reason"] for change in changes)


def test_expanded_evidence_tells_stance_source_and_time(talk: Talk) -> None:
    ready(talk)
    said = "Diane Ortiz told me on March 12 that there is a gap."
    talk.say(said, form=[claim("The gap costs us time", piece("there is a gap", source="Diane Ortiz"))])
    (line,) = talk.state("?expand=evidence")["hypotheses"][0]["evidence"]
    assert (line["stance"], line["strength"], line["weight"]) == ("supports", "moderate", 1.0)
    assert (line["source"], line["sourceKey"], line["teller"]) == (
        "Diane Ortiz, as told by dana", "person:diane ortiz", "speaker:dana",
    )  # fmt: skip
    assert (line["who"], line["at"], line["quote"]) == ("dana", "2026-03-16T09:00:00Z", "there is a gap")
    assert line["eventDate"] == "2026-03-12"
    assert line["turnId"] == talk.turn_id


def test_an_invented_figure_or_quote_stays_out_and_is_reported(talk: Talk) -> None:
    ready(talk)
    report = talk.say(
        "We lose money on handoffs.",
        form=[
            claim("Handoffs lose money", piece("We lose money on handoffs", line="Handoffs cost $4.1M.")),
            claim("Handoffs lose time", piece("We lose time on handoffs")),
        ],
    )
    assert (report["stored"], report["rejected"]) == (0, 4)
    assert any("“$4.1M”" in why for why in report["why"])
    assert any("quote gate" in why for why in report["why"])
    assert talk.state()["hypotheses"] == []


def test_what_stays_between_two_and_a_persona_that_takes_no_part_never_enter(talk: Talk) -> None:
    ready(talk)
    before = history(talk.client)
    gap: dict[str, Any] = {"form": [claim("The gap costs us time", piece("there is a gap"))]}
    talk.say("Just between us, there is a gap.", **gap)
    body = {"name": "Coach", "prompt": "", "engagement": "off"}
    assert talk.client.put("/api/personas/coach", json=body).status_code in (200, 201)
    talk.say("there is a gap", persona="coach", **gap)
    assert history(talk.client) == before
    assert "L8" not in talk.layer("coach")
    assert talk.layer("coach") == ""
    assert talk.layer("aria") != ""


def test_there_is_no_writing_verb_and_organizations_are_apart(talk: Talk) -> None:
    ready(talk)
    talk.say("there is a gap", form=[claim("The gap costs us time", piece("there is a gap"))])
    for verb in ("POST", "PUT", "PATCH", "DELETE"):
        assert talk.client.request(verb, "/api/engagement", json={}).status_code == 405
    assert talk.server.client("globex").get("/api/engagement").json()["data"] is None
    assert talk.server.client("globex").get("/api/engagement/history").json()["data"] == []
    narrow = talk.server.client("acme", grants=frozenset({Grant.CHAT}))
    assert narrow.get("/api/engagement").status_code == 403


@pytest.mark.parametrize(
    "query", ["?expand=all", "?include=x", "?asOf=yesterday", "/history?cursor=!!", "/history?cursor=eHl6"]
)
def test_a_bad_question_is_told_so(talk: Talk, query: str) -> None:
    assert talk.client.get(f"/api/engagement{query}").status_code in (400, 422)


def test_twenty_people_at_once_lose_nothing(talk: Talk) -> None:
    ready(talk)
    talk.say("there is a gap", form=[claim("The gap costs us time", piece("there is a gap", strength="weak"))])
    target = talk.state()["hypotheses"][0]["id"]

    def reflected(asked: Any) -> Any:
        word = re.search(r"a gap remark (\w+)", turn_of(asked))
        assert word is not None
        mine = piece(word.group(), line="A gap.", strength="weak", source=word[1], hypothesis=target)
        stance = "contradicts" if len(word[1]) % 2 else "supports"
        return {"engagement": {"evidence": [{**mine, "stance": stance}]}}

    talk.server.script.set_default_answer("Reflection", reflected)
    with ThreadPoolExecutor(20) as pool:
        words = [chr(97 + place) * (1 + place % 2) for place in range(20)]
        bodies = [
            {"userId": f"user-{word}", "messages": [{"role": "user", "content": f"I have a gap remark {word} to make"}]}
            for word in words
        ]
        replies = list(pool.map(lambda body: talk.client.post("/api/turns", json=body), bodies))
    assert {reply.status_code for reply in replies} == {202}
    talk.server.settled(talk.client)
    evidence = talk.state("?expand=evidence")["hypotheses"][0]["evidence"]
    assert sorted(line["source"] for line in evidence[1:]) == sorted(f"user-{word}" for word in words)
    changes = history(talk.client)
    assert [change["seq"] for change in changes] == list(range(1, len(changes) + 1))


def test_a_recited_reply_is_flagged_on_its_turn_and_counted(talk: Talk) -> None:
    ready(talk)
    line = "Approvals take longer than anybody in the plant would like to admit."
    talk.say(f"Honestly: {line}", form=[claim("Approvals are slow", piece(line, line=line))])
    counted = recitals(talk)
    talk.server.script.add_replies("As noted, approvals take longer than anybody in the plant would like.")
    talk.say("and so?")
    turn = talk.client.get(f"/api/turns/{talk.turn_id}").json()["data"]
    assert turn["recited"].startswith("approvals take longer than")
    assert recitals(talk) == counted + 1
    talk.server.script.add_replies("Let us look at who signs first.")
    talk.say("and then?")
    assert talk.client.get(f"/api/turns/{talk.turn_id}").json()["data"]["recited"] is None


def recitals(talk: Talk) -> float:
    found = re.search(r"^mnemon_recited_replies_total (\S+)$", talk.client.get("/metrics").text, re.MULTILINE)
    return float(found[1]) if found else 0.0


def test_the_version_is_the_etag(talk: Talk) -> None:
    assert talk.client.get("/api/engagement").headers["ETag"] == '"0"'
    talk.say("Hello.")
    assert talk.client.get("/api/engagement").headers["ETag"] == '"1"'
    assert talk.client.get("/api/engagement?asOf=2026-01-01T00:00:00Z").headers["ETag"] == '"0"'


def test_a_forgotten_person_leaves_no_word_in_it(talk: Talk) -> None:
    ready(talk)
    talk.say("there is a gap", form=[claim("The gap is wide", piece("there is a gap"))])
    talk.say("Zanzibar has a gap, a wide one", user="tom", evidence=[
        piece("Zanzibar has a gap", hypothesis="The gap is wide", strength="strong", source="Tom Zander"),
    ])  # fmt: skip
    assert talk.state()["findings"]
    reply = talk.client.delete("/api/users/tom")
    assert reply.status_code == 200
    assert reply.json()["data"]["removed"]["engagement_journal"] == 2
    assert talk.state()["findings"] == []
    assert talk.state()["hypotheses"][0]["confidence"] == 0.65
    changes = history(talk.client)
    assert [change["kind"] for change in changes[-2:]] == ["withdrawn", "reopened"]
    assert changes[-2]["reason"] == "evidence of a forgotten person was withdrawn; confidence 0.86 → 0.65"
    told = talk.client.get("/api/engagement?expand=evidence&include=archived").text + str(changes)
    assert "Zan" not in told
    assert "tom" not in told


def test_offline_it_begins_with_the_first_turn_and_takes_up_what_is_said_to_be_unknown(offline_server: Served) -> None:
    client = offline_server.client("acme")
    said = "We don't know whether the slowdown is cultural, and it matters because it decides the fix."
    body = {"userId": "dana", "messages": [{"role": "user", "content": said}]}
    assert client.get("/api/engagement").json()["data"] is None
    assert client.post("/api/turns", json=body).status_code == 202
    offline_server.settled(client)
    state = client.get("/api/engagement").json()["data"]
    assert (state["weekNumber"], state["hypotheses"], state["findings"]) == (1, [], [])
    assert [unknown["question"] for unknown in state["unknowns"]] == ["Whether the slowdown is cultural?"]
