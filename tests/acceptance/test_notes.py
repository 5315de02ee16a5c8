"""Notes through the HTTP door: written, read, searched, expired, exported, forgotten."""

from typing import Any

import httpx2
import psycopg

from support.served import Served

WHO = {"userId": "ann"}


def write(client: httpx2.Client, *changes: dict[str, Any], user: str = "ann") -> list[dict[str, Any]]:
    answer = client.post("/api/notes/write", json={"userId": user, "changes": list(changes)})
    assert answer.status_code == 200, answer.text
    results: list[dict[str, Any]] = answer.json()["data"]["results"]
    return results


def put(namespace: list[str], key: str | None, value: Any, **more: Any) -> dict[str, Any]:
    return {"op": "put", "namespace": namespace, "key": key, "value": value, **more}


def search(client: httpx2.Client, **asked: Any) -> list[dict[str, Any]]:
    answer = client.post("/api/notes/search", json={**WHO, **asked})
    assert answer.status_code == 200, answer.text
    notes: list[dict[str, Any]] = answer.json()["data"]["notes"]
    return notes


def test_a_note_is_written_overwritten_read_and_deleted(client: httpx2.Client) -> None:
    write(client, put(["a"], "k", {"x": 1}))
    write(client, put(["a"], "k", {"x": 2}), put(["a"], "k", {"x": 3}, ifAbsent=True))
    asked = {**WHO, "notes": [{"namespace": ["a"], "key": "k"}, {"namespace": ["a"], "key": "none"}]}
    held, missing = client.post("/api/notes/read", json=asked).json()["data"]["notes"]
    assert (held["value"], held["version"], missing) == ({"x": 2}, 2, None)
    assert write(client, {"op": "delete", "namespace": ["a"], "key": "k"})[0]["count"] == 1
    assert client.post("/api/notes/read", json=asked).json()["data"]["notes"] == [None, None]


def test_notes_without_a_key_keep_their_order_and_the_last_is_popped(client: httpx2.Client) -> None:
    write(client, *(put(["log"], None, {"n": n}) for n in range(3)))
    assert [note["value"]["n"] for note in search(client, namespace=["log"], order="place")] == [0, 1, 2]
    assert write(client, {"op": "pop", "namespace": ["log"]})[0]["note"]["value"] == {"n": 2}
    assert write(client, {"op": "clear", "namespace": []})[0]["count"] == 2
    assert write(client, {"op": "pop", "namespace": ["log"]})[0]["note"] is None


def test_conditions_and_namespaces_narrow_a_search(client: httpx2.Client) -> None:
    write(
        client,
        put(["a", "b"], "1", {"n": 1, "tag": {"x": "y", "z": 1}}),
        put(["a"], "2", {"n": 2}),
        put(["ab"], "3", {}),
    )
    assert [n["key"] for n in search(client, namespace=["a"], order="key")] == ["1", "2"]
    assert [n["key"] for n in search(client, namespace=["a"], exact=True)] == ["2"]
    more = [{"path": ["n"], "test": "gt", "value": 1}]
    assert [n["key"] for n in search(client, conditions=more)] == ["2"]
    inside = [{"path": ["tag"], "test": "contains", "value": {"x": "y"}}]
    assert [n["key"] for n in search(client, conditions=inside)] == ["1"]
    listed = client.post("/api/notes/namespaces", json={**WHO, "prefix": ["a", "*"]}).json()["data"]["namespaces"]
    assert listed == [["a", "b"]]


def test_a_query_finds_the_nearest_by_meaning(client: httpx2.Client) -> None:
    write(
        client,
        put(["n"], "food", {}, texts={"$": "She loves spicy Thai noodles"}),
        put(["n"], "work", {}, texts={"$": "The quarterly tax report is due"}),
        put(["n"], "mute", {}),
    )
    found = search(client, query="what does she like to eat")
    assert [note["key"] for note in found] == ["food", "work"]
    assert found[0]["score"] > found[1]["score"]


