"""What one source said is listed and taken back, from one person or from everybody, and from nobody by mistake."""

from typing import Any

import httpx2
import psycopg
import pytest

from support.served import Served

Client = httpx2.Client


def state(client: Client, user: str, content: str, **more: Any) -> str:
    body = {"userId": user, "type": "PROFILE", "content": content, **more}
    answer = client.post("/api/memories", json=body)
    assert answer.status_code < 300, answer.text
    return str(answer.json()["data"]["id"])


def withdraw(client: Client, **body: Any) -> httpx2.Response:
    return client.post("/api/sources/withdraw", json=body)


def held(client: Client, user: str, **query: Any) -> list[str]:
    found = client.get("/api/memories", params={"userId": user, **query}).json()["data"]
    return sorted(one["content"] for one in found)


def test_a_source_goes_by_either_word(client: Client) -> None:
    state(client, "ann", "Owns a boat", source="email")
    assert withdraw(client, userId="ann", source="email", origin="slack").status_code == 422
    assert withdraw(client, userId="ann").status_code == 422
    done = withdraw(client, userId="ann", source="email").json()["data"]
    assert (done["source"], done["origin"], done["people"], done["total"]) == ("email", "email", 1, 1)
    again = withdraw(client, userId="ann", source="email", origin="email").json()["data"]
    assert (again["people"], again["total"]) == (0, 0), "nothing of it was left"


def test_memories_are_listed_by_their_source(client: Client) -> None:
    state(client, "ann", "Owns a boat", source="tool:crm")
    state(client, "ann", "Owns a car", source="tool:CRM")
    state(client, "ann", "Lives in Rome")
    assert held(client, "ann", source="tool:crm") == ["Owns a boat"]
    assert held(client, "ann", source="api") == ["Lives in Rome"]
    assert held(client, "ann", source="tool") == []
    assert withdraw(client, userId="ann", source="tool:crm").status_code == 200
    assert held(client, "ann", source="tool:crm") == []
    assert held(client, "ann", source="tool:crm", status="ALL") == ["Owns a boat"]


def test_what_comes_back_keeps_its_start_and_is_one_version(server: Served, client: Client) -> None:
    memory = state(client, "ann", "Lives in Oslo", attribute="home")
    before = client.get(f"/api/memories/{memory}").json()["data"]
    server.advance(days=1)
    assert state(client, "ann", "Lives in Rome", attribute="home", source="operator") == memory
    server.advance(days=1)
    assert withdraw(client, userId="ann", source="operator").json()["data"]["restored"] == [memory]
    after = client.get(f"/api/memories/{memory}").json()["data"]
    assert (after["content"], after["validFrom"], after["mentions"]) == ("Lives in Oslo", before["validFrom"], 1)
    told = client.get(f"/api/memories/{memory}/history").json()["data"]
    assert [(one["content"], one["reason"], one["current"]) for one in told] == [
        ("Lives in Rome", "withdrawn", False),
        ("Lives in Oslo", None, True),
    ]
    for at, expected in (("2026-04-13T00:00:00Z", "Lives in Oslo"), ("2026-04-14T00:00:00Z", "Lives in Oslo")):
        body = {"userId": "ann", "query": "Where does she live?", "asOf": at}
        found = client.post("/api/memories/search", json=body).json()["data"]["results"]
        assert [one["memory"]["content"] for one in found] == [expected]


def test_a_source_is_taken_back_from_everybody(server: Served, client: Client) -> None:
    bad = {"source": "tool:bad"}
    gone = {state(client, user, "Owns a boat", **bad) for user in ("ann", "ben", "cem")}
    state(client, "ann", "Rents", attribute="home", source="slack")
    back = state(client, "ann", "Owns a house", attribute="home", **{**bad, "source": "tool:bad"})
    client.post("/api/memories", json={"userId": "ben", "type": "OPEN_LOOP", "content": "Pay", **bad})
    state(client, "dee", "Lives in Rome")
    rival = server.client("rival")
    state(rival, "ann", "Owns a boat", **bad)
    done = withdraw(client, source="tool:bad").json()["data"]
    assert (set(done["archived"]), done["restored"]) == (gone, [back])
    assert (done["people"], done["versions"], done["todos"], done["total"]) == (3, 0, 1, 5)
    assert [held(client, user) for user in ("ann", "ben", "cem", "dee")] == [["Rents"], [], [], ["Lives in Rome"]]
    assert held(rival, "ann") == ["Owns a boat"]
    again = withdraw(client, source="tool:bad").json()["data"]
    assert (again["people"], again["total"]) == (0, 0)


