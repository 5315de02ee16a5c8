"""A claim never hides the fact it contradicts, and a source that was taken back counts as one that never spoke."""

from typing import Any

import httpx2
import pytest

from support.bounds import HANGS_S
from support.served import Served

Client = httpx2.Client
Json = dict[str, Any]


def state(client: Client, content: str, source: str | None = None, **more: Any) -> Json:
    body = {"userId": "vic", "type": "PROFILE", "content": content, "attribute": "iban", **more}
    answer = client.post("/api/memories", json={**body, **({"source": source} if source else {})})
    assert answer.status_code in {200, 201}, answer.text
    return dict(answer.json()["data"])


def memory(client: Client, memory_id: str) -> Json:
    return dict(client.get(f"/api/memories/{memory_id}").json()["data"])


def held(client: Client) -> set[tuple[str, str, bool]]:
    found = client.get("/api/memories", params={"userId": "vic"}).json()["data"]
    return {(one["content"], one["trustLevel"], one["claimOf"] is not None) for one in found}


def search(client: Client, query: str, **more: Any) -> list[Json]:
    answer = client.post("/api/memories/search", json={"userId": "vic", "query": query, **more})
    assert answer.status_code == 200, answer.text
    return list(answer.json()["data"]["results"])


def context(client: Client, query: str) -> Json:
    return dict(client.post("/api/context", json={"userId": "vic", "query": query}).json()["data"])


def l5(client: Client, query: str) -> str:
    return next(str(one["text"]) for one in context(client, query)["layers"] if one["name"] == "L5")


def withdraw(client: Client, origin: str) -> Json:
    answer = client.post("/api/sources/withdraw", json={"userId": "vic", "origin": origin})
    assert answer.status_code == 200, answer.text
    return dict(answer.json()["data"])


def flood(server: Served, client: Client, number: int = 10) -> list[str]:
    """So many sources contradict the person's account, one after the other."""
    made = []
    for n in range(number):
        server.advance(minutes=1)
        made.append(state(client, f"Bank account is DE9{n}", source=f"email:a{n}@evil.example")["id"])
    return made


QUESTION = "what is my bank account?"


@pytest.mark.parametrize("limit", [1, 3, 5, 10])
@pytest.mark.parametrize("ranking", ["hybrid", "blended", "similarity"])
def test_ten_claims_leave_the_fact_first_and_show_one(server: Served, client: Client, limit: int, ranking: str) -> None:
    own = state(client, "Bank account is DE11")
    claims = flood(server, client)
    found = search(client, QUESTION, limit=limit, ranking=ranking)
    shown = [one["memory"]["id"] for one in found]
    assert shown == [own["id"], claims[-1]][:limit]
    assert found[0]["claims"] == (10 if limit == 1 else 9)
    assert all("claims" not in one for one in found[1:])


def test_the_same_holds_for_a_past_time(server: Served, client: Client) -> None:
    own = state(client, "Bank account is DE11", validFrom="2020-01-01T00:00:00Z")
    for n in range(4):
        state(client, f"Bank account is DE9{n}", source=f"email:a{n}", validFrom="2020-01-01T00:00:00Z")
    found = search(client, QUESTION, limit=3, asOf="2021-01-01T00:00:00Z")
    assert (found[0]["memory"]["id"], len(found), found[0]["claims"]) == (own["id"], 2, 3)


def test_claims_take_no_place_of_another_fact(client: Client) -> None:
    facts = [state(client, f"Bank account number {n} is DE{n}", attribute=f"account {n}")["id"] for n in range(3)]
    before = [one["memory"]["id"] for one in search(client, QUESTION, limit=3)]
    for n in range(3):
        state(client, f"Bank account {n} is my bank account bank account", source="slack", attribute=f"account {n}")
    found = search(client, QUESTION, limit=3)
    assert [one["memory"]["id"] for one in found] == before
    assert set(before) == set(facts)
    assert [one["claims"] for one in found] == [1, 1, 1]


def test_the_prompt_has_the_fact_and_after_it_one_claim(server: Served, client: Client) -> None:
    state(client, "Bank account is DE11")
    flood(server, client)
    lines = l5(client, QUESTION).splitlines()
    place = lines.index("- Bank account is DE11")
    assert lines[place + 1].endswith("(external claim: document a9 evil.example, and 9 further claims)")
    assert sum("DE9" in line for line in lines) == 1


