"""Chat streams, remembers what was said, and leaves an honest record whatever happens."""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest

from mnemon.access.grants import Grant
from mnemon.llm.scripted.script import ScriptedReply, tool_call_reply, tool_calls_reply
from support.bounds import HANGS_S
from support.served import Served, served
from support.sse import heard_events


def streamed(client: httpx2.Client, message: str, **more: Any) -> list[tuple[str, dict[str, Any]]]:
    with client.stream("POST", "/api/chat", json={"userId": "ana", "message": message, **more}) as answer:
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        return list(heard_events(answer))


def turn(client: httpx2.Client, turn_id: str) -> dict[str, Any]:
    found: dict[str, Any] = client.get(f"/api/turns/{turn_id}").json()["data"]
    return found


@pytest.mark.scripted
def test_a_reply_is_streamed_piece_by_piece_and_sealed(server: Served, client: httpx2.Client) -> None:
    server.script.add_replies("Hello there, Ana!")
    heard = streamed(client, "Hi, I am Ana.")
    names = [name for name, _ in heard]
    assert names[0] == "turn"
    assert names[-1] == "done"
    assert set(names[1:-1]) == {"delta"}
    assert "".join(data["text"] for name, data in heard if name == "delta") == "Hello there, Ana!"
    done = heard[-1][1]
    found = turn(client, done["turnId"])
    assert found["status"] == "answered"
    assert [one["role"] for one in found["messages"]] == ["user", "assistant"]
    assert found["messages"][1]["id"] == done["messageId"]
    assert done["usage"]["outputTokens"] > 0
    assert found["usage"] == done["usage"]


@pytest.mark.scripted
def test_without_streaming_the_reply_is_one_json(server: Served, client: httpx2.Client) -> None:
    server.script.add_replies("Hello!")
    answer = client.post("/api/chat", json={"userId": "ana", "message": "Hi", "stream": False})
    assert answer.status_code == 200
    data = answer.json()["data"]
    assert data["reply"] == "Hello!"
    assert turn(client, data["turnId"])["sessionId"] == data["sessionId"]


@pytest.mark.scripted
def test_the_model_is_given_the_conversation_so_far(server: Served, client: httpx2.Client) -> None:
    server.script.add_replies("Nice to meet you.", "You are Ana.")
    streamed(client, "I am Ana.")
    streamed(client, "Who am I?")
    told = [(one.role, one.content) for one in server.script.requests_on("chat")[-1].messages if one.role != "system"]
    assert told == [("user", "I am Ana."), ("assistant", "Nice to meet you."), ("user", "Who am I?")]


@pytest.mark.scripted
def test_a_tool_call_is_shown_run_and_answered(server: Served, client: httpx2.Client) -> None:
    server.script.add_replies(
        tool_call_reply("expect", action="create_task", expected_outcome="one task", expected_count=1),
        "I expect one task.",
    )
    heard = streamed(client, "Plan it.")
    by_name = dict(heard)
    assert by_name["tool_call"]["name"] == "expect"
    assert by_name["tool_result"]["content"]["of"] == "create_task"
    assert by_name["agent_state_update"]["update"]["expectations"][0]["status"] == "pending"
    assert "".join(data["text"] for name, data in heard if name == "delta") == "I expect one task."


@pytest.mark.scripted
def test_of_a_replys_tool_calls_32_are_run_and_the_model_goes_on(server: Served, client: httpx2.Client) -> None:
    expected = [("expect", {"action": f"act {number}", "expected_outcome": "done"}) for number in range(40)]
    server.script.add_replies(tool_calls_reply(*expected), "I planned it.")
    heard = streamed(client, "Plan it.")
    results = [data["content"] for name, data in heard if name == "tool_result"]
    assert [one.get("of") for one in results[:32]] == [f"act {number}" for number in range(32)]
    assert len(results) == 40
    assert {one["error"].partition(":")[0] for one in results[32:]} == {"This call was not run"}
    told = [one.content for one in server.script.requests_on("chat")[-1].messages if one.role == "tool"]
    assert [("at most 32 tool calls" in one) for one in told] == [False] * 32 + [True] * 8
    assert "".join(data["text"] for name, data in heard if name == "delta") == "I planned it."
    assert heard[-1][1]["finishReason"] == "stop"


@pytest.mark.scripted
def test_agent_state_is_told_only_to_keys_that_may_see_it(server: Served) -> None:
    client = server.client("acme", grants=frozenset({Grant.CHAT, Grant.MEMORY_READ}))
    server.script.add_replies(tool_call_reply("expect", action="a", expected_outcome="b"), "Fine.")
    assert "agent_state_update" not in {name for name, _ in streamed(client, "Plan it.")}