def test_a_note_expires_and_reading_can_refresh_it(client: httpx2.Client, server: Served) -> None:
    write(client, put(["t"], "short", 1, ttlMinutes=10), put(["t"], "read", 2, ttlMinutes=10))
    server.advance(minutes=6)
    client.post("/api/notes/read", json={**WHO, "notes": [{"namespace": ["t"], "key": "read"}], "refresh": True})
    server.advance(minutes=4.5)
    assert [note["key"] for note in search(client, namespace=["t"])] == ["read"]
    assert write(client, {"op": "sweep"})[0]["count"] == 1


def test_expired_notes_are_swept_though_nobody_writes(client: httpx2.Client, server: Served) -> None:
    def held() -> int:
        with psycopg.connect(server.database_url) as connection:
            [(number,)] = connection.execute("select count(*) from notes where org_id = %s", (org,)).fetchall()
        return int(number)

    org = client.headers["Authorization"].removeprefix("Bearer mnk_").rpartition("_")[0]
    write(client, put(["t"], "short", 1, ttlMinutes=10), put(["t"], "long", 2, ttlMinutes=60), put(["t"], "ever", 3))
    for minutes, left in ((9, 3), (3, 2), (40, 2), (10, 1), (60, 1)):
        server.advance(minutes=minutes)
        server.settled(client)
        assert held() == left
    assert [job for job in client.get("/api/jobs").json()["data"] if job["kind"] == "note_sweep"] == []


def test_nothing_is_near_to_what_has_no_words(client: httpx2.Client) -> None:
    write(
        client,
        put(["n"], "words", {}, texts={"$": "She loves spicy noodles"}),
        put(["n"], "none", {}, texts={"$": ""}),
        put(["n"], "flat", {}, vectors={"$": [0.0, 0.0]}),
        put(["n"], "own", {}, vectors={"$": [0.0, 1.0]}),
    )
    assert [note["key"] for note in search(client, query="noodles")] == ["words"]
    assert [note["key"] for note in search(client, vector=[0.0, 2.0])] == ["own"]
    assert search(client, vector=[0.0, 0.0]) == []


def test_a_forgotten_memory_leaves_no_vector_in_a_note(client: httpx2.Client, server: Served) -> None:
    made = client.post("/api/memories", json={**WHO, "type": "PROFILE", "content": "Keeps a quokka in Wollongong"})
    write(client, put(["n"], "pet", {"t": "Keeps a quokka in Wollongong"}, texts={"t": "Keeps a quokka in Wollongong"}))
    before = search(client, query="quokka in Wollongong")[0]["score"]
    receipt = client.delete(f"/api/memories/{made.json()['data']['id']}").json()["data"]
    assert receipt["removed"]["note_vectors"] == 1
    server.settled(client)
    [left] = search(client, namespace=["n"], query="quokka in Wollongong") or [{"score": 0.0, "value": {"t": ""}}]
    assert "quokka" not in str(left["value"])
    assert left["score"] < before


def test_all_changes_are_made_or_none(client: httpx2.Client) -> None:
    wrong = {**WHO, "changes": [put(["a"], "k", 1), put(["a"], "k", "nul \0")]}
    assert client.post("/api/notes/write", json=wrong).status_code == 422
    assert search(client) == []


def test_notes_are_the_persons_own(server: Served, client: httpx2.Client) -> None:
    write(client, put(["a"], "k", 1))
    assert server.client("other").post("/api/notes/search", json=WHO).json()["data"]["notes"] == []
    bound = server.client("acme", user="bob")
    assert bound.post("/api/notes/search", json=WHO).status_code == 403


def test_export_carries_notes_and_forgetting_removes_them(client: httpx2.Client) -> None:
    write(client, put(["a"], "k", {"secret": "ZEBRA"}, texts={"$": "ZEBRA"}))
    export = client.get("/api/users/ann/export").text
    assert "ZEBRA" in export
    receipt = client.delete("/api/users/ann").json()["data"]
    assert receipt["removed"]["notes"] == 1
    assert search(client) == []
    again = client.post("/api/import", content=export, headers={"Content-Type": "application/x-ndjson"})
    assert again.status_code < 300, again.text
