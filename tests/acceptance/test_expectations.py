"""The expectation loop through every door: stated before, checked by the result, and told to whoever acts."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from openai import OpenAI, Stream

from acceptance.test_mcp import connected
from mnemon.access.grants import Grant
from mnemon.llm.scripted.script import ScriptedRequest, tool_call_reply, tool_calls_reply
from support.served import Served

TWO = {"action": "create_tasks", "expected_outcome": "two tasks exist", "expected_count": 2}


@pytest.fixture
def ai(server: Served) -> Iterator[OpenAI]:
    with OpenAI(base_url=f"{server.url}/v1", api_key=server.key("acme"), max_retries=0) as made:
        yield made


def tool(name: str) -> Any:
    return {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": {}}}}


def ask(
    ai: OpenAI, sent: list[Any], *tools: str, stream: bool = False, **more: Any
) -> tuple[str | None, list[Any], str]:
    """The text, the calls and the session of a completion; the calls are appended to what was sent."""
    options: dict[str, Any] = {
        "model": "any",
        "messages": sent,
        "user": "ana",
        "tools": [tool(t) for t in tools],
        **more,
    }
    raw = ai.chat.completions.with_raw_response.create(**options, stream=stream)
    answered = raw.parse()
    text, calls = "", []
    if isinstance(answered, Stream):
        for chunk in answered:
            for choice in chunk.choices:
                text += choice.delta.content or ""
                calls += [
                    {
                        "id": c.id,
                        "type": "function",
                        "function": {"name": c.function.name, "arguments": c.function.arguments},
                    }
                    for c in choice.delta.tool_calls or []
                    if c.function is not None
                ]
    else:
        message = answered.choices[0].message
        text = message.content or ""
        calls = [c.model_dump(include={"id", "type", "function"}) for c in message.tool_calls or []]
    if calls:
        sent.append({"role": "assistant", "content": text or None, "tool_calls": calls})
    return text, calls, raw.headers["x-mnemon-session-id"]


def answer(sent: list[Any], call: Any, result: Any) -> None:
    sent.append(
        {
            "role": "tool",
            "tool_call_id": call["id"],
            "content": result if isinstance(result, str) else json.dumps(result),
        }
    )


def expectations(client: httpx2.Client, session: str) -> list[dict[str, Any]]:
    held: list[dict[str, Any]] = client.get(f"/api/sessions/{session}/agent-state").json()["data"]["expectations"]
    return held


def record(client: httpx2.Client, **more: Any) -> dict[str, Any]:
    body = {"userId": "ana", "messages": [{"role": "user", "content": "Go on."}], **more}
    made = client.post("/api/turns", json=body)
    assert made.status_code == 202, made.text
    data: dict[str, Any] = made.json()["data"]
    return data


@pytest.mark.scripted
@pytest.mark.parametrize("stream", [False, True])
def test_the_model_may_expect_beside_the_callers_tools_and_is_told_of_a_silent_failure_in_the_same_turn(
    server: Served, client: httpx2.Client, ai: OpenAI, stream: bool
) -> None:
    server.script.add_replies(
        tool_call_reply("expect", **TWO), tool_call_reply("create_tasks", titles=["a", "b"]), "Only one was made."
    )
    sent: list[Any] = [{"role": "user", "content": "Make two tasks."}]
    _, calls, session = ask(ai, sent, "create_tasks", "list_tasks", stream=stream)
    assert [call["function"]["name"] for call in calls] == ["create_tasks"], "the call of `expect` is answered here"
    [pending] = expectations(client, session)
    assert (pending["status"], pending["tool_call_id"]) == ("pending", calls[0]["id"])
    answer(
        sent,
        calls[0],
        {
            "ids": ["t1"],
            "entities": [{"id": "t1", "kind": "task"}],
            "dependencies": [{"from": "t1", "to": "p1", "rel": "part_of"}],
        },
    )
    text, calls, _ = ask(ai, sent, "create_tasks", "list_tasks", stream=stream)
    assert (text, calls) == ("Only one was made.", [])

    asked = server.script.requests_on("chat")
    assert asked[0].tools == ("create_tasks", "list_tasks", "expect")
    told = json.loads(asked[1].messages[-1].content)
    assert told["expectation_id"] == pending["id"]
    assert asked[2].messages[-1].role == "tool"
    assert f"[Checked: your expectation {pending['id']} of create_tasks FAILED." in asked[2].messages[-1].content
    assert "FAILED expectation of create_tasks" in asked[2].system
    state = client.get(f"/api/sessions/{session}/agent-state").json()["data"]
    assert state["expectations"][0]["status"] == "failed"
    assert state["current_understanding"] == {
        "entities": [{"id": "t1", "kind": "task"}],
        "dependencies": [{"from": "t1", "to": "p1", "rel": "part_of"}],
    }
    # Nothing of it is in what the caller's history holds.
    kept = client.get(f"/api/sessions/{session}/messages?limit=200").json()["data"]
    assert "Checked" not in json.dumps(kept)


@pytest.mark.scripted
def test_expect_and_its_action_called_at_once_are_linked(server: Served, client: httpx2.Client, ai: OpenAI) -> None:
    three = {**TWO, "expected_outcome": "three tasks exist", "expected_count": 3}
    server.script.add_replies(
        tool_calls_reply(("expect", TWO), ("create_tasks", {"n": 2}), ("expect", three), ("create_tasks", {"n": 3})),
        "Done.",
    )
    sent: list[Any] = [{"role": "user", "content": "Make two tasks, then three."}]
    _, calls, session = ask(ai, sent, "create_tasks")
    first, second = calls
    # In another order, and each with what the other should have made: by the counts alone both would be confirmed.
    answer(sent, second, {"count": 2})
    answer(sent, first, {"count": 3})
    ask(ai, sent, "create_tasks")
    assert [(e["expected_count"], e["status"]) for e in expectations(client, session)] == [(2, "failed"), (3, "failed")]


@pytest.mark.scripted
def test_parallel_results_in_another_order_are_both_confirmed(
    server: Served, client: httpx2.Client, ai: OpenAI
) -> None:
    one = {"action": "create_tasks", "expected_outcome": "task a exists", "expected_ids": ["a"]}
    two = {"action": "create_tasks", "expected_outcome": "task b exists", "expected_ids": ["b"]}
    made = record(client, expectations=[one, two])
    server.script.add_replies(tool_calls_reply(("create_tasks", {"n": 1}), ("create_tasks", {"n": 2})), "Done.")
    sent: list[Any] = [{"role": "user", "content": "Make them."}]
    _, calls, session = ask(ai, sent, "create_tasks")
    assert session == made["sessionId"]
    answer(sent, calls[1], {"ids": ["b"]})
    answer(sent, calls[0], {"ids": ["a"]})
    ask(ai, sent, "create_tasks")
    assert [e["status"] for e in expectations(client, session)] == ["confirmed", "confirmed"]


@pytest.mark.scripted
def test_an_error_of_the_callers_tool_fails_what_was_expected_of_it(
    server: Served, client: httpx2.Client, ai: OpenAI
) -> None:
    vague = {"action": "create_tasks", "expected_outcome": "the tasks exist"}
    server.script.add_replies(tool_calls_reply(("expect", vague), ("create_tasks", {})), "It failed.")
    sent: list[Any] = [{"role": "user", "content": "Make them."}]
    _, calls, session = ask(ai, sent, "create_tasks")
    answer(sent, calls[0], {"error": "quota exceeded"})
    ask(ai, sent, "create_tasks")
    assert [e["status"] for e in expectations(client, session)] == ["failed"]
    assert "error: quota exceeded" in server.script.requests_on("chat")[-1].messages[-1].content


@pytest.mark.scripted
def test_a_result_that_is_sent_again_settles_nothing_more(server: Served, client: httpx2.Client, ai: OpenAI) -> None:
    server.script.add_replies(
        tool_calls_reply(("expect", TWO), ("expect", TWO), ("create_tasks", {})), "Done.", "Done."
    )
    sent: list[Any] = [{"role": "user", "content": "Make them."}]
    _, calls, session = ask(ai, sent, "create_tasks")
    answer(sent, calls[0], {"count": 2})
    sent.append(sent[-1])
    ask(ai, sent, "create_tasks")
    assert sorted(e["status"] for e in expectations(client, session)) == ["confirmed", "pending"]


@pytest.mark.scripted
@pytest.mark.parametrize(
    ("tools", "more"),
    [
        (["expect"], {}),
        (["create_tasks"], {"tool_choice": "none"}),
        (["create_tasks"], {"tool_choice": {"type": "function", "function": {"name": "create_tasks"}}}),
        ([], {}),
    ],
)
def test_expect_is_not_offered_where_it_is_the_callers_or_cannot_be_chosen(
    server: Served, ai: OpenAI, tools: list[str], more: dict[str, Any]
) -> None:
    server.script.add_replies("Hello.")
    ask(ai, [{"role": "user", "content": "Hi"}], *tools, **more)
    assert list(server.script.requests_on("chat")[-1].tools) == tools


@pytest.mark.scripted
def test_a_model_that_only_expects_is_asked_again_and_ends_with_a_reply(server: Served, ai: OpenAI) -> None:
    def expect_as_long_as_offered(request: ScriptedRequest) -> Any:
        return tool_call_reply("expect", **TWO) if "expect" in request.tools else "I give up."

    server.script.set_default_reply(expect_as_long_as_offered)
    text, calls, _ = ask(ai, [{"role": "user", "content": "Hi"}], "create_tasks")
    assert (text, calls) == ("I give up.", [])


def test_a_recorded_turn_links_by_call_and_by_expectation_and_answers_with_the_verdicts(client: httpx2.Client) -> None:
    made = record(
        client, expectations=[{**TWO, "tool_call_id": "c1"}, {**TWO, "expected_count": 1, "tool_call_id": "c2"}]
    )
    first, second = expectations(client, made["sessionId"])
    results = [
        {"id": "r2", "tool_call_id": "c2", "action": "create_tasks", "count": 2},
        {"id": "r1", "expectation_id": first["id"], "action": "create_tasks", "error": {"message": "no quota"}},
    ]
    told = record(client, sessionId=made["sessionId"], toolResults=results)["verdicts"]
    assert [(one["resultId"], one["expectation"]["id"], one["expectation"]["status"]) for one in told] == [
        ("r2", second["id"], "failed"),
        ("r1", first["id"], "failed"),
    ]
    assert told[1]["discrepancy"] == 'Expected "two tasks exist" but got "error: no quota"'
    gone = record(client, sessionId=made["sessionId"], toolResults=[{**results[1], "id": "r3"}])["verdicts"]
    assert gone == [{"resultId": "r3", "expectation": None, "note": f"{first['id']} is not pending in this session."}]


def test_one_result_id_sent_twice_settles_one(client: httpx2.Client) -> None:
    made = record(client, expectations=[TWO, TWO])
    result = {"id": "r1", "action": "create_tasks", "ids": [1, 2]}
    record(client, sessionId=made["sessionId"], toolResults=[result, result])
    record(client, sessionId=made["sessionId"], toolResults=[result])
    assert [e["status"] for e in expectations(client, made["sessionId"])] == ["confirmed", "pending"]


def test_expected_ids_are_required_of_a_result_that_has_only_a_count(client: httpx2.Client) -> None:
    plan = {**TWO, "expected_ids": ["t1", "t2"]}
    made = record(client, expectations=[plan], toolResults=[{"id": "r", "action": "create_tasks", "count": 2}])
    assert [e["status"] for e in expectations(client, made["sessionId"])] == ["failed"]


def test_entities_alone_are_a_count_and_a_type(client: httpx2.Client) -> None:
    entities = [{"id": "t1", "kind": "task"}, {"id": "t2", "kind": "task"}]
    made = record(
        client,
        expectations=[{**TWO, "expected_type": "task"}],
        toolResults=[{"id": "r", "action": "create_tasks", "entities": entities}],
    )
    assert [e["status"] for e in expectations(client, made["sessionId"])] == ["confirmed"]


@pytest.mark.parametrize(
    ("invariant", "status", "check"),
    [
        ("count >= 2", "confirmed", "held"),
        ("ids subset of [t1]", "failed", "broken"),
        ("state = done", "failed", "broken"),
        ("no other task changes", "confirmed", "unchecked"),
    ],
)
def test_an_invariant_is_checked_and_reported(client: httpx2.Client, invariant: str, status: str, check: str) -> None:
    result = {"id": "r", "action": "create_tasks", "ids": ["t1", "t2"], "output": {"state": "queued"}}
    made = record(client, expectations=[{**TWO, "invariant": invariant}], toolResults=[result])
    [held] = expectations(client, made["sessionId"])
    assert (held["status"], held["invariant_check"]) == (status, check)
    [told] = made["verdicts"]
    assert told["expectation"]["invariant"] == {"text": invariant, "check": check}
    assert ("does not hold" in told.get("discrepancy", "")) is (check == "broken")


def test_a_key_without_the_scope_is_told_no_verdict(server: Served) -> None:
    blind = server.client("acme", grants=frozenset({Grant.CHAT}))
    made = record(blind, expectations=[TWO], toolResults=[{"id": "r", "action": "create_tasks", "count": 1}])
    assert (made["agentStateUpdate"], made["verdicts"]) == (None, None)


async def test_mcp_links_results_tells_the_verdict_and_takes_errors_and_dependencies(server: Served) -> None:
    client = await asyncio.to_thread(server.client)
    session_id = (await asyncio.to_thread(lambda: record(client)))["sessionId"]
    async with connected(server, f"?userId=ana&sessionId={session_id}") as session:
        ids = []
        for number in (1, 2):
            told = await session.call_tool("expect", {**TWO, "expected_count": number})
            assert told.structured_content is not None
            ids.append(told.structured_content["expectation_id"])
        report = {
            "action": "create_tasks",
            "count": 1,
            "tool_call_id": "call_9",
            "entities": [{"id": "t1", "kind": "task"}],
            "dependencies": [{"from": "t1", "to": "p1", "rel": "part_of"}],
        }
        second = (await session.call_tool("report_result", {**report, "expectation_id": ids[1]})).structured_content
        again = (await session.call_tool("report_result", report)).structured_content
        first = (
            await session.call_tool("report_result", {"action": "create_tasks", "error": "no quota"})
        ).structured_content
    assert second is not None
    assert first is not None
    assert (second["expectation"]["id"], second["expectation"]["status"]) == (ids[1], "failed")
    assert again == {"reported": "create_tasks", "expectation": None}, "one call counts once"
    assert (first["expectation"]["id"], first["expectation"]["status"]) == (ids[0], "failed")
    assert first["discrepancy"] == 'Expected "two tasks exist" but got "error: no quota"'
    held = await asyncio.to_thread(lambda: client.get(f"/api/sessions/{session_id}/agent-state").json()["data"])
    assert held["current_understanding"]["dependencies"] == [{"from": "t1", "to": "p1", "rel": "part_of"}]