@pytest.mark.scripted
def test_a_client_that_leaves_finds_what_was_said_marked_interrupted(server: Served, client: httpx2.Client) -> None:
    server.script.add_replies("one two three four five six seven eight nine ten")
    server.script.add_fault("hang", on="chat", after=3)
    with client.stream("POST", "/api/chat", json={"userId": "ana", "message": "Count."}) as answer:
        heard = heard_events(answer)
        first = next(heard)
        while next(heard)[0] != "delta":
            pass
    for _ in range(round(HANGS_S / 0.05)):
        found = turn(client, first[1]["turnId"])
        if found["status"] != "answering":
            break
        time.sleep(0.05)
    assert found["status"] == "interrupted"
    assert found["messages"][0]["content"] == "Count."
    assert "one two three four five".startswith(found["messages"][1]["content"].strip())
    server.script.clear_faults()
    server.settled(client)
    assert turn(client, first[1]["turnId"])["reflection"]["status"] == "done"


@pytest.mark.scripted
def test_a_dead_model_is_a_clear_error_and_the_message_is_kept(server: Served, client: httpx2.Client) -> None:
    for kind in ("dead", "error", "garbage"):
        server.script.add_fault(kind, on="chat", times=None)
        heard = streamed(client, f"Hello {kind}?")
        assert [name for name, _ in heard] == ["turn", "error"], kind
        assert heard[1][1]["code"].startswith("model_")
        found = turn(client, heard[0][1]["turnId"])
        assert found["status"] == "failed"
        assert found["messages"][0]["content"] == f"Hello {kind}?"
        server.script.clear_faults()
    whole = client.post("/api/chat", json={"userId": "ana", "message": "Now?", "stream": False})
    assert whole.status_code == 200


@pytest.mark.scripted
def test_a_stream_that_breaks_off_keeps_its_beginning(server: Served, client: httpx2.Client) -> None:
    server.script.add_replies("one two three four five six seven")
    server.script.add_fault("cut", on="chat", after=3, times=None)
    heard = streamed(client, "Count.")
    names = [name for name, _ in heard]
    assert names[-1] == "error"
    found = turn(client, heard[0][1]["turnId"])
    assert found["status"] == ("interrupted" if "delta" in names else "failed")


@pytest.mark.scripted
def test_every_reply_says_why_it_ended(server: Served, client: httpx2.Client) -> None:
    for reason in ("stop", "length", "content_filter"):
        server.script.add_replies(ScriptedReply(pieces=("One, ", "two"), reason=reason))
        body = {"userId": "ana", "message": f"Count for {reason}.", "stream": False}
        assert client.post("/api/chat", json=body).json()["data"]["finishReason"] == reason
        server.script.add_replies(ScriptedReply(pieces=("One, ", "two"), reason=reason))
        assert streamed(client, f"Again for {reason}.")[-1][1]["finishReason"] == reason


@pytest.mark.scripted
def test_a_reply_whose_last_round_asks_for_tools_waits_for_nobody(server: Served, client: httpx2.Client) -> None:
    call = tool_call_reply("recall", query="boats").calls
    server.script.add_replies(*[ScriptedReply(pieces=("Hm. ",), calls=call)] * 8)
    body = {"userId": "ana", "message": "Think.", "stream": False}
    said = client.post("/api/chat", json=body).json()["data"]
    assert (said["reply"], said["finishReason"]) == ("Hm. " * 8, "stop")


@pytest.mark.scripted
def test_a_retry_is_told_that_the_reply_it_gets_had_broken_off(server: Served, client: httpx2.Client) -> None:
    server.script.add_replies("one two three four five six seven")
    server.script.add_fault("cut", on="chat", after=3)
    body, key = {"userId": "ana", "message": "Count.", "stream": False}, {"Idempotency-Key": "broken"}
    first = client.post("/api/chat", json=body, headers=key)
    assert first.status_code == 503
    again = client.post("/api/chat", json=body, headers=key).json()["data"]
    assert again["finishReason"] == "interrupted"
    assert "one two three four five six seven".startswith(again["reply"].strip())


@pytest.mark.scripted
def test_the_same_idempotency_key_asks_the_model_once(server: Served, client: httpx2.Client) -> None:
    server.script.add_replies("First.", "Second.")
    body = {"userId": "ana", "message": "Hi", "stream": False}
    first, second = (client.post("/api/chat", json=body, headers={"Idempotency-Key": "k"}) for _ in range(2))
    assert first.json()["data"]["reply"] == second.json()["data"]["reply"] == "First."
    assert first.json()["data"]["turnId"] == second.json()["data"]["turnId"]
    assert len(server.script.requests_on("chat")) == 1
    stream = {"userId": "ana", "message": "Hi again"}
    texts = []
    for _ in range(2):
        with client.stream("POST", "/api/chat", json=stream, headers={"Idempotency-Key": "s"}) as answer:
            heard = list(heard_events(answer))
        texts.append("".join(data["text"] for name, data in heard if name == "delta"))
    assert texts == ["Second.", "Second."]


