"""Pages that follow what happens: they update, they pause, and after a reconnect nothing is missing."""

import socket
from pathlib import Path

import httpx2
from playwright.sync_api import Browser, Page, expect

from support.chromium import watched
from support.served import Served, served
from support.storied import aside, signed_in

QUIET_MS = 2500
"""Longer than the server takes to notice a change and the page to ask for it."""


def speaks(client: httpx2.Client, who: str) -> None:
    turn = {"userId": who, "messages": [{"role": "user", "content": "Good morning."}]}
    answer = client.post("/api/turns", json=turn)
    assert answer.is_success, answer.text


def test_a_page_updates_by_itself_and_pauses(page: Page, server: Served) -> None:
    server.script.set_default_answer("Reflection", {})
    cookies = signed_in(server, "watched")
    page.context.add_cookies([{"name": name, "value": value, "url": server.url} for name, value in cookies.items()])
    page.goto("/sessions")
    with aside(lambda: server.client("watched")) as client:
        speaks(client, "nils")
        expect(page.get_by_role("link", name="nils")).to_be_visible()
        page.get_by_role("button", name="pause").click()
        speaks(client, "olga")
        page.wait_for_timeout(QUIET_MS)
        expect(page.get_by_role("link", name="olga")).to_have_count(0)
        page.get_by_role("button", name="resume").click()
        expect(page.get_by_role("link", name="olga")).to_be_visible()


def test_a_notice_outlives_an_update(page: Page, server: Served) -> None:
    cookies = signed_in(server, "noticed")
    page.context.add_cookies([{"name": name, "value": value, "url": server.url} for name, value in cookies.items()])
    with aside(lambda: server.client("noticed")) as client:
        agent = client.post("/api/agents", json={"name": "Wren"}).json()["data"]["id"]
        page.goto("/agents")
        page.get_by_role("link", name="Edit").click()
        page.get_by_label("Name").fill("Jenny Wren")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_role("status")).to_have_text("Saved.")
        server.script.add_replies("Quite so.")
        client.post(f"/api/agents/{agent}/chat", json={"message": "From another window."})
        expect(page.get_by_text("From another window.")).to_be_visible()
        expect(page.locator(".notice")).to_contain_text("Saved.")
        page.get_by_role("navigation", name="Main").get_by_role("link", name="Agents").click()
        expect(page.locator(".notice")).to_have_count(0)


def test_what_happened_while_the_server_was_away_is_shown_after_the_reconnect(
    browser: Browser, database_url: str, tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    context, _ = watched(browser, base_url=f"http://127.0.0.1:{port}")
    page = context.new_page()
    with served(database_url, tmp_path, port=port, worker=False) as server:
        speaks(aside(server.client), "nils")
        cookies = signed_in(server, "acme")
        context.add_cookies([{"name": name, "value": value, "url": server.url} for name, value in cookies.items()])
        page.goto("/sessions")
        expect(page.get_by_role("link", name="nils")).to_be_visible()
        page.wait_for_timeout(QUIET_MS)
    with served(database_url, tmp_path, worker=False) as elsewhere:
        speaks(aside(elsewhere.client), "olga")
    with served(database_url, tmp_path, port=port, worker=False):
        expect(page.get_by_role("link", name="olga")).to_be_visible()
        context.close()
