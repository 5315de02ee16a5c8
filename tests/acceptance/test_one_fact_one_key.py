"""A fact that is stated again, changed or taken back, through each door by which people tell facts, without a model."""

from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest
from typer.testing import CliRunner

from acceptance.conftest import Shared
from mnemon.cli.main import app
from support.bounds import HANGS_S
from support.served import Served

State = Callable[[httpx2.Client, str, str], None]


@pytest.fixture
def offline_server(shared: Shared) -> Iterator[Served]:
    """A server without a model, with organizations of the test's own."""
    running = shared.apart("offline")
    yield running
    running.leave()


def by_api(client: httpx2.Client, user: str, text: str) -> None:
    answer = client.post("/api/memories", json={"userId": user, "type": "PROFILE", "content": text})
    assert answer.status_code in (200, 201), answer.text


def by_batch(client: httpx2.Client, user: str, text: str) -> None:
    entry = {"userId": user, "type": "PROFILE", "content": text}
    answer = client.post("/api/memories/batch", json={"memories": [entry]})
    assert answer.status_code in (200, 201), answer.text


def by_chat(client: httpx2.Client, user: str, text: str) -> None:
    body = {"userId": user, "message": f"{text}.", "stream": False}
    answer = client.post("/api/chat", json=body, timeout=HANGS_S)
    assert answer.status_code == 200, answer.text


def by_turn(client: httpx2.Client, user: str, text: str) -> None:
    body = {"userId": user, "messages": [{"role": "user", "content": f"{text}."}]}
    answer = client.post("/api/turns", json=body)
    assert answer.status_code in (200, 201, 202), answer.text


DOORS: dict[str, State] = {"api": by_api, "batch": by_batch, "chat": by_chat, "turns": by_turn}


def current(client: httpx2.Client, user: str) -> list[str]:
    listed = client.get("/api/memories", params={"userId": user}).json()["data"]
    return sorted(one["content"] for one in listed)


def told(server: Served, door: str, *texts: str, user: str = "ana") -> tuple[httpx2.Client, list[str]]:
    """State the texts one after the other, and return what is current afterwards."""
    client = server.client("acme")
    for text in texts:
        DOORS[door](client, user, text)
        server.settled(client)
        server.advance(minutes=1)
    return client, current(client, user)


CHANGED = [
    ("I live in Austin", "I live in Boston"),
    ("I live in Austin", "I moved to Denver"),
    ("I work at Acme", "I work at Globex now"),
    ("Sarah is CEO of TechStartup Inc", "Sarah is now CTO of OtherCo"),
    ("The deadline for Apollo is May 1", "The deadline moved to May 8"),
    ("The deadline for Apollo is May 1", "The Apollo deadline was pushed to May 8"),
    ("The deadline for the Apollo project is May 1", "The Apollo deadline moved to May 8"),
]
ENDED = [
    ("I live in Austin", "I no longer live in Austin"),
    ("I work at Acme", "I don't work at Acme anymore"),
    ("I work at Acme", "I quit Acme"),
    ("I'm vegetarian", "I'm not vegetarian anymore"),
    ("John is my cofounder", "John is no longer my cofounder"),
    ("Rex is my dog", "Rex died last week"),
    ("My dog is called Rex", "Rex passed away"),
]


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(("first", "then"), CHANGED)
def test_a_new_value_replaces_the_old_one(offline_server: Served, door: str, first: str, then: str) -> None:
    client, now = told(offline_server, door, first, then)
    assert now == [then]
    memory = client.get("/api/memories", params={"userId": "ana"}).json()["data"][0]
    history = client.get(f"/api/memories/{memory['id']}/history").json()["data"]
    assert first in [one["content"] for one in history]


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(("first", "then"), ENDED)
def test_what_is_taken_back_is_no_longer_current(offline_server: Served, door: str, first: str, then: str) -> None:
    client, now = told(offline_server, door, first, then)
    assert now == []
    params = {"userId": "ana", "status": "ARCHIVED"}
    [ended] = client.get("/api/memories", params=params).json()["data"]
    assert (ended["content"], ended["archiveReason"]) == (first, "outdated")
    assert then in ended["note"]
    assert ended["validTo"] is not None


def test_taking_back_one_of_several_leaves_the_others(offline_server: Served) -> None:
    _, now = told(
        offline_server, "chat", "I live in Austin", "I work at Acme", "My sister Ruth lives in Rome", "I quit Acme"
    )
    assert not any("Acme" in one for one in now)
    assert any("Austin" in one for one in now)
    assert any("Rome" in one for one in now)


