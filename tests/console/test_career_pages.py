"""Engagement, agents, runs, results and calibration: empty, filled, as JSON, guarded, and with hostile texts."""

from dataclasses import dataclass

import httpx2
import pytest

from mnemon.access.signin import csrf_token, parse_token
from mnemon.console.page_request import SESSION_COOKIE
from support.console_door import signed_in
from support.served import Served

SCRIPT = "<script>alert('x')</script>"
EMPTY = (
    "/engagement",
    "/engagement?step=3",
    "/engagement?asOf=nonsense",
    "/engagement?asOf=1999-01-01T00:00:00Z",
    "/engagement?asOf=0001-01-01T00:00:00Z",
    "/engagement?asOf=9999-12-31T23:59:59Z",
    "/agents",
    "/agents/new",
    "/results",
    "/results/trade-decisions",
    "/results/research-theses",
    "/results/decisions?status=open",
    "/calibration",
)
CLAIM = f"Every plan reaches the depots late {SCRIPT}"


@dataclass
class Career:
    """Ids of what was done."""

    agent: str
    trade: str
    hypothesis: str

    @property
    def pages(self) -> tuple[str, ...]:
        return (
            *EMPTY,
            "/engagement?step=1",
            f"/engagement/{self.hypothesis}",
            f"/agents/{self.agent}",
            f"/agents/{self.agent}/edit",
            f"/runs/{self.trade}",
            f"/results/trade-decisions?agent={self.agent}",
            f"/calibration?agent={self.agent}",
        )


@pytest.fixture
def career(server: Served, client: httpx2.Client) -> Career:
    """A hypothesis for and against, and a trade that was decided, looked at again and resolved by a price."""
    _believe(server, client)
    body = {
        "name": f"Kestrel {SCRIPT}",
        "skill": SCRIPT,
        "defaultPrompt": f"Look at BTC-USD {SCRIPT}",
        "cardType": "trade-decision",
        "schedule": "0 7 * * *",
        "adapterConfig": {"memoryEnabled": True},
    }
    agent = client.post("/api/agents", json=body).json()["data"]["id"]
    trade = _run(server, client, agent, 0.7)
    score = {"conviction_score": 80, "notes": SCRIPT, "suggested_action": "HOLD"}
    for number in (80, 40):
        server.script.add_replies(SCRIPT)
        server.script.add_answers("Card", {**score, "conviction_score": number})
        client.post(f"/api/runs/{trade}/re-examine")
        server.settled(client)
    held = client.get("/api/engagement?expand=evidence").json()["data"]["hypotheses"]
    return Career(agent=agent, trade=trade, hypothesis=held[0]["id"])


def _believe(server: Served, client: httpx2.Client) -> None:
    said = f"The plan lands late {SCRIPT}. But the plan of Tilburg is fine."
    late = f"The plan lands late {SCRIPT}"
    pieces = [
        {"line": late, "quote": late, "source": SCRIPT},
        {"line": "The plan of Tilburg is fine", "quote": "the plan of Tilburg is fine", "source": "Mara"},
    ]
    supports = {**pieces[0], "stance": "supports", "strength": "strong"}
    against = {**pieces[1], "stance": "contradicts", "strength": "weak"}
    proposal = {
        "form": [{"statement": CLAIM, "falsifiedBy": f"They come in time {SCRIPT}", "evidence": [supports, against]}],
        "unknowns": [{"question": f"Which depot? {SCRIPT}", "whyItMatters": f"It decides {SCRIPT}"}],
    }
    for answer in ({}, {}, {"engagement": proposal}):
        server.script.add_answers("Reflection", answer)
        client.post("/api/chat", json={"userId": "mara", "message": said, "stream": False})
        server.settled(client)


def _run(server: Served, client: httpx2.Client, agent: str, confidence: float) -> str:
    card = {"symbol": "BTC-USD", "action": "LONG", "summary": SCRIPT, "confidence": confidence}
    server.script.add_replies(SCRIPT)
    server.script.add_answers("Card", {**card, "entry": 100, "take_profit": 110, "stop_loss": 95})
    run: str = client.post(f"/api/agents/{agent}/runs").json()["data"]["id"]
    server.settled(client)
    return run


