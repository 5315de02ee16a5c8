"""Agent state through the doors: reading, changing, following, and the loop of plan, result and correction."""

import asyncio
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import pytest

from mnemon.access.grants import ALL_GRANTS, PERSONAL_GRANTS, Grant
from mnemon.agentstate import store
from mnemon.clock import SystemClock
from mnemon.custody.forget_person import forget_person
from mnemon.db.database import Database
from mnemon.llm.scripted.script import tool_call_reply
from mnemon.scope import person_scope
from mnemon_client.sse import SseParser
from support.bounds import HANGS_S
from support.racing import run_behind
from support.served import Served

PLAN = {"action": "create_tasks", "expected_outcome": "two tasks exist", "expected_count": 2}
SHORT = {"id": "res_1", "action": "create_tasks", "count": 1, "ids": ["t1"], "entities": [{"id": "t1", "kind": "task"}]}


def turn(client: httpx2.Client, text: str = "Make two tasks.", user: str = "ana", **more: Any) -> dict[str, Any]:
    body = {"userId": user, "messages": [{"role": "user", "content": text}], **more}
    answer = client.post("/api/turns", json=body)
    assert answer.status_code == 202, answer.text
    made: dict[str, Any] = answer.json()["data"]
    return made


def state(client: httpx2.Client, session: str) -> dict[str, Any]:
    answer = client.get(f"/api/sessions/{session}/agent-state")
    assert answer.status_code == 200, answer.text
    held: dict[str, Any] = answer.json()["data"]
    return held


def patch(client: httpx2.Client, session: str, version: int | str | None, body: Any) -> httpx2.Response:
    headers = {} if version is None else {"If-Match": f'"{version}"'}
    return client.patch(f"/api/sessions/{session}/agent-state", json=body, headers=headers)


def events(client: httpx2.Client, session: str, most: int, after: str | None = None) -> list[dict[str, Any]]:
    """The next events of the session, as a program reads them."""
    headers = {} if after is None else {"Last-Event-ID": after}
    parser = SseParser()
    seen: list[dict[str, Any]] = []
    with client.stream("GET", f"/api/sessions/{session}/events", headers=headers) as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        for event in (event for piece in stream.iter_bytes() for event in parser.feed(piece)):
            assert event.name == "agent_state_update"
            seen.append({"id": event.id, **json.loads(event.data)})
            if len(seen) == most:
                break
    return seen


def test_a_session_begins_with_an_empty_state_at_version_zero(client: httpx2.Client) -> None:
    session = turn(client)["sessionId"]
    answer = client.get(f"/api/sessions/{session}/agent-state")
    assert answer.headers["etag"] == '"0"'
    assert answer.json()["data"] == {
        "sessionId": session,
        "version": 0,
        "current_understanding": {"entities": [], "dependencies": []},
        "assumptions": [],
        "expectations": [],
        "tentative_hypotheses": [],
        "items": [],
    }


def test_a_disappointing_result_is_told_at_once_and_stays(server: Served, client: httpx2.Client) -> None:
    made = turn(client, expectations=[PLAN], toolResults=[SHORT])
    update = made["agentStateUpdate"]["update"]
    [expectation] = update["expectations"]
    [assumption] = update["assumptions"]
    assert expectation["status"] == "failed"
    assert expectation["last_checked_at"] == "2026-04-12T15:22:00Z"
    assert assumption["hypothesis"] == 'Expected "two tasks exist" but got "count 1; ids t1"'
    assert (assumption["confidence"], assumption["evidence"]) == (0.7, ["res_1"])
    held = state(client, made["sessionId"])
    assert held["version"] == made["agentStateUpdate"]["version"] == 2
    assert held["expectations"] == [expectation]
    assert held["current_understanding"]["entities"] == [{"id": "t1", "kind": "task"}]
    server.settled(client)
    assert state(client, made["sessionId"]) == held


def test_an_expectation_waits_for_the_next_result_of_its_action_in_a_later_turn(client: httpx2.Client) -> None:
    first = turn(client, expectations=[PLAN])
    session = first["sessionId"]
    assert state(client, session)["expectations"][0]["status"] == "pending"
    other = {"id": "res_0", "action": "list_tasks", "count": 0}
    turn(client, "And?", sessionId=session, toolResults=[other])
    assert state(client, session)["expectations"][0]["status"] == "pending"
    turn(client, "And now?", sessionId=session, toolResults=[{"id": "res_1", "action": "create_tasks", "count": 2}])
    assert state(client, session)["expectations"][0]["status"] == "confirmed"


