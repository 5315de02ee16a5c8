"""Agents through the doors: making them, their memory, their chat."""

from typing import Any

import httpx2
import pytest

from support.bounds import HANGS_S
from support.served import Served
from support.sse import events_in

WAIT = {"decision": "WAIT", "summary": "range unresolved", "confidence": 0.6}


def make(client: httpx2.Client, **more: object) -> dict[str, Any]:
    body = {"name": "Scout", "skill": "You are Scout.", "defaultPrompt": "Analyse BTC.", **more}
    answer = client.post("/api/agents", json=body)
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()["data"]
    return made


def run_now(server: Served, client: httpx2.Client, agent_id: str, **body: object) -> dict[str, Any]:
    started = client.post(f"/api/agents/{agent_id}/runs", json=body)
    assert started.status_code == 202, started.text
    server.settled(client)
    run: dict[str, Any] = client.get(f"/api/runs/{started.json()['data']['id']}").json()["data"]
    return run


def memory(client: httpx2.Client, agent_id: str) -> dict[str, Any]:
    held: dict[str, Any] = client.get(f"/api/agents/{agent_id}/memory").json()["data"]
    return held


def test_an_agent_is_made_read_changed_and_removed(client: httpx2.Client) -> None:
    agent = make(client)
    assert agent["id"].startswith("agt_")
    assert agent["adapter"] == "model"
    assert agent["role"] == "solo"
    assert agent["cardType"] == "decision"
    config = agent["adapterConfig"]
    assert (config["memoryEnabled"], config["memoryReadOnly"], config["reviewDecisions"]) == (False, False, False)
    changed = client.patch(f"/api/agents/{agent['id']}", json={"name": "Ranger", "adapterConfig": {"maxTurns": 3}})
    assert changed.json()["data"]["name"] == "Ranger"
    assert changed.json()["data"]["skill"] == "You are Scout."
    assert changed.json()["data"]["adapterConfig"]["maxTurns"] == 3
    assert [a["id"] for a in client.get("/api/agents").json()["data"]] == [agent["id"]]
    assert client.delete(f"/api/agents/{agent['id']}").status_code == 200
    assert client.get(f"/api/agents/{agent['id']}").status_code == 404


@pytest.mark.parametrize(
    ("wrong", "pointer"),
    [
        ({"schedule": "hourly"}, "/schedule"),
        ({"cardType": "horoscope"}, "/cardType"),
        ({"team": ["agt_nobody"]}, "/team"),
        ({"role": "lead", "team": ["agt_nobody"]}, "/team/0"),
        ({"adapterConfig": {"args": ["--x"]}}, "/adapterConfig/args"),
        ({"adapterConfig": {"model": "--dangerously-skip-permissions"}}, "/adapterConfig/model"),
    ],
)
def test_what_an_agent_cannot_be_is_said_with_its_field(
    client: httpx2.Client, wrong: dict[str, Any], pointer: str
) -> None:
    answer = client.post("/api/agents", json={"name": "x", **wrong})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"] == pointer


def test_agents_are_their_organizations_own(server: Served, client: httpx2.Client) -> None:
    agent = make(client)
    other = server.client("other")
    assert other.get("/api/agents").json()["data"] == []
    for path in ("", "/memory", "/runs", "/messages", "/decisions"):
        assert other.get(f"/api/agents/{agent['id']}{path}").status_code == 404
    assert other.post("/api/agents", json={"name": "x", "role": "lead", "team": [agent["id"]]}).status_code == 422


@pytest.mark.scripted
def test_without_memory_every_run_is_a_clean_slate(server: Served, client: httpx2.Client) -> None:
    server.script.set_default_answer("Card", WAIT)
    agent = make(client)
    client.post(f"/api/agents/{agent['id']}/chat", json={"message": "The codeword is FALCON.", "stream": False})
    server.script.asked.clear()
    run = run_now(server, client, agent["id"])
    assert run["status"] == "succeeded"
    assert (run["sessionIdBefore"], run["sessionIdAfter"]) == (None, None)
    assert not [asked for asked in server.script.asked if "FALCON" in str(asked.body)]
    assert memory(client, agent["id"])["status"] == "Fresh"