def csrf(browser: httpx2.Client) -> str:
    """What the forms of this session carry."""
    _, secret = parse_token(str(browser.cookies[SESSION_COOKIE]))
    return csrf_token(secret)


def twin(address: str) -> str:
    path, _, state = address.partition("?")
    return f"{path}.json" + (f"?{state}" if state else "")


def test_empty_pages_teach_with_one_command(browser: httpx2.Client) -> None:
    for address in EMPTY:
        page = browser.get(address)
        assert page.status_code == 200, (address, page.text)
        assert browser.get(twin(address)).status_code == 200, address
        if address != "/agents/new":
            assert '<pre class="copy">' in page.text, address
    assert browser.get("/results/nonsense").status_code == 404


def test_filled_pages_show_it_escaped_and_have_a_twin(career: Career, browser: httpx2.Client) -> None:
    for address in career.pages:
        page = browser.get(address)
        assert page.status_code == 200, (address, page.text)
        assert "<script>alert" not in page.text, address
        assert 'style="' not in page.text, address
        assert "title" in browser.get(twin(address)).json(), address


def test_a_belief_shows_its_evidence_and_what_would_resolve_it(career: Career, browser: httpx2.Client) -> None:
    board = browser.get("/engagement").text
    assert "The plan lands late" in board
    assert "mixed" in board
    assert "Would resolve it" in board
    before = browser.get("/engagement.json?asOf=2026-04-12T00:00:00Z").json()
    assert before["document"] is None
    page = browser.get(f"/engagement/{career.hypothesis}").text
    assert "Tilburg is fine" in page
    assert "/sessions/" in page
    lines = browser.get(f"/engagement/{career.hypothesis}.json").json()["held"]["hypothesis"]["evidence"]
    assert {line["source"] == line["who"] for line in lines} == {True}
    assert ", through " not in page, "they spoke for themselves"


def test_a_person_settles_a_contradiction_and_archives_a_claim_with_a_note(
    career: Career, client: httpx2.Client, browser: httpx2.Client
) -> None:
    address = f"/engagement/{career.hypothesis}"
    (against,) = browser.get(f"{address}.json").json()["held"]["outstanding"]
    assert "Settle this contradiction" in browser.get(address).text
    form = {"csrf": csrf(browser), "at": address, "evidence": against}
    refused = browser.post(f"{address}/settle", data={**form, "note": " "})
    assert refused.status_code == 422
    assert "Say why" in refused.text
    settled = browser.post(f"{address}/settle", data={**form, "note": "Tilburg is another plant."})
    assert settled.status_code == 303
    page = browser.get(address).text
    assert "Settled by hand: Tilburg is another plant." in page
    assert "Settle this contradiction" not in page
    archived = browser.post(f"{address}/archive", data={"csrf": csrf(browser), "note": "Over <b>and</b> done."})
    assert archived.status_code == 303
    assert "Archived: Over &lt;b&gt;and&lt;/b&gt; done." in browser.get(address).text
    changes = client.get("/api/engagement/history").json()["data"][-2:]
    assert [change["kind"] for change in changes] == ["settled", "archived"]
    audit = browser.get("/settings/audit.json").text
    assert "settle contradiction" in audit
    assert "archive hypothesis" in audit


def test_a_decision_shows_its_latest_conviction_and_its_history(career: Career, browser: httpx2.Client) -> None:
    table = browser.get("/results/trade-decisions.json").json()
    assert table["latest"][career.trade]["score"] == 40
    assert "Re-examine" in browser.get("/results/trade-decisions").text
    page = browser.get(f"/runs/{career.trade}.json").json()
    assert [one["score"] for one in page["history"]] == [80, 40]
    assert page["run"]["session_id_after"]


def test_a_closed_trade_is_not_offered_for_re_examination(
    career: Career, client: httpx2.Client, browser: httpx2.Client
) -> None:
    client.post("/api/prices", json=[{"symbol": "BTC-USD", "price": 111}])
    assert not browser.get(f"/runs/{career.trade}.json").json()["re_examinable"]
    assert "take profit" in browser.get("/results/trade-decisions").text
    assert browser.get("/results/trade-decisions.json").json()["rows"][0]["run"]["outcome"] == "take_profit"
    group = browser.get("/calibration.json").json()["groups"][0]
    assert group["found"]["stated"]["count"] == 1
    assert "Too few" in browser.get("/calibration").text