@pytest.mark.scripted
def test_the_loop_closes_a_failed_expectation_stands_first_in_the_next_turns_context(
    server: Served, client: httpx2.Client
) -> None:
    session = turn(client, expectations=[PLAN], toolResults=[SHORT])["sessionId"]
    context = client.post("/api/context", json={"userId": "ana", "sessionId": session, "query": "What now?"})
    layer = next(one for one in context.json()["data"]["layers"] if one["name"] == "L7")
    assert "FAILED expectation of create_tasks: two tasks exist" in layer["text"]
    assert context.json()["data"]["agentState"]["expectations"][0]["status"] == "failed"
    server.script.add_replies("I will create the second task.")
    answer = client.post(
        "/api/chat", json={"userId": "ana", "sessionId": session, "message": "What now?", "stream": False}
    )
    assert answer.status_code == 200, answer.text
    prompt = server.script.requests_on("chat")[-1]
    assert "FAILED expectation of create_tasks: two tasks exist" in prompt.system


@pytest.mark.scripted
def test_the_reflection_returns_deltas_that_the_reducer_applies(server: Served, client: httpx2.Client) -> None:
    server.script.add_answers(
        "Reflection",
        {
            "agent_state": {
                "agent_state_item_updates": [
                    {"op": "add", "item": {"id": "q1", "kind": "question", "title": "Which board?"}},
                    {"op": "update", "id": "nobody", "patch": {"status": "resolved"}},
                ],
                "agent_state_updates": {
                    "assumptions": [{"id": "a1", "hypothesis": "The board is full", "evidence": ["look_1"]}],
                    "tentative_hypotheses": [{"id": "h1", "hypothesis": "Ana is away"}],
                },
            }
        },
    )
    board = {"id": "look_1", "action": "look", "output": "The board is full."}
    made = turn(client, toolResults=[board])
    server.settled(client)
    held = state(client, made["sessionId"])
    assert [(a["id"], a["confidence"]) for a in held["assumptions"]] == [("a1", 0.65)]
    assert held["items"] == [
        {
            "id": "q1",
            "kind": "question",
            "title": "Which board?",
            "status": "active",
            "createdAt": "2026-04-12T15:22:00Z",
            "updatedAt": "2026-04-12T15:22:00Z",
        }
    ]
    assert held["lastSummarizedAt"] == "2026-04-12T15:22:00Z"
    told = client.get(f"/api/turns/{made['turnId']}").json()["data"]["reflection"]
    assert told["sections"]["agentState"]["stored"] == 3
    assert {"what": "item nobody", "why": "there is none with this id"} in told["rejected"]
    server.script.add_answers(
        "Reflection",
        {
            "agent_state": {
                "agent_state_item_updates": [{"op": "update", "id": "q1", "patch": {"status": "resolved"}}],
                "agent_state_updates": {
                    "assumptions": [
                        {"id": "a1", "confidence": 0.99, "contradicted_by": ["look_2"]},
                        {"id": "h1", "hypothesis": "Ana is away", "confidence": 0.6, "evidence": ["look_2"]},
                    ]
                },
            }
        },
    )
    board = {"id": "look_2", "action": "look", "output": "The board is not full. Ana is away in Rome."}
    turn(client, "And now?", sessionId=made["sessionId"], toolResults=[board])
    server.settled(client)
    held = state(client, made["sessionId"])
    assert [(a["id"], a["confidence"]) for a in held["assumptions"]] == [("a1", 0.5), ("h1", 0.6)]
    assert held["tentative_hypotheses"] == []
    assert held["items"][0]["status"] == "resolved"


