"""Runs through the doors: cards, review, re-examination, prices, resolution, calibration."""

import json
import time
from pathlib import Path
from typing import Any

import httpx2
import pytest

from mnemon.llm.scripted.script import ScriptedRequest
from support.bounds import HANGS_S
from support.problem import assert_problem
from support.served import Served, served
from support.sse import events_in

TRADE = {
    "symbol": "BTC-USD",
    "action": "LONG",
    "summary": "breakout above the range",
    "entry": 64250,
    "take_profit": 71900,
    "stop_loss": 61480,
    "confidence": 0.72,
    "watch_for": ["funding flips negative"],
}
HOLD = {"conviction_score": 80, "notes": "Momentum is intact.", "suggested_action": "HOLD"}


def make(client: httpx2.Client, **more: object) -> dict[str, Any]:
    body = {"name": "Trader", "skill": "You are Trader.", "defaultPrompt": "Analyse BTC.", "cardType": "trade-decision"}
    answer = client.post("/api/agents", json={**body, **more})
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()["data"]
    return made


def run_now(server: Served, client: httpx2.Client, agent_id: str, **body: object) -> dict[str, Any]:
    started = client.post(f"/api/agents/{agent_id}/runs", json=body)
    assert started.status_code == 202, started.text
    server.settled(client)
    return read(client, started.json()["data"]["id"])


def read(client: httpx2.Client, run_id: str) -> dict[str, Any]:
    run: dict[str, Any] = client.get(f"/api/runs/{run_id}").json()["data"]
    return run


def trade(server: Served, client: httpx2.Client, **change: object) -> dict[str, Any]:
    agent = make(client)
    server.script.add_answers("Card", {**TRADE, **change})
    return run_now(server, client, agent["id"])


def re_examine(server: Served, client: httpx2.Client, run_id: str, **answer: object) -> dict[str, Any]:
    server.script.add_answers("Card", {**HOLD, **answer})
    asked = client.post(f"/api/runs/{run_id}/re-examine")
    assert asked.status_code == 202, asked.text
    server.settled(client)
    return read(client, asked.json()["data"]["id"])


@pytest.mark.scripted
def test_a_run_fills_its_card_and_shows_what_it_did_and_cost(server: Served, client: httpx2.Client) -> None:
    run = trade(server, client)
    assert run["kind"] == "manual"
    assert run["status"] == "succeeded"
    assert run["resultJson"] == TRADE
    assert run["headline"] == "LONG · breakout above the range"
    assert run["tone"] == "positive"
    assert run["resolutionStatus"] == "open"
    assert run["usage"]["calls"] == 2
    assert run["usage"]["inputTokens"] > 0
    assert run["startedAt"] == run["finishedAt"] == "2026-04-12T15:22:00Z"
    names = [name for name, _ in events_in(client.get(f"/api/runs/{run['id']}/events").text)]
    assert names[:2] == ["status", "status"]
    assert names[-2:] == ["card", "status"]
    assert "delta" in names


@pytest.mark.scripted
def test_events_can_be_taken_up_where_they_were_left(server: Served, client: httpx2.Client) -> None:
    run = trade(server, client)
    path = f"/api/runs/{run['id']}/events"
    whole = client.get(path).text
    first = whole.split("\n", 1)[0].removeprefix("id: ")
    rest = client.get(path, headers={"Last-Event-ID": first}).text
    assert events_in(rest) == events_in(whole)[1:]
    assert client.get(path, headers={"Last-Event-ID": "x"}).status_code == 400


@pytest.mark.scripted
def test_an_answer_that_does_not_fill_its_card_fails_the_run_with_the_reason(
    server: Served, client: httpx2.Client
) -> None:
    server.script.add_answers("Card", {**TRADE, "stop_loss": 70000})  # and once more when it is asked to mend it
    run = trade(server, client, stop_loss=70000, action="LONG")
    assert run["status"] == "failed"
    assert "stop must lie on the losing side" in run["error"]
    assert run["resultJson"] is None
    assert run["usage"]["calls"] == 3


@pytest.mark.scripted
def test_a_prompt_of_its_own_overrides_the_default(server: Served, client: httpx2.Client) -> None:
    agent = make(client)
    server.script.add_answers("Card", TRADE)
    run = run_now(server, client, agent["id"], prompt="Look at ETH instead.")
    assert run["prompt"] == "Look at ETH instead."
    assert server.script.requests_on("chat")[0].prompt == "Look at ETH instead."


