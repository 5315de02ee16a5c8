"""Every page answers: empty, filled, as JSON, without a sign-in, for another organization, and with a hostile text."""

import json
from urllib.parse import quote

import httpx2
import psycopg
import pytest

from mnemon.access.grants import Grant
from support.bounds import HANGS_S
from support.console_door import signed_in
from support.problem import assert_problem
from support.served import Served
from support.told import Told, tell

PAGES = (
    "/",
    "/memories",
    "/memories?status=any&q=lives&page=1",
    "/recall",
    "/recall?q=where+does+Ann+live&versus=blended&kinds=both",
    "/recall?q=job&as_of=2026-04-12",
    "/context",
    "/context?q=hello&budget=300",
    "/entities",
    "/entities?view=graph",
    "/entities?view=suggestions",
    "/entities?view=merges",
    "/sessions",
    "/jobs",
    "/settings",
    "/settings/keys",
    "/settings/personas",
    "/settings/privacy",
    "/settings/audit",
)
SCRIPT = "<script>alert('x')</script>"


def of_one(told: Told) -> list[str]:
    """The pages of single things."""
    return [
        f"/memories/{told.memories[-1]}",
        f"/sessions/{told.sessions[0]}",
        f"/sessions/{told.sessions[0]}?turn={told.turns[1]}",
        f"/sessions/{told.sessions[0]}/agent-state",
    ]


def twin(address: str) -> str:
    path, _, state = address.partition("?")
    named = "/index.json" if path == "/" else f"{path}.json"
    return f"{named}?{state}" if state else named


def test_every_page_teaches_while_there_is_nothing(browser: httpx2.Client) -> None:
    for address in PAGES:
        page = browser.get(address)
        assert page.status_code == 200, (address, page.text)
    for address in ("/", "/memories", "/recall", "/context", "/entities", "/sessions", "/jobs", "/settings/keys"):
        assert '<pre class="copy">' in browser.get(address).text, address


def test_every_page_shows_a_story_and_has_a_twin_in_json(
    server: Served, client: httpx2.Client, browser: httpx2.Client
) -> None:
    told = tell(server, client)
    for address in (*PAGES, *of_one(told), "/entities/person:maria?user=ann"):
        page = browser.get(address)
        assert page.status_code == 200, (address, page.text)
        assert page.headers["content-security-policy"].startswith("default-src 'none'")
        data = browser.get(twin(address))
        assert data.status_code == 200, (address, data.text)
        assert "title" in json.loads(data.text)


def test_what_was_told_is_found_where_one_would_look(
    server: Served, client: httpx2.Client, browser: httpx2.Client
) -> None:
    told = tell(server, client)
    session = browser.get(f"/sessions/{told.sessions[0]}").text
    assert "Owns a yacht" in session
    assert "rejected" in session
    assert "Lives in Austin</a>" in session  # as it was remembered then, beside the turn that said it
    assert "changed since" in session
    assert "Lives in Denver" not in session
    assert "Ann told of Maria and the marathon." in session
    later = browser.get(f"/sessions/{told.sessions[1]}.json").json()
    assert later["session"]["resumed_from"] == told.sessions[0]
    state = browser.get(f"/sessions/{told.sessions[0]}/agent-state").text
    assert "✗ failed" in state
    assert "… pending" in state
    moved = next(m for m in told.memories if "Denver" in client.get(f"/api/memories/{m}").text)
    page = browser.get(f"/memories/{moved}").text
    assert "<del>" in page
    assert "I moved to Denver last week" in page
    assert "<dd>1×</dd>" in page  # Austin was another value
    assert page.index("Source messages") < page.index("I moved to Denver last week") < page.index("Versions")
    assert page.index("Versions") < page.index("“I live in Austin”")
    assert f"/sessions/{told.sessions[1]}?turn={told.turns[2]}" in page


def test_recall_tells_parts_places_and_what_was_kept_out(
    server: Served, client: httpx2.Client, browser: httpx2.Client
) -> None:
    tell(server, client)
    address = "/recall.json?user=ann&q=another+job&versus=blended&limit=2"
    found = browser.get(address).json()
    first, second = found["columns"]
    assert (first["ranking"], second["ranking"]) == ("hybrid", "blended")
    for line in (*first["hits"], *second["hits"]):
        parts = sum(line["weights"][name] * part for name, part in line["parts"].items())
        assert parts == pytest.approx(line["score"])
        assert line["other"] is not None
    assert len(first["hits"]) == 2
    assert len(first["below"]) > 0
    assert [one["why"] for one in found["missing"]] == ["other_persona"]
    assert browser.get(f"{address}&persona=coach").json()["missing"] == []