def test_a_patch_takes_an_update_or_both_kinds_under_their_names(client: httpx2.Client) -> None:
    session = turn(client)["sessionId"]
    plain = patch(client, session, 0, {"expectations": [PLAN], "reason": "planning"})
    assert plain.status_code == 200, plain.text
    assert plain.json()["data"]["version"] == 1
    assert plain.json()["data"]["expectations"][0]["id"].startswith("exp_")
    both = patch(
        client,
        session,
        1,
        {
            "agent_state_updates": {"current_understanding": {"dependencies": [{"from": "a", "to": "b"}]}},
            "agent_state_item_updates": [
                {"op": "add", "item": {"kind": "note", "title": "n"}},
                {"op": "remove", "id": "x"},
            ],
        },
    )
    assert both.json()["data"]["current_understanding"]["dependencies"] == [{"from": "a", "to": "b"}]
    assert both.json()["data"]["reported"] == [{"what": "item x", "why": "there is none with this id"}]
    history = client.get(f"/api/sessions/{session}/agent-state/history").json()
    assert [(one["version"], one["who"], one["reason"]) for one in history["data"]] == [
        (1, "api", "planning"),
        (2, "api", "requested over the API"),
    ]
    assert history["meta"]["nextCursor"] is None


def test_of_two_writers_with_the_same_version_one_gets_412_and_nothing_is_lost(client: httpx2.Client) -> None:
    session = turn(client)["sessionId"]
    bodies = [{"current_understanding": {"entities": [{"id": name, "kind": "k"}]}} for name in ("a", "b")]
    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda body: patch(client, session, 0, body), bodies))
    assert sorted(answer.status_code for answer in answers) == [200, 412]
    lost = next(body for body, answer in zip(bodies, answers, strict=True) if answer.status_code == 412)
    stale = next(answer for answer in answers if answer.status_code == 412)
    assert stale.json()["code"] == "stale"
    assert patch(client, session, state(client, session)["version"], lost).status_code == 200
    assert {e["id"] for e in state(client, session)["current_understanding"]["entities"]} == {"a", "b"}


def test_if_match_is_needed_and_understood(client: httpx2.Client) -> None:
    session = turn(client)["sessionId"]
    for headers, status, code in [
        ({}, 422, "if_match_required"),
        ({"If-Match": '"x"'}, 422, "bad_if_match"),
        ({"If-Match": '"7"'}, 412, "stale"),
        ({"If-Match": "*"}, 200, None),
        ({"If-Match": '"0"'}, 200, None),
        ({"If-Match": "0"}, 422, "bad_if_match"),
        ({"If-Match": '"0'}, 422, "bad_if_match"),
        ({"If-Match": 'W/"0"'}, 422, "bad_if_match"),
    ]:
        answer = client.patch(f"/api/sessions/{session}/agent-state", json={}, headers=headers)
        assert (answer.status_code, answer.json().get("code")) == (status, code)


def test_a_faulty_patch_names_the_field(client: httpx2.Client) -> None:
    session = turn(client)["sessionId"]
    for body, pointer in [
        ({"assumptions": [{"id": "a", "hypothesis": "h", "confidence": 2}]}, "/assumptions/0/confidence"),
        ({"hypotheses": []}, "/hypotheses"),
        ({"agent_state_updates": {"expectations": [{"cuont": 1}]}}, "/agent_state_updates/expectations/0/cuont"),
    ]:
        answer = patch(client, session, 0, body)
        assert answer.status_code == 422
        assert pointer in [error["pointer"] for error in answer.json()["errors"]]
    assert state(client, session)["version"] == 0


def test_history_is_paged(client: httpx2.Client) -> None:
    session = turn(client)["sessionId"]
    for number in range(5):
        patch(client, session, number, {"current_understanding": {"entities": [{"id": f"e{number}", "kind": "k"}]}})
    seen: list[int] = []
    cursor: str | None = ""
    while cursor is not None:
        params: dict[str, str | int] = {"limit": 2} if cursor == "" else {"limit": 2, "cursor": cursor}
        page = client.get(f"/api/sessions/{session}/agent-state/history", params=params).json()
        seen += [one["version"] for one in page["data"]]
        cursor = page["meta"]["nextCursor"]
    assert seen == [1, 2, 3, 4, 5]


