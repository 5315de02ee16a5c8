"""A provider whose errors quote the prompt: its sentence reaches nobody and is kept nowhere."""

import json

import httpx2
import psycopg
import pytest

from support.console_door import signed_in
from support.served import Served

pytestmark = pytest.mark.scripted
WORD = "zanzibarite"
SAID = f"My hobby: I collect {WORD} stamps."
ERROR_COLUMNS = """
select table_name, column_name from information_schema.columns
where table_schema = 'public' and column_name like '%error%' and data_type in ('text', 'jsonb')
"""


def completion(user: str) -> dict[str, object]:
    return {"model": "m", "user": user, "messages": [{"role": "user", "content": SAID}]}


def kept_errors(url: str) -> dict[str, str]:
    """What each column for errors holds, by table and column."""
    with psycopg.connect(url) as connection:
        columns = connection.execute(ERROR_COLUMNS).fetchall()
        return {
            f"{table}.{column}": "\n".join(
                str(row[0])
                for row in connection.execute(f'select {column}::text from "{table}" where {column} is not null')
            )
            for table, column in columns
        }


def refused_answers(client: httpx2.Client) -> list[httpx2.Response]:
    """What callers hear of a model that rejects every request."""
    agent = client.post("/api/agents", json={"name": "Scout", "skill": f"You know this: {SAID}"}).json()["data"]["id"]
    return [
        client.post("/api/chat", json={"userId": "ann", "message": SAID, "stream": False}),
        client.post("/api/chat", json={"userId": "bob", "message": SAID}),
        client.post("/v1/chat/completions", json=completion("carl")),
        client.post("/v1/chat/completions", json={**completion("dora"), "stream": True}),
        client.post(f"/api/agents/{agent}/runs", json={"prompt": SAID}),
        client.post(f"/api/agents/{agent}/chat", json={"message": SAID, "stream": False}),
    ]


def test_no_caller_and_no_column_gets_the_sentence(server: Served, client: httpx2.Client) -> None:
    server.script.add_fault("rejected", times=None)
    answers = refused_answers(client)
    assert "rejected the request (400, invalid_request_error)" in answers[0].json()["detail"]
    assert [answer.status_code for answer in answers[:4]] == [503, 200, 503, 503], [a.text for a in answers]
    for answer in answers[:4]:
        assert WORD not in answer.text
    server.settled(client)
    kept = kept_errors(server.database_url)
    for column in ("work.error", "turns.error", "reflections.error", "runs.error", "exchanges.error"):
        assert "invalid_request_error" in kept[column], (column, kept)
    assert WORD not in json.dumps(kept)


def failed_turn(server: Served, client: httpx2.Client, user: str, error: str) -> None:
    """A turn of the person whose reflection failed with this error, as an earlier version wrote it."""
    said = {"userId": user, "messages": [{"role": "user", "content": "Hello there"}]}
    turn = client.post("/api/turns", json=said).json()["data"]["turnId"]
    server.settled(client)
    with psycopg.connect(server.database_url, autocommit=True) as connection:
        assert connection.execute("update work set error = %s where key = %s", [error, turn]).rowcount == 1


def test_what_an_earlier_version_kept_is_covered_with_the_memory(server: Served, client: httpx2.Client) -> None:
    hobby = {"type": "PROFILE", "attribute": "hobby"}
    ann = {**hobby, "userId": "ann", "content": f"Collects {WORD} stamps"}
    bob = {**hobby, "userId": "bob", "content": f"Collects {WORD} stamps from the far north"}
    memories = [client.post("/api/memories", json=fact).json()["data"]["id"] for fact in (ann, bob)]
    server.script.add_fault("rejected", times=None)
    failed_turn(server, client, "ann", f"model_refused: {SAID}")
    failed_turn(server, client, "carl", f"model_refused: {bob['content']}.")
    with signed_in(server, server.org()) as browser:
        for left, forgotten in ((2, memories[0]), (1, memories[1])):
            for shown in (client.get("/api/jobs"), browser.get("/jobs.json")):
                assert shown.text.count(WORD) == left
            receipt = client.delete(f"/api/memories/{forgotten}")
            assert receipt.json()["data"]["redacted"]["work"] == 1
        for shown in (client.get("/api/jobs"), browser.get("/jobs.json"), browser.get("/jobs")):
            assert WORD not in shown.text


def test_a_forgotten_persons_words_leave_the_errors_of_other_work(server: Served, client: httpx2.Client) -> None:
    fact = {"userId": "ann", "type": "PROFILE", "content": f"Collects {WORD} stamps from the far north"}
    assert client.post("/api/memories", json=fact).status_code == 201
    server.script.add_fault("rejected", times=None)
    failed_turn(server, client, "carl", f"model_refused: {fact['content']}")
    receipt = client.delete("/api/users/ann")
    assert receipt.json()["data"]["redacted"]["work"] == 1
    assert WORD not in client.get("/api/jobs").text