@pytest.mark.scripted
def test_a_lead_hears_its_specialists_and_knows_its_roster(server: Served, client: httpx2.Client) -> None:
    macro = make(client, name="Macro", skill="You read the macro picture.", defaultPrompt="Rates?", role="specialist")
    lead = make(client, name="Lead", skill="You lead.", role="lead", team=[macro["id"]])
    server.script.add_replies(
        lambda asked: "Rates fall." if "macro picture" in asked.system.split("Your team")[0] else "I agree.",
        lambda asked: "I agree.",
    )
    server.script.add_answers("Card", TRADE)
    run_now(server, client, lead["id"])
    consulted, decided = server.script.requests_on("chat")
    assert "Rates?" in consulted.prompt
    assert "Analyse BTC." in consulted.prompt
    assert "Macro: You read the macro picture." in decided.system
    assert "Rates fall." in decided.prompt


@pytest.mark.scripted
def test_with_review_a_run_begins_with_its_own_last_five_decisions(server: Served, client: httpx2.Client) -> None:
    agent, other = make(client, adapterConfig={"reviewDecisions": True}), make(client)
    for number in range(6):
        server.script.add_answers("Card", {**TRADE, "summary": f"reason {number}"})
        run_now(server, client, agent["id"])
    server.script.add_answers("Card", {**TRADE, "summary": "somebody else's"})
    run_now(server, client, other["id"])
    server.advance(days=2)
    server.script.add_answers("Card", TRADE)
    run = run_now(server, client, agent["id"])
    events = events_in(client.get(f"/api/runs/{run['id']}/events").text)
    steps = [(name, data) for name, data in events if name != "status"]
    assert steps[0][0] == "tool_call"
    assert steps[0][1]["name"] == "get_my_decisions"
    shown = steps[1][1]["content"].splitlines()
    assert shown == [f"2d ago · LONG BTC-USD · reason {number}" for number in (5, 4, 3, 2, 1)]
    listed = client.get(f"/api/agents/{agent['id']}/decisions").json()["data"]
    assert len(listed) == 5
    assert listed[0]["line"] == "just now · LONG BTC-USD · breakout above the range"


@pytest.mark.scripted
def test_without_review_nothing_of_it_is_offered(server: Served, client: httpx2.Client) -> None:
    run = trade(server, client)
    assert all(asked.tools == () for asked in server.script.asked)
    assert "tool_call" not in client.get(f"/api/runs/{run['id']}/events").text


def council(client: httpx2.Client) -> dict[str, Any]:
    on = {"memoryEnabled": True, "reviewDecisions": True}
    sat = [
        make(
            client,
            name=name,
            skill=f"SKILL-{name}",
            defaultPrompt=f"Report {name}.",
            role="specialist",
            adapterConfig=on,
        )
        for name in ("Macro", "Chart")
    ]
    return make(client, name="Lead", skill="SKILL-Lead", role="lead", team=[one["id"] for one in sat])


def by_specialists(asked: ScriptedRequest) -> bool:
    return asked.system.startswith(("SKILL-Macro", "SKILL-Chart"))


@pytest.mark.scripted
def test_a_lead_and_two_specialists_re_examine_an_open_trade(server: Served, client: httpx2.Client) -> None:
    lead = council(client)
    client.patch(f"/api/agents/{lead['id']}", json={"adapterConfig": {"reviewDecisions": True}})
    for member in lead["team"]:
        client.post(f"/api/agents/{member}/chat", json={"message": "My secret word is FALCON.", "stream": False})
        server.script.add_answers("Card", {**TRADE, "summary": "HERON was here"})
        run_now(server, client, member)
    server.script.add_answers("Card", TRADE)
    parent = run_now(server, client, lead["id"])
    server.script.asked.clear()
    server.script.set_default_reply(lambda asked: f"fresh read of {asked.system[:11]}")
    again = re_examine(server, client, parent["id"])
    assert again["kind"] == "re-examination"
    assert again["parentRunId"] == parent["id"]
    assert again["agentId"] == lead["id"]
    assert again["cardType"] == "re-examination"
    assert again["resultJson"] == HOLD

    blind = [asked for asked in server.script.asked if by_specialists(asked)]
    assert len(blind) == 2
    for asked in blind:
        said = json.dumps(asked.body)
        assert "BTC-USD" in said
        assert asked.tools == ()
        for secret in ("64250", "71900", "61480", "LONG", "breakout", "0.72", "funding", "FALCON", "HERON", "decision"):
            assert secret not in said, secret

    assert list(again["resultJson"]) == ["conviction_score", "notes", "suggested_action"]

    led = [asked for asked in server.script.asked if not by_specialists(asked)]
    for told in ("64250", "71900", "61480", "breakout above the range", "funding flips negative", "HOLD, CLOSE, SCALE"):
        assert told in led[0].prompt
    assert "fresh read of SKILL-Macro" in led[0].prompt
    assert "fresh read of SKILL-Chart" in led[0].prompt
    events = events_in(client.get(f"/api/runs/{again['id']}/events").text)
    steps = [name for name, _ in events if name not in {"status", "delta"}]
    assert steps == ["tool_call", "tool_result", *["consultation"] * 4, "card"]
    consulted = [data for name, data in events if name == "consultation"]
    assert {d["name"] for d in consulted if d.get("blind")} == {"Macro", "Chart"}


