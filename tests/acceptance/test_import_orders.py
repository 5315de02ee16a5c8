"""Genuine exports of one person, imported in any order: what is there is kept whole, and every write works after it."""

from itertools import count
from random import Random
from typing import Any

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.histories import NDJSON, History, every_write, rows, turn
from support.served import Served

Client = httpx2.Client


def exported(client: Client, user: str = "ann") -> bytes:
    answer = client.get(f"/api/users/{user}/export")
    assert answer.status_code == 200, answer.text
    return answer.content


def imported(client: Client, export: bytes) -> dict[str, Any]:
    answer = client.post("/api/import", content=export, headers=NDJSON)
    assert answer.status_code == 200, answer.text
    done: dict[str, Any] = answer.json()["data"]
    return done


def two_exports(server: Served, client: Client) -> tuple[bytes, bytes]:
    """The exports of a person before and after more was said in their session and their facts changed."""
    fact = {"userId": "ann", "type": "PROFILE", "attribute": "lives in"}
    client.post("/api/memories", json={**fact, "content": "Lives in Austin"})
    session = client.post("/api/turns", json=turn("ann", "I will call Mia.")).json()["data"]["sessionId"]
    server.settled(client)
    older = exported(client)
    for city in ("Berlin", "Madrid"):
        client.post("/api/memories", json={**fact, "content": f"Lives in {city}"})
        client.post("/api/turns", json={**turn("ann", f"I saw {city}."), "sessionId": session})
    client.post("/api/memories", json={**fact, "attribute": "car", "content": "Drives a Volvo"})
    server.settled(client)
    return older, exported(client)


def test_what_is_there_is_kept_whole_and_the_answer_says_so(server: Served, client: Client) -> None:
    older, newer = two_exports(server, client)
    other = server.client("globex")
    assert imported(other, older)["nextStep"] is None
    before = {one["id"]: other.get(f"/api/memories/{one['id']}").json() for one in rows(
        other, "/api/memories", userId="ann")}  # fmt: skip
    done = imported(other, newer)
    assert done["kept"]["memory_versions"] == 2
    assert done["kept"]["turns"] == 3
    assert done["kept"]["messages"] == 6
    assert done["stored"]["memories"] == 1, "what is new comes in"
    assert "forget the person first" in done["nextStep"]
    for id_, memory in before.items():
        assert {**other.get(f"/api/memories/{id_}").json(), "meta": 0} == {**memory, "meta": 0}
    server.settled(other)
    assert_every_write_works(server, other)


def test_forgetting_first_loads_the_newer_export_whole(server: Served, client: Client) -> None:
    older, newer = two_exports(server, client)
    other = server.client("globex")
    imported(other, older)
    imported(other, newer)
    assert other.delete("/api/users/ann").status_code == 200
    assert imported(other, newer)["kept"] == {}
    server.settled(other)
    assert exported(other) == newer


def assert_every_write_works(server: Served, client: Client, user: str = "ann") -> None:
    """No write is a fault of the server, and no job fails."""
    for what, answer in every_write(client, user):
        assert answer.status_code < 500, (what, answer.request.url, answer.text)
    server.settled(client)
    for job in rows(client, "/api/jobs"):
        assert (job["status"], job["error"]) != ("parked", job["error"]), job
        assert job["error"] is None, job
    assert client.get(f"/api/users/{user}/export").status_code == 200


@pytest.mark.spliced_history
def test_after_any_exports_in_any_order_every_write_works(offline_server: Served) -> None:
    numbers = count()

    @settings(max_examples=12)
    @given(st.integers(0, 2**32))
    def check(seed: int) -> None:
        # What is drawn depends on what background work has done by then, which hypothesis would call flaky.
        random = Random(seed)
        name = f"org{next(numbers)}"
        client, other = offline_server.client(f"{name}a"), offline_server.client(f"{name}b")
        history, exports = History(client, "ann", random), []
        client.post("/api/turns", json=turn("ann", "I have seen Austin."))
        for _ in range(random.randrange(4, 16)):
            history.step()
            if random.random() < 0.3:
                offline_server.settled(client)
            if random.random() < 0.3:
                exports.append(exported(client))
        exports.append(exported(client))
        for export in random.sample(exports, len(exports)):
            imported(other, export)
            if random.random() < 0.3:
                History(other, "ann", random).step()
        offline_server.settled(other)
        assert_every_write_works(offline_server, other)

    check()