@pytest.mark.scripted
def test_with_memory_chat_and_runs_share_one_session(server: Served, client: httpx2.Client) -> None:
    server.script.set_default_answer("Card", WAIT)
    agent = make(client, adapterConfig={"memoryEnabled": True})
    assert memory(client, agent["id"]) == {
        "enabled": True,
        "status": "Fresh",
        "runsSinceReset": 0,
        "otherRunsSinceReset": 0,
        "sessionAge": None,
        "warning": None,
        "lastResetAt": "2026-04-12T15:22:00Z",
    }
    client.post(f"/api/agents/{agent['id']}/chat", json={"message": "The codeword is FALCON.", "stream": False})
    run = run_now(server, client, agent["id"])
    assert any("FALCON" in str(asked.body) for asked in server.script.asked[-2:])
    assert run["sessionIdBefore"] == run["sessionIdAfter"] is not None
    server.script.asked.clear()
    client.post(f"/api/agents/{agent['id']}/chat", json={"message": "And now?", "stream": False})
    assert "Analyse BTC." in str(server.script.asked[0].body)
    server.advance(hours=2, minutes=15)
    shown = memory(client, agent["id"])
    assert (shown["status"], shown["runsSinceReset"], shown["sessionAge"]) == ("Carrying context", 0, "2h 15m")
    assert shown["otherRunsSinceReset"] == 1, "somebody asked for it"


@pytest.mark.scripted
def test_a_reset_starts_fresh_and_the_chat_stays_visible(server: Served, client: httpx2.Client) -> None:
    server.script.set_default_answer("Card", WAIT)
    agent = make(client, adapterConfig={"memoryEnabled": True})
    client.post(f"/api/agents/{agent['id']}/chat", json={"message": "The codeword is FALCON.", "stream": False})
    run_now(server, client, agent["id"])
    reset = client.post(f"/api/agents/{agent['id']}/memory/reset").json()["data"]
    assert (reset["status"], reset["runsSinceReset"]) == ("Fresh", 0)
    server.script.asked.clear()
    assert run_now(server, client, agent["id"])["sessionIdBefore"] is None
    assert not [asked for asked in server.script.asked if "FALCON" in str(asked.body)]
    said = client.get(f"/api/agents/{agent['id']}/messages").json()["data"]
    assert [(m["role"], m["content"]) for m in said] == [
        ("user", "The codeword is FALCON."),
        ("assistant", "Understood."),
    ]


@pytest.mark.scripted
def test_disabling_keeps_and_enabling_again_starts_fresh(server: Served, client: httpx2.Client) -> None:
    server.script.set_default_answer("Card", WAIT)
    agent = make(client, adapterConfig={"memoryEnabled": True})
    run_now(server, client, agent["id"])
    client.patch(f"/api/agents/{agent['id']}", json={"adapterConfig": {"memoryEnabled": False}})
    assert run_now(server, client, agent["id"])["sessionIdBefore"] is None
    server.advance(minutes=1)
    enabled = client.patch(f"/api/agents/{agent['id']}", json={"adapterConfig": {"memoryEnabled": True}})
    shown = enabled.json()["data"]["memory"]
    assert (shown["status"], shown["runsSinceReset"], shown["lastResetAt"]) == ("Fresh", 0, "2026-04-12T15:23:00Z")
    run = run_now(server, client, agent["id"])
    assert run["sessionIdBefore"] is None
    assert run["sessionIdAfter"] is not None


@pytest.mark.scripted
def test_a_read_only_run_sees_the_session_and_does_not_extend_it(server: Served, client: httpx2.Client) -> None:
    server.script.set_default_answer("Card", WAIT)
    agent = make(client, adapterConfig={"memoryEnabled": True, "memoryReadOnly": True})
    client.post(f"/api/agents/{agent['id']}/chat", json={"message": "The codeword is FALCON.", "stream": False})
    server.script.asked.clear()
    run = run_now(server, client, agent["id"], prompt="Say HERON.")
    assert any("FALCON" in str(asked.body) for asked in server.script.asked)
    assert run["sessionIdBefore"] == run["sessionIdAfter"] is not None
    server.script.asked.clear()
    run_now(server, client, agent["id"])
    assert not [asked for asked in server.script.asked if "HERON" in str(asked.body)]


