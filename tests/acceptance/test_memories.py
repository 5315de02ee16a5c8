"""Seed 001 through the API: every example of it, its metadata, states and scopes."""

from typing import Any

import httpx2
import pytest

from support.served import Served

Client = httpx2.Client


def remember(client: Client, content: str, kind: str = "PROFILE", **more: Any) -> dict[str, Any]:
    body = {"userId": "anna", "type": kind, "content": content, **more}
    answer = client.post("/api/memories", json=body)
    assert answer.status_code in {200, 201}, answer.text
    return dict(answer.json()["data"])


def held(client: Client, **params: Any) -> list[dict[str, Any]]:
    answer = client.get("/api/memories", params={"userId": "anna", **params})
    assert answer.status_code == 200, answer.text
    return list(answer.json()["data"])


def search(client: Client, query: str, **more: Any) -> dict[str, Any]:
    answer = client.post("/api/memories/search", json={"userId": "anna", "query": query, **more})
    assert answer.status_code == 200, answer.text
    return dict(answer.json()["data"])


def person(label: str) -> dict[str, str]:
    return {"type": "person", "label": label}


EXAMPLES: list[tuple[str, str, dict[str, Any]]] = [
    ("PROFILE", "Lives in Austin, Texas", {}),
    ("PROFILE", "Prefers dark mode", {"factType": "preference"}),
    ("PROFILE", "Is a morning person", {"factType": "habit"}),
    ("PEOPLE", "John is my cofounder; handles backend", {"entity": person("John Doe"), "factType": "relationship"}),
    ("PEOPLE", "Mom lives in Seattle", {"entity": person("Mom")}),
    ("PEOPLE", "Sarah is CEO of TechStartup Inc", {"entity": person("Sarah")}),
    ("PROJECT", "Working on dashboard redesign", {"entity": {"type": "project", "label": "Dashboard redesign"}}),
    ("PROJECT", "Launching beta next month", {}),
    ("PROJECT", "Project uses React and TypeScript", {}),
]  # fmt: skip


def test_every_example_of_the_seed_is_stored_and_found(client: Client) -> None:
    for kind, content, more in EXAMPLES:
        made = remember(client, content, kind, **more)
        assert made["outcome"] == "created"
        assert (made["type"], made["content"], made["status"], made["source"]) == (kind, content, "ACTIVE", "api")
    assert {one["content"] for one in held(client)} == {content for _, content, _ in EXAMPLES}
    for ranking in ("similarity", "blended", "hybrid"):
        for _, content, _ in EXAMPLES:
            results = search(client, content, ranking=ranking, limit=3)["results"]
            assert content in [hit["memory"]["content"] for hit in results], (ranking, content)


def test_the_seeds_entity_keys_label_subtype_and_memory_key(client: Client) -> None:
    john = remember(
        client,
        "John is my cofounder",
        "PEOPLE",
        entity={"type": "person", "label": "John Doe"},
        factType="relationship",
    )
    assert john["entityRefs"] == ["person:john_doe"]
    assert john["entityLabel"] == "John Doe"
    assert john["subtype"] == {"entityType": "person", "factType": "relationship"}
    assert john["memoryKey"] == "people|person|john_doe|relationship"
    for kind, label, key in (
        ("org", "Acme Corp", "org:acme_corp"),
        ("place", "Austin, Texas", "place:austin_texas"),
        ("project", "dashboard redesign", "project:dashboard_redesign"),
        ("person", "Łukasz Żółć", "person:łukasz_żółć"),
    ):
        made = remember(client, f"About {label}", "PEOPLE", entity={"type": kind, "label": label})
        assert made["entityRefs"] == [key]
        assert made["entityLabel"] == label


def test_a_memory_has_every_field_of_the_contract(client: Client) -> None:
    made = remember(client, "Prefers dark mode", attribute="theme", confidence=0.5, validFrom="2026-01-02T00:00:00Z")
    expected: dict[str, Any] = {
        "userId": "anna", "personaId": None, "type": "PROFILE", "attribute": "theme", "importance": 1, "pinned": False,
        "memoryKey": "profile|person|self|fact|theme", "source": "api", "status": "ACTIVE", "confidence": 0.5,
        "mentions": 1, "validFrom": "2026-01-02T00:00:00Z", "validTo": None, "createdAt": "2026-04-12T15:22:00Z",
        "updatedAt": "2026-04-12T15:22:00Z", "provenance": [], "dates": [], "entityRefs": [], "trust": "person",
    }  # fmt: skip
    assert {name: made[name] for name in expected} == expected
    assert made["id"].startswith("mem_")
    assert client.get(f"/api/memories/{made['id']}").json()["data"] == {k: v for k, v in made.items() if k != "outcome"}