@pytest.mark.scripted
def test_a_re_examination_is_an_annotation_and_changes_nothing(server: Served, client: httpx2.Client) -> None:
    parent = trade(server, client)
    first = re_examine(server, client, parent["id"], conviction_score=60)
    second = re_examine(server, client, parent["id"], conviction_score=20, suggested_action="CLOSE")
    listed = client.get(f"/api/runs/{parent['id']}/re-examinations").json()["data"]
    assert [one["id"] for one in listed] == [first["id"], second["id"]]
    assert [(one["conviction_score"], one["suggested_action"]) for one in listed] == [(60, "HOLD"), (20, "CLOSE")]
    assert listed[0]["notes"] == "Momentum is intact."
    after = read(client, parent["id"])
    assert after["resultJson"] == parent["resultJson"]
    assert after["resolutionStatus"] == "open"
    assert after["conviction"] == 20
    decided = client.get(f"/api/agents/{parent['agentId']}/decisions").json()["data"]
    assert [one["runId"] for one in decided] == [parent["id"]]


@pytest.mark.scripted
def test_an_action_outside_the_vocabulary_fails_the_re_examination(server: Served, client: httpx2.Client) -> None:
    parent = trade(server, client)
    server.script.add_answers("Card", {**HOLD, "suggested_action": "PANIC"})
    again = re_examine(server, client, parent["id"], suggested_action="PANIC")
    assert again["status"] == "failed"
    assert "HOLD, CLOSE, SCALE" in again["error"]


@pytest.mark.scripted
def test_what_cannot_be_re_examined_answers_409_with_the_reason(server: Served, client: httpx2.Client) -> None:
    parent = trade(server, client)
    again = re_examine(server, client, parent["id"])
    client.post(f"/api/runs/{parent['id']}/resolve", json={"outcome": "exited"})
    for run_id, why in ((parent["id"], "already resolved"), (again["id"], "itself a re-examination")):
        refused = client.post(f"/api/runs/{run_id}/re-examine")
        assert refused.status_code == 409
        assert refused.json()["code"] == "not_re_examinable"
        assert why in refused.json()["detail"]
    assert client.post("/api/runs/run_nobody/re-examine").status_code == 404


@pytest.mark.parametrize(
    ("change", "price", "outcome"),
    [
        ({}, 71900, "take_profit"),
        ({}, 61480, "stop_loss"),
        ({}, 90000, "take_profit"),
        ({}, 10, "stop_loss"),
        ({"action": "SHORT", "take_profit": 60000, "stop_loss": 66000}, 90000, "stop_loss"),
        ({"action": "SHORT", "take_profit": 60000, "stop_loss": 66000}, 10, "take_profit"),
    ],
)
@pytest.mark.scripted
def test_a_price_that_touches_a_level_resolves_the_trade(
    server: Served, client: httpx2.Client, change: dict[str, Any], price: float, outcome: str
) -> None:
    run = trade(server, client, **change)
    between = [{"symbol": "BTC-USD", "price": 64300, "at": "2026-04-12T15:30:00Z"}]
    assert client.post("/api/prices", json=between).json()["data"] == {"stored": 1, "resolved": [], "unknown": []}
    done = client.post("/api/prices", json=[{"symbol": "BTC-USD", "price": price, "at": "2026-04-12T15:40:00Z"}])
    assert [one["id"] for one in done.json()["data"]["resolved"]] == [run["id"]]
    after = read(client, run["id"])
    assert (after["resolutionStatus"], after["outcome"]) == ("resolved", outcome)
    assert after["resolvedAt"] == "2026-04-12T15:40:00Z"
    assert after["resultJson"] == run["resultJson"]