def test_a_claim_beside_a_pinned_fact_stands_below_it_and_not_among_the_pinned(server: Served, client: Client) -> None:
    state(client, "Bank account is DE11", pinned=True)
    flood(server, client, 6)
    assert "- Bank account is DE11" not in l5(client, QUESTION).splitlines()
    assert "\n- Bank account is DE95 (external claim: " in l5(client, QUESTION)
    system = context(client, QUESTION)["system"]
    assert system.index("- Bank account is DE11\n") < system.index("- Bank account is DE95")
    assert [one["memory"]["pinned"] for one in search(client, QUESTION, limit=3)] == [True, False]


def test_a_claim_too_long_for_the_prompt_leaves_the_fact(client: Client) -> None:
    state(client, "Bank account is DE11")
    state(client, "Bank account is DE99 " + "bank account " * 1400, source="slack")
    assert "- Bank account is DE11" in l5(client, QUESTION)
    assert "DE99" not in l5(client, QUESTION)


def test_the_reply_without_a_model_says_the_fact_first(server: Served, client: Client) -> None:
    state(client, "Bank account is DE11")
    flood(server, client)
    if server.model != "offline":
        return
    reply = client.post("/api/chat", json={"userId": "vic", "message": QUESTION}).text
    assert "DE11" in reply
    assert reply.index("DE11") < reply.index("DE9")


def test_a_card_shows_the_most_trusted_facts_and_no_claims(client: Client) -> None:
    john = {"type": "person", "label": "John"}
    about: Json = {"type": "PEOPLE", "entity": john, "importance": 3}
    state(client, "John is a spy", source="slack", attribute="job", pinned=True, **about)
    state(client, "John is a fraud", source="email", attribute="crime", **about)
    state(client, "John is a bot", source="slack", attribute="kind", **about)
    state(client, "John is my cofounder", attribute="role", **{**about, "importance": 2})
    state(client, "John is my enemy", source="email", attribute="role", **about)
    answer = client.post("/api/memories/search", json={"userId": "vic", "query": "John"}).json()["data"]
    [card] = answer["entityCards"]
    assert card["facts"][0] == "John is my cofounder"
    assert not any("enemy" in fact for fact in card["facts"])
    assert client.get("/api/entities/person:john", params={"userId": "vic"}).status_code == 200


def test_the_persons_own_claim_is_not_called_external(client: Client) -> None:
    state(client, "Is on the gold plan", source="operator", attribute="plan")
    state(client, "Is on the diamond plan", attribute="plan")
    shown = l5(client, "which plan am I on?")
    assert "- Is on the gold plan\n- Is on the diamond plan (claim: the person says otherwise)\n" in shown


def test_what_the_withdrawn_outranked_stands_for_itself(client: Client) -> None:
    gold = state(client, "Is on the gold plan", source="operator", attribute="plan")
    own = state(client, "Is on the diamond plan", attribute="plan")
    receipt = withdraw(client, "operator")
    assert (receipt["archived"], receipt["restored"]) == ([gold["id"]], [own["id"]])
    now = memory(client, own["id"])
    assert (now["claimOf"], now["memoryKey"], now["status"]) == (None, gold["memoryKey"], "ACTIVE")
    assert client.patch(f"/api/memories/{own['id']}", json={"pinned": True}).status_code == 200
    reasons = [one["reason"] for one in client.get(f"/api/memories/{own['id']}/history").json()["data"]]
    assert "was a claim until the source it contradicted was withdrawn" in reasons
    beside = state(client, "Is on the silver plan", attribute="plan")
    assert beside["claimOf"] == gold["memoryKey"], "a pin keeps the text"
    again = state(client, "Is on the bronze plan", attribute="plan", pinned=False)
    assert (again["id"], again["claimOf"]) == (own["id"], None)
    back = client.patch(f"/api/memories/{gold['id']}", json={"status": "ACTIVE"})
    assert (back.status_code, back.json()["code"]) == (409, "replaced")
    assert withdraw(client, "operator")["total"] == 0


def test_a_withdrawn_memory_refuses_nobody(client: Client) -> None:
    state(client, "Lives in Rome", source="tool:map", attribute="city")
    withdraw(client, "tool:map")
    again = state(client, "Lives in Rome", source="email", attribute="city")
    assert (again["outcome"], again["trustLevel"], again["status"], again["claimOf"]) == (
        "updated", "document", "ACTIVE", None,
    )  # fmt: skip
    assert state(client, "Lives in Bonn", source="email", attribute="city")["claimOf"] is None
    assert held(client) == {("Lives in Bonn", "document", False)}


