"""Without a model a message is answered after what was said before it is learned, and never waits for long."""

import time
from pathlib import Path
from typing import Any

import httpx2
import psycopg

from support.bounds import HANGS_S
from support.served import Served, served


def say(client: httpx2.Client, text: str, user: str = "ana", **more: Any) -> str:
    body = {"userId": user, "message": text, "stream": False, **more}
    answer = client.post("/api/chat", json=body, timeout=HANGS_S)
    assert answer.status_code == 200, answer.text
    reply: str = answer.json()["data"]["reply"]
    return reply


def test_each_message_is_learned_before_the_next_is_answered(offline_server: Served) -> None:
    client = offline_server.client("acme")
    for number, name in enumerate(("John", "Ruth", "Omar", "Lena")):
        user = f"person-{number}"
        say(client, f"{name} is my cofounder.", user)
        reply = say(client, f"What do you know about {name}?", user)
        assert f"- {name} is my cofounder" in reply, reply


def test_what_an_openai_client_says_is_learned_before_it_asks(offline_server: Served) -> None:
    client = offline_server.client("acme")
    for asked in ("I live in Lisbon.", "Where do I live?"):
        body = {"model": "mnemon", "user": "ana", "messages": [{"role": "user", "content": asked}]}
        answer = client.post("/v1/chat/completions", json=body, timeout=HANGS_S)
        assert answer.status_code == 200, answer.text
    assert "I live in Lisbon" in answer.json()["choices"][0]["message"]["content"]


def test_without_a_worker_nothing_waits_and_what_was_just_said_is_not_denied(database_url: str, tmp_path: Path) -> None:
    with served(database_url, tmp_path, model="offline", worker=False) as server:
        client = server.client("acme")
        say(client, "I live in Lisbon.")
        reply = say(client, "Where do I live?")
        assert "nothing is remembered" not in reply
        assert "Earlier in this conversation you said: I live in Lisbon." in reply


def test_a_worker_that_does_not_get_to_it_delays_a_message_for_a_few_seconds_only(
    database_url: str, tmp_path: Path
) -> None:
    with served(database_url, tmp_path, model="offline", worker=False) as server:
        client = server.client("acme")
        say(client, "I live in Lisbon.")
        # A worker elsewhere that claims work, but never this.
        with psycopg.connect(database_url, autocommit=True) as connection:
            connection.execute(
                "insert into workers (worker_id, started_at, seen_at, claimed_at, slots, busy)"
                " values ('wrk_elsewhere', now(), now(), now(), 1, 1)"
            )
        began = time.monotonic()
        assert "I live in Lisbon" in say(client, "Where do I live?")
        assert time.monotonic() - began >= 4.5
        assert say(client, "Where do I live?", user="somebody-else")


def test_a_question_in_other_words_gets_what_comes_closest(offline_server: Served) -> None:
    client = offline_server.client("acme")
    say(client, "I'm allergic to peanuts.")
    reply = say(client, "Which food could kill her?")
    assert "allergic to peanuts" in reply
    assert "nothing is remembered" not in reply
    assert "nothing is remembered" in say(client, "Which food could kill her?", user="nobody-yet")
    assert "nothing is remembered" not in say(client, "Good morning.", user="nobody-yet")