@pytest.mark.scripted
def test_a_decision_line_tells_what_it_was_about_and_what_came_of_it(server: Served, client: httpx2.Client) -> None:
    run = trade(server, client, summary="breakout")
    re_examine(server, client, run["id"], conviction_score=60)
    again = re_examine(server, client, run["id"], conviction_score=40, notes="Volume fell. Funding did not. Watch it.")
    assert again["resultJson"]["notes"] == "Volume fell."
    server.advance(days=2)

    def decided() -> dict[str, Any]:
        [one] = client.get(f"/api/agents/{run['agentId']}/decisions").json()["data"]
        return dict(one)

    assert decided()["line"] == "2d ago · LONG BTC-USD · breakout · conviction 40"
    client.post("/api/prices", json=[{"symbol": "BTC-USD", "price": 10}])
    assert decided()["line"] == "2d ago · LONG BTC-USD · breakout → stop_loss · conviction 40"
    assert (decided()["subject"], decided()["outcome"], decided()["conviction"]) == ("BTC-USD", "stop_loss", 40)


@pytest.mark.scripted
def test_prices_find_their_trade_however_the_market_is_spelled(server: Served, client: httpx2.Client) -> None:
    run = trade(server, client, symbol="btc/usd")
    assert run["resultJson"]["symbol"] == "BTC-USD"
    pushed = [{"symbol": "Btc_Usd", "price": 10}, {"symbol": "eht-usd", "price": 10}]
    done = client.post("/api/prices", json=pushed).json()["data"]
    assert [one["id"] for one in done["resolved"]] == [run["id"]]
    assert done["unknown"] == ["EHT-USD"]


@pytest.mark.scripted
def test_a_gap_over_both_levels_at_one_instant_goes_to_the_stop(server: Served, client: httpx2.Client) -> None:
    run = trade(server, client)
    both = [{"symbol": "BTC-USD", "price": price, "at": "2026-04-12T16:00:00Z"} for price in (90000, 10)]
    client.post("/api/prices", json=both)
    assert read(client, run["id"])["outcome"] == "stop_loss"


@pytest.mark.scripted
def test_a_batch_out_of_order_is_read_in_the_order_of_time(server: Served, client: httpx2.Client) -> None:
    run = trade(server, client)
    batch = [
        {"symbol": "BTC-USD", "price": 10, "at": "2026-04-12T17:00:00Z"},
        {"symbol": "BTC-USD", "price": 90000, "at": "2026-04-12T16:00:00Z"},
    ]
    client.post("/api/prices", json=batch)
    assert read(client, run["id"])["outcome"] == "take_profit"


@pytest.mark.scripted
def test_prices_from_before_the_decision_or_of_another_market_change_nothing(
    server: Served, client: httpx2.Client
) -> None:
    run = trade(server, client)
    client.post("/api/prices", json=[{"symbol": "BTC-USD", "price": 10, "at": "2026-04-12T15:21:00Z"}])
    client.post("/api/prices", json=[{"symbol": "ETH-USD", "price": 10, "at": "2026-04-12T15:40:00Z"}])
    server.client("other").post("/api/prices", json=[{"symbol": "BTC-USD", "price": 10, "at": "2026-04-12T15:40:00Z"}])
    assert read(client, run["id"])["resolutionStatus"] == "open"


@pytest.mark.scripted
def test_a_trade_past_its_expiry_expires_by_itself(server: Served, client: httpx2.Client) -> None:
    run = trade(server, client, expires_at="2026-04-12T18:00:00Z")
    server.advance(hours=2)
    server.settled(client)
    assert read(client, run["id"])["resolutionStatus"] == "open"
    server.advance(hours=1)
    server.settled(client)
    after = read(client, run["id"])
    assert (after["resolutionStatus"], after["outcome"]) == ("expired", "expired")
    assert client.post(f"/api/runs/{run['id']}/re-examine").status_code == 409


