"""A person's data through the doors: seeded, exported, brought in, forgotten without a trace."""

import json
import re
import subprocess
from typing import Any

import httpx2
import psycopg
import pytest

from mnemon.scope import person_scope
from support.served import Served

NDJSON = {"Content-Type": "application/x-ndjson"}


def dump(url: str) -> str:
    """The whole database as text."""
    done = subprocess.run(
        ["pg_dump", "--data-only", "--inserts", "--no-owner", f"--dbname={url}"],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 0:
        return done.stdout
    with psycopg.connect(url) as connection:
        names = [
            r[0]
            for r in connection.execute(
                "select relname from pg_class where relkind='r' and relnamespace='public'::regnamespace"
            )
        ]
        rows = [str(r) for name in names for r in connection.execute(f'select t::text from "{name}" t')]
        replies = [bytes(r[0]).decode() for r in connection.execute("select body from replies where body is not null")]
    return "\n".join(rows + replies)


def say(client: httpx2.Client, text: str, reply: str = "Noted.", user: str = "ann", **more: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": text}, {"role": "assistant", "content": reply}]
    answer = client.post("/api/turns", json={"userId": user, "messages": messages, **more})
    assert answer.status_code == 202, answer.text
    taken: dict[str, Any] = answer.json()["data"]
    return taken


def memory_answer(quote: str, content: str, **more: Any) -> dict[str, Any]:
    return {"memories": [{"type": "PROFILE", "content": content, "quote": quote, "factType": "fact", **more}]}


def memories(client: httpx2.Client, user: str = "ann", **query: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.get("/api/memories", params={"userId": user, "status": "ALL", **query}).json()[
        "data"
    ]
    return found


def furnished(server: Served, client: httpx2.Client) -> None:
    """Ann has something in every room."""
    server.script.add_answers(
        "Reflection",
        {
            **memory_answer("I live in Austin", "Lives in Austin", attribute="city"),
            "todos": [{"op": "add", "kind": "commitment", "content": "Call the bank", "quote": "I will call the bank"}],
        },
    )
    say(
        client,
        "I live in Austin and I will call the bank.",
        toolResults=[{"id": "r1", "action": "search", "ids": ["a"], "output": "two hits"}],
        expectations=[{"action": "search", "expected_outcome": "hits", "expected_ids": ["a"]}],
    )
    server.settled(client)
    client.put(
        "/api/users/ann/seed", content="Prefers dark mode\nIs a morning person", headers={"Content-Type": "text/plain"}
    )
    for label, content in (
        ("Jon Smith", "Jon Smith is a designer at Acme"),
        ("John Smith", "John Smith, designer, Acme"),
    ):
        body = {"userId": "ann", "type": "PEOPLE", "content": content, "entity": {"type": "person", "label": label}}
        assert client.post("/api/memories", json=body, headers={"Idempotency-Key": f"{len(label)}"}).status_code == 201
    server.settled(client)


def test_a_seed_loads_once_and_again_changes_nothing(server: Served, client: httpx2.Client) -> None:
    body = {
        "profile": [{"type": "PROFILE", "content": "Lives in Austin"}, {"type": "PROFILE", "content": "Prefers tea"}]
    }
    first = client.put("/api/users/ann/seed", json=body)
    assert (first.status_code, first.json()["data"]["stored"]) == (200, 2)
    before = memories(client)
    again = client.put("/api/users/ann/seed", json=body).json()["data"]
    assert (again["stored"], again["updated"], again["skipped"]) == (0, 0, 2)
    assert memories(client) == before
    assert {one["source"] for one in before} == {"seeded_profile"}
    assert [one["content"] for one in client.get("/api/users/ann/seed").json()["data"]["profile"]] == [
        "Lives in Austin",
        "Prefers tea",
    ]


def test_a_seed_in_plain_text_is_a_fact_a_line(client: httpx2.Client) -> None:
    answer = client.put(
        "/api/users/ann/seed", content="- Lives in Austin\n\n- Prefers tea\n", headers={"Content-Type": "text/plain"}
    )
    assert [one["content"] for one in answer.json()["data"]["profile"]] == ["Lives in Austin", "Prefers tea"]


@pytest.mark.parametrize(
    "body", ['{"profile": 3}', '{"profile": [{"content": ""}]}', "[]", '{"profile": [{"type": "X", "content": "a"}]}']
)
def test_a_seed_that_is_none_is_refused(client: httpx2.Client, body: str) -> None:
    answer = client.put("/api/users/ann/seed", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422
    assert answer.json()["errors"]


def test_before_the_first_spine_there_is_none(client: httpx2.Client) -> None:
    assert client.get("/api/users/ann/spine").json()["data"] is None
    assert client.get("/api/users/ann/seed").json()["data"] is None


@pytest.mark.scripted
def test_export_import_export_gives_the_same_bytes_in_another_organization(
    server: Served, client: httpx2.Client
) -> None:
    furnished(server, client)
    exported = client.get("/api/users/ann/export")
    assert exported.headers["content-type"].startswith("application/x-ndjson")
    other = server.client("other-org")
    answer = other.post("/api/import", content=exported.content, headers=NDJSON)
    assert answer.status_code == 200, answer.text
    assert answer.json()["data"]["kept"] == {}
    assert other.get("/api/users/ann/export").content == exported.content
    server.settled(other)
    assert other.get("/api/users/ann/export").content == exported.content
    assert {m["content"] for m in memories(other)} == {m["content"] for m in memories(client)}
    found = other.post("/api/memories/search", json={"userId": "ann", "query": "where do I live?"}).json()["data"]
    assert "Lives in Austin" in {one["memory"]["content"] for one in found["results"]}


@pytest.mark.scripted
def test_a_forgotten_person_comes_back_whole_from_their_export(server: Served, client: httpx2.Client) -> None:
    furnished(server, client)
    exported = client.get("/api/users/ann/export").content
    assert client.delete("/api/users/ann").status_code == 200
    assert client.get("/api/users/ann/export").status_code == 404
    assert client.post("/api/import", content=exported, headers=NDJSON).status_code == 200
    assert client.get("/api/users/ann/export").content == exported


@pytest.mark.scripted
def test_importing_twice_keeps_what_is_there(server: Served, client: httpx2.Client) -> None:
    furnished(server, client)
    exported = client.get("/api/users/ann/export").content
    again = client.post("/api/import", content=exported, headers=NDJSON).json()["data"]
    assert sum(again["stored"].values()) == 0
    assert sum(again["kept"].values()) == exported.count(b"\n") - 2
    assert client.get("/api/users/ann/export").content == exported


@pytest.mark.scripted
def test_ids_of_one_person_cannot_be_taken_by_another(server: Served, client: httpx2.Client) -> None:
    furnished(server, client)
    exported = client.get("/api/users/ann/export").content
    answer = client.post("/api/import", params={"userId": "bob"}, content=exported, headers=NDJSON)
    assert (answer.status_code, answer.json()["code"]) == (409, "ids_taken")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"nonsense",
        b"[1]\n",
        b'{"format":"mnemon-export","version":1,"userId":"ann"}\n',
        b'{"format":"mnemon-export","version":9,"userId":"ann"}\n{"end":true,"rows":0}\n',
        b'{"format":"mnemon-export","version":1,"userId":"ann"}\n{"table":"keys","row":{}}\n{"end":true,"rows":1}\n',
        b'{"format":"mnemon-export","version":1,"userId":"ann"}\n{"table":"memories","row":{}}\n{"end":true,"rows":1}\n',
        b'{"format":"mnemon-export","version":1,"userId":"ann"}\n{"table":"memories","row":{"org_id":"x"}}\n{"end":true,"rows":1}\n',
        b'{"format":"mnemon-export","version":1,"userId":"ann"}\n{"table":"memories","row":{"id":"\\u0000"}}\n{"end":true,"rows":1}\n',
        b'{"format":"mnemon-export","version":1,"userId":"ann"}\n{"end":true,"rows":7}\n',
    ],
)
def test_what_is_no_export_is_refused_and_changes_nothing(client: httpx2.Client, body: bytes) -> None:
    answer = client.post("/api/import", content=body, headers=NDJSON)
    assert answer.status_code == 422, answer.text
    assert client.get("/api/users/ann/export").status_code == 404


@pytest.mark.scripted
def test_forgetting_a_person_leaves_no_row_and_gives_a_receipt(server: Served, client: httpx2.Client) -> None:
    furnished(server, client)
    bob = client.post("/api/memories", json={"userId": "bob", "type": "PROFILE", "content": "Lives in Oslo"})
    assert bob.status_code == 201
    server.settled(client)
    receipt = client.delete("/api/users/ann").json()["data"]
    assert receipt["removed"]["memories"] == 5
    assert receipt["removed"]["messages"] == 2
    assert receipt["removed"]["users"] == 1
    assert receipt["total"] == sum(receipt["removed"].values())
    with psycopg.connect(server.database_url) as connection:
        tables = [
            r[0]
            for r in connection.execute(
                "select table_name from information_schema.columns "
                "where column_name = 'user_id' and table_schema = 'public'"
            )
        ]
        ann = person_scope("acme", "ann").user
        left = {
            table: connection.execute(f'select 1 from "{table}" where user_id = %s', (ann,)).fetchall()
            for table in tables
        }
        people = connection.execute("select external_id from users").fetchall()
    assert people == [("bob",)]
    assert not any(left.values())
    assert set(receipt["removed"]) >= set(tables)
    text = dump(server.database_url)
    for words in ("Austin", "dark mode", "Jon Smith", "designer"):
        assert words not in text
    assert "Lives in Oslo" in text
    assert client.delete("/api/users/ann").status_code == 404


@pytest.mark.scripted
def test_forgetting_a_memory_takes_its_words_out_of_everything(server: Served, client: httpx2.Client) -> None:
    quote = "my locker code is zq7Kx-4410"
    server.script.add_answers(
        "Reflection",
        {
            "memories": [
                {"type": "PROFILE", "content": "Locker code is zq7Kx-4410", "quote": quote, "factType": "fact"},
                {
                    "type": "PROFILE",
                    "content": "Lives in Austin",
                    "quote": "I live in Austin",
                    "factType": "fact",
                    "attribute": "city",
                },
            ]
        },
    )
    turn = say(
        client,
        f"I live in Austin and {quote}.",
        reply="Good to know. Your locker code zq7Kx-4410 is safe with me. Austin is lovely.",
        toolResults=[{"id": "r1", "action": "note", "output": "stored zq7Kx-4410"}],
    )
    server.settled(client)
    secret = next(m for m in memories(client) if "Locker" in m["content"])
    kept = next(m for m in memories(client) if "Austin" in m["content"])
    receipt = client.delete(f"/api/memories/{secret['id']}").json()["data"]
    assert receipt["removed"]["memories"] == 1
    server.settled(client)
    text = dump(server.database_url) + client.get("/api/users/ann/export").text
    assert not re.search("zq7Kx|4410", text, re.IGNORECASE)
    said = client.get(f"/api/sessions/{turn['sessionId']}/messages").json()["data"]
    assert said[0]["content"].startswith("I live in Austin and █")
    assert said[1]["content"].startswith("Good to know.")
    assert said[1]["content"].endswith("Austin is lovely.")
    assert client.get(f"/api/memories/{kept['id']}").json()["data"]["provenance"] == kept["provenance"]
    assert client.get(f"/api/memories/{secret['id']}").status_code == 404


@pytest.mark.scripted
def test_a_reflection_run_again_does_not_bring_it_back(server: Served, client: httpx2.Client) -> None:
    quote = "my locker code is zq7Kx-4410"
    answer = memory_answer(quote, "Locker code is zq7Kx-4410")
    server.script.add_answers("Reflection", answer)
    turn = say(client, f"Hi, {quote}.")
    server.settled(client)
    (memory,) = memories(client)
    client.delete(f"/api/memories/{memory['id']}")
    server.script.add_answers("Reflection", answer)
    client.post(f"/api/turns/{turn['turnId']}/reflect")
    server.settled(client)
    assert memories(client) == []


def test_a_kept_reply_does_not_give_the_memory_back(server: Served, client: httpx2.Client) -> None:
    body = {"userId": "ann", "type": "PROFILE", "content": "The vault word is quokka-17-marmot"}
    header = {"Idempotency-Key": "k1"}
    made = client.post("/api/memories", json=body, headers=header).json()["data"]
    client.delete(f"/api/memories/{made['id']}")
    replayed = client.post("/api/memories", json=body, headers=header)
    assert "quokka" not in replayed.text
    assert memories(client) == []
    assert "quokka" not in dump(server.database_url)


def test_another_organization_cannot_forget_or_export(server: Served, client: httpx2.Client) -> None:
    made = client.post("/api/memories", json={"userId": "ann", "type": "PROFILE", "content": "Likes tea"}).json()[
        "data"
    ]
    other = server.client("other-org")
    assert other.delete(f"/api/memories/{made['id']}").status_code == 404
    assert other.delete("/api/users/ann").status_code == 404
    assert other.get("/api/users/ann/export").status_code == 404
    assert len(memories(client)) == 1


@pytest.mark.scripted
def test_every_line_of_an_export_is_json_and_names_no_owner(server: Served, client: httpx2.Client) -> None:
    furnished(server, client)
    lines = [json.loads(line) for line in client.get("/api/users/ann/export").text.splitlines()]
    assert lines[0] == {"format": "mnemon-export", "version": 1, "userId": "ann"}
    assert lines[-1] == {"end": True, "rows": len(lines) - 2}
    assert not any({"org_id", "user_id", "revision"} & set(line["row"]) for line in lines[1:-1])


def test_an_import_says_what_it_left_out_as_forgotten(client: httpx2.Client) -> None:
    stored = [
        client.post("/api/memories", json={"userId": "ann", "type": "PROFILE", "content": content}).json()["data"]["id"]
        for content in ("Owns a boat", "Keeps a heron called Quillon")
    ]
    exported = client.get("/api/users/ann/export").content
    assert client.delete(f"/api/memories/{stored[1]}").status_code == 200
    told = client.post("/api/import", content=exported, headers=NDJSON).json()["data"]
    assert (told["stored"]["memories"], told["kept"]["memories"], told["forgotten"]) == (0, 1, {"memories": 1})
    assert client.get(f"/api/memories/{stored[1]}").status_code == 404
    assert client.delete("/api/users/ann").status_code == 200
    told = client.post("/api/import", content=exported, headers=NDJSON).json()["data"]
    assert (told["stored"]["memories"], told["forgotten"]) == (1, {"memories": 1})
