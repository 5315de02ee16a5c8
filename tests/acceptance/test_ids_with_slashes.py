"""People whose id has a slash, or is no usual path, are seeded, read, exported and forgotten like everybody else."""

from urllib.parse import quote

import httpx2
import pytest

from mnemon_client import SyncMnemon
from support.console_door import signed_in
from support.served import Served

NAMES = (
    "acme/ann",
    "a/b/seed",
    "tenant/7/export",
    "/leading",
    "trailing/",
    "a//b",
    "with space/and?mark#sign",
    "%00",
    "%2e%2e",
)


@pytest.mark.parametrize("name", NAMES)
def test_a_person_with_a_slash_is_seeded_exported_and_forgotten(client: httpx2.Client, name: str) -> None:
    where = f"/api/users/{quote(name, safe='')}"
    profile = {"profile": [{"type": "PROFILE", "content": "Keeps bees"}]}
    assert client.put(f"{where}/seed", json=profile).status_code == 200
    assert client.get(f"{where}/seed").json()["data"]["profile"][0]["content"] == "Keeps bees"
    assert client.get(f"{where}/spine").status_code == 200
    held = client.get("/api/memories", params={"userId": name}).json()["data"]
    assert [one["content"] for one in held] == ["Keeps bees"]
    lines = client.get(f"{where}/export").text
    assert "Keeps bees" in lines
    receipt = client.delete(where)
    assert receipt.status_code == 200, receipt.text
    assert client.get("/api/memories", params={"userId": name}).json()["data"] == []
    assert client.delete(where).status_code == 404


@pytest.mark.parametrize("name", [".", "..", "...", "%00", "a/../b"])
def test_the_client_reaches_people_whose_name_a_path_would_lose(server: Served, name: str) -> None:
    with SyncMnemon(server.url, server.key(), user_id=name) as m:
        m.remember("Keeps bees")
        assert "Keeps bees" in "".join(m.export(name))
        assert m.forget_person(name)["removed"]["memories"] == 1
        assert list(m.memories()) == []


def test_a_bound_key_reaches_nobody_elses_path(server: Served, client: httpx2.Client) -> None:
    assert client.put("/api/users/acme%2Fann/seed", json={"profile": ["Keeps bees"]}).status_code == 200
    bound = server.client("acme", user="acme")
    for path in ("/api/users/acme%2Fann/seed", "/api/users/acme/ann/seed", "/api/users/acme%2Fann/export"):
        assert bound.get(path).status_code == 403, path
    assert bound.delete("/api/users/acme%2Fann").status_code == 403


def test_the_client_and_the_console_know_them_too(server: Served, client: httpx2.Client) -> None:
    name = "acme/ann"
    where = "/api/users/acme%2Fann"
    assert client.put(f"{where}/seed", json={"profile": ["Keeps bees"]}).status_code == 200
    with signed_in(server, server.org("acme")) as browser:
        page = browser.get("/settings/privacy").text
        assert "/settings/privacy/export?user=acme/ann" in page
        assert "Keeps bees" in browser.get("/settings/privacy/export?user=acme/ann").text
    with SyncMnemon(server.url, server.key("acme")) as mnemon:
        assert any("Keeps bees" in line for line in mnemon.export(name))
        assert mnemon.forget_person(name)["total"] > 0


def test_a_persona_with_a_slash_is_described(client: httpx2.Client) -> None:
    described = {"name": "Coach", "prompt": "You coach."}
    assert client.put("/api/personas/team%2Fcoach", json=described).status_code in (200, 201)
    assert client.get("/api/personas/team%2Fcoach").json()["data"]["name"] == "Coach"