def test_events_resume_where_they_left_off_and_hear_what_comes(client: httpx2.Client) -> None:
    made = turn(client, expectations=[PLAN], toolResults=[SHORT])
    session = made["sessionId"]
    first, second = events(client, session, 2)
    assert (first["id"], first["update"]["expectations"][0]["status"]) == ("1", "pending")
    assert (second["id"], second["version"], second["sessionId"]) == ("2", 2, session)
    assert second["update"]["expectations"][0]["status"] == "failed"
    assert events(client, session, 1, after="1") == [second]
    heard: list[dict[str, Any]] = []
    listening = threading.Thread(target=lambda: heard.extend(events(client, session, 1, after="2")))
    listening.start()
    turn(client, "More.", sessionId=session, expectations=[PLAN])
    listening.join(HANGS_S)
    assert [one["id"] for one in heard] == ["3"]


def test_a_last_event_id_that_is_none_is_refused(client: httpx2.Client) -> None:
    session = turn(client)["sessionId"]
    for last in ("x", "-1", "1.5", "9" * 40):
        answer = client.get(f"/api/sessions/{session}/events", headers={"Last-Event-ID": last})
        assert (answer.status_code, answer.json()["code"]) == (400, "bad_place")


def test_the_hit_rate_counts_each_settled_expectation_once(server: Served, client: httpx2.Client) -> None:
    session = turn(client, expectations=[PLAN, PLAN, PLAN], toolResults=[SHORT])["sessionId"]
    turn(client, "Again.", sessionId=session, toolResults=[{**SHORT, "id": "res_2", "count": 2}])
    turn(client, user="bob", expectations=[{**PLAN, "action": "x"}], toolResults=[{**SHORT, "action": "x", "count": 2}])
    data = client.get("/api/agent-state/hit-rate", params={"userId": "ana"}).json()["data"]
    assert data == {
        "confirmed": 1,
        "failed": 1,
        "rate": 0.5,
        "actions": [{"action": "create_tasks", "confirmed": 1, "failed": 1, "rate": 0.5}],
    }
    assert client.get("/api/agent-state/hit-rate").json()["data"]["confirmed"] == 2
    assert server.client("other").get("/api/agent-state/hit-rate").json()["data"]["rate"] is None
    assert (
        server.client("acme", user="bob", grants=PERSONAL_GRANTS)
        .get("/api/agent-state/hit-rate")
        .json()["data"]["failed"]
        == 0
    )


PATHS = ["agent-state", "agent-state/history", "events"]


def test_nothing_of_it_is_shown_without_the_scope(server: Served, client: httpx2.Client) -> None:
    made = turn(client, expectations=[PLAN], toolResults=[SHORT])
    blind = server.client("acme", grants=ALL_GRANTS - {Grant.AGENT_STATE_READ, Grant.AGENT_STATE_WRITE})
    for path in PATHS:
        answer = blind.get(f"/api/sessions/{made['sessionId']}/{path}")
        assert (answer.status_code, answer.json()["code"]) == (403, "missing_scope")
    assert patch(blind, made["sessionId"], 2, {}).status_code == 403
    assert turn(blind, "Again.", expectations=[PLAN])["agentStateUpdate"] is None
    asked = {"userId": "ana", "sessionId": made["sessionId"], "query": "?"}
    context = blind.post("/api/context", json=asked).json()["data"]
    assert "create_tasks" not in json.dumps(context)
    assert context.get("agentState") is None


def test_a_writer_that_may_not_read_learns_only_the_version(server: Served, client: httpx2.Client) -> None:
    session = turn(client, expectations=[PLAN])["sessionId"]
    writer = server.client("acme", grants=ALL_GRANTS - {Grant.AGENT_STATE_READ})
    assert patch(writer, session, 1, {"expectations": [PLAN]}).json()["data"] == {
        "sessionId": session,
        "version": 2,
        "reported": [],
    }


def test_a_foreign_session_is_like_one_that_never_was(server: Served, client: httpx2.Client) -> None:
    session = turn(client, expectations=[PLAN])["sessionId"]
    other = server.client("other")
    bound = server.client("acme", user="bob", grants=PERSONAL_GRANTS)
    for path in PATHS:
        never = other.get(f"/api/sessions/ses_01ARZ3NDEKTSV4RRFFQ69G5FAV/{path}")
        for stranger in (other, bound):
            answer = stranger.get(f"/api/sessions/{session}/{path}")
            assert answer.status_code == never.status_code == 404
            assert answer.json()["detail"] == never.json()["detail"]
    assert patch(other, session, 1, {}).status_code == 404


