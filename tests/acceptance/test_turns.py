"""Turns run elsewhere are durable at once, reflected after, and tell what came of them."""

from pathlib import Path
from typing import Any

import httpx2

from support.served import Served, served


def said(text: str, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": text, **more}


def recorded(client: httpx2.Client, text: str, user: str = "ana", **more: Any) -> dict[str, Any]:
    answer = client.post("/api/turns", json={"userId": user, "messages": [said(text)], **more})
    assert answer.status_code == 202, answer.text
    made: dict[str, Any] = answer.json()["data"]
    return made


def turn(client: httpx2.Client, turn_id: str) -> dict[str, Any]:
    found: dict[str, Any] = client.get(f"/api/turns/{turn_id}").json()["data"]
    return found


def test_a_turn_is_answered_with_its_ids_and_reflected_after_with_zeros_where_nothing_was_found(
    server: Served, client: httpx2.Client
) -> None:
    made = recorded(client, "Thanks, that was great!")
    assert made["turnId"].startswith("trn_")
    assert made["sessionId"].startswith("ses_")
    assert made["agentStateUpdate"] is None
    assert made["reflection"]["status"] == "queued"
    assert made["reflection"]["jobId"].startswith("job_")
    server.settled(client)
    found = turn(client, made["turnId"])
    assert found["status"] == "answered"
    assert found["messages"][0]["content"] == "Thanks, that was great!"
    reflection = found["reflection"]
    assert (reflection["status"], reflection["attempts"], reflection["rejected"]) == ("done", 1, [])
    for label in ("memory", "todos", "engagement", "agentState", "rollingSummary"):
        section = reflection["sections"][label]
        assert {key: section[key] for key in ("stored", "updated", "skipped", "rejected")} == {
            "stored": 0,
            "updated": 0,
            "skipped": 0,
            "rejected": 0,
        }


def test_tool_results_and_expectations_are_in_the_answer(server: Served, client: httpx2.Client) -> None:
    made = recorded(
        client,
        "Make two tasks.",
        expectations=[{"action": "create_tasks", "expected_outcome": "two tasks", "expected_count": 2}],
        toolResults=[
            {
                "id": "call_1",
                "action": "create_tasks",
                "count": 2,
                "ids": ["t1", "t2"],
                "entities": [{"id": "t1", "kind": "task"}],
                "dependencies": [{"from": "t1", "to": "t2", "rel": "blocks"}],
            }
        ],
    )
    update = made["agentStateUpdate"]
    assert update["update"]["expectations"][0]["status"] == "confirmed"
    assert update["sessionId"] == made["sessionId"]


def test_the_same_idempotency_key_stores_one_turn(server: Served, client: httpx2.Client) -> None:
    body = {"userId": "ana", "messages": [said("once")]}
    first, second = (client.post("/api/turns", json=body, headers={"Idempotency-Key": "k"}) for _ in range(2))
    assert first.json()["data"] == second.json()["data"]
    other = client.post("/api/turns", json={**body, "personaId": "x"}, headers={"Idempotency-Key": "k"})
    assert other.status_code == 422
    listed = client.get("/api/sessions", params={"userId": "ana"}).json()["data"]
    assert [one["turnCount"] for one in listed] == [1]


def test_another_organizations_turn_is_like_one_that_never_was(server: Served, client: httpx2.Client) -> None:
    made = recorded(client, "secret")
    rival = server.client("rival")
    theirs, none = (rival.get(f"/api/turns/{one}") for one in (made["turnId"], "trn_0"))
    assert theirs.status_code == none.status_code == 404
    assert {**theirs.json(), "requestId": ""} == {**none.json(), "requestId": ""}
    assert rival.post(f"/api/turns/{made['turnId']}/reflect").status_code == 404
    body = {"userId": "ana", "messages": [said("x")], "sessionId": made["sessionId"]}
    assert rival.post("/api/turns", json=body).status_code == 404


def test_a_key_bound_to_one_person_sees_no_other(server: Served, client: httpx2.Client) -> None:
    made = recorded(client, "secret", user="ana")
    bob = server.client("acme", user="bob")
    assert bob.get(f"/api/turns/{made['turnId']}").status_code == 404
    assert bob.get(f"/api/sessions/{made['sessionId']}").status_code == 404
    assert bob.post("/api/turns", json={"userId": "ana", "messages": [said("x")]}).status_code == 403


def test_a_failing_model_loses_nothing_and_a_later_run_succeeds(database_url: str, tmp_path: Path) -> None:
    with served(database_url, tmp_path, max_attempts=2) as server:
        _fails_and_succeeds(server, server.client())


def _fails_and_succeeds(server: Served, client: httpx2.Client) -> None:
    server.script.add_fault("error", on="Reflection", times=None)
    made = recorded(client, "I live in Austin.")
    for _ in range(40):
        server.settled(client)
        found = turn(client, made["turnId"])["reflection"]
        if found["status"] == "parked":
            break
        assert found["status"] in ("failed", "queued", "running")
        server.advance(minutes=6)
    assert found["status"] == "parked"
    assert "model" in found["error"]
    later = recorded(client, "Second message.", sessionId=made["sessionId"])
    server.script.clear_faults()
    server.settled(client)
    assert turn(client, later["turnId"])["reflection"]["status"] == "done"
    again = client.post(f"/api/turns/{made['turnId']}/reflect")
    assert again.status_code == 202, again.text
    server.settled(client)
    assert turn(client, made["turnId"])["reflection"]["status"] == "done"
    assert client.post(f"/api/turns/{made['turnId']}/reflect").status_code == 409


def test_odd_input_is_refused_and_never_breaks_the_server(client: httpx2.Client) -> None:
    for body in (
        {},
        {"userId": "ana", "messages": []},
        {"userId": "ana", "messages": [{"role": "wizard", "content": "x"}]},
        {"userId": "ana", "messages": [said("x", at="yesterday")]},
        {"userId": "ana", "messages": [said("a\0b")]},
        {"userId": "ana", "messages": [said("x")], "toolResults": [{"id": "1", "action": "a", "count": -1}]},
        {"userId": "ana", "messages": [said("x")], "colour": "red"},
    ):
        answer = client.post("/api/turns", json=body)
        assert answer.status_code == 422, (body, answer.text)
        assert answer.json()["errors"]


def test_any_offset_that_a_clock_can_show_is_taken(client: httpx2.Client) -> None:
    messages = [{"role": "user", "content": "Hello.", "at": f"2025-08-29T01:00:12{sign}23:17"} for sign in "+-"]
    made = client.post("/api/turns", json={"userId": "ana", "messages": messages})
    assert made.status_code == 202
    told = client.get(f"/api/turns/{made.json()['data']['turnId']}").json()["data"]["messages"]
    assert [one["at"] for one in told] == ["2025-08-28T01:43:12Z", "2025-08-30T00:17:12Z"]
