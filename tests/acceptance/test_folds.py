"""Folds by the curator: what it must not fold or lose, what it reports, and how a fold is undone."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from typer.testing import CliRunner

from mnemon.access.grants import PERSONAL_GRANTS
from mnemon.cli.main import app
from mnemon.llm.scripted.script import ScriptedRequest
from support.served import Served, served

PROFILE = {"type": "PROFILE"}
JOHN = {"type": "person", "label": "John"}
FRAGMENTS = {
    "John naps at noon": "habit",
    "John drinks tea": "preference",
    "John has a red bike": "fact",
    "John gets lost easily": "friction",
}
"""Facts of different kinds about one person, each under a key of its own."""
FOLDED = "John gets lost easily; John has a red bike; John naps at noon; John drinks tea"


@pytest.fixture
def tidy(database_url: str, tmp_path: Path) -> Iterator[Served]:
    """A server without a model whose curator runs after every second memory."""
    with served(database_url, tmp_path, model="offline", curator_after=2) as server:
        yield server


def remember(server: Served, client: httpx2.Client, *contents: str) -> None:
    told = [
        {"userId": "ann", "content": content}
        | ({"type": "PEOPLE", "entity": JOHN, "factType": FRAGMENTS[content]} if content in FRAGMENTS else PROFILE)
        for content in contents
    ]
    answer = client.post("/api/memories/batch", json={"memories": told})
    assert answer.status_code == 200, answer.text
    server.settled(client)


def held(client: httpx2.Client, status: str = "ACTIVE") -> dict[str, str]:
    """Contents with their ids."""
    listed = client.get("/api/memories", params={"userId": "ann", "limit": 200, "status": status}).json()["data"]
    return {one["content"]: one["id"] for one in listed}


def runs(client: httpx2.Client) -> list[dict[str, Any]]:
    answer = client.get("/api/users/ann/curator-runs")
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["data"]
    return found


def folded(server: Served, client: httpx2.Client) -> str:
    """The id of the fold of four fragments."""
    remember(server, client, *FRAGMENTS)
    assert list(held(client)) == [FOLDED]
    return held(client)[FOLDED]


@pytest.mark.parametrize(
    "contents",
    [
        [f"Order 10{n:02} was delivered to the Berlin warehouse on day {n}" for n in range(1, 27)],
        ["Takes 5 mg of warfarin every evening", "Takes 15 mg of warfarin every evening"],
        ["Is allergic to penicillin, not to amoxicillin", "Is allergic to amoxicillin, not to penicillin"],
    ],
    ids=["26 orders", "warfarin", "penicillin"],
)
def test_memories_that_differ_in_what_matters_stay_apart(tidy: Served, contents: list[str]) -> None:
    client = tidy.client("acme")
    remember(tidy, client, *contents)
    assert runs(client), "the curator ran"
    assert set(held(client)) == set(contents)


@pytest.mark.parametrize(
    ("contents", "content"),
    [
        (("Takes 5 mg of warfarin", "Takes 15 mg of warfarin at night"), "Takes 15 mg of warfarin at night"),
        (("Is allergic to penicillin", "Is not allergic to amoxicillin"), "Is allergic to penicillin and amoxicillin"),
        (("Met Ann in Oslo", "Met Tom in Oslo"), "Met Ann in Oslo"),
        (("Starts work on May 3", "Starts work in Leeds"), "Starts work in Leeds"),
    ],
    ids=["a figure", "a negation", "a name", "a date"],
)
def test_a_models_fold_that_loses_something_is_refused_with_the_reason(
    database_url: str, tmp_path: Path, contents: tuple[str, str], content: str
) -> None:
    with served(database_url, tmp_path, curator_after=2) as server:
        client = server.client("acme")

        def plan(asked: ScriptedRequest) -> dict[str, Any]:
            return {"folds": [{"memories": re.findall(r"mem_\w+", asked.prompt), "content": content}], "archive": []}

        server.script.set_default_answer("CuratorPlan", plan)
        remember(server, client, *contents)
        assert set(held(client)) == set(contents)
        [run] = runs(client)
        [refused] = run["rejected"]
        assert refused["why"].startswith("it loses "), refused


def test_a_run_reports_what_it_folded_from_what_and_the_fold_can_be_undone(tidy: Served) -> None:
    client = tidy.client("acme")
    fold = folded(tidy, client)
    [run] = runs(client)
    assert run["madeBy"] == "offline"
    assert [(one["id"], one["content"]) for one in run["folds"]] == [(fold, FOLDED)]
    assert {one["content"] for one in run["folds"][0]["fragments"]} == set(FRAGMENTS)
    assert (run["archived"], run["rejected"]) == ([], [])
    undone = client.post(f"/api/memories/{fold}/unfold")
    assert undone.status_code == 200, undone.text
    assert undone.json()["data"]["fold"] == fold
    assert {one["content"] for one in undone.json()["data"]["restored"]} == set(FRAGMENTS)
    assert set(held(client)) == set(FRAGMENTS)
    again = client.post(f"/api/memories/{fold}/unfold")
    assert (again.status_code, again.json()["code"]) == (409, "fold_not_active")
    assert set(held(client)) == set(FRAGMENTS)


def test_only_an_active_unpinned_fold_can_be_undone(tidy: Served) -> None:
    client = tidy.client("acme")
    fold = folded(tidy, client)
    client.patch(f"/api/memories/{fold}", json={"pinned": True})
    pinned = client.post(f"/api/memories/{fold}/unfold")
    assert (pinned.status_code, pinned.json()["code"]) == (409, "fold_pinned")
    fragment = held(client, "ARCHIVED")["John naps at noon"]
    plain = client.post(f"/api/memories/{fragment}/unfold")
    assert (plain.status_code, plain.json()["code"]) == (409, "not_a_fold")
    assert client.post("/api/memories/mem_none/unfold").status_code == 404


def test_what_became_of_a_fragment_since_then_is_respected(tidy: Served) -> None:
    client = tidy.client("acme")
    fold = folded(tidy, client)
    archived = held(client, "ARCHIVED")
    client.post(f"/api/memories/{archived['John naps at noon']}/restore")
    restored = client.post(f"/api/memories/{fold}/unfold").json()["data"]["restored"]
    assert {one["content"] for one in restored} == set(FRAGMENTS) - {"John naps at noon"}
    assert set(held(client)) == set(FRAGMENTS)


def test_an_edited_fragment_undoes_the_fold(tidy: Served) -> None:
    client = tidy.client("acme")
    fold = folded(tidy, client)
    tea = held(client, "ARCHIVED")["John drinks tea"]
    edited = client.patch(f"/api/memories/{tea}", json={"content": "John drinks green tea"})
    assert edited.json()["data"]["status"] == "ACTIVE"
    assert set(held(client)) == {*FRAGMENTS, "John drinks green tea"} - {"John drinks tea"}
    again = client.post(f"/api/memories/{fold}/unfold")
    assert (again.status_code, again.json()["code"]) == (409, "fold_not_active")


def test_a_fragment_that_was_stated_again_is_not_doubled(tidy: Served) -> None:
    client = tidy.client("acme")
    fold = folded(tidy, client)
    remember(tidy, client, "John naps at noon")
    answer = client.post(f"/api/memories/{fold}/unfold")
    assert answer.status_code == 200, answer.text
    listed = client.get("/api/memories", params={"userId": "ann", "limit": 200}).json()["data"]
    assert sorted(one["content"] for one in listed) == sorted(FRAGMENTS)


def test_forgetting_a_fragment_takes_the_fold_and_its_report_along(tidy: Served) -> None:
    client = tidy.client("acme")
    fold = folded(tidy, client)
    gone = held(client, "ARCHIVED")["John has a red bike"]
    assert client.delete(f"/api/memories/{gone}").status_code == 200
    assert client.post(f"/api/memories/{fold}/unfold").status_code == 404
    assert "red bike" not in str(runs(client))
    assert set(held(client)) == set(FRAGMENTS) - {"John has a red bike"}


def test_a_key_bound_to_a_person_unfolds_only_their_own(tidy: Served) -> None:
    fold = folded(tidy, tidy.client("acme"))
    bob = tidy.client("acme", user="bob", grants=PERSONAL_GRANTS)
    assert bob.post(f"/api/memories/{fold}/unfold").status_code == 404
    assert bob.get("/api/users/ann/curator-runs").status_code == 403
    ann = tidy.client("acme", user="ann", grants=PERSONAL_GRANTS)
    assert len(runs(ann)) == 1
    assert ann.post(f"/api/memories/{fold}/unfold").status_code == 200


def test_the_command_undoes_a_fold(tidy: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    client = tidy.client("acme")
    fold = folded(tidy, client)
    monkeypatch.setenv("MNEMON_DATABASE_URL", tidy.database_url)
    undone = CliRunner().invoke(app, ["unfold", fold, "--org", "acme"])
    assert undone.exit_code == 0, undone.output
    assert "John has a red bike" in undone.output
    assert set(held(client)) == set(FRAGMENTS)
    assert CliRunner().invoke(app, ["unfold", fold, "--org", "acme"]).exit_code == 1
