"""The main tasks, each by mouse and by keyboard alone."""

import re
from collections.abc import Callable

import httpx2
import pytest
from playwright.sync_api import Browser, Page, expect

from support.bounds import HANGS_S
from support.chromium import watched
from support.hands import Hand, Keyboard, Mouse
from support.served import Served
from support.storied import link


@pytest.fixture(params=[Mouse, Keyboard], ids=["mouse", "keyboard"])
def hand(request: pytest.FixtureRequest, page: Page) -> Hand:
    made: Hand = request.param(page)
    page.goto("/")
    return made


@pytest.fixture
def other(hand: Hand) -> Callable[[str, str], str]:
    """Of two, the one that is this hand's: each changes things of its own."""
    return lambda mouse, keyboard: mouse if isinstance(hand, Mouse) else keyboard


def notice(page: Page, words: str) -> None:
    expect(page.get_by_role("status").filter(has_text=words)).to_be_visible()


def test_signing_in_by_link_and_out(server: Served, browser: Browser) -> None:
    context, trouble = watched(browser, base_url=server.url)
    page, address = context.new_page(), link(server)
    page.goto("/memories")
    expect(page).to_have_url(re.compile(r"/sign-in\?next=/memories"))
    page.goto(address)
    expect(page.get_by_role("heading", level=1)).to_have_text("Overview")
    Keyboard(page).goes_to("Settings")
    Keyboard(page).presses(page.get_by_role("button", name="Sign out"))
    expect(page).to_have_url(re.compile("/sign-in"))
    assert not trouble.taken()
    page.goto(address)
    expect(page.get_by_role("alert")).to_contain_text("used already")
    context.close()


def test_finding_a_memory_and_reading_where_it_was_said(hand: Hand) -> None:
    page = hand.page
    hand.goes_to("Memories")
    hand.searches("Priya Nair runs")
    expect(page.locator("#main tbody [data-row]")).to_have_count(1)
    hand.opens("Priya Nair runs the Venlo depot.")
    expect(page.get_by_role("heading", level=1)).to_have_text("Priya Nair runs the Venlo depot.")
    expect(page.locator("blockquote")).to_have_text("“Priya Nair runs the Venlo depot”")
    hand.presses(page.get_by_role("link", name="show the conversation"))
    expect(page.locator("article.turn.named")).to_contain_text("she keeps the best log of all of them")


def test_editing_pinning_and_archiving_a_memory_and_taking_that_back(
    hand: Hand, other: Callable[[str, str], str]
) -> None:
    page = hand.page
    before = other("Lena is Mara's sister.", "Bram works at the Tilburg depot.")
    after = other("Lena is Mara's older sister.", "Bram runs the Tilburg depot.")
    hand.goes_to("Memories")
    hand.searches(before)
    hand.opens(before)
    hand.fills(page.get_by_label("Text"), after)
    hand.presses(page.get_by_role("button", name="Save"))
    notice(page, "kept as a version")
    expect(page.get_by_role("heading", level=1)).to_have_text(after)
    expect(page.locator("ins")).to_have_count(1)
    hand.presses(page.get_by_role("button", name="Pin", exact=True))
    notice(page, "Pinned")
    hand.presses(page.get_by_role("button", name="Unpin"))
    notice(page, "Unpinned")
    hand.presses(page.get_by_role("button", name="Archive"))
    notice(page, "Archived")
    expect(page.get_by_role("button", name="Restore")).to_be_visible()
    hand.presses(page.get_by_role("button", name="Undo"))
    notice(page, "Restored")
    expect(page.get_by_role("button", name="Archive")).to_be_visible()


def test_forgetting_a_memory_only_after_the_word_was_typed(
    hand: Hand, other: Callable[[str, str], str], visitor: httpx2.Client
) -> None:
    page, text = hand.page, other("Mara drinks no coffee after two.", "Mara rows four mornings a week.")
    hand.goes_to("Memories")
    hand.searches(text)
    hand.opens(text)
    hand.fills(page.get_by_label("to confirm"), "remember")
    hand.presses(page.get_by_role("button", name="Forget"))
    expect(page.get_by_role("alert").first).to_contain_text("Nothing was forgotten")
    expect(page.get_by_role("heading", level=1)).to_have_text(text)
    expect(page.get_by_label("to confirm")).to_be_focused()
    expect(page.get_by_label("to confirm")).to_have_value("remember")
    hand.fills(page.get_by_label("to confirm"), "forget")
    hand.presses(page.get_by_role("button", name="Forget"))
    notice(page, "Receipt")
    assert visitor.get("/memories.json", params={"q": text, "status": "any"}).json()["found"] == []


def test_recalling_with_two_rankings(hand: Hand) -> None:
    page = hand.page
    hand.goes_to("Recall")
    hand.chooses(page.get_by_label("Compare with"), "blended")
    hand.fills(page.get_by_role("combobox", name="Person", exact=True), "mara")
    hand.searches("who is her sister")
    expect(page.get_by_role("heading", level=2, name="hybrid")).to_be_visible()
    expect(page.get_by_role("heading", level=2, name="blended")).to_be_visible()
    expect(page.locator(".hits").first).to_contain_text("sister")
    expect(page.locator(".hits").get_by_role("img", name="score").first).to_be_visible()
    expect(page.get_by_text("in the other ranking").first).to_be_visible()