@pytest.mark.alone
def test_an_interruption_leaves_whole_people_and_the_next_call_does_the_rest(server: Served, client: Client) -> None:
    people = ("ann", "ben", "cem")
    for user in people:
        state(client, user, "Owns a boat", source="tool:bad")
    with psycopg.connect(server.database_url, autocommit=True) as connection:
        # The second person's part fails, as when the server is stopped there.
        second = sorted(
            row[0]
            for row in connection.execute("select user_id from users where external_id = any(%s)", [list(people)])
        )[1]
        connection.execute(
            f"create function stop() returns trigger language plpgsql as $$ begin "
            f"if new.user_id = '{second}' then raise exception 'stopped'; end if; return new; end $$"
        )
        connection.execute("create trigger stop before insert on withdrawals for each row execute function stop()")
        assert withdraw(client, source="tool:bad").status_code == 500
        left = [user for user in people if held(client, user)]
        assert len(left) == 2
        connection.execute("drop trigger stop on withdrawals")
    rest = withdraw(client, source="tool:bad").json()["data"]
    assert (rest["people"], rest["total"]) == (2, 2)
    assert [held(client, user) for user in people] == [[], [], []]


def test_a_retry_with_the_same_key_gives_the_same_receipt_and_does_nothing(client: Client) -> None:
    state(client, "ann", "Owns a boat", source="tool:bad")
    key = {"Idempotency-Key": "once"}
    first = client.post("/api/sources/withdraw", json={"source": "tool:bad"}, headers=key)
    assert first.json()["data"]["total"] == 1
    state(client, "ann", "Owns a car", source="tool:bad")
    again = client.post("/api/sources/withdraw", json={"source": "tool:bad"}, headers=key)
    assert (again.headers["Idempotent-Replayed"], again.json()["data"]) == ("true", first.json()["data"])
    assert held(client, "ann") == ["Owns a car"]


def test_a_source_that_never_spoke_is_not_found_and_the_closest_are_named(client: Client) -> None:
    state(client, "ann", "Owns a boat", source="tool:crm")
    state(client, "ben", "Owns a car", source="email")
    missing = withdraw(client, userId="ann", source="tool:crn")
    assert (missing.status_code, missing.json()["code"]) == (404, "no_such_source")
    assert "`tool:crm`" in missing.json()["detail"]
    assert "email" not in missing.json()["detail"]
    everywhere = withdraw(client, source="emial")
    assert (everywhere.status_code, everywhere.json()["code"]) == (404, "no_such_source")
    assert "`email`" in everywhere.json()["detail"]
    assert held(client, "ann") == ["Owns a boat"]


def test_a_name_with_control_characters_is_shown_without_them(server: Served, client: Client) -> None:
    one = state(client, "ann", "Owns a boat", source="tool:crm")
    with psycopg.connect(server.database_url, autocommit=True) as connection:
        connection.execute("update memories set origin = %s where id = %s", ["tool:a\x1b[2J\nb", one])
    detail = withdraw(client, userId="ann", source="tool:ab").json()["detail"]
    assert r"`tool:a\x1b[2J\nb`" in detail
    assert withdraw(client, userId="ann", source="tool:a\x1b[2J\nb").json()["data"]["total"] == 1


