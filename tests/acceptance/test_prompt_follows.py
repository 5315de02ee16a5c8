"""The prompt follows what memory holds at once: what is replaced or taken back leaves it, and nothing is in it twice.

Beside these, `tests/conftest.py` looks at every prompt that any test makes (`tests/support/prompts.py`).
"""

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from acceptance.conftest import Shared
from support.bounds import HANGS_S
from support.prompts import recalled_sentences
from support.served import Served


@pytest.fixture
def offline_server(shared: Shared) -> Iterator[Served]:
    """A server without a model, with organizations of the test's own."""
    running = shared.apart("offline")
    yield running
    running.leave()


def say(server: Served, client: httpx2.Client, *texts: str) -> None:
    for text in texts:
        body = {"userId": "ana", "message": text, "stream": False}
        answer = client.post("/api/chat", json=body, timeout=HANGS_S)
        assert answer.status_code == 200, answer.text
        server.settled(client)
        server.advance(minutes=1)


def prompt(client: httpx2.Client, query: str, **more: Any) -> str:
    answer = client.post("/api/context", json={"userId": "ana", "query": query, **more})
    assert answer.status_code == 200, answer.text
    return str(answer.json()["data"]["system"])


def leave(server: Served, client: httpx2.Client, **time: float) -> None:
    """Let the session end and be summarized."""
    server.advance(**time)
    server.settled(client)


FILLER = [f"Rehearsal number {number} of the concert went well." for number in range(22)]


def test_the_spine_loses_a_home_as_soon_as_it_is_replaced(offline_server: Served) -> None:
    server, client = offline_server, offline_server.client("acme")
    say(server, client, "I live in Austin.", *FILLER)
    spine = client.get("/api/users/ana/spine").json()["data"]
    assert "I live in Austin" in str(spine)
    leave(server, client, hours=9)
    assert list(recalled_sentences(prompt(client, "Where do I live?"))).count("I live in Austin") == 1
    say(server, client, "I moved to Boston.")
    leave(server, client, hours=9)
    shown = prompt(client, "Where do I live?")
    assert "Boston" in shown
    assert "Austin" not in shown
    assert "Austin" not in str(client.get("/api/users/ana/spine").json()["data"])


def test_what_is_taken_back_leaves_every_layer(offline_server: Served) -> None:
    server, client = offline_server, offline_server.client("acme")
    say(server, client, "I work at Acme.", "I live in Austin.", *FILLER)
    leave(server, client, minutes=40)
    say(server, client, "I quit Acme.", "I no longer live in Austin.")
    leave(server, client, hours=9)
    held = list(recalled_sentences(prompt(client, "Where do I work and live?")))
    assert "I work at Acme" not in [one.strip(".") for one in held]
    assert "I live in Austin" not in [one.strip(".") for one in held]


def test_a_fact_is_shown_once_as_seed_memory_card_and_message(offline_server: Served) -> None:
    server, client = offline_server, offline_server.client("acme")
    profile = [{"content": "Likes oolong tea"}]
    assert client.put("/api/users/ana/seed", json={"profile": profile}).status_code == 200
    say(server, client, "Sarah is my cofounder.", "Sarah lives in Rome.", "I live in Austin.")
    leave(server, client, minutes=40)
    shown = prompt(client, "What about Sarah, tea and Austin?")
    for sentence in ("Likes oolong tea", "Sarah is my cofounder", "Sarah lives in Rome", "I live in Austin"):
        assert shown.count(sentence) == 1, shown
    left_out = client.post("/api/context", json={"userId": "ana", "query": "What about Sarah?"}).json()["data"][
        "leftOut"
    ]
    assert {one["why"] for one in left_out} <= {"repeated", "outdated", "layer_budget", "budget"}


def test_replies_without_a_model_are_nothing_that_was_said(offline_server: Served) -> None:
    server, client = offline_server, offline_server.client("acme")
    say(server, client, "Our concert in Oslo went well.", "What about the concert in Oslo?")
    leave(server, client, minutes=40)
    assert "No language model" not in prompt(client, "No language model is connected? The concert in Oslo?")
    query = {"userId": "ana", "query": "No language model is connected, so this is memory alone", "kinds": ["messages"]}
    for ranking in ("hybrid", "similarity", "blended"):
        found = client.post("/api/memories/search", json={**query, "ranking": ranking}).json()["data"]["results"]
        assert not any("No language model" in one["message"]["content"] for one in found)


def test_a_relative_date_is_a_day_in_the_persons_zone_and_past_once_it_is_over(offline_server: Served) -> None:
    server, client = offline_server, offline_server.client("acme")
    # The clock stands at 15:22 UTC on 12 April 2026, a Sunday; in Auckland it is Monday.
    say(server, client, "My time zone is Pacific/Auckland.", "The deadline is tomorrow.")
    [deadline] = [
        one
        for one in client.get("/api/memories", params={"userId": "ana"}).json()["data"]
        if "deadline" in one["content"].lower()
    ]
    assert deadline["dates"] == ["tomorrow: 2026-04-14"]
    assert "Today is Monday, 13 April 2026 (Pacific/Auckland)." in prompt(client, "When is my deadline?")
    assert "The deadline is tomorrow (tomorrow: 2026-04-14)" in prompt(client, "When is my deadline?")
    leave(server, client, days=3)
    assert "The deadline is tomorrow (tomorrow: 2026-04-14, past)" in prompt(client, "When is my deadline?")


def test_without_a_zone_of_their_own_people_have_that_of_the_setting(offline_server: Served) -> None:
    client = offline_server.client("acme")
    body = {"userId": "ana", "type": "PROFILE", "content": "The rent is due tomorrow"}
    made = client.post("/api/memories", json=body).json()["data"]
    assert made["dates"] == ["tomorrow: 2026-04-13"]
    path = f"/api/memories/{made['id']}"
    changed = client.patch(path, json={"content": "The rent is due in two weeks"}).json()["data"]
    assert changed["dates"] == ["in two weeks: 2026-04-26"]
    assert client.patch(path, json={"content": "The rent is due"}).json()["data"]["dates"] == []