def test_what_others_said_too_stays_when_one_is_taken_back(client: Client) -> None:
    for source in ("tool:map", "email", None):
        state(client, "Lives in Rome", source=source, attribute="city")
    state(client, "Lives in Bonn", source="slack", attribute="city")
    withdraw(client, "api")
    assert held(client) == {("Lives in Rome", "tool", False), ("Lives in Bonn", "unknown", True)}
    withdraw(client, "tool:map")
    assert held(client) == {("Lives in Rome", "document", False), ("Lives in Bonn", "unknown", True)}
    withdraw(client, "email")
    assert held(client) == {("Lives in Bonn", "unknown", False)}


def test_a_repeat_of_another_source_is_no_version(client: Client) -> None:
    made = state(client, "Lives in Rome", attribute="city")
    state(client, "lives in rome", source="email", attribute="city")
    state(client, "Lives in Rome", source="console", attribute="city")
    assert len(client.get(f"/api/memories/{made['id']}/history").json()["data"]) == 1
    assert memory(client, made["id"])["mentions"] == 2
    withdraw(client, "console")
    assert memory(client, made["id"])["mentions"] == 1


def test_sources_with_similar_names_have_claims_of_their_own(client: Client) -> None:
    state(client, "Bank account is DE11")
    names = ("tool:crm", "tool:c.r.m", "tool:crm-2")
    claims = [state(client, f"Bank account is DE2{n}", source=name)["id"] for n, name in enumerate(names)]
    assert len(set(claims)) == 3
    again = state(client, "Bank account is DE30", source="tool:CRM")
    assert (again["id"], again["outcome"]) == (claims[0], "updated")


def test_an_edited_text_is_a_statement_of_who_edits(server: Served, client: Client) -> None:
    made = state(client, "Owns a car", source="tool:crm", attribute="car")
    address = f"/api/memories/{made['id']}"
    own = client.patch(address, json={"content": "Owns a bus", "source": "person"}).json()["data"]
    assert (own["source"], own["origin"], own["trustLevel"]) == ("person", "person", "person")
    laid_down = client.patch(address, json={"content": "Owns a tram"}).json()["data"]
    assert (laid_down["source"], laid_down["origin"], laid_down["trustLevel"]) == ("operator", "operator", "operator")
    versions = client.get(f"{address}/history").json()["data"]
    assert [(one["content"], one["origin"]) for one in versions] == [
        ("Owns a car", "tool:crm"), ("Owns a bus", "person"), ("Owns a tram", "operator"),
    ]  # fmt: skip
    refused = client.patch(address, json={"content": "Owns a boat", "source": "person"})
    assert (refused.status_code, refused.json()["code"]) == (409, "outranked")


def test_a_bound_key_edits_as_the_person(server: Served, client: Client) -> None:
    made = state(client, "Owns a car", source="tool:crm", attribute="car")
    with httpx2.Client(
        base_url=server.url, headers={"Authorization": f"Bearer {server.key(user='vic')}"}, timeout=HANGS_S
    ) as bound:
        edited = bound.patch(f"/api/memories/{made['id']}", json={"content": "Owns a bus"}).json()["data"]
        assert (edited["trustLevel"], edited["origin"]) == ("person", "api")
        body = {"content": "Owns a tram", "source": "operator"}
        assert bound.patch(f"/api/memories/{made['id']}", json=body).status_code == 403


def test_an_edited_claim_takes_over_or_stays_a_claim(client: Client) -> None:
    own = state(client, "Owns a car", attribute="car")
    claim = state(client, "Owns a boat", source="tool:crm", attribute="car")
    edited = client.patch(f"/api/memories/{claim['id']}", json={"content": "Owns a bus"}).json()["data"]
    assert (edited["id"], edited["content"], edited["trustLevel"], edited["claimOf"]) == (
        own["id"], "Owns a bus", "operator", None,
    )  # fmt: skip
    assert memory(client, claim["id"])["status"] == "ARCHIVED"
    assert held(client) == {("Owns a bus", "operator", False)}
    beside = state(client, "Owns a tram", source="tool:crm", attribute="car")
    body = {"content": "Owns a train", "source": "person"}
    still = client.patch(f"/api/memories/{beside['id']}", json=body).json()["data"]
    assert (still["claimOf"], still["trustLevel"], still["origin"]) == (own["memoryKey"], "person", "person")
    assert held(client) == {("Owns a bus", "operator", False), ("Owns a train", "person", True)}


