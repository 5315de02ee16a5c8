"""Sessions begin, end, are taken up again and summarized; what stays of them can be read."""

from typing import Any

import httpx2
import pytest

from mnemon.access.grants import Grant
from support.served import Served


def recorded(client: httpx2.Client, text: str, **more: Any) -> dict[str, Any]:
    message = {"role": "user", "content": text} | ({"at": more.pop("at")} if "at" in more else {})
    answer = client.post("/api/turns", json={"userId": "ana", "messages": [message], **more})
    assert answer.status_code == 202, answer.text
    made: dict[str, Any] = answer.json()["data"]
    return made


def session(client: httpx2.Client, session_id: str) -> dict[str, Any]:
    found: dict[str, Any] = client.get(f"/api/sessions/{session_id}").json()["data"]
    return found


@pytest.mark.scripted
def test_closing_ends_a_session_and_the_next_message_takes_it_up(server: Served, client: httpx2.Client) -> None:
    summary = {
        "one_liner": "Short.",
        "what_mattered": [],
        "open_loops": [],
        "commitments": [],
        "people": [],
        "tone": "calm",
    }
    server.script.add_answers("SessionSummary", summary)
    first = recorded(client, "Hello, keep it short.")
    closed = client.post(f"/api/sessions/{first['sessionId']}/close")
    assert closed.status_code == 200
    assert closed.json()["data"]["endedAt"] == "2026-04-12T15:22:00Z"
    server.settled(client)
    assert session(client, first["sessionId"])["summary"] == summary
    assert client.post(f"/api/sessions/{first['sessionId']}/close").status_code == 200
    second = recorded(client, "Me again.", sessionId=first["sessionId"])
    assert second["sessionId"] != first["sessionId"]
    assert session(client, second["sessionId"])["resumedFrom"] == first["sessionId"]
    assert len(server.script.requests_on("SessionSummary")) == 1


@pytest.mark.scripted
def test_history_is_loaded_into_the_sessions_of_its_time(server: Served, client: httpx2.Client) -> None:
    times = ["2025-01-01T10:00:00Z", "2025-01-01T10:20:00Z", "2025-01-01T11:30:00+01:00", "2025-01-03T08:00:00Z"]
    made = [recorded(client, f"Message {number}.", at=at) for number, at in enumerate(times)]
    server.advance(minutes=1)
    server.settled(client)
    assert len({one["sessionId"] for one in made[:3]}) == 1
    old, new = session(client, made[0]["sessionId"]), session(client, made[3]["sessionId"])
    assert (old["startedAt"], old["lastActivityAt"]) == ("2025-01-01T10:00:00Z", "2025-01-01T10:30:00Z")
    assert (old["endedAt"], old["turnCount"]) == ("2025-01-01T11:00:00Z", 3)
    assert old["summary"] is not None
    assert new["resumedFrom"] is None
    assert new["endedAt"] == "2025-01-03T08:30:00Z"
    assert len(server.script.requests_on("SessionSummary")) == 2
    state = client.get("/api/session-state", params={"userId": "ana"}).json()["data"]["state"]
    assert (state["messageCount"], state["lastInteraction"]) == (4, "2025-01-03T08:00:00Z")


def test_messages_are_listed_in_order_page_by_page(server: Served, client: httpx2.Client) -> None:
    made = [recorded(client, f"Message {number}.") for number in range(5)]
    path = f"/api/sessions/{made[0]['sessionId']}/messages"
    page = client.get(path, params={"limit": 3}).json()
    rest = client.get(path, params={"limit": 3, "cursor": page["meta"]["nextCursor"]}).json()
    assert [one["content"] for one in page["data"] + rest["data"]] == [f"Message {number}." for number in range(5)]
    assert rest["meta"]["nextCursor"] is None
    assert [one["turnId"] for one in page["data"]] == [one["turnId"] for one in made[:3]]


def test_sessions_are_listed_newest_first_for_one_persona_or_none(server: Served, client: httpx2.Client) -> None:
    for persona in (None, "coach", "coach"):
        recorded(client, "Hello.", **({"personaId": persona} if persona else {}))
        server.advance(hours=1)
    direct = client.get("/api/sessions", params={"userId": "ana"}).json()["data"]
    coach = client.get("/api/sessions", params={"userId": "ana", "personaId": "coach"}).json()["data"]
    assert [one["personaId"] for one in direct] == [None]
    assert [one["startedAt"] for one in coach] == ["2026-04-12T17:22:00Z", "2026-04-12T16:22:00Z"]
    assert client.get("/api/sessions", params={"userId": "ana", "cursor": "???"}).status_code == 400
    assert client.get("/api/session-state", params={"userId": "nobody"}).status_code == 404


@pytest.mark.scripted
def test_the_rolling_summary_keeps_its_history_and_what_is_open(server: Served, client: httpx2.Client) -> None:
    first = "Ana promised to send Maria the budget."
    server.script.add_answers("Reflection", {}, {}, {}, {"rolling_summary": first})
    server.script.add_answers("Reflection", {}, {}, {}, {"rolling_summary": "They talked about roses. " * 40})
    for number in range(8):
        recorded(client, f"Roses are number {number}. I promised to send Maria the budget, then we talked.")
        server.settled(client)
    kept = client.get("/api/session-state", params={"userId": "ana"}).json()["data"]
    assert len(kept["rollingSummary"]) <= 600
    assert kept["rollingSummary"].endswith(first)
    history = client.get("/api/session-state/rolling-summaries", params={"userId": "ana"}).json()["data"]
    assert [(one["messageCount"], one["carried"]) for one in history] == [(8, [first]), (4, [])]


@pytest.mark.scripted
def test_a_rolling_summary_that_cannot_be_made_says_why(server: Served, client: httpx2.Client) -> None:
    for number in range(3):
        recorded(client, f"Message {number}.")
    server.settled(client)
    server.script.add_fault("garbage", on="Reflection", times=None)
    recorded(client, "Message 4.")
    server.settled(client)
    state = client.get("/api/session-state", params={"userId": "ana"}).json()["data"]["state"]
    assert state["lastRollingAttemptAt"] == "2026-04-12T15:22:00Z"
    assert state["lastRollingSuccessAt"] is None
    assert state["lastRollingError"]["reason"].startswith("model_")


def test_another_organizations_session_is_like_one_that_never_was(server: Served, client: httpx2.Client) -> None:
    made = recorded(client, "secret")
    rival = server.client("rival")
    for path in ("", "/messages"):
        assert rival.get(f"/api/sessions/{made['sessionId']}{path}").status_code == 404
    assert rival.post(f"/api/sessions/{made['sessionId']}/close").status_code == 404
    assert rival.get("/api/sessions", params={"userId": "ana"}).json()["data"] == []


def test_closing_shows_a_summary_only_to_who_may_read_it(server: Served, client: httpx2.Client) -> None:
    said = {"userId": "ann", "messages": [{"role": "user", "content": "I sail on Sundays."}]}
    path = f"/api/sessions/{client.post('/api/turns', json=said).json()['data']['sessionId']}"
    assert client.post(f"{path}/close").status_code == 200
    server.settled(client)
    assert client.get(path).json()["data"]["summary"] is not None
    chats = server.client(grants=frozenset({Grant.CHAT})).post(f"{path}/close").json()["data"]
    reads = server.client(grants=frozenset({Grant.CHAT, Grant.MEMORY_READ})).post(f"{path}/close").json()["data"]
    assert chats == {**reads, "summary": None}
    assert reads["summary"] is not None