@pytest.mark.scripted
def test_more_than_twenty_scheduled_runs_warn_and_others_are_counted_beside(
    server: Served, client: httpx2.Client
) -> None:
    server.script.set_default_answer("Card", WAIT)
    agent = make(client, schedule="0 * * * *", adapterConfig={"memoryEnabled": True})
    for hour in range(20):
        server.advance(hours=1)
        server.settled(client)
        if hour < 3:
            run_now(server, client, agent["id"])
    shown = memory(client, agent["id"])
    assert (shown["runsSinceReset"], shown["otherRunsSinceReset"], shown["warning"]) == (20, 3, None)
    server.advance(hours=1)
    server.settled(client)
    shown = memory(client, agent["id"])
    assert shown["runsSinceReset"] == 21
    assert "21 runs" in shown["warning"]


@pytest.mark.scripted
def test_what_is_in_flight_at_a_reset_is_not_written_back(server: Served, client: httpx2.Client) -> None:
    server.script.set_default_answer("Card", WAIT)
    agent = make(client, adapterConfig={"memoryEnabled": True})
    server.script.add_fault("slow", on="chat", seconds=HANGS_S)
    started = client.post(f"/api/agents/{agent['id']}/runs", json={}).json()["data"]
    while client.get(f"/api/runs/{started['id']}").json()["data"]["status"] != "running":
        pass
    client.post(f"/api/agents/{agent['id']}/memory/reset")
    server.script.clear_faults()
    server.settled(client)
    run = client.get(f"/api/runs/{started['id']}").json()["data"]
    assert run["status"] == "succeeded"
    assert run["sessionIdAfter"] is None
    shown = memory(client, agent["id"])
    assert (shown["status"], shown["runsSinceReset"]) == ("Fresh", 0)
    events = events_in(client.get(f"/api/runs/{run['id']}/events").text)
    assert any(name == "session" and "reset or enabled" in data["note"] for name, data in events)


@pytest.mark.scripted
def test_chat_streams_its_events_and_a_retry_follows_the_same_turn(server: Served, client: httpx2.Client) -> None:
    agent = make(client)
    server.script.add_replies("Hello there, person.")
    path = f"/api/agents/{agent['id']}/chat"
    answer = client.post(path, json={"message": "Hi"}, headers={"Idempotency-Key": "once"})
    assert answer.headers["content-type"].startswith("text/event-stream")
    events = events_in(answer.text)
    assert [events[0][0], events[-1][0]] == ["turn", "done"]
    assert "".join(data["text"] for name, data in events if name == "delta") == "Hello there, person."
    assert events[-1][1]["usage"]["inputTokens"] > 0
    again = events_in(client.post(path, json={"message": "Hi"}, headers={"Idempotency-Key": "once"}).text)
    assert again[-1][1]["messageId"] == events[-1][1]["messageId"]
    assert len(client.get(f"/api/agents/{agent['id']}/messages").json()["data"]) == 2


@pytest.mark.scripted
def test_a_chat_that_fails_says_why_and_keeps_the_message(server: Served, client: httpx2.Client) -> None:
    agent = make(client)
    server.script.add_fault("error", times=None)
    events = events_in(client.post(f"/api/agents/{agent['id']}/chat", json={"message": "Hi"}).text)
    assert events[-1][0] == "error"
    assert events[-1][1]["detail"]
    assert [m["role"] for m in client.get(f"/api/agents/{agent['id']}/messages").json()["data"]] == ["user"]


def test_the_claude_cli_is_off_until_it_is_named(server: Served, client: httpx2.Client) -> None:
    agent = make(client, adapter="claude-cli")
    run = run_now(server, client, agent["id"])
    assert run["status"] == "failed"
    assert "MNEMON_CLAUDE_CLI" in run["error"]


def test_a_chat_with_an_adapter_that_is_off_is_refused_and_nobody_is_told_to_try_again(client: httpx2.Client) -> None:
    agent = make(client, adapter="claude-cli")
    refused = client.post(f"/api/agents/{agent['id']}/chat", json={"message": "Hi", "stream": False})
    assert (refused.status_code, refused.json()["code"]) == (409, "chat_failed")
    assert "MNEMON_CLAUDE_CLI" in refused.json()["detail"]
    assert "Retry-After" not in refused.headers
