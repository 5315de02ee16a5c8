"""Entities through the doors: found under their variants, merged by themselves when clear, split exactly."""

from typing import Any

import httpx2
import pytest

from support.served import Served


def remember(
    client: httpx2.Client, label: str, content: str, *, kind: str = "person", user: str = "ann", **more: Any
) -> dict[str, Any]:
    body = {
        "userId": user,
        "type": "PEOPLE",
        "content": content,
        "entity": {"type": kind, "label": label},
        "factType": "relationship",
        **more,
    }
    answer = client.post("/api/memories", json=body)
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()["data"]
    return made


def entities(client: httpx2.Client, user: str = "ann", **query: Any) -> dict[str, dict[str, Any]]:
    answer = client.get("/api/entities", params={"userId": user, **query})
    assert answer.status_code == 200
    return {one["key"]: one for one in answer.json()["data"]}


def seen(client: httpx2.Client, *keys: str) -> list[Any]:
    """Everything a reader can see of these entities."""
    cards = [client.get(f"/api/entities/{key}", params={"userId": "ann"}).json()["data"] for key in keys]
    search = client.post("/api/memories/search", json={"userId": "ann", "query": "designer"}).json()["data"]
    export = client.get("/api/users/ann/export").content
    return [entities(client), cards, search["entityCards"], export]


def test_variants_with_shared_context_become_one_by_themselves(server: Served, client: httpx2.Client) -> None:
    remember(client, "Makesh", "Makesh handles our backend")
    remember(client, "Mukesh", "Mukesh handles the backend with me")
    server.settled(client)
    (one,) = entities(client).values()
    assert {one["key"], *one["aliases"]} == {"person:makesh", "person:mukesh"}
    card = client.get("/api/entities/person:mukesh", params={"userId": "ann"}).json()["data"]
    assert card["key"] == one["key"]
    assert set(card["facts"]) == {"Makesh handles our backend", "Mukesh handles the backend with me"}
    assert card["text"].startswith(f"[{one['key']}]: ")


def test_different_people_with_similar_names_stay_apart(server: Served, client: httpx2.Client) -> None:
    remember(client, "John Smith", "John Smith works at Acme")
    remember(client, "Joan Smith", "Joan Smith works at Acme")
    server.settled(client)
    assert set(entities(client)) == {"person:john_smith", "person:joan_smith", "org:acme"}


def test_what_is_unclear_is_suggested_with_its_reasons(server: Served, client: httpx2.Client) -> None:
    remember(client, "Steven Okafor", "Steven Okafor plays the cello")
    remember(client, "Stephen Okafor", "Stephen Okafor rents out bikes")
    server.settled(client)
    assert len(entities(client)) == 2
    (suggestion,) = client.get("/api/entities/suggestions", params={"userId": "ann"}).json()["data"]
    assert {suggestion["from"], suggestion["into"]} == {"person:steven_okafor", "person:stephen_okafor"}
    assert suggestion["reasons"] == ["the names sound or are spelt alike"]


def test_a_merge_and_its_split_leave_everything_as_it_was(server: Served, client: httpx2.Client) -> None:
    remember(client, "Ann Lee", "Ann Lee is a designer", importance=2)
    remember(client, "Bo Chen", "Bo Chen is a designer too", importance=2)
    server.settled(client)
    before = seen(client, "person:ann_lee", "person:bo_chen")
    merged = client.post(
        "/api/entities/merge", json={"userId": "ann", "from": "person:bo_chen", "into": "person:ann_lee"}
    )
    assert merged.json()["data"] == {"key": "person:ann_lee", "aliases": ["person:bo_chen"], "changed": True}
    assert set(entities(client)) == {"person:ann_lee"}
    assert seen(client, "person:ann_lee", "person:bo_chen") != before
    split = client.post(
        "/api/entities/split", json={"userId": "ann", "key": "person:ann_lee", "from": "person:bo_chen"}
    )
    assert split.status_code == 200
    assert seen(client, "person:ann_lee", "person:bo_chen") == before


def test_a_merge_of_the_rule_can_be_split_and_stays_split(server: Served, client: httpx2.Client) -> None:
    remember(client, "Acme", "Acme is our biggest customer", kind="org")
    remember(client, "Acme Corp", "Acme Corp is a customer in Ohio", kind="org")
    server.settled(client)
    (one,) = entities(client).values()
    answer = client.post("/api/entities/split", json={"userId": "ann", "key": one["key"], "from": one["aliases"][0]})
    assert answer.status_code == 200
    remember(client, "Acme", "Acme pays late", kind="org", factType="friction")
    server.settled(client)
    assert set(entities(client)) == {"org:acme", "org:acme_corp"}
    assert client.get("/api/entities/suggestions", params={"userId": "ann"}).json()["data"] == []


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        ("merge", {"from": "person:x", "into": "person:ann_lee"}, 404, "not_found"),
        ("merge", {"from": "person:ann_lee", "into": "person:ann_lee"}, 422, "same_entity"),
        ("split", {"key": "person:ann_lee", "from": "person:bo_chen"}, 409, "not_merged"),
        ("merge", {"from": 1, "into": "person:ann_lee"}, 422, "invalid_request"),
    ],
)
def test_what_cannot_be_done_says_why(
    server: Served, client: httpx2.Client, path: str, body: dict[str, Any], status: int, code: str
) -> None:
    remember(client, "Ann Lee", "Ann Lee is a designer")
    remember(client, "Bo Chen", "Bo Chen is a welder")
    answer = client.post(f"/api/entities/{path}", json={"userId": "ann", **body})
    assert (answer.status_code, answer.json()["code"]) == (status, code)


def test_an_entity_nobody_spoke_of_is_not_found(client: httpx2.Client) -> None:
    answer = client.get("/api/entities/person:nobody", params={"userId": "ann"})
    assert answer.status_code == 404


def test_a_long_list_comes_in_pages(server: Served, client: httpx2.Client) -> None:
    for name in ("Ada", "Boole", "Cantor", "Dirac", "Euler"):
        remember(client, name, f"{name} is a friend from {name} street")
    first = client.get("/api/entities", params={"userId": "ann", "limit": 3}).json()
    rest = client.get(
        "/api/entities", params={"userId": "ann", "limit": 3, "cursor": first["meta"]["nextCursor"]}
    ).json()
    assert [one["label"] for one in (*first["data"], *rest["data"])] == ["Ada", "Boole", "Cantor", "Dirac", "Euler"]
    assert rest["meta"]["nextCursor"] is None


def test_what_was_told_to_one_persona_is_no_entity_elsewhere(server: Served, client: httpx2.Client) -> None:
    remember(client, "Zed Quill", "Zed Quill is my secret mentor", personaId="coach")
    assert entities(client) == {}
    assert set(entities(client, personaId="coach")) == {"person:zed_quill"}


def test_another_organization_sees_nothing(server: Served, client: httpx2.Client) -> None:
    remember(client, "Ann Lee", "Ann Lee is a designer")
    other = server.client("other-org")
    assert entities(other) == {}
    assert other.get("/api/entities/person:ann_lee", params={"userId": "ann"}).status_code == 404
