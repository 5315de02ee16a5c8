"""Two ways to use a page: with the mouse, or with the keyboard alone. Tests are written once for both."""

import re
from typing import Protocol

from playwright.sync_api import Locator, Page, expect

MOST_TABS = 400


class Hand(Protocol):
    """Someone at the page."""

    page: Page

    def goes_to(self, room: str) -> None:
        """The page of that name in the navigation is open."""

    def searches(self, words: str) -> None:
        """The words stand in the page's search box, and are sent."""

    def opens(self, row: str) -> None:
        """The row with these words is open."""

    def presses(self, target: Locator) -> None:
        """The button or link did what it does."""

    def fills(self, field: Locator, words: str) -> None:
        """The field holds these words alone."""

    def chooses(self, field: Locator, option: str) -> None:
        """That option of the list is chosen."""

    def ticks(self, box: Locator) -> None:
        """The box is ticked."""

    def slides(self, field: Locator, to: int) -> None:
        """The slider moved towards there."""


class Mouse:
    """Clicks, and types only into what was clicked."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def goes_to(self, room: str) -> None:
        self.page.get_by_role("navigation", name="Main").get_by_role("link", name=room, exact=True).click()
        _arrived(self.page, room)

    def searches(self, words: str) -> None:
        box = self.page.locator("#main input[type=search]")
        box.click()
        box.fill(words)
        box.press("Enter")
        self.page.wait_for_url(re.compile(r"[?&]q="))

    def opens(self, row: str) -> None:
        before = self.page.url
        _row(self.page, row).get_by_role("link").first.click()
        self.page.wait_for_url(lambda now: now != before)

    def presses(self, target: Locator) -> None:
        target.click()

    def fills(self, field: Locator, words: str) -> None:
        field.click()
        field.fill(words)

    def chooses(self, field: Locator, option: str) -> None:
        field.select_option(option)

    def ticks(self, box: Locator) -> None:
        box.click()
        expect(box).to_be_checked()

    def slides(self, field: Locator, to: int) -> None:
        box = field.bounding_box()
        assert box is not None
        least, most = int(field.get_attribute("min") or 0), int(field.get_attribute("max") or 100)
        across = 8 + (box["width"] - 16) * (to - least) / max(1, most - least)
        self.page.mouse.click(box["x"] + across, box["y"] + box["height"] / 2)


class Keyboard:
    """Touches no mouse: Tab, Enter, arrows and the console's own keys."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def goes_to(self, room: str) -> None:
        self.page.keyboard.press("Control+k")
        expect(self.page.get_by_role("dialog", name="Go to")).to_be_visible()
        self.page.keyboard.type(room)
        self.page.keyboard.press("Enter")
        _arrived(self.page, room)

    def searches(self, words: str) -> None:
        self._leaves_fields()
        self.page.keyboard.press("/")
        expect(self.page.locator("#main input[type=search]")).to_be_focused()
        self.page.keyboard.press("Control+a")
        self.page.keyboard.type(words)
        self.page.keyboard.press("Enter")
        self.page.wait_for_url(re.compile(r"[?&]q="))

    def opens(self, row: str) -> None:
        wanted, before = _row(self.page, row), self.page.url
        expect(wanted).to_be_visible()
        self._leaves_fields()
        for _ in range(MOST_TABS):
            self.page.keyboard.press("j")
            if wanted.evaluate("row => row.classList.contains('at')"):
                self.page.keyboard.press("Enter")
                self.page.wait_for_url(lambda now: now != before)
                return
        raise AssertionError(f"j never came to {row!r}")

    def presses(self, target: Locator) -> None:
        self._reaches(target)
        self.page.keyboard.press("Enter")

    def fills(self, field: Locator, words: str) -> None:
        self._reaches(field)
        self.page.keyboard.press("Control+a")
        self.page.keyboard.type(words)

    def chooses(self, field: Locator, option: str) -> None:
        self._reaches(field)
        words: list[str] = field.evaluate("list => [...list.options].map(option => option.text)")
        self.page.keyboard.press("Home")
        for _ in range(words.index(option)):
            self.page.keyboard.press("ArrowDown")
        assert field.evaluate("list => list.selectedOptions[0].text") == option

    def ticks(self, box: Locator) -> None:
        self._reaches(box)
        self.page.keyboard.press("Space")
        expect(box).to_be_checked()

    def slides(self, field: Locator, to: int) -> None:
        self._reaches(field)
        steps = to - int(field.input_value())
        self.page.keyboard.press("ArrowRight" if steps > 0 else "ArrowLeft")
        assert abs(int(field.input_value()) - to) < abs(steps)

    def _reaches(self, target: Locator) -> None:
        expect(target).to_be_visible()
        for _ in range(MOST_TABS):
            if target.evaluate("wanted => wanted === document.activeElement"):
                return
            self.page.keyboard.press("Tab")
        raise AssertionError(f"Tab never came to {target}")

    def _leaves_fields(self) -> None:
        """Letters are keys again: the focus is on no field."""
        while self.page.evaluate("document.activeElement.matches('input, textarea, select')"):
            self.page.keyboard.press("Tab")


def _row(page: Page, words: str) -> Locator:
    return page.locator("#main [data-row]").filter(has_text=words).first


def _arrived(page: Page, room: str) -> None:
    expect(page.locator("#side a[aria-current=page]")).to_have_text(room)