@pytest.mark.scripted
def test_a_person_may_exit_once(server: Served, client: httpx2.Client) -> None:
    run = trade(server, client)
    done = client.post(f"/api/runs/{run['id']}/resolve", json={"outcome": "exited", "note": "took it off"})
    assert (done.json()["data"]["resolutionStatus"], done.json()["data"]["outcome"]) == ("resolved", "exited")
    again = client.post(f"/api/runs/{run['id']}/resolve", json={"outcome": "stop_loss"})
    assert (again.status_code, again.json()["code"]) == (409, "already_resolved")
    client.post("/api/prices", json=[{"symbol": "BTC-USD", "price": 10, "at": "2026-04-12T16:00:00Z"}])
    assert read(client, run["id"])["outcome"] == "exited"


@pytest.mark.scripted
def test_calibration_counts_what_came_of_decisions_and_says_when_there_are_too_few(
    server: Served, client: httpx2.Client
) -> None:
    empty = client.get("/api/calibration").json()["data"]
    assert (empty["count"], empty["brier"]) == (0, None)
    assert "Too few" in empty["note"]
    agent = make(client)
    for price in (90000, 90000, 10):
        server.script.add_answers("Card", TRADE)
        run = run_now(server, client, agent["id"])
        re_examine(server, client, run["id"], conviction_score=90)
        server.advance(minutes=10)
        at = client.get(f"/api/runs/{run['id']}").json()["data"]["finishedAt"]
        client.post("/api/prices", json=[{"symbol": "BTC-USD", "price": price, "at": at}])
    found = client.get(f"/api/calibration?agentId={agent['id']}").json()["data"]
    assert (found["resolved"], found["judged"], found["count"], found["right"]) == (3, 3, 3, 2)
    assert found["brier"] == pytest.approx((0.28**2 * 2 + 0.72**2) / 3)
    assert next(b for b in found["bins"] if b["count"])["from"] == 0.7
    assert found["convictions"]["brier"] == pytest.approx((0.1**2 * 2 + 0.9**2) / 3)
    assert found["groups"][0]["cardType"] == "trade-decision"
    assert client.get("/api/calibration?agentId=agt_nobody").status_code == 404


@pytest.mark.scripted
def test_a_queued_run_and_a_running_one_can_be_cancelled(server: Served, client: httpx2.Client) -> None:
    agent = make(client)
    server.script.add_fault("slow", on="chat", seconds=10 * HANGS_S)
    running, queued = (client.post(f"/api/agents/{agent['id']}/runs", json={}).json()["data"] for _ in range(2))
    while read(client, running["id"])["status"] != "running":
        time.sleep(0.01)
    assert client.post(f"/api/runs/{queued['id']}/cancel").json()["data"]["status"] == "cancelled"
    assert client.post(f"/api/runs/{running['id']}/cancel").json()["data"]["status"] == "cancelled"
    server.settled(client)
    assert {read(client, run["id"])["status"] for run in (running, queued)} == {"cancelled"}
    again = client.post(f"/api/runs/{running['id']}/cancel")
    assert (again.status_code, again.json()["code"]) == (409, "run_over")


@pytest.mark.scripted
def test_a_run_that_takes_too_long_is_stopped(server: Served, client: httpx2.Client) -> None:
    agent = make(client, adapterConfig={"timeoutSeconds": 1})
    server.script.add_fault("slow", on="chat", seconds=10 * HANGS_S)
    run = run_now(server, client, agent["id"])
    assert run["status"] == "failed"
    assert "longer than 1 s" in run["error"]


@pytest.mark.scripted
def test_a_model_that_is_down_fails_the_run_and_the_next_one_works(server: Served, client: httpx2.Client) -> None:
    agent = make(client, adapterConfig={"memoryEnabled": True})
    server.script.add_fault("error", times=None)
    failed = run_now(server, client, agent["id"])
    assert (failed["status"], failed["sessionIdAfter"]) == ("failed", None)
    server.script.clear_faults()
    server.script.add_answers("Card", TRADE)
    assert run_now(server, client, agent["id"])["status"] == "succeeded"


def test_card_types_are_listed_with_what_they_allow(client: httpx2.Client) -> None:
    cards = {card["type"]: card for card in client.get("/api/cards").json()["data"]}
    assert set(cards) == {"trade-decision", "research-thesis", "decision", "re-examination"}
    assert cards["trade-decision"]["reExaminable"] == "until_resolved"
    assert cards["trade-decision"]["reExamineActions"] == ["HOLD", "CLOSE", "SCALE"]
    assert cards["trade-decision"]["schema"]["title"] == "Card"
    assert [slot["name"] for slot in cards["re-examination"]["slots"]] == [
        "conviction_score",
        "notes",
        "suggested_action",
    ]


