"""The console's own keys, on a page with rows."""

from playwright.sync_api import Page, expect


def test_rows_are_walked_and_chosen_by_keys(page: Page) -> None:
    page.goto("/memories")
    rows = page.locator("#main tbody [data-row]")
    for key, place in (("j", 0), ("j", 1), ("j", 2), ("k", 1)):
        page.keyboard.press(key)
        expect(rows.nth(place)).to_have_class("at")
    page.keyboard.press("x")
    expect(rows.nth(1).get_by_role("checkbox")).to_be_checked()
    expect(page.get_by_text("With the 1 selected:")).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("x")
    expect(page.get_by_text("With the 2 selected:")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Details")).to_be_visible()


def test_the_list_of_keys_opens_and_closes(page: Page) -> None:
    page.goto("/sessions")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog", name="Keyboard")).to_be_hidden()
    page.keyboard.press("p")
    expect(page.get_by_role("button", name="resume")).to_be_visible()
    page.keyboard.press("/")
    expect(page.get_by_label("Search summaries")).to_be_focused()
    page.keyboard.type("jp?")  # in a field letters are letters
    expect(page.get_by_label("Search summaries")).to_have_value("jp?")
    expect(page.get_by_role("dialog", name="Keyboard")).to_be_hidden()


def test_the_palette_goes_to_pages_and_searches_memories(page: Page) -> None:
    page.goto("/")
    page.keyboard.press("Control+k")
    page.keyboard.type("anything")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog", name="Go to")).to_be_hidden()
    page.keyboard.press("Control+k")
    page.keyboard.type("priya")
    page.keyboard.press("Enter")
    expect(page).to_have_url("/memories?q=priya")
    page.keyboard.press("Control+k")
    page.keyboard.type("cal")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Calibration")
