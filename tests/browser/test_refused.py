"""A form that is refused: what was typed stays, the field that is wrong has the focus, and a reload sends nothing."""

import httpx2
import pytest
from playwright.sync_api import Browser, Page, Request, expect

from support.chromium import watched
from support.served import Served
from support.storied import aside, signed_in

PROMPT = "You doubt.\nAlways, and <kindly>."


@pytest.fixture
def posts(page: Page) -> list[str]:
    """The addresses that were posted to."""
    sent: list[str] = []

    def heard(request: Request) -> None:
        if request.method == "POST":
            sent.append(request.url)

    page.on("request", heard)
    return sent


def describe(page: Page) -> None:
    """A persona without a name, which only the server notices."""
    page.get_by_label("Id").fill("critic")
    page.get_by_label("Name").fill("   ")
    page.get_by_label("Prompt").fill(PROMPT)
    page.get_by_label("Engagement").select_option("off")


def came_back(page: Page) -> None:
    name = page.get_by_label("Name")
    expect(page.get_by_role("alert").first).to_contain_text("needs a name")
    expect(name).to_be_focused()
    expect(name).to_have_attribute("aria-invalid", "true")
    expect(page.locator("label", has=name).locator(".fault")).to_have_text(
        "A persona needs a name of at most 200 characters."
    )
    expect(page.get_by_label("Id")).to_have_value("critic")
    expect(page.get_by_label("Prompt")).to_have_value(PROMPT)
    expect(page.get_by_label("Engagement")).to_have_value("off")


@pytest.mark.parametrize("swapped", [True, False], ids=["swapped", "loaded"])
def test_comes_back_as_it_was_and_a_reload_sends_nothing(page: Page, posts: list[str], swapped: bool) -> None:
    page.goto("/settings/personas")
    describe(page)
    if swapped:
        page.get_by_role("button", name="Save").click()
    else:  # as before htmx has loaded
        page.locator("form[action='/settings/personas']").evaluate("form => form.submit()")
    came_back(page)
    expect(page).to_have_url("/settings/personas")
    assert len(posts) == 1
    page.reload()
    expect(page.get_by_role("heading", name="Describe a persona")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)
    assert len(posts) == 1


def test_another_address_of_the_form_stays_the_pages_own(page: Page, posts: list[str], visitor: httpx2.Client) -> None:
    memory = visitor.get("/memories.json").json()["found"][0]["memory"]["id"]
    for swapped in (True, False):
        page.goto(f"/memories/{memory}")
        page.get_by_label("to confirm").fill("forgot")
        if swapped:
            page.get_by_role("button", name="Forget").click()
        else:
            page.locator("form[action$='/forget']").evaluate("form => form.submit()")
        expect(page.get_by_label("to confirm")).to_be_focused()
        expect(page.get_by_label("to confirm")).to_have_value("forgot")
        expect(page).to_have_url(f"/memories/{memory}")
        page.reload()
        expect(page.get_by_role("alert")).to_have_count(0)
    assert len(posts) == 2


def test_comes_back_without_script(server: Served, browser: Browser, cookies: dict[str, str]) -> None:
    context, _ = watched(browser, base_url=server.url, java_script_enabled=False)
    context.add_cookies([{"name": name, "value": value, "url": server.url} for name, value in cookies.items()])
    page = context.new_page()
    page.goto("/settings/personas")
    describe(page)
    page.get_by_role("button", name="Save").click()
    came_back(page)
    context.close()


def test_a_live_page_never_swaps_away_what_was_typed(page: Page, server: Served) -> None:
    cookies = signed_in(server, "typing")
    page.context.add_cookies([{"name": name, "value": value, "url": server.url} for name, value in cookies.items()])
    with aside(lambda: server.client("typing")) as client:
        agent = client.post("/api/agents", json={"name": "Wren"}).json()["data"]["id"]
        page.goto(f"/agents/{agent}")
        page.get_by_label("Message").fill("Half a sen")
        page.get_by_role("heading", level=1).click()  # the focus is elsewhere
        server.script.add_replies("Quite so.")
        client.post(f"/api/agents/{agent}/chat", json={"message": "From another window."})
        page.wait_for_timeout(3000)
        expect(page.get_by_label("Message")).to_have_value("Half a sen")
        expect(page.get_by_text("From another window.")).to_have_count(0)
        page.get_by_label("Message").fill("")
        page.get_by_role("heading", level=1).click()
        expect(page.get_by_text("From another window.")).to_be_visible()