def test_inspecting_the_context(hand: Hand) -> None:
    page = hand.page
    hand.goes_to("Context")
    hand.fills(page.get_by_role("combobox", name="Person", exact=True), "mara")
    hand.chooses(page.get_by_label("Persona"), "atlas")
    hand.searches("who runs the Venlo depot?")
    expect(page.get_by_text(re.compile(r"of .* tokens")).first).to_be_visible()
    expect(page.get_by_text("You are Atlas").first).to_be_visible()
    expect(page.locator("pre", has_text="Priya Nair runs the Venlo depot").first).to_be_visible()


def test_merging_entities_and_splitting_them_again(hand: Hand) -> None:
    page = hand.page
    hand.goes_to("Entities")
    hand.searches("Priya")
    hand.opens("Priya Nair")
    hand.fills(page.get_by_label("Another name for it"), "person:tom_okafor")
    hand.presses(page.get_by_role("button", name="Merge into"))
    notice(page, "is merged into")
    expect(page.locator("#main")).to_contain_text("Tom Okafor leads route planning.")
    hand.presses(page.get_by_role("button", name="Split"))
    notice(page, "is a separate entity again")
    expect(page.locator("#main tbody")).not_to_contain_text("Tom Okafor leads route planning.")


def test_reading_what_came_of_a_turn(hand: Hand) -> None:
    page = hand.page
    hand.goes_to("Sessions")
    hand.opens("mara")
    expect(page.locator("article.turn").first).to_be_visible()
    expect(page.locator(".came").first).to_contain_text(re.compile("remembered|stored|nothing to keep"))


def test_making_a_key_and_revoking_it(hand: Hand, other: Callable[[str, str], str], server: Served) -> None:
    page, name = hand.page, other("by mouse", "by keyboard")
    hand.goes_to("Settings")
    hand.presses(page.get_by_role("link", name="keys", exact=True))
    hand.fills(page.get_by_label("Name"), name)
    hand.ticks(page.get_by_label("everything"))
    hand.presses(page.get_by_role("button", name="Create key"))
    expect(page.get_by_role("heading", level=1)).to_have_text("A new key")
    headers = {"Authorization": f"Bearer {page.locator('pre.copy').inner_text().strip()}"}
    assert httpx2.get(f"{server.url}/api/jobs", headers=headers, timeout=HANGS_S).status_code == 200
    hand.presses(page.get_by_role("link", name="Done"))
    row = page.locator("tr[data-row]", has_text=name)
    hand.presses(row.get_by_role("button", name="Revoke"))
    notice(page, "Revoked")
    assert httpx2.get(f"{server.url}/api/jobs", headers=headers, timeout=HANGS_S).status_code == 401


def test_making_an_agent_with_active_memory_and_resetting_it(hand: Hand, other: Callable[[str, str], str]) -> None:
    page, name = hand.page, other("Heron", "Osprey")
    hand.goes_to("Agents")
    hand.presses(page.get_by_role("link", name="New agent"))
    hand.fills(page.get_by_label("Name"), name)
    hand.fills(page.get_by_label("Default prompt"), "What changed today?")
    expect(page.get_by_text("Context grows over time")).to_be_visible()
    hand.ticks(page.get_by_label("Active Memory"))
    hand.presses(page.get_by_role("button", name="Create"))
    notice(page, f"{name} is created")
    expect(page.get_by_text("memory · 0 runs")).to_be_visible()
    hand.presses(page.get_by_role("button", name="Reset memory"))
    notice(page, "with an empty session")
    expect(page.locator("dl.facts").first).to_contain_text("Last reset")


def test_opening_a_run_and_re_examining_it(hand: Hand, server: Served) -> None:
    page = hand.page
    server.script.set_default_answer(
        "Card", {"conviction_score": 61, "notes": "The range still holds.", "suggested_action": "HOLD"}
    )
    hand.goes_to("Results")
    hand.opens("Trade decision")
    hand.opens("Kestrel")
    expect(page.get_by_role("heading", level=2, name="Events")).to_be_visible()
    hand.presses(page.get_by_role("button", name="Re-examine"))
    notice(page, "Queued")
    expect(page.locator(".crumbs")).to_contain_text("re-examination of")
    expect(page.get_by_text("succeeded").first).to_be_visible()


def test_reading_the_engagement_as_it_was(hand: Hand) -> None:
    page = hand.page
    hand.goes_to("Engagement")
    expect(page.get_by_role("region", name="finding")).to_be_visible()
    slider = page.get_by_role("slider")
    last = int(slider.get_attribute("max") or 0)
    hand.slides(slider, last // 2)
    expect(page.get_by_text("back to now")).to_be_visible()
    assert int(slider.input_value()) < last
    hand.opens("Late deliveries")
    expect(page.locator(".crumbs")).to_contain_text("as of")
    expect(page.get_by_role("heading", name="Evidence", exact=True)).to_be_visible()
