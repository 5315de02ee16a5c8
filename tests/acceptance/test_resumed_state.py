"""Agent state follows the conversation into the session that resumes another, through every door."""

import asyncio
from typing import Any

import httpx2
import pytest

from acceptance.test_agent_state import events, state, turn
from acceptance.test_mcp import connected
from support.served import Served

JOB = {"action": "long_job", "expected_outcome": "the index is built", "expected_count": 1}


def expects(client: httpx2.Client) -> str:
    """The id of a session that expects a long job to end well."""
    return str(turn(client, "Build the index.", expectations=[JOB])["sessionId"])


def context(client: httpx2.Client, **more: Any) -> dict[str, Any]:
    answer = client.post("/api/context", json={"userId": "ana", "query": "How is it going?", **more})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()["data"]
    return found


def layer(found: dict[str, Any], name: str) -> str:
    return next((one["text"] for one in found["layers"] if one["name"] == name), "")


def test_a_long_job_meets_its_result_after_31_minutes_of_silence(server: Served) -> None:
    client = server.client()
    first = expects(client)
    [pending] = state(client, first)["expectations"]
    server.advance(minutes=31)
    before = context(client)
    assert "Expected of long_job: the index is built" in layer(before, "L7")
    assert before["agentState"]["expectations"] == [pending]
    report = {"id": "res_1", "action": "long_job", "count": 1}
    later = turn(client, "It ran through.", toolResults=[report])
    assert later["verdicts"][0]["expectation"]["id"] == pending["id"]
    session = client.get(f"/api/sessions/{later['sessionId']}").json()["data"]
    assert (session["resumedFrom"], session["id"] == first) == (first, False)
    [confirmed] = state(client, session["id"])["expectations"]
    assert (confirmed["id"], confirmed["status"]) == (pending["id"], "confirmed")
    assert state(client, first)["expectations"] == [pending], "the ended session's document stays as it was"


def test_the_answer_and_the_events_tell_what_was_carried(server: Served) -> None:
    client = server.client()
    first = expects(client)
    server.advance(minutes=31)
    later = turn(client, "I am back.")
    update = later["agentStateUpdate"]
    assert [one["status"] for one in update["update"]["expectations"]] == ["pending"]
    [event] = events(client, later["sessionId"], 1)
    assert event["update"] == update["update"]
    history = client.get(f"/api/sessions/{later['sessionId']}/agent-state/history").json()["data"]
    assert [(one["who"], one["reason"]) for one in history] == [("session", f"carried from {first}")]
    rate = client.get("/api/agent-state/hit-rate?userId=ana").json()["data"]
    assert (rate["confirmed"], rate["failed"]) == (0, 0)


def test_what_was_settled_before_is_not_counted_or_settled_again(server: Served) -> None:
    client = server.client()
    report = {"id": "res_1", "action": "long_job", "count": 0}
    turn(client, "Build it.", expectations=[JOB], toolResults=[report])
    server.advance(minutes=31)
    later = turn(client, "Again.", expectations=[JOB], toolResults=[report])
    assert [one["status"] for one in state(client, later["sessionId"])["expectations"]] == ["failed", "pending"]
    rate = client.get("/api/agent-state/hit-rate?userId=ana").json()["data"]
    assert (rate["confirmed"], rate["failed"]) == (0, 1)


def test_a_caller_who_goes_on_naming_the_ended_session_keeps_the_state_as_it_is_now(server: Served) -> None:
    client = server.client()
    first = expects(client)
    server.advance(days=2)
    mail = {"action": "mail", "expected_outcome": "it is sent"}
    second = turn(client, "I am back.", sessionId=first, expectations=[mail])["sessionId"]
    third = turn(client, "And here.", sessionId=first)["sessionId"]
    assert len({first, second, third}) == 3
    assert client.get(f"/api/sessions/{third}").json()["data"]["resumedFrom"] == first
    assert [one["action"] for one in state(client, third)["expectations"]] == ["long_job", "mail"]
    assert "Expected of mail" in layer(context(client, sessionId=first), "L7")


def test_a_session_that_ended_too_long_ago_hands_nothing_on(server: Served) -> None:
    client = server.client()
    first = expects(client)
    server.advance(days=8)
    assert layer(context(client, sessionId=first), "L7") == ""
    later = turn(client, "I am back.", sessionId=first)
    assert later["agentStateUpdate"] is None
    assert client.get(f"/api/sessions/{later['sessionId']}").json()["data"]["resumedFrom"] == first
    assert state(client, later["sessionId"])["version"] == 0


@pytest.mark.scripted
def test_a_chat_after_the_silence_is_answered_with_the_state(server: Served) -> None:
    client = server.client()
    expects(client)
    server.advance(minutes=31)
    server.script.add_replies("It should be done.")
    answer = client.post("/api/chat", json={"userId": "ana", "message": "Is it done?", "stream": False}).json()["data"]
    [asked] = server.script.requests_on("chat")
    assert "Expected of long_job: the index is built" in asked.system
    assert [one["status"] for one in state(client, answer["sessionId"])["expectations"]] == ["pending"]


async def test_a_result_reported_over_mcp_for_the_ended_session_reaches_the_one_that_resumed_it(server: Served) -> None:
    client = await asyncio.to_thread(server.client)
    first = await asyncio.to_thread(expects, client)
    await asyncio.to_thread(lambda: server.advance(minutes=31))
    second = (await asyncio.to_thread(turn, client, "I am back."))["sessionId"]
    async with connected(server, f"?userId=ana&sessionId={first}") as session:
        told = (await session.call_tool("report_result", {"action": "long_job", "error": "no disk"})).structured_content
    assert told is not None
    assert told["expectation"]["status"] == "failed"
    held = await asyncio.to_thread(state, client, second)
    assert [one["status"] for one in held["expectations"]] == ["failed"]
