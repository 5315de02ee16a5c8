"""What a gate refuses is offered back to the model once, with the reason, and what it mends is stored."""

from typing import Any

import httpx2
import pytest

from mnemon.llm.scripted.script import ScriptedRequest
from support.served import Served

pytestmark = pytest.mark.scripted
Client = httpx2.Client
SAID = "I moved to Lisbon for the surf. I'm a vet, and I'll call Ana tomorrow."


def memory(content: str, quote: str) -> dict[str, Any]:
    return {"type": "PROFILE", "factType": "fact", "content": content, "quote": quote}


LISBON = memory("Moved to Lisbon for the surf", "I moved to Lisbon for the surf")
WRONG = memory("Relocated to Portugal's capital city", "I moved to Lisbon for the surf")
VET = memory("Is a vet", "I'm a vet")
RICH = memory("Earns $250,000 a year", "I'm a vet")


def reflect(client: Client, server: Served, said: str = SAID) -> dict[str, Any]:
    body = {"userId": "dana", "messages": [{"role": "user", "content": said}]}
    taken = client.post("/api/turns", json=body)
    assert taken.status_code == 202, taken.text
    server.settled(client)
    return dict(client.get(f"/api/turns/{taken.json()['data']['turnId']}").json()["data"]["reflection"])


def contents(client: Client) -> set[str]:
    return {one["content"] for one in client.get("/api/memories", params={"userId": "dana"}).json()["data"]}


def asked(server: Served) -> list[ScriptedRequest]:
    return [one for one in server.script.asked if one.title == "Reflection"]


def test_a_refused_memory_is_mended_and_the_others_are_not_asked_for_again(server: Served, client: Client) -> None:
    server.script.add_answers("Reflection", {"memories": [WRONG, VET]}, {"memories": [LISBON]})
    done = reflect(client, server)
    assert done["status"] == "done"
    assert contents(client) == {LISBON["content"], VET["content"]}
    assert done["rejected"] == []
    assert (done["sections"]["memory"]["repaired"], done["sections"]["todos"]["repaired"]) == (1, 0)
    first, second = asked(server)
    assert list((second.schema or {})["properties"]) == ["memories"]
    assert "the quote does not say" in second.prompt
    assert WRONG["content"] in second.prompt.split("<refused>")[1]
    assert VET["content"] not in second.prompt.split("<refused>")[1]
    assert "<refused>" not in first.prompt


def test_a_lie_that_is_repeated_stays_refused_and_is_told_once(server: Served, client: Client) -> None:
    server.script.add_answers("Reflection", {"memories": [RICH, VET]}, {"memories": [RICH]})
    done = reflect(client, server)
    assert contents(client) == {VET["content"]}
    assert [one["what"] for one in done["rejected"]] == [RICH["content"]]
    assert done["sections"]["memory"]["repaired"] == 0
    assert len(asked(server)) == 2


def test_todos_are_offered_back_as_memories_are(server: Served, client: Client) -> None:
    wrong = {
        "op": "add",
        "kind": "commitment",
        "content": "Phone her mother Ana tonight",
        "quote": "I'll call Ana tomorrow",
    }
    right = {**wrong, "content": "Call Ana tomorrow"}
    server.script.add_answers("Reflection", {"todos": [wrong]}, {"todos": [right]})
    reflect(client, server)
    shown = client.get("/api/todos", params={"userId": "dana"}).json()["data"]
    assert [one["content"] for one in shown] == ["Call Ana tomorrow"]


@pytest.mark.parametrize("second", [{"memories": "none"}, {}, {"memories": []}, {"memories": None}])
def test_a_second_answer_that_is_no_use_costs_nothing_of_the_first(
    server: Served, client: Client, second: dict[str, Any]
) -> None:
    server.script.add_answers("Reflection", {"memories": [RICH, VET]}, second)
    done = reflect(client, server)
    assert done["status"] == "done"
    assert contents(client) == {VET["content"]}
    assert [one["what"] for one in done["rejected"]] == [RICH["content"]]


def test_a_model_that_fails_at_the_second_question_costs_nothing_of_the_first(server: Served, client: Client) -> None:
    def last_words(_: ScriptedRequest) -> dict[str, Any]:
        server.script.add_fault("dead")
        return {"memories": [RICH, VET]}

    server.script.add_answers("Reflection", last_words)
    assert reflect(client, server)["status"] == "done"
    assert contents(client) == {VET["content"]}


def test_when_nothing_is_refused_the_model_is_asked_once(server: Served, client: Client) -> None:
    server.script.add_answers("Reflection", {"memories": [VET]})
    reflect(client, server)
    assert len(asked(server)) == 1
