"""A retry with the same Idempotency-Key gets the first answer and has no second effect."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

import httpx2

from support.served import Served

FACT = {"userId": "ann", "type": "PROFILE", "content": "Lives in Austin, Texas"}


def post(client: httpx2.Client, key: str, body: Mapping[str, object] = FACT) -> httpx2.Response:
    return client.post("/api/memories", json=body, headers={"Idempotency-Key": key})


def memories(client: httpx2.Client) -> list[dict[str, object]]:
    return list(client.get("/api/memories?userId=ann").json()["data"])


def test_the_same_key_and_body_replays_the_first_response(client: httpx2.Client) -> None:
    first, second = post(client, "once"), post(client, "once")
    assert first.status_code == second.status_code == 201
    assert second.content == first.content
    assert second.headers["Idempotent-Replayed"] == "true"
    assert [memory["mentions"] for memory in memories(client)] == [1]


def test_the_same_key_with_another_body_is_refused(client: httpx2.Client) -> None:
    post(client, "once")
    refused = post(client, "once", {**FACT, "content": "Lives in Seattle"})
    assert (refused.status_code, refused.json()["code"]) == (422, "idempotency_key_reused")


def test_a_failed_request_keeps_nothing(client: httpx2.Client) -> None:
    assert post(client, "once", {**FACT, "type": "NONSENSE"}).status_code == 422
    assert post(client, "once").status_code == 201


def test_keys_of_two_callers_do_not_meet(server: Served) -> None:
    ours, theirs = server.client("acme"), server.client("globex")
    assert post(ours, "once").json()["data"]["id"] != post(theirs, "once").json()["data"]["id"]


def test_a_reply_is_kept_for_a_day(server: Served, client: httpx2.Client) -> None:
    first = post(client, "once")
    server.advance(hours=23, minutes=59)
    assert post(client, "once").content == first.content
    server.advance(minutes=2)
    assert "Idempotent-Replayed" not in post(client, "once").headers


def test_many_at_once_have_one_effect(client: httpx2.Client) -> None:
    with ThreadPoolExecutor(8) as pool:
        statuses = [response.status_code for response in pool.map(lambda _: post(client, "once"), range(16))]
    assert set(statuses) <= {201, 409}
    assert 201 in statuses
    assert [memory["mentions"] for memory in memories(client)] == [1]