def test_pinned_forces_importance_three_and_is_never_archived(client: Client) -> None:
    made = remember(client, "Is allergic to nuts", pinned=True, importance=0)
    assert made["importance"] == 3
    refused = client.patch(f"/api/memories/{made['id']}", json={"status": "ARCHIVED", "reason": "outdated"})
    assert refused.status_code == 409
    assert refused.json()["code"] == "pinned"
    together = {"pinned": False, "status": "ARCHIVED", "reason": "outdated"}
    assert client.patch(f"/api/memories/{made['id']}", json=together).json()["data"]["status"] == "ARCHIVED"


def test_the_same_key_updates_and_the_earlier_version_is_kept(server: Served, client: Client) -> None:
    first = remember(client, "Lives in Austin", attribute="city")
    server.advance(days=2)
    second = remember(client, "Lives in Denver", attribute="city")
    assert (second["outcome"], second["id"], second["mentions"]) == ("updated", first["id"], 1)
    versions = client.get(f"/api/memories/{first['id']}/history").json()["data"]
    assert [(one["content"], one["validFrom"], one["validTo"], one["current"]) for one in versions] == [
        ("Lives in Austin", "2026-04-12T15:22:00Z", "2026-04-14T15:22:00Z", False),
        ("Lives in Denver", "2026-04-14T15:22:00Z", None, True),
    ]


def test_as_of_gives_what_was_believed_then(server: Served, client: Client) -> None:
    remember(client, "Lives in Austin", attribute="city")
    gone = remember(client, "Has a dog called Rex", attribute="dog")
    server.advance(days=10)
    remember(client, "Lives in Denver", attribute="city")
    client.patch(f"/api/memories/{gone['id']}", json={"status": "ARCHIVED", "reason": "outdated"})
    for ranking in ("similarity", "blended", "hybrid"):

        def contents(ranking: str = ranking, **more: Any) -> set[str]:
            found = search(client, "lives in dog", ranking=ranking, **more)["results"]
            return {hit["memory"]["content"] for hit in found}

        assert contents() == {"Lives in Denver"}
        assert contents(asOf="2026-04-15T00:00:00Z") == {"Lives in Austin", "Has a dog called Rex"}
        assert contents(asOf="2026-04-01T00:00:00Z") == set()


def test_patch_keeps_the_old_text_and_restore_brings_it_back(client: Client) -> None:
    made = remember(client, "Drinks coffee", attribute="drink")
    address = f"/api/memories/{made['id']}"
    changed = client.patch(address, json={"content": "Drinks tea", "importance": 2, "reason": "misheard"}).json()[
        "data"
    ]
    assert (changed["content"], changed["importance"], changed["note"]) == ("Drinks tea", 2, "misheard")
    assert search(client, "Drinks tea", ranking="similarity")["results"][0]["score"] > 0.99
    back = client.post(f"{address}/restore", json={"version": 1}).json()["data"]
    assert back["content"] == "Drinks coffee"
    assert [one["content"] for one in client.get(f"{address}/history").json()["data"]] == [
        "Drinks coffee",
        "Drinks tea",
        "Drinks coffee",
    ]


@pytest.mark.parametrize("reason", ["outdated", "wrong", "folded", "unwanted"])
def test_archived_is_hidden_kept_and_can_be_restored(client: Client, reason: str) -> None:
    made = remember(client, "Plays the violin")
    address = f"/api/memories/{made['id']}"
    archived = client.patch(address, json={"status": "ARCHIVED", "reason": reason}).json()["data"]
    assert (archived["status"], archived["archiveReason"]) == ("ARCHIVED", reason)
    assert held(client) == []
    assert search(client, "violin")["results"] == []
    assert [one["id"] for one in held(client, status="ARCHIVED")] == [made["id"]]
    restored = client.post(f"{address}/restore").json()["data"]
    assert (restored["status"], restored["archiveReason"]) == ("ACTIVE", None)
    assert len(search(client, "violin")["results"]) == 1
    assert client.post(f"{address}/restore").status_code == 409


def test_a_private_memory_reaches_its_persona_only(client: Client) -> None:
    remember(client, "Lives in Austin", attribute="city")
    remember(client, "Lives in a secret place", attribute="city", personaId="coach")

    def cities(**more: Any) -> set[str]:
        listed = {one["content"] for one in held(client, **more)}
        found = {hit["memory"]["content"] for hit in search(client, "lives in", **more)["results"]}
        assert listed == found
        return listed

    assert cities() == {"Lives in Austin"}
    assert cities(personaId="doctor") == {"Lives in Austin"}
    assert cities(personaId="coach") == {"Lives in Austin", "Lives in a secret place"}