def test_a_version_of_a_less_trusted_source_comes_back_as_who_restores_it(client: Client) -> None:
    made = state(client, "Owns a boat", source="tool:crm", attribute="car")
    state(client, "Owns a car", attribute="car")
    back = client.post(f"/api/memories/{made['id']}/restore", json={"version": 1, "source": "person"}).json()["data"]
    assert (back["content"], back["origin"], back["trustLevel"]) == ("Owns a boat", "person", "person")


def test_a_claim_whose_fact_was_archived_stands_for_itself(server: Served, client: Client) -> None:
    own = state(client, "Bank account is DE11")
    claims = flood(server, client, 3)
    assert [one["memory"]["id"] for one in search(client, QUESTION)] == [own["id"], claims[2]]
    client.patch(f"/api/memories/{own['id']}", json={"status": "ARCHIVED", "reason": "outdated"})
    for ranking in ("hybrid", "blended", "similarity"):
        [found] = search(client, QUESTION, ranking=ranking)
        assert (found["memory"]["id"], found["claims"]) == (claims[2], 2)
    client.patch(f"/api/memories/{own['id']}", json={"status": "ACTIVE"})
    assert [one["memory"]["id"] for one in search(client, QUESTION)] == [own["id"], claims[2]]


def operators_archived(client: Client, reason: str | None = None) -> Json:
    """The person's home, changed by the operator and archived."""
    made = state(client, "Lives in Rome", attribute="lives in")
    address = f"/api/memories/{made['id']}"
    assert client.patch(address, json={"content": "Lives in Paris"}).json()["data"]["trustLevel"] == "operator"
    gone = client.patch(address, json={"status": "ARCHIVED", **({"reason": reason} if reason else {})})
    assert gone.status_code == 200, gone.text
    return made


@pytest.mark.parametrize("reason", [None, "outdated", "wrong"])
def test_what_an_operator_archived_makes_no_claim_of_what_the_person_says_next(
    server: Served, client: Client, reason: str | None
) -> None:
    made = operators_archived(client, reason)
    state(client, "Likes living in big towns", attribute="surroundings")
    server.advance(minutes=1)
    said = state(client, "Lives in Lyon", attribute="lives in")
    assert (said["id"], said["outcome"], said["claimOf"], said["trustLevel"]) == (made["id"], "updated", None, "person")
    assert (said["status"], said["note"], said["archiveReason"]) == ("ACTIVE", None, None)
    lines = l5(client, "where does the person live, in Lyon?").splitlines()
    assert "- Lives in Lyon" in lines
    assert "claim:" not in "".join(lines)
    versions = client.get(f"/api/memories/{made['id']}/history").json()["data"]
    assert [(one["content"], one["reason"]) for one in versions] == [
        ("Lives in Rome", None), ("Lives in Paris", f"archived as {reason or 'unwanted'}"), ("Lives in Lyon", None),
    ]  # fmt: skip


def test_a_tool_does_not_take_the_place_of_what_an_operator_archived(client: Client) -> None:
    made = operators_archived(client, "wrong")
    repeated = state(client, "Lives in Paris", source="tool:crm", attribute="lives in")
    assert (repeated["outcome"], repeated["why"]) == ("skipped", "archived as wrong")
    beside = state(client, "Lives in Oslo", source="tool:crm", attribute="lives in")
    assert (beside["claimOf"], beside["id"] == made["id"]) == (made["memoryKey"], False)
    assert memory(client, made["id"])["status"] == "ARCHIVED"
    own = state(client, "Lives in Lyon", attribute="lives in")
    assert (own["id"], own["claimOf"]) == (made["id"], None)
    lines = l5(client, "where does the person live?").splitlines()
    assert lines[lines.index("- Lives in Lyon") + 1] == "- Lives in Oslo (external claim: tool crm)"