def test_the_context_says_what_was_cut(server: Served, client: httpx2.Client, browser: httpx2.Client) -> None:
    tell(server, client)
    wide = browser.get("/context.json?user=ann&persona=coach&q=where+do+I+live").json()["made"]
    # What is cut although there is room stands in the prompt already, or has been replaced.
    assert {one["why"] for one in wide["left_out"]} <= {"repeated", "outdated"}
    assert all(one["text"] for one in wide["left_out"])
    assert sum(one["share"] for one in wide["layers"]) == pytest.approx(1)
    tight = browser.get("/context.json?user=ann&persona=coach&q=where+do+I+live&budget=420").json()["made"]
    assert tight["left_out"]
    assert all(one["text"] for one in tight["left_out"])


def test_days_of_the_overview_count_turns_recalls_and_tokens(
    server: Served, client: httpx2.Client, browser: httpx2.Client
) -> None:
    tell(server, client)
    before = browser.get("/index.json").json()
    browser.get("/recall?user=ann&q=tea")
    after = browser.get("/index.json").json()
    assert len(after["days"]) == 30
    assert sum(day["turns"] for day in after["days"]) == 5
    assert sum(day["tokens"] for day in after["days"]) > 0
    assert after["days"][-1]["recalls"] == before["days"][-1]["recalls"] + 1
    assert after["health"]["word"] == "healthy"


def test_token_counts_beyond_reason_that_an_earlier_release_stored_do_not_stop_the_overview(
    server: Served, client: httpx2.Client, browser: httpx2.Client
) -> None:
    tell(server, client)
    with psycopg.connect(server.database_url) as connection:
        for table in ("turns", "reflections"):
            statement = f"""update {table} set usage = '{{"input_tokens": 1e30, "output_tokens": -1}}'"""
            connection.execute(statement)
    assert browser.get("/").status_code == 200


def test_no_page_runs_what_was_stored(server: Served, client: httpx2.Client, browser: httpx2.Client) -> None:
    told = tell(server, client, mark=SCRIPT)
    user = quote(f"ann{SCRIPT}")
    addresses = [
        f"/?x={quote(SCRIPT)}",
        *(f"{one}{'&' if '?' in one else '?'}user={user}" for one in PAGES),
        *of_one(told),
        f"/recall?user={user}&persona=coach&q={quote(SCRIPT)}&versus=blended&kinds=both",
        f"/context?user={user}&persona=coach&q={quote(SCRIPT)}&budget=500",
        f"/memories?q={quote(SCRIPT)}&entity={quote(SCRIPT)}",
        f"/memories/{quote(SCRIPT)}",
        "/settings/personas?edit=coach",
    ]
    marked = 0
    for address in addresses:
        text = browser.get(address).text
        assert "<script>alert" not in text, address
        marked += "&lt;script&gt;alert" in text
    assert marked > 20


def test_another_organization_finds_nothing(server: Served, client: httpx2.Client, browser: httpx2.Client) -> None:
    told = tell(server, client)
    with signed_in(server, "rival") as rival:
        for address in (*of_one(told), "/entities/person:maria?user=ann"):
            assert rival.get(address).status_code == 404, address
            assert rival.get(twin(address)).status_code == 404, address
        for address in PAGES:
            text = rival.get(f"{address}{'&' if '?' in address else '?'}user=ann").text
            assert "Globex" not in text, address
            assert "Denver" not in text, address


def test_without_a_sign_in_every_page_leads_to_it(server: Served) -> None:
    with httpx2.Client(base_url=server.url, timeout=HANGS_S) as stranger:
        for address in PAGES:
            page = stranger.get(address)
            assert page.status_code == 303, address
            assert page.headers["location"].startswith("/sign-in?next="), address
            data = stranger.get(twin(address))
            assert (data.status_code, data.json()["code"]) == (401, "unauthenticated"), address
            assert "You are not signed in" in data.json()["detail"], address
            assert "sign-in link" not in data.json()["detail"], "no link was used"
            assert "/sign-in" in data.json()["detail"], address