def test_entity_cards_stand_beside_the_results_as_the_seed_formats_them(server: Served, client: Client) -> None:
    john = {"type": "person", "label": "John"}
    remember(client, "John handles backend", "PEOPLE", entity=john, attribute="work", importance=2)
    server.advance(minutes=1)
    remember(client, "John is my cofounder", "PEOPLE", entity=john, attribute="bond", importance=3)
    server.advance(minutes=1)
    remember(client, "John lives in Austin", "PEOPLE", entity=john, attribute="city", importance=2)
    server.advance(minutes=1)
    remember(client, "John was born in May", "PEOPLE", entity=john, attribute="birthday", importance=2)
    remember(client, "John had soup", "PEOPLE", entity=john, attribute="lunch", importance=1)
    remember(client, "John hates cilantro", "PEOPLE", entity=john, attribute="food", importance=0, pinned=True)
    card = search(client, "who is John")["entityCards"][0]
    assert card["text"] == "[person:john]: John hates cilantro; John is my cofounder; John was born in May"
    assert (card["key"], card["label"]) == ("person:john", "John")
    assert card["facts"] == ["John hates cilantro", "John is my cofounder", "John was born in May"]


def test_blended_scores_follow_the_seeds_formula(server: Served, client: Client) -> None:
    john = {"type": "person", "label": "John"}
    remember(client, "John handles backend", "PEOPLE", entity=john, attribute="work")
    remember(client, "John lives in Austin", "PEOPLE", entity=john, attribute="city")
    server.advance(days=14)
    remember(client, "Prefers dark mode")
    results = search(client, "John backend", ranking="blended", explain=True)["results"]
    assert len(results) == 3
    for hit in results:
        why, about_john = hit["why"], hit["memory"]["entityRefs"] == ["person:john"]
        assert why["recency"] == pytest.approx(0.5 if about_john else 1.0)
        assert why["frequency"] == pytest.approx(2 / 3 if about_john else 0.0)
        parts = 0.4 * why["similarity"] + 0.3 * why["recency"] + 0.3 * why["frequency"]
        assert hit["score"] == pytest.approx(parts, abs=1e-9)
        assert hit["weights"] == {"similarity": 0.4, "recency": 0.3, "frequency": 0.3}
    assert [hit["score"] for hit in results] == sorted((hit["score"] for hit in results), reverse=True)


def test_search_narrows_by_type_and_limit(client: Client) -> None:
    for kind, content, more in EXAMPLES:
        remember(client, content, kind, **more)
    people = search(client, "lives in", types=["PEOPLE"], limit=2)["results"]
    assert [hit["memory"]["type"] for hit in people] == ["PEOPLE", "PEOPLE"]


def test_an_open_loop_becomes_a_todo(client: Client) -> None:
    made = remember(client, "I'll go for a walk tomorrow", "OPEN_LOOP", personaId="coach")
    assert made["id"].startswith("tod_")
    assert (made["outcome"], made["kind"], made["status"]) == ("created", "commitment", "open")
    assert held(client, personaId="coach") == []

    def todos(**params: Any) -> list[dict[str, Any]]:
        return list(client.get("/api/todos", params={"userId": "anna", **params}).json()["data"])

    assert [one["content"] for one in todos(personaId="coach")] == ["I'll go for a walk tomorrow"]
    assert todos() == todos(personaId="doctor") == []
    done = client.patch(f"/api/todos/{made['id']}", json={"status": "done"}).json()["data"]
    assert (done["status"], done["closedAt"]) == ("done", "2026-04-12T15:22:00Z")
    assert todos(personaId="coach", status="open") == []
    assert len(todos(personaId="coach", status="done")) == 1


def test_lists_filter_and_page(server: Served, client: Client) -> None:
    for kind, content, more in EXAMPLES:
        remember(client, content, kind, **more)
        server.advance(seconds=1)
    assert {one["content"] for one in held(client, type="PROJECT")} == {c for k, c, _ in EXAMPLES if k == "PROJECT"}
    assert [one["content"] for one in held(client, entity="person:john_doe")] == [
        "John is my cofounder; handles backend"
    ]
    assert [one["content"] for one in held(client, q="SEATTLE")] == ["Mom lives in Seattle"]
    seen: list[str] = []
    cursor: str | None = None
    while True:
        params: dict[str, str | int] = {"userId": "anna", "limit": 2, **({"cursor": cursor} if cursor else {})}
        page = client.get("/api/memories", params=params).json()
        seen += [one["content"] for one in page["data"]]
        cursor = page["meta"]["nextCursor"]
        if cursor is None:
            break
    assert seen == [content for _, content, _ in reversed(EXAMPLES)]