def test_the_person_does_not_repeat_what_an_operator_archived_as_wrong(client: Client) -> None:
    made = operators_archived(client, "wrong")
    repeated = state(client, "lives in Paris.", attribute="lives in")
    assert (repeated["outcome"], repeated["why"]) == ("skipped", "archived as wrong")
    assert memory(client, made["id"])["status"] == "ARCHIVED"
    assert held(client) == set()


def test_the_person_may_say_again_what_an_operator_archived_as_outdated(client: Client) -> None:
    made = operators_archived(client, "outdated")
    again = state(client, "Lives in Paris", attribute="lives in")
    assert (again["id"], again["status"], again["trustLevel"]) == (made["id"], "ACTIVE", "person")
    assert held(client) == {("Lives in Paris", "person", False)}


def test_the_persons_claim_stands_alone_unmarked_and_gives_way_to_their_next_statement(
    server: Served, client: Client
) -> None:
    fact = state(client, "Lives in Paris", source="operator", attribute="lives in")
    claim = state(client, "Lives in Lyon", attribute="lives in")
    assert claim["claimOf"] == fact["memoryKey"]
    client.patch(f"/api/memories/{fact['id']}", json={"status": "ARCHIVED", "reason": "wrong"})
    assert "- Lives in Lyon" in l5(client, "where does the person live?").splitlines()
    server.advance(minutes=1)
    said = state(client, "Lives in Nice", source="chat", attribute="lives in")
    assert (said["id"], said["claimOf"]) == (fact["id"], None)
    assert held(client) == {("Lives in Nice", "person", False)}
    assert (memory(client, claim["id"])["archiveReason"], memory(client, claim["id"])["status"]) == (
        "outdated", "ARCHIVED",
    )  # fmt: skip
    # Without `chat`, the person's earlier word is what is left, and not what the operator archived.
    withdraw(client, "chat")
    assert held(client) == {("Lives in Lyon", "person", False)}


def test_an_external_claim_that_stands_alone_is_marked_as_external_only(client: Client) -> None:
    own = state(client, "Bank account is DE11")
    state(client, "Bank account is DE99", source="tool:crm")
    client.patch(f"/api/memories/{own['id']}", json={"status": "ARCHIVED", "reason": "outdated"})
    assert "- Bank account is DE99 (external: tool crm)" in l5(client, QUESTION).splitlines()


def test_a_claim_that_is_stated_anew_after_its_text_moved_has_no_note(client: Client) -> None:
    fact = state(client, "Lives in Paris", source="operator", attribute="lives in")
    claim = state(client, "Lives in Lyon", attribute="lives in")
    moved = client.patch(f"/api/memories/{claim['id']}", json={"content": "Lives in Lyons"}).json()["data"]
    assert moved["id"] == fact["id"]
    assert "changed by hand" in memory(client, claim["id"])["note"]
    anew = state(client, "Lives in Nice", attribute="lives in")
    assert (anew["id"], anew["status"], anew["note"]) == (claim["id"], "ACTIVE", None)
    versions = client.get(f"/api/memories/{claim['id']}/history").json()["data"]
    assert [one["reason"] for one in versions] == [None, None]


def test_an_archived_memory_that_is_made_active_by_hand_loses_the_note_of_its_archiving(client: Client) -> None:
    made = state(client, "Owns a car", attribute="car")
    address = f"/api/memories/{made['id']}"
    gone = client.patch(address, json={"status": "ARCHIVED", "reason": "sold, I think"}).json()["data"]
    assert gone["note"] == "sold, I think"
    back = client.patch(address, json={"status": "ACTIVE"}).json()["data"]
    assert (back["status"], back["note"]) == ("ACTIVE", None)
    client.patch(address, json={"status": "ARCHIVED"})
    back = client.patch(address, json={"status": "ACTIVE", "reason": "not sold"}).json()["data"]
    assert back["note"] == "not sold"


def claims_of(client: Client) -> list[str]:
    return sorted(content for content, _, claim in held(client) if claim)


def test_a_claim_that_the_person_comes_to_share_is_no_contradiction_any_more(server: Served, client: Client) -> None:
    own = state(client, "Bank account is DE11")
    claim = state(client, "Bank account is DE22", source="tool:crm")
    server.advance(minutes=1)
    state(client, "Bank account is DE33", source="email")
    state(client, "bank account is DE22.")
    assert claims_of(client) == ["Bank account is DE33"]
    ended = memory(client, claim["id"])
    assert (ended["status"], ended["archiveReason"]) == ("ARCHIVED", "outdated")
    assert search(client, QUESTION)[0]["memory"]["id"] == own["id"]
    assert "DE22 (external claim" not in l5(client, QUESTION)
    withdraw(client, "api")
    assert held(client) == {("Bank account is DE22", "tool", False), ("Bank account is DE33", "document", True)}


