"""What can be done in the console: guarded, on record, undone where it can be."""

import html
import re

import httpx2
import psycopg
import pytest

from mnemon.access.grants import Grant
from support.bounds import HANGS_S
from support.console_door import signed_in
from support.served import Served
from support.told import tell

WRITES = (
    "/memories/mem_x/edit",
    "/memories/mem_x/pin",
    "/memories/mem_x/archive",
    "/memories/mem_x/restore",
    "/memories/mem_x/forget",
    "/memories/mem_x/unfold",
    "/memories/bulk",
    "/entities/merge",
    "/entities/split",
    "/sessions/ses_x/close",
    "/jobs/job_x/retry",
    "/settings/keys",
    "/settings/keys/key_x/revoke",
    "/settings/personas",
    "/settings/privacy/forget",
    "/sources/withdraw",
)


def token(browser: httpx2.Client) -> str:
    found = re.search(r'data-csrf="([0-9a-f]+)"', browser.get("/settings").text)
    assert found
    return found[1]


def post(browser: httpx2.Client, to: str, **form: str) -> httpx2.Response:
    return browser.post(to, data={"csrf": token(browser), **form})


def audit(browser: httpx2.Client) -> list[tuple[str, str]]:
    """What was done in the console: writes through other doors stand in the same log."""
    entries = browser.get("/settings/audit.json").json()["entries"]
    elsewhere = re.compile(r"[A-Z]+ /|mnemon |sign in")
    return [(one["action"], one["target"]) for one in entries if not elsewhere.match(one["action"])]


def status(client: httpx2.Client, memory_id: str) -> str:
    return str(client.get(f"/api/memories/{memory_id}").json()["data"]["status"])


@pytest.mark.parametrize("sent", ["", "0" * 64, "é"])
def test_no_write_without_the_sessions_token(browser: httpx2.Client, sent: str) -> None:
    for to in WRITES:
        answer = browser.post(to, data={"csrf": sent})
        assert answer.status_code == 403, to
        assert "csrf" in answer.text, to


def test_no_write_with_the_token_of_another(server: Served, browser: httpx2.Client) -> None:
    with signed_in(server, "rival") as rival:
        for to in WRITES:
            assert browser.post(to, data={"csrf": token(rival)}).status_code == 403, to


def test_another_organizations_memory_cannot_be_touched(server: Served, client: httpx2.Client) -> None:
    told = tell(server, client)
    before = client.get(f"/api/memories/{told.memories[0]}").json()["data"]
    with signed_in(server, "rival") as rival:
        for deed in ("edit", "pin", "archive", "restore", "forget"):
            form = {"content": "stolen", "pinned": "yes", "confirm": "forget"}
            assert post(rival, f"/memories/{told.memories[0]}/{deed}", **form).status_code == 404, deed
        assert post(rival, f"/sessions/{told.sessions[-1]}/close").status_code == 404
        bulk = {f"id:{told.memories[0]}": "yes", "deed": "archive"}
        assert post(rival, "/memories/bulk", **bulk).status_code == 404
    assert client.get(f"/api/memories/{told.memories[0]}").json()["data"] == before


def test_archiving_is_undone_from_the_notice(server: Served, client: httpx2.Client, browser: httpx2.Client) -> None:
    told = tell(server, client)
    one, two = told.memories[:2]
    went = post(browser, f"/memories/{one}/archive")
    assert went.status_code == 303
    assert status(client, one) == "ARCHIVED"
    page = browser.get(went.headers["location"]).text
    assert f'action="/memories/{one}/restore"' in page
    assert "Undo" in page
    assert "Undo" not in browser.get(f"/memories/{one}").text  # a notice is shown once
    post(browser, f"/memories/{one}/restore")
    assert status(client, one) == "ACTIVE"

    went = post(browser, "/memories/bulk", **{f"id:{one}": "yes", f"id:{two}": "yes", "deed": "archive"})
    assert status(client, one) == status(client, two) == "ARCHIVED"
    undo = re.search(r'action="(/memories/bulk\?[^"]+)"', browser.get(went.headers["location"]).text)
    assert undo
    assert post(browser, undo[1].replace("&amp;", "&")).status_code == 303
    assert status(client, one) == status(client, two) == "ACTIVE"
    deeds = [deed for deed, target in audit(browser) if target == one]
    assert sorted(deeds) == ["archive memory", "archive memory", "restore memory", "restore memory"]