def test_a_batch_of_a_thousand_is_stored_in_one_go(client: Client) -> None:
    facts = [
        {"userId": f"user-{n % 3}", "type": "PROFILE", "content": f"Fact {n}", "attribute": f"a{n}"} for n in range(999)
    ]
    answer = client.post("/api/memories/batch", json=[*facts, {**facts[0], "content": "Fact 0, again"}])
    made = answer.json()["data"]
    assert [one["outcome"] for one in made] == ["created"] * 999 + ["updated"]
    assert made[999]["id"] == made[0]["id"]
    too_many = client.post("/api/memories/batch", json=[*facts, *facts[:2]])
    assert too_many.status_code == 422
    broken = client.post("/api/memories/batch", json=[facts[1], {**facts[2], "type": "NONSENSE"}])
    assert broken.status_code == 422


def test_another_organization_finds_nothing(server: Served, client: Client) -> None:
    made = remember(client, "Lives in Austin")
    other = server.client("globex")
    address = f"/api/memories/{made['id']}"
    answers = [
        other.get(address),
        other.patch(address, json={"content": "x"}),
        other.get(f"{address}/history"),
        other.post(f"{address}/restore"),
    ]
    assert {answer.status_code for answer in answers} == {404}
    never = other.get("/api/memories/mem_00000000000000000000000000").json()
    assert {k: v for k, v in answers[0].json().items() if k != "requestId"} == {
        k: v for k, v in never.items() if k != "requestId"
    }
    assert held(other) == []
    assert search(other, "Austin")["results"] == []


def test_the_same_request_twice_counts_once(client: Client) -> None:
    body = {"userId": "anna", "type": "PROFILE", "content": "Lives in Austin"}
    headers = {"Idempotency-Key": "k1"}
    first = client.post("/api/memories", json=body, headers=headers)
    again = client.post("/api/memories", json=body, headers=headers)
    assert first.json()["data"] == again.json()["data"]
    assert held(client)[0]["mentions"] == 1


def test_a_change_is_refused_when_the_text_is_another_version_than_the_one_read(client: Client) -> None:
    memory = remember(client, "Lives in Austin, Texas", attribute="home")
    at = f"/api/memories/{memory['id']}"
    tag = client.get(at).headers["ETag"]
    assert tag == '"1"'
    assert client.patch(at, json={"content": "Lives in Dallas, Texas"}, headers={"If-Match": tag}).status_code == 200
    late = client.patch(at, json={"content": "Lives in Rome"}, headers={"If-Match": tag})
    assert (late.status_code, late.json()["code"]) == (412, "stale")
    assert "version 2, not 1" in late.json()["detail"]
    assert client.get(at).json()["data"]["content"] == "Lives in Dallas, Texas"
    tag = client.get(at).headers["ETag"]
    assert client.patch(at, json={"pinned": True}, headers={"If-Match": tag}).status_code == 200
    assert client.patch(at, json={"pinned": False}, headers={"If-Match": "*"}).status_code == 200
    odd = client.patch(at, json={"pinned": True}, headers={"If-Match": '"x"'})
    assert (odd.status_code, odd.json()["code"]) == (422, "bad_if_match")
    weak = client.patch(at, json={"pinned": True}, headers={"If-Match": f"W/{tag}"})
    assert (weak.status_code, weak.json()["code"]) == (422, "bad_if_match")
    assert "leave out the W/" in weak.json()["detail"]


def test_a_list_refuses_a_time_in_place_of_showing_the_present(client: Client) -> None:
    remember(client, "Lives in Austin, Texas")
    past = client.get("/api/memories", params={"userId": "anna", "asOf": "2020-01-01T00:00:00Z"})
    assert (past.status_code, past.json()["code"]) == (422, "invalid_request")
    [fault] = past.json()["errors"]
    assert "asOf" in fault["pointer"]
    assert "/api/memories/search" in fault["detail"]


def test_a_day_without_a_time_is_told_what_it_lacks(client: Client) -> None:
    body = {"userId": "anna", "type": "PROFILE", "content": "Lives in Rome", "validFrom": "2026-04-12"}
    answer = client.post("/api/memories", json=body)
    assert answer.status_code == 422
    [fault] = answer.json()["errors"]
    assert fault["pointer"] == "/validFrom"
    assert "is a day" in fault["detail"]


@pytest.mark.parametrize("number", ["1700000000", "-1", "1700000000.5", "1.7e9", "20260412"])
def test_a_number_is_no_time_in_a_body_or_a_query(client: Client, number: str) -> None:
    body = {"userId": "anna", "type": "PROFILE", "content": "Lives in Rome", "validFrom": number}
    for answer in (
        client.post("/api/memories", json=body), client.get("/api/engagement", params={"asOf": number})
    ):  # fmt: skip
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")
        [fault] = answer.json()["errors"]
        assert "must be an ISO-8601 text" in fault["detail"]