def test_a_claim_ends_where_an_edit_or_a_restored_version_says_the_same(client: Client) -> None:
    own = state(client, "Bank account is DE11")
    state(client, "Bank account is DE22", source="tool:crm")
    changed = {"content": "Bank account is DE22", "source": "person"}
    assert client.patch(f"/api/memories/{own['id']}", json=changed).status_code == 200
    assert claims_of(client) == []
    state(client, "Bank account is DE11", source="email")
    assert claims_of(client) == ["Bank account is DE11"]
    back = client.post(f"/api/memories/{own['id']}/restore", json={"version": 1, "source": "person"})
    assert back.status_code == 200, back.text
    assert claims_of(client) == []


def test_a_claim_of_another_persona_ends_too_unless_its_own_memory_says_otherwise(client: Client) -> None:
    state(client, "Bank account is DE11")
    first = state(client, "Bank account is DE22", source="tool:crm", personaId="coach")
    state(client, "Bank account is DE44", personaId="chef")
    second = state(client, "Bank account is DE22", source="tool:crm", personaId="chef")
    assert first["claimOf"] is not None
    assert second["claimOf"] is not None
    state(client, "Bank account is DE22")
    assert memory(client, first["id"])["status"] == "ARCHIVED"
    assert memory(client, second["id"])["status"] == "ACTIVE"


def test_an_ended_claim_is_not_restored_beside_a_fact_that_says_the_same(client: Client) -> None:
    state(client, "Bank account is DE11")
    claim = state(client, "Bank account is DE22", source="tool:crm")
    state(client, "Bank account is DE22")
    refused = client.post(f"/api/memories/{claim['id']}/restore", json={})
    assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
    assert memory(client, claim["id"])["status"] == "ARCHIVED"


def test_a_tool_that_corrects_itself_has_no_claim_left(server: Served, client: Client) -> None:
    own = state(client, "Bank account is DE11")
    claim = state(client, "Bank account is DE22", source="tool:crm")
    server.advance(minutes=1)
    assert state(client, "Bank account is DE11", source="tool:crm")["outcome"] == "skipped"
    assert claims_of(client) == []
    [found] = search(client, QUESTION)
    assert (found["memory"]["id"], found.get("claims", 0)) == (own["id"], 0)
    server.advance(minutes=1)
    again = state(client, "Bank account is DE22", source="tool:crm")
    assert (again["id"], again["outcome"], again["status"]) == (claim["id"], "updated", "ACTIVE")
    assert claims_of(client) == ["Bank account is DE22"]


@pytest.mark.parametrize(
    ("change", "step"),
    [
        ({"content": "Bank account is DE22"}, "State the text with `POST /api/memories`"),
        ({"pinned": False}, "To unpin it, use a key that is not bound"),
        ({"importance": 0}, "To change its importance, use a key that is not bound"),
        ({"status": "ARCHIVED"}, "To archive it, use a key that is not bound"),
        ({"status": "ACTIVE"}, "To restore it, use a key that is not bound"),
    ],
)
def test_the_next_step_of_a_refused_change_fits_the_change(
    server: Served, client: Client, change: Json, step: str
) -> None:
    made = state(client, "Bank account is DE11", source="operator", pinned=True)
    refused = server.client("acme", user="vic").patch(f"/api/memories/{made['id']}", json=change)
    assert (refused.status_code, refused.json()["code"]) == (409, "outranked")
    assert step in refused.json()["detail"]
    assert ("POST /api/memories" in refused.json()["detail"]) == ("content" in change)


def test_a_refused_restore_names_a_source_that_may(client: Client) -> None:
    made = state(client, "Bank account is DE11")
    client.patch(f"/api/memories/{made['id']}", json={"status": "ARCHIVED", "source": "person"})
    refused = client.post(f"/api/memories/{made['id']}/restore", json={"source": "email"})
    assert (refused.status_code, refused.json()["code"]) == (409, "outranked")
    assert "To restore it, send a `source` that is trusted at least as much, such as `person`." in refused.text
