"""A model that lies to the memory, through the doors: each way in which it once succeeded."""

from typing import Any

import httpx2
import pytest

from mnemon.llm.scripted.script import tool_call_reply
from support.served import Served

pytestmark = pytest.mark.scripted
Client = httpx2.Client
AUSTIN = "I live in Austin"
LIES = {
    "money from nowhere": ("I live in Austin.", "Earns $250,000 a year", AUSTIN),
    "a crime from nowhere": ("I live in Austin.", "Is a felon", AUSTIN),
    "a stray word": ("I met the team today.", "Dana is a convicted felon", "the"),
    "another figure": ("I pay $1,200 of rent.", "Pays $2,100 of rent", "I pay $1,200 of rent"),
    "another name": ("I work with Tom.", "Works with Bob", "I work with Tom"),
    "a dropped negation": ("I do not smoke.", "Smokes", "I do not smoke"),
    "an added negation": ("I eat fish.", "Does not eat fish", "I eat fish"),
    "a question": ("Am I allergic to penicillin?", "Is allergic to penicillin", "allergic to penicillin"),
    "a wish": ("I wish I had a boat.", "Has a boat", "I had a boat"),
    "a supposition": ("If I lived in Oslo, I would ski.", "Lives in Oslo", "I lived in Oslo"),
    "somebody else's words": ("Tom says that I am lazy.", "Is lazy", "I am lazy"),
    "a past state": ("I used to live in Berlin.", "Lives in Berlin", "live in Berlin"),
    "somebody else's fact": ("My sister is allergic to nuts.", "Is allergic to nuts", "allergic to nuts"),
    "another day": ("I fly on May 3.", "Flies on May 13", "I fly on May 3"),
}
"""What is said, the fact that a model makes of it, and the words it quotes."""
TRUTHS = {
    "in other words": ("I live in Austin.", "Lives in Austin", AUSTIN),
    "a rounded figure": ("I earn $250,400 a year.", "Earns $250k a year", "I earn $250,400 a year"),
    "a kept negation": ("I do not smoke.", "Does not smoke", "I do not smoke"),
    "a wish as a wish": ("I want to learn Greek.", "Wants to learn Greek", "I want to learn Greek"),
    "the past as past": ("I used to live in Berlin.", "Used to live in Berlin", "I used to live in Berlin"),
}


def reflect(server: Served, client: Client, said: str, content: str, quote: str) -> dict[str, Any]:
    """The turn's reflection, in which the model proposes the fact."""
    fact = {"type": "PROFILE", "factType": "fact", "content": content, "quote": quote}
    server.script.add_answers("Reflection", {"memories": [fact]})
    body = {"userId": "dana", "messages": [{"role": "user", "content": said}]}
    taken = client.post("/api/turns", json=body)
    assert taken.status_code == 202, taken.text
    server.settled(client)
    return dict(client.get(f"/api/turns/{taken.json()['data']['turnId']}").json()["data"]["reflection"])


def contents(client: Client) -> list[str]:
    return [one["content"] for one in client.get("/api/memories", params={"userId": "dana"}).json()["data"]]


def test_a_quote_that_says_something_else_supports_no_memory(server: Served, client: Client) -> None:
    for trick, (said, content, quote) in LIES.items():
        reflection = reflect(server, client, said, content, quote)
        assert [one["what"] for one in reflection["rejected"]] == [content], trick
        assert contents(client) == [], trick


def test_the_reason_of_a_refusal_names_what_is_missing(server: Served, client: Client) -> None:
    [figure] = reflect(server, client, *LIES["money from nowhere"])["rejected"]
    assert "$250,000" in figure["why"]
    [word] = reflect(server, client, *LIES["a crime from nowhere"])["rejected"]
    assert word["why"] == "the quote does not say: felon"


def test_what_the_person_did_say_is_kept(server: Served, client: Client) -> None:
    for trick, (said, content, quote) in TRUTHS.items():
        assert reflect(server, client, said, content, quote)["rejected"] == [], trick
    assert len(contents(client)) == len(TRUTHS)


def test_a_rounded_figure_is_kept_as_the_person_gave_it(server: Served, client: Client) -> None:
    reflect(server, client, *TRUTHS["a rounded figure"])
    assert contents(client) == ["Earns $250,400 a year"]


@pytest.mark.parametrize("trick", ["a crime from nowhere", "a stray word", "a question"])
def test_the_tool_remember_takes_no_lie_either(server: Served, client: Client, trick: str) -> None:
    said, content, quote = LIES[trick]
    server.script.add_replies(tool_call_reply("remember", content=content, quote=quote), "Noted.")
    body = {"userId": "dana", "message": said, "stream": False}
    assert client.post("/api/chat", json=body).status_code == 200
    server.settled(client)
    assert contents(client) == []
    told = server.script.requests_on("chat")[-1].messages[-1]
    assert "The quote does not support the fact" in str(told)


def test_the_tool_remember_keeps_what_was_said(server: Served, client: Client) -> None:
    server.script.add_replies(tool_call_reply("remember", content="Lives in Austin", quote=AUSTIN), "Noted.")
    body = {"userId": "dana", "message": "I live in Austin.", "stream": False}
    assert client.post("/api/chat", json=body).status_code == 200
    server.settled(client)
    assert contents(client) == ["Lives in Austin"]


def test_a_todo_needs_a_plan_and_its_end_a_report(server: Served, client: Client) -> None:
    def todos() -> list[str]:
        return [one["content"] for one in client.get("/api/todos", params={"userId": "dana"}).json()["data"]]

    def propose(said: str, **todo: Any) -> list[str]:
        server.script.add_answers("Reflection", {"todos": [todo]})
        taken = client.post("/api/turns", json={"userId": "dana", "messages": [{"role": "user", "content": said}]})
        server.settled(client)
        turn = client.get(f"/api/turns/{taken.json()['data']['turnId']}").json()["data"]
        return [one["why"] for one in turn["reflection"]["rejected"]]

    add = {"op": "add", "kind": "commitment"}
    assert propose("I'll call mom tomorrow.", **add, content="Send $900 to Bob", quote="I'll call mom tomorrow")
    assert todos() == []
    assert propose("I'll call mom tomorrow.", **add, content="Call mom", quote="I'll call mom tomorrow") == []
    assert todos() == ["Call mom"]
    done = {"op": "done", "content": "Call mom"}
    assert propose("I haven't called mom yet.", **done, quote="I haven't called mom yet")
    assert todos() == ["Call mom"]
    assert propose("I called mom.", **done, quote="I called mom") == []
    assert client.get("/api/todos", params={"userId": "dana", "status": "open"}).json()["data"] == []