def test_an_edit_keeps_the_text_before_and_a_version_is_held_again(
    server: Served, client: httpx2.Client, browser: httpx2.Client
) -> None:
    told = tell(server, client)
    one = next(m for m in told.memories if "tea" in client.get(f"/api/memories/{m}").text)
    post(browser, f"/memories/{one}/edit", content="Drinks green tea", importance="2", reason="said so")
    post(browser, f"/memories/{one}/pin", pinned="yes")
    held = client.get(f"/api/memories/{one}").json()["data"]
    assert (held["content"], held["pinned"]) == ("Drinks green tea", True)
    assert (held["source"], held["trustLevel"], held["confidence"]) == ("operator", "operator", 1.0)
    assert (held["mentions"], held["provenance"]) == (1, [])
    page = browser.get(f"/memories/{one}").text
    assert "<ins>green tea</ins>" in page
    assert "Use this version" in page
    post(browser, f"/memories/{one}/restore", version="1")
    assert client.get(f"/api/memories/{one}").json()["data"]["content"] == "Drinks tea, no coffee"


def test_only_forgetting_wants_a_typed_word(server: Served, client: httpx2.Client, browser: httpx2.Client) -> None:
    told = tell(server, client)
    one, two = told.memories[:2]
    for word in ("", "yes"):
        assert post(browser, f"/memories/{one}/forget", confirm=word).status_code == 422
        assert (
            post(browser, "/memories/bulk", **{f"id:{two}": "yes", "deed": "forget", "confirm": word}).status_code
            == 422
        )
    assert status(client, one) == "ACTIVE"
    went = post(browser, f"/memories/{one}/forget", confirm="forget")
    assert "Receipt fgt_" in browser.get(went.headers["location"]).text
    post(browser, "/memories/bulk", **{f"id:{two}": "yes", "deed": "forget", "confirm": "forget"})
    assert [client.get(f"/api/memories/{m}").status_code for m in (one, two)] == [404, 404]


def test_a_person_is_taken_out_and_forgotten_with_a_receipt(
    server: Served, client: httpx2.Client, browser: httpx2.Client
) -> None:
    tell(server, client)
    file = browser.get("/settings/privacy/export?user=ann")
    assert file.headers["content-disposition"].startswith("attachment")
    assert "Lives in Denver" in file.text
    assert post(browser, "/settings/privacy/forget", user="ann", confirm="ben").status_code == 422
    receipt = post(browser, "/settings/privacy/forget", user="ann", confirm="ann")
    assert receipt.status_code == 200
    assert "fgt_" in receipt.text
    assert "memories" in receipt.text
    assert browser.get("/memories.json?user=ann").json()["total"] == 0
    assert browser.get("/settings/privacy.json").json()["people"] == ["ben"]
    assert {"forget person", "export person"} == {deed for deed, _ in audit(browser)}


def test_a_key_is_shown_once_works_and_is_revoked(server: Served, browser: httpx2.Client) -> None:
    made = post(browser, "/settings/keys", name="my app", **{"grant:memory:read": "yes"})
    text = re.search(r"mnk_acme_[0-9a-f]{64}", made.text)
    assert made.status_code == 200
    assert text
    assert made.headers["cache-control"] == "no-store"
    assert text[0] not in browser.get("/settings/keys").text
    headers = {"Authorization": f"Bearer {text[0]}"}
    url = f"{server.url}/api/memories?userId=ann"
    assert httpx2.get(url, headers=headers, timeout=HANGS_S).status_code == 200
    with httpx2.Client(base_url=server.url, timeout=HANGS_S) as holder:
        holder.post("/sign-in", data={"key": text[0], "next": "/"})
        assert holder.get("/memories").status_code == 200
        key = browser.get("/settings/keys.json").json()["live"][0]["id"]
        assert post(browser, f"/settings/keys/{key}/revoke").status_code == 303
        assert holder.get("/memories").status_code == 303  # whoever signed in with it is signed out
    assert httpx2.get(url, headers=headers, timeout=HANGS_S).status_code == 401
    assert {"revoke key", "create key"} == {deed for deed, _ in audit(browser)}