@pytest.mark.parametrize(
    "said",
    [
        "I wish I no longer lived in Austin",
        "If I no longer live in Austin, who gets the house?",
        "Tom says I no longer live in Austin",
        "What if I don't live in Austin anymore?",
        "I left my keys in Austin",
    ],
)
def test_a_wish_a_question_and_hearsay_take_nothing_back(offline_server: Served, said: str) -> None:
    _, now = told(offline_server, "chat", "I live in Austin", said)
    assert "I live in Austin" in now


def test_leaving_one_job_for_another_keeps_the_new_one(offline_server: Served) -> None:
    _, now = told(offline_server, "chat", "I work at Acme", "I quit my job. I work at Globex now")
    assert any("Globex" in one for one in now)
    assert not any("Acme" in one for one in now)


def test_the_same_by_the_command_and_by_a_seed(offline_server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    client = offline_server.client("acme")
    monkeypatch.setenv("MNEMON_URL", offline_server.url)
    monkeypatch.setenv("MNEMON_KEY", offline_server.key())
    for text in ("I live in Austin", "I live in Boston"):
        done = CliRunner().invoke(app, ["remember", text, "--user", "ben"])
        assert done.exit_code == 0, done.output
    assert current(client, "ben") == ["I live in Boston"]
    profile: list[dict[str, Any]] = [{"content": "Lives in Austin"}, {"content": "Likes tea"}]
    assert client.put("/api/users/ana/seed", json={"profile": profile}).status_code == 200
    by_chat(client, "ana", "I moved to Denver")
    offline_server.settled(client)
    assert current(client, "ana") == ["I moved to Denver", "Likes tea"]


def test_facts_about_one_entity_stay_side_by_side(offline_server: Served) -> None:
    client = offline_server.client("acme")
    john = {"type": "person", "label": "John"}
    for text in ("John is vegan", "John works at Google", "John lives in Rome"):
        client.post("/api/memories", json={"userId": "ana", "type": "PEOPLE", "content": text, "entity": john})
    assert current(client, "ana") == ["John is vegan", "John lives in Rome", "John works at Google"]


def test_one_persons_mother_is_one_entity_by_any_word(offline_server: Served) -> None:
    _, now = told(offline_server, "api", "My mom lives in Bonn", "My mother lives in Graz", "My mum is a nurse")
    assert now == ["My mother lives in Graz", "My mum is a nurse"]


def test_paraphrases_of_one_city_are_one_memory(offline_server: Served) -> None:
    ways = [
        "I live in Austin", "I'm living in Austin", "My home is Austin", "I am based in Austin",
        "Austin is where I live", "I reside in Austin", "My home city is Austin", "Lives in Austin",
        "I still live in Austin", "I currently live in Austin", "Home is Austin", "We live in Austin",
        "I live in Austin right now", "My city is Austin",
    ]  # fmt: skip
    client, now = told(offline_server, "api", *ways)
    assert len(now) == 1
    [memory] = client.get("/api/memories", params={"userId": "ana"}).json()["data"]
    assert (memory["version"], memory["mentions"]) == (1, 14)


def of(client: httpx2.Client, user: str, label: str, text: str, **more: Any) -> dict[str, Any]:
    entity = {"type": "person", "label": label}
    body = {"userId": user, "type": "PEOPLE", "content": text, "entity": entity, **more}
    answer = client.post("/api/memories", json=body)
    assert answer.status_code in (200, 201), answer.text
    made: dict[str, Any] = answer.json()["data"]
    return made


def test_a_merge_keeps_the_later_home_and_a_split_gives_both_back(offline_server: Served) -> None:
    client = offline_server.client("acme")
    of(client, "ana", "Mukesh", "Mukesh lives in Delhi")
    of(client, "ana", "Mukesh", "Mukesh speaks Hindi")
    offline_server.settled(client)
    offline_server.advance(minutes=1)
    of(client, "ana", "Makesh", "Makesh lives in Pune")
    of(client, "ana", "Makesh", "Makesh speaks Marathi")
    offline_server.settled(client)

    def everything() -> dict[str, Any]:
        paths = ("/api/memories", "/api/entities")
        shown = {path: client.get(path, params={"userId": "ana"}).json()["data"] for path in paths}
        query = {"userId": "ana", "query": "Where does Mukesh live?"}
        shown["search"] = client.post("/api/memories/search", json=query).json()["data"]
        return shown

    before = everything()
    names = {"userId": "ana", "from": "person:makesh", "into": "person:mukesh"}
    assert client.post("/api/entities/merge", json=names).status_code == 200
    assert current(client, "ana") == ["Makesh lives in Pune", "Makesh speaks Marathi", "Mukesh speaks Hindi"]
    system = client.post("/api/context", json={"userId": "ana", "query": "Where does Mukesh live?"}).json()["data"]
    assert "Pune" in system["system"]
    assert "Delhi" not in system["system"]
    apart = {"userId": "ana", "key": "person:mukesh", "from": "person:makesh"}
    assert client.post("/api/entities/split", json=apart).status_code == 200
    assert everything() == before


def test_merged_entities_take_a_new_value_under_any_name(offline_server: Served) -> None:
    client = offline_server.client("acme")
    of(client, "ana", "Mukesh", "Mukesh lives in Delhi")
    of(client, "ana", "Makesh", "Makesh lives in Pune")
    offline_server.settled(client)
    names = {"userId": "ana", "from": "person:makesh", "into": "person:mukesh"}
    assert client.post("/api/entities/merge", json=names).status_code == 200
    of(client, "ana", "Mukesh", "Mukesh lives in Goa")
    assert current(client, "ana") == ["Mukesh lives in Goa"]


def test_a_pinned_and_a_more_trusted_value_outlive_a_merge(offline_server: Served) -> None:
    client = offline_server.client("acme")
    of(client, "ana", "Mukesh", "Mukesh lives in Delhi", pinned=True)
    of(client, "ana", "Makesh", "Makesh lives in Pune")
    of(client, "ana", "Makesh", "Makesh works at Initech", source="document")
    of(client, "ana", "Mukesh", "Mukesh works at Acme")
    offline_server.settled(client)
    names = {"userId": "ana", "from": "person:makesh", "into": "person:mukesh"}
    assert client.post("/api/entities/merge", json=names).status_code == 200
    assert current(client, "ana") == ["Mukesh lives in Delhi", "Mukesh works at Acme"]


def stated(client: httpx2.Client, text: str, **more: Any) -> dict[str, Any]:
    answer = client.post("/api/memories", json={"userId": "ana", "type": "PROFILE", "content": text, **more})
    assert answer.status_code in (200, 201), answer.text
    made: dict[str, Any] = answer.json()["data"]
    return made


def test_unpinning_gives_the_earlier_importance_back(offline_server: Served) -> None:
    client = offline_server.client("acme")
    for text, more, importance in (
        ("Likes green tea", {}, 1),
        ("Lives in Austin", {}, 2),
        ("Plays chess", {"pinned": True}, 1),
        ("Plays go", {"pinned": True, "importance": 2}, 2),
    ):
        path = f"/api/memories/{stated(client, text, **more)['id']}"
        pinned = client.patch(path, json={"pinned": True}).json()["data"]
        assert (pinned["pinned"], pinned["importance"]) == (True, 3)
        freed = client.patch(path, json={"pinned": False}).json()["data"]
        assert (freed["pinned"], freed["importance"]) == (False, importance), text


def test_the_importance_of_a_pinned_memory_is_not_silently_ignored(offline_server: Served) -> None:
    client = offline_server.client("acme")
    path = f"/api/memories/{stated(client, 'Likes green tea', pinned=True)['id']}"
    refused = client.patch(path, json={"importance": 1})
    assert (refused.status_code, refused.json()["code"]) == (409, "pinned")
    freed = client.patch(path, json={"importance": 2, "pinned": False}).json()["data"]
    assert (freed["pinned"], freed["importance"]) == (False, 2)


def test_what_contradicts_a_pinned_memory_is_a_suggestion_beside_it(offline_server: Served) -> None:
    client = offline_server.client("acme")
    held = stated(client, "Zoe is allergic to nuts", pinned=True, attribute="zoe allergy note")
    other = stated(client, "Zoe is allergic to milk only", attribute="zoe allergy note")
    assert other["id"] != held["id"]
    assert other["claimOf"] == held["memoryKey"]
    now = client.get(f"/api/memories/{held['id']}").json()["data"]
    assert (now["content"], now["pinned"], now["version"]) == ("Zoe is allergic to nuts", True, 1)
    # A person who looks decides: the text of the suggestion becomes the memory's, and the suggestion ends.
    done = client.patch(f"/api/memories/{held['id']}", json={"content": "Zoe is allergic to milk only"})
    assert done.status_code == 200, done.text
    assert current(client, "ana") == ["Zoe is allergic to milk only"]
    assert client.get(f"/api/memories/{other['id']}").json()["data"]["archiveReason"] == "outdated"


@pytest.mark.parametrize("then", ["I moved to Denver", "I no longer live in Austin"])
def test_what_is_said_in_passing_takes_no_pinned_home_away(offline_server: Served, then: str) -> None:
    client = offline_server.client("acme")
    held = stated(client, "I live in Austin", pinned=True)
    by_chat(client, "ana", then)
    offline_server.settled(client)
    now = client.get(f"/api/memories/{held['id']}").json()["data"]
    assert (now["content"], now["status"], now["pinned"]) == ("I live in Austin", "ACTIVE", True)
    [suggested] = [one for one in current(client, "ana") if one != "I live in Austin"]
    assert suggested == then


def test_a_pinned_memory_said_again_in_other_words_is_no_suggestion(offline_server: Served) -> None:
    client = offline_server.client("acme")
    held = stated(client, "I live in Austin", pinned=True)
    again = stated(client, "My home is Austin")
    assert (again["id"], again["mentions"], again["pinned"]) == (held["id"], 2, True)
    assert stated(client, "I live in Boston", pinned=True)["content"] == "I live in Boston"
    assert current(client, "ana") == ["I live in Boston"]


def entities(client: httpx2.Client) -> dict[str, list[str]]:
    listed = client.get("/api/entities", params={"userId": "ana"}).json()["data"]
    return {one["key"]: one["aliases"] for one in listed}


def test_a_role_word_means_the_person_once_named(offline_server: Served) -> None:
    client, now = told(
        offline_server, "chat", "My wife works at Siemens", "My wife is Laura", "Laura works at Bosch now"
    )
    assert entities(client) == {"person:laura": ["person:wife"], "org:bosch": []}
    assert "My wife works at Siemens" not in now
    assert "Laura works at Bosch now" in now
    by_chat(client, "ana", "My wife works at Bayer")
    offline_server.settled(client)
    assert [one for one in current(client, "ana") if "works" in one] == ["My wife works at Bayer"]


def test_a_role_word_that_was_split_stays_apart(offline_server: Served) -> None:
    client, _ = told(offline_server, "api", "My boss lives in Rome", "My boss is Ruth")
    merged = {"userId": "ana", "key": "person:ruth", "from": "person:manager"}
    assert client.post("/api/entities/split", json=merged).status_code == 200
    by_api(client, "ana", "My boss is Ruth")
    offline_server.settled(client)
    assert "person:manager" not in entities(client).get("person:ruth", [])


def test_words_for_the_same_kin_are_one_entity(offline_server: Served) -> None:
    client, now = told(offline_server, "chat", "My mom lives in Bonn", "My mother is a nurse", "My mum lives in Graz")
    assert len(entities(client)) == 1
    assert "My mom lives in Bonn" not in now


def test_a_memory_mentions_the_organization_beside_the_person(offline_server: Served) -> None:
    client, _ = told(offline_server, "api", "Sarah is CEO of TechStartup Inc", "Tom works at TechStartup Inc")
    [tom, sarah] = client.get("/api/memories", params={"userId": "ana"}).json()["data"]
    assert (sarah["entityRefs"], sarah["entityRoles"]) == (["person:sarah", "org:techstartup_inc"], ["about", "job"])
    assert (tom["entityRefs"], tom["entityRoles"]) == (["person:tom", "org:techstartup_inc"], ["about", "employer"])
    listed = client.get("/api/entities", params={"userId": "ana"}).json()["data"]
    [company] = [one for one in listed if one["type"] == "org"]
    assert (company["label"], company["memories"]) == ("TechStartup Inc", 2)
    query = {"userId": "ana", "query": "Who works at TechStartup Inc?"}
    cards = client.post("/api/memories/search", json=query).json()["data"]["entityCards"]
    assert any(one["key"] == "org:techstartup_inc" and "Sarah" in one["text"] for one in cards)
    by_api(client, "ana", "Sarah is now CTO of OtherCo")
    [moved] = [
        one for one in client.get("/api/memories", params={"userId": "ana"}).json()["data"] if one["version"] == 2
    ]
    assert moved["entityRefs"] == ["person:sarah", "org:otherco"]