@pytest.mark.scripted
def test_a_failed_request_sent_again_with_its_key_continues_its_turn(server: Served, client: httpx2.Client) -> None:
    server.script.add_fault("error", on="chat", times=None)
    body = {"userId": "ana", "message": "Hi", "stream": False}
    failed = client.post("/api/chat", json=body, headers={"Idempotency-Key": "k"})
    assert failed.status_code == 503
    server.script.clear_faults()
    server.script.add_replies("Here I am.")
    answer = client.post("/api/chat", json=body, headers={"Idempotency-Key": "k"})
    assert answer.status_code == 200, answer.text
    again = answer.json()["data"]
    assert again["reply"] == "Here I am."
    found = turn(client, again["turnId"])
    assert [one["role"] for one in found["messages"]] == ["user", "assistant"]
    assert client.get("/api/sessions", params={"userId": "ana"}).json()["data"][0]["turnCount"] == 1


@pytest.mark.scripted
def test_a_persona_speaks_by_its_own_prompt(server: Served, client: httpx2.Client) -> None:
    made = client.put("/api/personas/coach", json={"name": "Coach", "prompt": "You are a stern running coach."})
    assert made.status_code == 201
    assert client.get("/api/personas/coach").json()["data"]["engagement"] == "shared"
    streamed(client, "Hi", personaId="coach")
    assert "You are a stern running coach." in server.script.requests_on("chat")[-1].system
    streamed(client, "Hi")
    assert "stern" not in server.script.requests_on("chat")[-1].system


def test_a_model_that_hangs_is_given_up_within_its_timeout(database_url: str, tmp_path: Path) -> None:
    with served(database_url, tmp_path, model_timeout_s=2.0) as server:
        client = server.client()
        server.script.add_fault("slow", on="chat", seconds=10 * HANGS_S, times=None)
        heard = streamed(client, "Are you there?")
        assert [name for name, _ in heard] == ["turn", "error"]
        assert turn(client, heard[0][1]["turnId"])["status"] == "failed"


def test_offline_chat_says_what_memory_knows_and_that_it_is_memory(offline_server: Served) -> None:
    client = offline_server.client()
    client.post("/api/chat", json={"userId": "ana", "message": "I live in Austin.", "stream": False})
    offline_server.settled(client)
    answer = client.post("/api/chat", json={"userId": "ana", "message": "Where do I live?", "stream": False})
    reply = answer.json()["data"]["reply"]
    assert answer.json()["data"]["usage"]["model"] == "offline"
    assert "No language model is connected" in reply
    assert "Austin" in reply
    unknown = client.post("/api/chat", json={"userId": "bob", "message": "Where do I live?", "stream": False})
    assert "nothing is remembered" in unknown.json()["data"]["reply"]


def test_messages_of_one_moment_share_one_session(server: Served, client: httpx2.Client) -> None:
    def send(number: int) -> str:
        body = {"userId": "ana", "message": f"Message {number}", "stream": False}
        made = client.post("/api/chat", json=body)
        assert made.status_code == 200, made.text
        session: str = made.json()["data"]["sessionId"]
        return session

    with ThreadPoolExecutor(8) as pool:
        sessions = set(pool.map(send, range(8)))
    assert len(sessions) == 1
    [session] = client.get("/api/sessions", params={"userId": "ana"}).json()["data"]
    assert session["turnCount"] == 8
    listed = client.get(f"/api/sessions/{session['id']}/messages").json()["data"]
    assert sorted(one["seq"] for one in listed if one["role"] == "user") == list(range(1, 9))


def test_stopping_the_server_seals_what_was_said(database_url: str, tmp_path: Path) -> None:
    with served(database_url, tmp_path) as server:
        client = server.client()
        server.script.add_replies("one two three four five six")
        server.script.add_fault("hang", on="chat", after=3)
        with client.stream("POST", "/api/chat", json={"userId": "ana", "message": "Count."}) as answer:
            heard = heard_events(answer)
            turn_id = next(heard)[1]["turnId"]
            next(heard)
    with served(database_url, tmp_path) as server:
        found = turn(server.client(), turn_id)
        assert found["status"] == "interrupted"
        assert found["messages"][1]["content"].startswith("one")
