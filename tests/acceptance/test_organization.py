"""What an organization chooses for all its conversations, through the doors."""

from typing import Any

import httpx2
import pytest

from mnemon.access.grants import PERSONAL_GRANTS, Grant
from support.served import Served

DEFAULTS = {"engagement": "on", "timeZone": None, "instructions": "", "updatedAt": None}


def settings(client: httpx2.Client) -> dict[str, Any]:
    answer = client.get("/api/organization")
    assert answer.status_code == 200, answer.text
    held: dict[str, Any] = answer.json()["data"]
    return held


def change(client: httpx2.Client, **changes: Any) -> httpx2.Response:
    return client.patch("/api/organization", json=changes)


def layers(client: httpx2.Client) -> dict[str, str]:
    answer = client.post("/api/context", json={"userId": "ana", "query": "What shall I cook?"})
    return {one["name"]: one["text"] for one in answer.json()["data"]["layers"]}


def test_what_is_not_named_stays_and_null_is_the_default_again(server: Served) -> None:
    client = server.client()
    assert settings(client) == {"organization": server.org("acme"), **DEFAULTS}
    changed = change(client, timeZone="Europe/Berlin", instructions=" Answer in German. ").json()["data"]
    assert (changed["engagement"], changed["timeZone"]) == ("on", "Europe/Berlin")
    assert changed["instructions"] == "Answer in German."
    assert change(client, engagement="off").json()["data"]["instructions"] == "Answer in German."
    assert change(client, engagement=None, timeZone=None, instructions=None).status_code == 200
    held = settings(client)
    assert {**held, "updatedAt": None} == {"organization": server.org("acme"), **DEFAULTS}
    assert held["updatedAt"] is not None


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"engagement": "maybe"}, "invalid_request"),
        ({"timeZone": "Mars/Olympus"}, "unknown_time_zone"),
        ({"timeZone": "../../etc/passwd"}, "unknown_time_zone"),
        ({"timeZone": "Europe"}, "unknown_time_zone"),
        ({"instructions": "x" * 4001}, "invalid_request"),
        ({"instructions": 7}, "invalid_request"),
    ],
)
def test_what_cannot_be_is_refused(server: Served, changes: dict[str, Any], code: str) -> None:
    client = server.client()
    refused = change(client, **changes)
    assert (refused.status_code, refused.json()["code"]) == (422, code)
    assert settings(client)["updatedAt"] is None


def test_changing_needs_admin_and_a_key_that_speaks_for_all(server: Served) -> None:
    server.org("acme")
    reader = server.client(grants=frozenset({Grant.MEMORY_READ}))
    assert (reader.get("/api/organization").status_code, change(reader, engagement="off").status_code) == (200, 403)
    bound = server.client(user="ana", grants=frozenset(PERSONAL_GRANTS))
    assert (bound.get("/api/organization").status_code, change(bound, engagement="off").status_code) == (403, 403)


def test_instructions_reach_every_prompt_of_the_organization_alone(server: Served) -> None:
    client, other = server.client(), server.client("globex")
    change(client, instructions="Always mention allergies.")
    assert "Always mention allergies." in layers(client)["L1"]
    assert "allergies" not in layers(other)["L1"]


def test_off_means_no_layer_no_preamble_and_no_document(server: Served) -> None:
    client = server.client()
    assert "first session" in layers(client)["L8"]
    change(client, engagement="off")
    assert "L8" not in layers(client)
    engagement = client.get("/api/engagement")
    assert (engagement.status_code, engagement.json()["data"]) == (200, None)
    change(client, engagement="on")
    assert "L8" in layers(client)


def test_the_preamble_suits_any_assistant(server: Served) -> None:
    text = layers(server.client())["L8"]
    body = text.split("\n", 1)[1]
    assert body.count(".") <= 2
    for word in ("who is who", "what hurts", "consult", "hypothesis", "organization", "week"):
        assert word not in body


@pytest.mark.scripted
def test_off_means_no_section_and_on_again_means_what_was_held_before(server: Served) -> None:
    client = server.client()
    said = "Deals wait nine days for approval."

    def asked_sections() -> set[str]:
        properties: set[str] = set()
        for one in server.script.requests_on("Reflection"):
            properties |= set((one.schema or {})["properties"])
        server.script.clear()
        return properties

    def tell() -> set[str]:
        body = {"userId": "ana", "messages": [{"role": "user", "content": said}]}
        assert client.post("/api/turns", json=body).status_code == 202
        server.settled(client)
        return asked_sections()

    unknown = {"question": "Who approves deals?", "whyItMatters": "Decides the fix."}
    server.script.add_answers("Reflection", {"engagement": {"unknowns": [unknown]}})
    assert "engagement" in tell()
    held = client.get("/api/engagement").json()["data"]
    assert held is not None
    change(client, engagement="off")
    assert "engagement" not in tell()
    assert client.get("/api/engagement?asOf=2030-01-01T00:00:00Z").json()["data"] is None
    change(client, engagement="on")
    assert client.get("/api/engagement").json()["data"] == held


def test_a_key_bound_to_a_person_reads_agent_state_only_if_that_is_named(server: Served) -> None:
    default = server.client(user="ana").get("/api/key").json()["data"]["scopes"]
    assert "agent-state:read" not in default
    named = server.client(user="ana", grants=frozenset({Grant.AGENT_STATE_READ}))
    assert named.get("/api/key").json()["data"]["scopes"] == ["agent-state:read"]


def test_the_prompt_tells_todays_date_where_the_organization_is(server: Served) -> None:
    client = server.client()
    server.set_time("2026-04-12T23:30:00Z")
    assert "Today is Sunday, 12 April 2026 (UTC)." in layers(client)["L1"]
    change(client, timeZone="Europe/Berlin")
    assert "Today is Monday, 13 April 2026 (Europe/Berlin)." in layers(client)["L1"]