def test_writes_go_through_and_are_noted(
    server: Served, career: Career, client: httpx2.Client, browser: httpx2.Client
) -> None:
    token = {"csrf": csrf(browser)}
    form = {**token, "name": "Scout", "adapter": "model", "role": "solo", "card_type": "decision", "schedule": ""}
    made = browser.post("/agents", data={**form, "memoryEnabled": "on"})
    assert made.status_code == 303
    agent = client.get(f"/api{made.headers['location']}").json()["data"]
    assert agent["adapterConfig"]["memoryEnabled"] is True
    assert agent["adapterConfig"]["reviewDecisions"] is False
    changed = browser.post(f"/agents/{agent['id']}/edit", data={**form, "name": "Scout 2", "reviewDecisions": "on"})
    assert changed.status_code == 303
    after = client.get(f"/api/agents/{agent['id']}").json()["data"]
    assert (after["name"], after["adapterConfig"]["memoryEnabled"]) == ("Scout 2", False)
    browser.post(f"/agents/{career.agent}/memory/reset", data=token)
    assert client.get(f"/api/agents/{career.agent}").json()["data"]["memory"]["status"] == "Fresh"
    server.script.add_replies("Hello to you.")
    browser.post(f"/agents/{career.agent}/chat", data={**token, "message": "Hello?"})
    server.settled(client)
    assert "Hello to you." in browser.get(f"/agents/{career.agent}").text
    browser.post(f"/runs/{career.trade}/resolve", data={**token, "outcome": "take_profit", "note": "by hand"})
    assert client.get(f"/api/runs/{career.trade}").json()["data"]["outcome"] == "take_profit"
    audit = browser.get("/settings/audit.json").text
    for deed in ("create agent", "edit agent", "reset agent memory", "chat with agent", "resolve run"):
        assert deed in audit, deed


def test_a_form_that_will_not_do_says_why(browser: httpx2.Client) -> None:
    form = {"csrf": csrf(browser), "name": "Scout", "adapter": "model", "role": "solo", "card_type": "decision"}
    for wrong in ({"name": ""}, {"schedule": "often"}, {"card_type": "poem"}, {"role": "king"}):
        assert browser.post("/agents", data={**form, **wrong}).status_code == 422, wrong


def test_writes_without_the_token_are_refused(career: Career, browser: httpx2.Client) -> None:
    for address in (
        "/agents",
        f"/agents/{career.agent}/edit",
        f"/agents/{career.agent}/memory/reset",
        f"/agents/{career.agent}/run",
        f"/agents/{career.agent}/chat",
        f"/runs/{career.trade}/re-examine",
        f"/runs/{career.trade}/resolve",
        f"/runs/{career.trade}/cancel",
    ):
        assert browser.post(address, data={"name": "x", "message": "x", "outcome": "x"}).status_code == 403, address


def test_another_organization_sees_nothing_of_it(server: Served, career: Career) -> None:
    server.key("other")
    with signed_in(server, "other") as stranger:
        for address in (
            f"/engagement/{career.hypothesis}",
            f"/agents/{career.agent}",
            f"/agents/{career.agent}/edit",
            f"/runs/{career.trade}",
            f"/calibration?agent={career.agent}",
        ):
            assert stranger.get(address).status_code == 404, address
            assert stranger.get(twin(address)).status_code == 404, address
        token = {"csrf": csrf(stranger)}
        assert stranger.post(f"/runs/{career.trade}/re-examine", data=token).status_code == 404
        assert stranger.post(f"/agents/{career.agent}/memory/reset", data=token).status_code == 404
        assert "Every plan reaches" not in stranger.get("/engagement").text


def test_the_board_reads_the_newest_changes(
    browser: httpx2.Client, client: httpx2.Client, career: Career, monkeypatch: pytest.MonkeyPatch
) -> None:
    newest = client.get("/api/engagement/history?limit=200").json()["data"][-1]
    monkeypatch.setattr("mnemon.console.engagement.MAX_CHANGES", 1)
    shown = browser.get("/engagement.json").json()
    assert [one["seq"] for one in shown["changes"]] == [newest["seq"]]