def test_entities_are_merged_and_split_again(server: Served, client: httpx2.Client, browser: httpx2.Client) -> None:
    tell(server, client)
    went = post(browser, "/entities/merge", user="ann", **{"from": "person:mariah", "into": "person:maria"})
    page = browser.get(went.headers["location"])
    assert page.status_code == 200
    assert "person:mariah" in page.text
    assert "Undo" in page.text
    assert browser.get("/entities.json?user=ann&view=merges").json()["merges"][0]["split_at"] is None
    post(browser, "/entities/split", user="ann", key="person:maria", **{"from": "person:mariah"})
    assert "person:mariah" in [one["key"] for one in browser.get("/entities.json?user=ann").json()["found"]]
    assert {"split entities", "merge entities"} == {deed for deed, _ in audit(browser)}


def test_a_session_is_closed_and_a_persona_described(
    server: Served, client: httpx2.Client, browser: httpx2.Client
) -> None:
    told = tell(server, client)
    assert browser.get(f"/sessions/{told.sessions[-1]}.json").json()["runs"] is True
    assert post(browser, f"/sessions/{told.sessions[-1]}/close").status_code == 303
    assert browser.get(f"/sessions/{told.sessions[-1]}.json").json()["runs"] is False
    post(browser, "/settings/personas", id="critic", name="Critic", prompt="You doubt.", engagement="off")
    assert client.get("/api/personas/critic").json()["data"]["engagement"] == "off"
    assert post(browser, "/settings/personas", id="", name="").status_code == 422


def test_nothing_leads_to_another_site(server: Served, client: httpx2.Client, browser: httpx2.Client) -> None:
    told = tell(server, client)
    for back in ("https://evil.example/", "//evil.example", "/\\evil.example"):
        went = post(browser, f"/memories/{told.memories[0]}/pin", pinned="yes", back=back)
        assert went.headers["location"] == "/", back


def test_signing_out_ends_the_session(browser: httpx2.Client) -> None:
    assert browser.post("/sign-out", data={"csrf": "wrong"}).status_code in (403, 422)
    assert browser.get("/memories").status_code == 200
    cookie = browser.cookies["mnemon_console"]
    assert browser.post("/sign-out", data={"csrf": token(browser)}).status_code == 303
    browser.cookies.set("mnemon_console", cookie)
    assert browser.get("/memories").status_code == 303


def test_what_one_source_said_is_shown_and_taken_back(client: httpx2.Client, browser: httpx2.Client) -> None:
    body = {"userId": "ann", "type": "PROFILE", "attribute": "boat"}
    own = client.post("/api/memories", json={**body, "content": "Owns no boat"}).json()["data"]["id"]
    claim = client.post("/api/memories", json={**body, "content": "Owns a boat", "source": "email"}).json()["data"][
        "id"
    ]
    assert "claim · document email" in browser.get("/memories?user=ann").text
    page = browser.get(f"/memories/{claim}").text
    assert "a more trusted source says otherwise" in page
    assert "/sources?user=ann" in page
    listed = browser.get("/sources?user=ann").text
    assert "<td>email</td>" in listed
    assert 'action="/sources/withdraw"' not in listed, "one click takes nothing back"
    where = "/sources/withdraw?user=ann&source=email"
    assert where.replace("&", "&amp;") in listed
    asked = browser.get(where).text
    assert "1 memory, 0 past versions and 0 open todos" in asked
    assert "Owns a boat" in asked
    for word in ("", "yes"):
        refused = post(browser, "/sources/withdraw", user="ann", source="email", confirm=word, at=where)
        assert refused.status_code == 422
        assert "type withdraw to confirm" in refused.text
    assert status(client, claim) == "ACTIVE"
    post(browser, "/sources/withdraw", user="ann", source="email", confirm="Withdraw")
    assert (status(client, claim), status(client, own)) == ("ARCHIVED", "ACTIVE")
    assert audit(browser)[0][0] == "withdraw source"


def test_a_claim_whose_fact_is_archived_is_not_shown_as_one(client: httpx2.Client, browser: httpx2.Client) -> None:
    body = {"userId": "ann", "type": "PROFILE", "attribute": "boat"}
    fact = client.post("/api/memories", json={**body, "content": "Owns no boat", "source": "operator"}).json()["data"]
    claim = client.post("/api/memories", json={**body, "content": "Owns a boat"}).json()["data"]["id"]
    assert "claim · the person" in browser.get("/recall?user=ann&q=boat").text
    client.patch(f"/api/memories/{fact['id']}", json={"status": "ARCHIVED", "reason": "wrong"})
    found = browser.get("/recall?user=ann&q=boat").text
    assert "Owns a boat" in found
    assert "claim · " not in found
    page = browser.get(f"/memories/{claim}").text
    assert "a more trusted source said otherwise, and that is archived" in page