@pytest.mark.scripted
def test_runs_of_another_organization_do_not_exist(server: Served, client: httpx2.Client) -> None:
    run = trade(server, client)
    other = server.client("other")
    for method, path in (("GET", ""), ("GET", "/events"), ("POST", "/cancel"), ("POST", "/re-examine")):
        assert other.request(method, f"/api/runs/{run['id']}{path}").status_code == 404
    assert other.get("/api/runs").json()["data"] == []


@pytest.mark.scripted
def test_runs_are_paged_newest_first(server: Served, client: httpx2.Client) -> None:
    agent = make(client)
    server.script.set_default_answer("Card", TRADE)
    ids = [client.post(f"/api/agents/{agent['id']}/runs", json={}).json()["data"]["id"] for _ in range(3)]
    page = client.get(f"/api/agents/{agent['id']}/runs?limit=2").json()
    assert [run["id"] for run in page["data"]] == ids[:0:-1]
    rest = client.get(f"/api/agents/{agent['id']}/runs?limit=2&cursor={page['meta']['nextCursor']}").json()
    assert [run["id"] for run in rest["data"]] == ids[:1]
    assert rest["meta"]["nextCursor"] is None


def test_offline_a_run_is_refused_and_leaves_nothing(offline_server: Served) -> None:
    client = offline_server.client("acme")
    agent = client.post("/api/agents", json={"name": "x", "defaultPrompt": "Decide."}).json()["data"]
    refused = client.post(f"/api/agents/{agent['id']}/runs", json={})
    assert_problem(refused, 409, "model_required")
    assert "MNEMON_MODEL" in refused.json()["detail"]
    assert client.get("/api/runs").json()["data"] == []
    assert client.get(f"/api/agents/{agent['id']}/decisions").json()["data"] == []


def test_offline_a_decision_is_not_examined_again_and_its_conviction_stays(database_url: str, tmp_path: Path) -> None:
    with served(database_url, tmp_path) as server:
        client = server.client("acme")
        run = trade(server, client)
        re_examine(server, client, run["id"], conviction_score=66)
    with served(database_url, tmp_path, model="offline") as server:
        client = server.client("acme")
        assert_problem(client.post(f"/api/runs/{run['id']}/re-examine"), 409, "model_required")
        assert read(client, run["id"])["conviction"] == 66
        assert len(client.get(f"/api/runs/{run['id']}/re-examinations").json()["data"]) == 1
        client.post(f"/api/runs/{run['id']}/resolve", json={"outcome": "take_profit"})
        assert client.get("/api/calibration").json()["data"]["convictions"]["count"] == 1


HIRING = """
title = "Hiring call"
headline = ["call", "why"]
reExaminable = true
reExamineActions = ["KEEP", "DROP"]
[[slots]]
name = "call"
type = "choice"
choices = ["HIRE", "PASS"]
[[slots]]
name = "why"
type = "sentence"
[resolution]
rule = "manual"
right = ["stayed"]
wrong = ["left"]
"""


def test_a_new_card_type_is_a_file_and_no_code(database_url: str, tmp_path: Path) -> None:
    cards = tmp_path / "cards"
    cards.mkdir()
    (cards / "hiring-call.toml").write_text(HIRING)
    with served(database_url, tmp_path, cards_dir=cards) as server:
        client = server.client("acme")
        assert "hiring-call" in {card["type"] for card in client.get("/api/cards").json()["data"]}
        agent = make(client, cardType="hiring-call")
        server.script.add_answers("Card", {"call": "HIRE", "why": "strong references"})
        run = run_now(server, client, agent["id"])
        assert (run["headline"], run["resolutionStatus"]) == ("HIRE · strong references", "open")
        again = re_examine(server, client, run["id"], suggested_action="KEEP")
        assert again["resultJson"]["suggested_action"] == "KEEP"
        done = client.post(f"/api/runs/{run['id']}/resolve", json={"outcome": "stayed"}).json()["data"]
        assert done["resolutionStatus"] == "resolved"
        assert client.get("/api/calibration").json()["data"]["judged"] == 1