def test_the_sources_page_calls_the_level_as_the_api_does(client: httpx2.Client, browser: httpx2.Client) -> None:
    body = {"userId": "ann", "type": "PROFILE", "content": "Owns a boat", "source": "tool:crm"}
    assert client.post("/api/memories", json=body).status_code == 201
    (shown,) = browser.get("/sources.json?user=ann").json()["found"]
    assert shown["trust_level"] == client.get("/api/sources?userId=ann").json()["data"][0]["trustLevel"] == "tool"
    assert "trust" not in shown


def test_a_key_sees_what_its_scopes_allow(server: Served) -> None:
    with httpx2.Client(base_url=server.url, timeout=HANGS_S) as visitor:
        key = server.key("acme", grants=frozenset({Grant.MEMORY_READ}))
        assert visitor.post("/sign-in", data={"key": key, "next": "/"}).status_code == 303
        assert visitor.get("/memories").status_code == 200
        for address in ("/jobs", "/context", "/settings/keys", "/settings/privacy", "/settings/audit"):
            assert visitor.get(address).status_code == 403, address
        assert "/settings/keys" not in visitor.get("/settings").text


def test_a_key_of_one_person_opens_no_console(server: Served) -> None:
    with httpx2.Client(base_url=server.url, timeout=HANGS_S) as visitor:
        answer = visitor.post("/sign-in", data={"key": server.key("acme", user="ann"), "next": "/"})
        assert answer.status_code == 403, "the key itself is good"
        assert "one person" in answer.text
        assert visitor.get("/memories").status_code == 303


def test_an_address_that_is_no_page_is_answered_with_a_page(server: Served, browser: httpx2.Client) -> None:
    accepts = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
    shown = browser.get("/keysx", headers=accepts)
    assert (shown.status_code, shown.headers["Content-Type"]) == (404, "text/html; charset=utf-8")
    assert "There is no such page. Check the address." in shown.text
    assert 'href="/memories"' in shown.text
    assert "default-src 'none'" in shown.headers["Content-Security-Policy"]
    outside = httpx2.get(f"{server.url}/keysx", headers=accepts, timeout=HANGS_S)
    assert (outside.status_code, "There is no such page" in outside.text) == (404, True)
    assert 'href="/memories"' not in outside.text
    for address in ("/keysx.json", "/api/nothing"):
        assert_problem(browser.get(address, headers=accepts), 404, "no_such_route")
    assert_problem(browser.get("/keysx", headers={"Accept": "*/*"}), 404, "no_such_route")


def test_an_odd_address_is_never_an_error_of_ours(browser: httpx2.Client) -> None:
    odd = ("%00", "-1", "9" * 30, "²", "a" * 5000, "%ED%A0%80", "';--", "../..")
    for word in odd:
        for address in (
            f"/memories?page={word}&user={word}&q={word}&type={word}",
            f"/memories/{quote(word)}",
            f"/recall?q={word}&user={word}&limit={word}&ranking={word}&as_of={word}",
            f"/context?q={word}&budget={word}",
            f"/entities?page={word}&q={word}&view={word}&user={word}",
            f"/entities/{quote(word)}",
            f"/sessions?page={word}&user={word}&q={word}",
            f"/sessions/{quote(word)}?from={word}&turn={word}",
            f"/settings/audit?before={word}",
            f"/settings/privacy/export?user={word}",
            f"/jobs?status={word}",
        ):
            assert browser.get(address).status_code < 500, address


def test_the_first_load_is_small(browser: httpx2.Client) -> None:
    total = 0
    for address in ("/", "/static/console.css", "/static/console.js", "/static/htmx.js", "/static/mark.svg"):
        with browser.stream("GET", address, headers={"Accept-Encoding": "gzip"}) as answer:
            total += sum(len(piece) for piece in answer.iter_raw())
    assert total <= 60 * 1024


def test_the_menu_and_the_settings_page_speak_plainly(browser: httpx2.Client) -> None:
    page = browser.get("/settings").text
    assert "<h2>Server</h2>" in page
    assert ">Shortcuts <kbd>?</kbd>" in page
    assert "flags, <code>MNEMON_*</code> variables, <code>.env</code>, <code>mnemon.toml</code>, in this order" in page
    assert "for a key bound to a person: chat, memory:read, memory:write, custody" in browser.get("/settings/keys").text