def test_a_claim_and_what_it_contradicts_lead_to_each_other(client: httpx2.Client, browser: httpx2.Client) -> None:
    body = {"userId": "ann", "type": "PROFILE", "attribute": "yacht"}
    own = client.post("/api/memories", json={**body, "content": "Owns no yacht"}).json()["data"]["id"]
    said = {**body, "content": "Owns a yacht", "source": "weird src (external: operator)"}
    claim = client.post("/api/memories", json=said).json()["data"]["id"]
    about_claim, about_own = browser.get(f"/memories/{claim}").text, browser.get(f"/memories/{own}").text
    assert f'<a href="/memories/{own}">Owns no yacht</a>' in about_claim
    assert f"/memories/{claim}/pin" not in about_claim
    assert f'<a href="/memories/{claim}">Owns a yacht</a>' in about_own
    assert "claim · unknown source weird src external operator" in about_own
    assert f"/memories/{own}/pin" in about_own
    edited = post(browser, f"/memories/{claim}/edit", content="Owns a ship", importance="1")
    assert edited.headers["location"] == f"/memories/{own}"
    now = client.get(f"/api/memories/{own}").json()["data"]
    assert (now["content"], now["trustLevel"], now["origin"]) == ("Owns a ship", "operator", "operator")


def test_a_source_whose_name_a_form_would_change_is_taken_back(
    server: Served, client: httpx2.Client, browser: httpx2.Client
) -> None:
    body = {"userId": "ann", "type": "PROFILE", "content": "Owns a boat", "source": "tool:crm"}
    one = client.post("/api/memories", json=body).json()["data"]["id"]
    with psycopg.connect(server.database_url, autocommit=True) as connection:
        connection.execute("update memories set origin = %s where id = %s", ["tool:a\nb %25\x1b ", one])
    listed = browser.get("/sources?user=ann").text
    assert r"<td>tool:a\nb %25\x1b </td>" in listed
    found = re.search(r'href="(/sources/withdraw[^"]+)"', listed)
    assert found
    asked = browser.get(html.unescape(found[1])).text
    named = re.search(r'name="source" value="([^"]+)"', asked)
    assert named
    post(browser, "/sources/withdraw", user="ann", source=html.unescape(named[1]), confirm="withdraw")
    assert status(client, one) == "ARCHIVED"
    nothing = post(browser, "/sources/withdraw", user="ann", source="tool", confirm="withdraw")
    assert nothing.status_code == 404


def test_without_custody_no_source_is_offered_to_be_taken_back(server: Served, client: httpx2.Client) -> None:
    client.post("/api/memories", json={"userId": "ann", "type": "PROFILE", "content": "Sails", "source": "email"})
    key = server.key(grants=frozenset({Grant.MEMORY_READ, Grant.MEMORY_WRITE}))
    with httpx2.Client(base_url=server.url, timeout=HANGS_S) as reader:
        assert reader.post("/sign-in", data={"key": key, "next": "/"}).status_code == 303
        listed = reader.get("/sources?user=ann").text
        assert "<td>email</td>" in listed
        assert "/sources/withdraw" not in listed
        assert reader.get("/sources/withdraw?user=ann&source=email").status_code == 403


@pytest.mark.parametrize(
    "form",
    [{}, {"everything": "yes", "grant:chat": "yes"}, {"everything": "yes", "user": "  "},
     {"everything": "yes", "user": "a\tb"}, {"everything": "yes", "days": "0"}],
)  # fmt: skip
def test_a_form_that_names_nothing_makes_no_key(browser: httpx2.Client, form: dict[str, str]) -> None:
    refused = post(browser, "/settings/keys", name="app", at="/settings/keys", **form)
    assert refused.status_code == 422, refused.text
    assert "mnk_" not in refused.text
    assert browser.get("/settings/keys.json").json()["live"] == []


def test_everything_is_asked_for_by_its_box(browser: httpx2.Client) -> None:
    assert "mnk_" in post(browser, "/settings/keys", name="app", everything="yes").text
    [key] = browser.get("/settings/keys.json").json()["live"]
    assert set(key["grants"]) == set(Grant)
