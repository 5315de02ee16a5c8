"""The curator's runs in the console, and the button that undoes a fold."""

import html
import re
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from support.console_door import signed_in
from support.served import Served, served

FRAGMENTS = {
    "John naps at noon": "habit",
    "John drinks tea": "preference",
    "John has a red bike": "fact",
    "John gets lost easily": "friction",
}


@pytest.fixture
def server(database_url: str, tmp_path: Path) -> Iterator[Served]:
    """A server without a model whose curator runs after every second memory."""
    with served(database_url, tmp_path, model="offline", curator_after=2) as running:
        yield running


@pytest.fixture
def browser(server: Served) -> Iterator[httpx2.Client]:
    with signed_in(server, "acme") as visitor:
        yield visitor


def test_a_run_is_shown_and_its_fold_undone_by_a_button(server: Served, browser: httpx2.Client) -> None:
    client = server.client("acme")
    told = [
        {"userId": "ann", "type": "PEOPLE", "content": text, "factType": kind}
        | {"entity": {"type": "person", "label": "John"}}
        for text, kind in FRAGMENTS.items()
    ]
    assert client.post("/api/memories/batch", json={"memories": told}).status_code == 200
    server.settled(client)
    listed = browser.get("/memories?user=ann").text
    assert "The curator last ran" in listed
    assert 'href="/curator?user=ann#cur_' in listed
    report = browser.get("/curator?user=ann").text
    assert "1 fold, 0 archived, 0 rejected" in report
    assert "by the rules (offline)" in report
    for text in FRAGMENTS:
        assert re.search(rf'from <a href="/memories/mem_\w+">{text}</a>', report)
    unfold = re.search(r'action="(/memories/mem_\w+/unfold)"', report)
    assert unfold
    fold = unfold[1].removesuffix("/unfold")
    assert unfold[0] in browser.get(fold).text
    assert browser.post(unfold[1], data={}).status_code == 403, "without the session's token"
    csrf = re.search(r'data-csrf="([0-9a-f]+)"', report)
    assert csrf
    undone = browser.post(unfold[1], data={"csrf": csrf[1]}, follow_redirects=True)
    assert "Unfolded: 4 memories are active again." in undone.text
    active = client.get("/api/memories", params={"userId": "ann"}).json()["data"]
    assert {one["content"] for one in active} == set(FRAGMENTS)
    after = browser.get("/curator?user=ann").text
    assert "archived · unfolded" in after
    assert "/unfold" not in after


def test_the_overview_and_the_settings_say_that_no_model_is_connected(browser: httpx2.Client) -> None:
    assert "rules only, no network" in browser.get("/").text
    assert "No language model is connected." in browser.get("/settings").text


def test_before_the_first_run_the_page_says_what_starts_it(server: Served, browser: httpx2.Client) -> None:
    client = server.client("acme")
    told = {"userId": "bo b", "type": "PROFILE", "content": "Sails on weekends"}
    assert client.post("/api/memories", json=told).status_code == 201
    server.settled(client)
    listed = browser.get("/memories?user=bo+b").text
    assert "The curator has not run for bo b yet." in listed
    assert 'href="/curator?user=bo%20b"' in listed
    assert 'href="/curator' not in browser.get("/memories").text, "nobody is chosen"
    empty = browser.get("/curator?user=bo+b").text
    assert "The curator has not run for bo b yet. It runs after every 2 new memories of a person" in empty
    assert html.unescape(empty).count("--user 'bo b'") == 1
    assert "--user ann" not in empty
