"""No new id has a control character or a line break; one from before the rule is still exported and forgotten."""

from urllib.parse import quote

import httpx2
import psycopg
import pytest

from mnemon.scope import internal_user_id
from support.console_door import signed_in
from support.served import Served

ODD = ("a\nb", "a\r\nb", "tab\there", "\x1b[31mred", "a\x85b", "a\u2028b", "a\x7fb")
PROFILE = {"profile": ["Keeps bees"]}


@pytest.mark.parametrize("name", ODD)
def test_an_id_with_a_control_character_is_refused_at_every_door(client: httpx2.Client, name: str) -> None:
    where = quote(name, safe="")
    said = [{"role": "user", "content": "Hello"}]
    answers = [
        client.post("/api/memories", json={"userId": name, "type": "PROFILE", "content": "Sails"}),
        client.post("/api/memories", json={"userId": "a", "personaId": name, "type": "PROFILE", "content": "Sails"}),
        client.post("/api/turns", json={"userId": name, "messages": said}),
        client.post("/api/turns", json={"userId": "a", "sessionId": name, "messages": said}),
        client.post("/api/chat", json={"userId": name, "message": "Hello"}),
        client.put(f"/api/users/{where}/seed", json=PROFILE),
        client.put(f"/api/personas/{where}", json={"name": "Coach"}),
        client.post("/v1/chat/completions", json={"model": "x", "user": name, "messages": said}),
    ]
    assert [one.status_code for one in answers] == [422] * len(answers), [one.text for one in answers]
    assert "control character" in answers[0].text
    lines = '{"format":"mnemon-export","version":1,"userId":"a\\nb"}\n{"end":true,"rows":0}\n'
    refused = client.post("/api/import", content=lines)
    assert (refused.status_code, refused.json()["code"]) == (422, "bad_user_id")
    assert "?userId=" in refused.json()["detail"]
    assert client.post("/api/import?userId=ab", content=lines).status_code == 200


@pytest.mark.parametrize("name", ["a\nb", "trailing\n", "a/b\nc/export"])
def test_a_person_from_before_the_rule_is_exported_and_forgotten(
    server: Served, client: httpx2.Client, name: str
) -> None:
    assert client.put("/api/users/ann/seed", json=PROFILE).status_code == 200
    org = server.org("acme")
    old, new = internal_user_id(org, "ann"), internal_user_id(org, name)
    with psycopg.connect(server.database_url, autocommit=True) as connection:
        owned = "column_name = 'user_id' and table_schema = 'public'"
        tables = f"select table_name from information_schema.columns where {owned}"
        connection.execute("set session_replication_role = replica")
        for (table,) in connection.execute(tables).fetchall():
            connection.execute(f'update "{table}" set user_id = %s where user_id = %s', [new, old])
        connection.execute("update users set external_id = %s where user_id = %s", [name, new])
    where = f"/api/users/{quote(name, safe='')}"
    assert "Keeps bees" in client.get(f"{where}/export").text
    assert client.get(f"{where}/seed").json()["data"]["profile"][0]["content"] == "Keeps bees"
    assert client.get(f"{where}/spine").status_code == 200
    assert client.get("/api/sources", params={"userId": name}).json()["data"]
    assert client.delete(where).status_code == 200
    assert client.get(f"{where}/export").status_code == 404


def test_the_console_describes_no_persona_with_one(server: Served, client: httpx2.Client) -> None:
    with signed_in(server, server.org("acme")) as browser:
        page = browser.get("/settings").text
        csrf = page.split('data-csrf="')[1].split('"')[0]
        form = {"csrf": csrf, "id": "a\tb", "name": "Coach", "prompt": ""}
        assert browser.post("/settings/personas", data=form).status_code == 422