def test_a_bound_key_takes_back_neither_the_operators_word_nor_from_others(server: Served, client: Client) -> None:
    state(client, "ann", "Is on the gold plan", attribute="plan", source="operator")
    state(client, "ann", "Owns a boat", source="email")
    client.post("/api/memories", json={"userId": "ann", "type": "OPEN_LOOP", "content": "Pay", "source": "operator:x"})
    bound = server.client("acme", user="ann")
    for source in ("operator", "operator:x"):
        refused = withdraw(bound, userId="ann", source=source)
        assert (refused.status_code, refused.json()["code"]) == (403, "key_bound_to_user")
        assert "Use a key that is not bound" in refused.json()["detail"]
    assert withdraw(bound, source="email").status_code == 403
    assert held(client, "ann") == ["Is on the gold plan", "Owns a boat"]
    assert withdraw(bound, userId="ann", source="email").status_code == 200
    assert withdraw(client, userId="ann", source="operator").status_code == 200
    assert held(client, "ann") == []


def test_what_a_source_only_repeated_is_taken_back_from_everybody_once(client: Client) -> None:
    for source in ("tool:crm", "tool:mail"):
        body = {"userId": "ann", "type": "PROFILE", "attribute": "city", "content": "Lives in Rome", "source": source}
        assert client.post("/api/memories", json=body).is_success
    assert withdraw(client, source="tool:mail").json()["data"]["people"] == 1
    again = withdraw(client, source="tool:mail").json()["data"]
    assert (again["people"], again["total"]) == (0, 0)
    assert withdraw(client, source="tool:crm").json()["data"]["archived"] != [], "nobody else says it any more"


def shown(client: Client, memory: str) -> dict[str, Any]:
    found: dict[str, Any] = client.get(f"/api/memories/{memory}").json()["data"]
    return found


def counted(client: Client, origin: str) -> dict[str, Any]:
    found = client.get("/api/sources", params={"userId": "ann"}).json()["data"]
    return next(one for one in found if one["origin"] == origin)


@pytest.mark.alone
def test_what_a_withdrawal_restored_is_not_counted_as_said_again(server: Served, client: Client) -> None:
    memory = state(client, "ann", "Lives in Lisbon", attribute="home")
    for number in range(3):
        server.advance(days=1)
        assert client.patch(f"/api/memories/{memory}", json={"content": f"Lives in Porto {number}"}).status_code == 200
        server.advance(days=1)
        assert withdraw(client, userId="ann", source="operator").status_code == 200
        assert (shown(client, memory)["content"], shown(client, memory)["mentions"]) == ("Lives in Lisbon", 1)
    assert counted(client, "api")["past"] == 0, "what was said once is current, and was not replaced"
    server.advance(days=1)
    assert state(client, "ann", "Lives in Lisbon", attribute="home") == memory
    client.patch(f"/api/memories/{memory}", json={"pinned": False})
    assert shown(client, memory)["mentions"] == 2, "said again, it counts"


@pytest.mark.alone
def test_what_was_restored_by_hand_and_withdrawn_counts_each_source_once(server: Served, client: Client) -> None:
    memory = ""
    for source in ("tool:a", "api", "operator"):
        memory = state(client, "ann", "Lives in Lisbon", attribute="home", source=source)
        server.advance(days=1)
    withdraw(client, userId="ann", source="operator")
    mentions = shown(client, memory)["mentions"]
    server.advance(days=1)
    client.patch(f"/api/memories/{memory}", json={"content": "Lives in Porto"})
    withdraw(client, userId="ann", source="operator")
    assert shown(client, memory)["mentions"] == mentions
    server.advance(days=1)
    back = client.post(f"/api/memories/{memory}/restore", json={"version": 1, "source": "person"})
    assert back.status_code == 200, back.text
    server.advance(days=1)
    withdraw(client, userId="ann", source="person")
    assert (shown(client, memory)["content"], shown(client, memory)["mentions"]) == ("Lives in Lisbon", mentions)


def test_the_note_of_a_claim_that_became_the_fact_goes_when_it_is_stated_anew(client: Client) -> None:
    state(client, "ann", "Lives in Rome", attribute="home")
    claim = state(client, "ann", "Lives in Oslo", attribute="home", source="tool:crm")
    withdraw(client, userId="ann", source="api")
    assert "was a claim" in shown(client, claim)["note"]
    assert state(client, "ann", "Lives in Oslo", attribute="home", source="person") == claim
    assert shown(client, claim)["note"] is None
    withdraw(client, userId="ann", source="tool:crm")
    assert (shown(client, claim)["status"], shown(client, claim)["note"]) == ("ACTIVE", None)
