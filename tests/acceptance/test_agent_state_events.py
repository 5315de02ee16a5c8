"""What the agent state tells as it changes: in the chat stream, and to followers across a restart of the server."""

import json
from itertools import islice
from pathlib import Path
from typing import Any

import httpx2
import pytest

from mnemon.access.grants import ALL_GRANTS, Grant
from mnemon.llm.scripted.script import tool_call_reply
from mnemon_client import SyncMnemon
from mnemon_client.shapes import Expectation, Message
from support.served import Served, served

PLAN: Expectation = {"action": "create_tasks", "expected_outcome": "two tasks exist", "expected_count": 2}
MESSAGES: list[Message] = [{"role": "user", "content": "Make two tasks."}]


def chat(client: httpx2.Client, message: str, session: str | None = None) -> list[tuple[str, dict[str, Any]]]:
    body = {"userId": "ana", "message": message, **({"sessionId": session} if session else {})}
    with client.stream("POST", "/api/chat", json=body) as stream:
        assert stream.status_code == 200
        blocks = "".join(stream.iter_text()).strip().split("\n\n")
    fields = [dict(line.split(": ", 1) for line in block.splitlines() if ": " in line) for block in blocks]
    return [(one["event"], json.loads(one["data"])) for one in fields if "event" in one]


@pytest.mark.scripted
def test_the_chat_model_says_what_it_expects_and_the_stream_tells_at_once(
    server: Served, client: httpx2.Client
) -> None:
    server.script.add_replies(tool_call_reply("expect", **PLAN), "I expect two tasks.")
    told = chat(client, "Make two tasks.")
    kinds = [kind for kind, _ in told]
    assert kinds.index("agent_state_update") < kinds.index("delta")
    update = dict(told)["agent_state_update"]
    assert (update["version"], update["update"]["expectations"][0]["status"]) == (1, "pending")
    session = dict(told)["turn"]["sessionId"]
    result = {"id": "res_1", "action": "create_tasks", "count": 1}
    client.post(
        "/api/turns", json={"userId": "ana", "sessionId": session, "messages": MESSAGES, "toolResults": [result]}
    )
    server.script.add_replies("One is missing, I make it now.")
    chat(client, "And?", session)
    assert "FAILED expectation of create_tasks" in server.script.requests_on("chat")[-1].system


@pytest.mark.scripted
def test_the_stream_keeps_it_from_a_key_without_the_scope(server: Served) -> None:
    blind = server.client("acme", grants=ALL_GRANTS - {Grant.AGENT_STATE_READ})
    server.script.add_replies(tool_call_reply("expect", **PLAN), "I expect two tasks.")
    told = chat(blind, "Make two tasks.")
    assert "agent_state_update" not in [kind for kind, _ in told]
    assert told[-1][0] == "done"


def test_a_follower_loses_nothing_across_a_restart_and_each_verification_is_told_once(
    database_url: str, tmp_path: Path
) -> None:
    with served(database_url, tmp_path, model="offline") as first:
        key = first.key()
        with SyncMnemon(first.url, key, user_id="ana") as mnemon:
            session = mnemon.turn(MESSAGES, expectations=[PLAN, PLAN])["sessionId"]
            [seen] = islice(mnemon.events(session), 1)
            mnemon.turn(MESSAGES, session_id=session, tool_results=[{"id": "r1", "action": "create_tasks", "count": 1}])
    with (
        served(database_url, tmp_path, model="offline") as second,
        SyncMnemon(second.url, key, user_id="ana") as mnemon,
    ):
        mnemon.turn(MESSAGES, session_id=session, tool_results=[{"id": "r2", "action": "create_tasks", "count": 2}])
        missed = list(islice(mnemon.events(session, after=seen.id), 2))
        assert [event.id for event in missed] == ["2", "3"]
        verified = list(islice(mnemon.verifications(session), 2))
        assert [one.confirmed for one in verified] == [False, True]
        assert [one.version for one in verified] == [2, 3]
        history = mnemon.request("GET", f"/api/sessions/{session}/agent-state/history")
    assert [entry["version"] for entry in history] == [1, 2, 3]


def test_an_application_may_settle_what_no_field_can(client: httpx2.Client) -> None:
    vague = [{"action": "call_ana", "expected_outcome": outcome} for outcome in ("she is glad", "she calls back")]
    made = client.post("/api/turns", json={"userId": "ana", "messages": MESSAGES, "expectations": vague}).json()["data"]
    glad, calls = (one["id"] for one in made["agentStateUpdate"]["expectations"])
    settled = client.patch(
        f"/api/sessions/{made['sessionId']}/agent-state",
        json={"expectations": [{"id": glad, "status": "confirmed"}, {"id": calls, "status": "failed"}]},
        headers={"If-Match": '"1"'},
    ).json()["data"]
    assert [one["status"] for one in settled["expectations"]] == ["confirmed", "failed"]
    assert [one["last_checked_at"] for one in settled["expectations"]] == ["2026-04-12T15:22:00Z"] * 2