def test_a_change_that_waits_for_a_forgetting_is_not_found_and_leaves_nothing(
    server: Served, client: httpx2.Client
) -> None:
    session = turn(client)["sessionId"]
    server.settled(client)
    ana = person_scope(server.org(), "ana")

    async def race() -> tuple[httpx2.Response, list[str]]:
        db = Database(server.database_url, SystemClock(), pool_size=3)
        await db.open()
        try:
            answer = await run_behind(
                db,
                server.org(),
                lambda tx: forget_person(tx, ana),
                lambda _: asyncio.to_thread(patch, client, session, 0, {"expectations": [PLAN]}),
            )
            async with db.tx(server.org()) as tx:
                return answer, await store.list_session_ids(tx, ana)
        finally:
            await db.close()

    answer, left = asyncio.run(race())
    assert (answer.status_code, left) == (404, [])


def test_lists_without_end_are_refused_before_they_are_read(client: httpx2.Client) -> None:
    session = turn(client)["sessionId"]
    many = [{"action": "look", "expected_outcome": "seen"}] * 1_001
    entities = [{"id": f"e{number}", "kind": "k"} for number in range(1_001)]
    for body in (
        {"expectations": many},
        {"agent_state_updates": {"expectations": many}},
        {"current_understanding": {"entities": entities}},
        {"agent_state_updates": {"current_understanding": {"entities": entities}}},
    ):
        answer = patch(client, session, "*", body)
        assert answer.status_code == 422, answer.text
        assert "1,000" in answer.text
    result = {"id": "call_1", "action": "look", "ids": ["a"] * 1_000, "entities": entities[:1_000]}
    results = [{**result, "id": f"call_{number}"} for number in range(3)]
    said = [{"role": "user", "content": "Look."}]
    answer = client.post("/api/turns", json={"userId": "ana", "messages": said, "toolResults": results})
    assert answer.status_code == 422, answer.text
    assert answer.json()["errors"][0]["pointer"] == "/toolResults"
    answer = client.post("/api/turns", json={"userId": "ana", "messages": said, "toolResults": results[:2]})
    assert answer.status_code == 202, answer.text


def test_a_failed_deploy_is_told_before_what_the_person_likes(server: Served) -> None:
    client = server.client()
    for number in range(60):
        about = {"type": "person", "label": "self"}
        told = {"userId": "ana", "type": "PROFILE", "content": f"Likes the go library number {number} for deploys"}
        more = {"entity": about, "factType": "preference", "attribute": f"library {number}", "pinned": number < 20}
        assert client.post("/api/memories", json={**told, **more}).status_code == 201
    wish = {"action": "deploy", "expected_outcome": "v2 is live", "expected_count": 1}
    turn(client, "Deploy.", expectations=[wish], toolResults=[{"id": "r1", "action": "deploy", "error": "no disk"}])
    for budget in (3000, 1000, 600):
        body = {"userId": "ana", "query": "Which go library for deploys?", "budgetTokens": budget}
        found = client.post("/api/context", json=body).json()["data"]
        assert "FAILED expectation of deploy: v2 is live" in found["system"]
        assert found["tokens"] <= budget
    server.advance(minutes=1)
    turn(client, "Again.", expectations=[wish], toolResults=[{"id": "r2", "action": "deploy", "count": 1}])
    found = client.post("/api/context", json={"userId": "ana", "query": "How is the deploy?"}).json()["data"]
    assert "FAILED" not in found["system"]


@pytest.mark.scripted
def test_the_model_can_ask_for_all_of_the_state(server: Served) -> None:
    client = server.client()
    turn(client, "Make two tasks.", expectations=[PLAN])
    server.script.add_replies(tool_call_reply("get_state"), "One thing is pending.")
    body = {"userId": "ana", "message": "What is pending?", "stream": False}
    assert client.post("/api/chat", json=body).json()["data"]["reply"] == "One thing is pending."
    [first, second] = server.script.requests_on("chat")
    assert {"get_state", "get_engagement"} <= set(first.tools)
    [told] = [one.content for one in second.messages if one.role == "tool"]
    assert [one["action"] for one in json.loads(told)["agent_state"]["expectations"]] == ["create_tasks"]
