"""Every page: silent, accessible in both themes, no wider than a phone."""

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from support.chromium import PHONE, watched
from support.served import Served
from support.storied import signed_in

GRAVE = {"serious", "critical"}
COLOUR = {"runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}}


@pytest.mark.parametrize("org", ["demo", "empty"])
def test_is_silent_and_has_no_grave_finding_of_axe_in_light_and_dark(
    server: Served, browser: Browser, everywhere: list[str], org: str
) -> None:
    """A theme is a set of colours and nothing else, so in the dark one axe looks at all that colour can spoil."""
    context, trouble = watched(browser, base_url=server.url, color_scheme="light")
    cookies = signed_in(server, org)
    context.add_cookies([{"name": name, "value": value, "url": server.url} for name, value in cookies.items()])
    page, found = context.new_page(), []
    for address in ["/sign-in", *(one for one in everywhere if org == "demo" or "_" not in one)]:
        answer = page.goto(address)
        assert answer is not None
        assert answer.ok, address
        found += [f"{address}: {text}" for text in _findings(page, "light", {})]
        found += [f"{address}: {text}" for text in _findings(page, "dark", COLOUR)]
        found += [f"{address}: {text}" for text in trouble.taken()]
    context.close()
    assert not found, "\n".join(found)


def test_a_refused_form_has_no_grave_finding_either(page: Page) -> None:
    found = []
    for theme in ("light", "dark"):
        page.goto("/settings/keys")
        page.get_by_label("Name").fill(" ")
        page.get_by_role("button", name="Create key").click()
        expect(page.get_by_label("Name")).to_be_focused()
        found += _findings(page, theme, {})
        page.goto("/agents/new")
        page.get_by_label("Name").fill("Wren")
        page.locator("input[name=schedule]").fill("often")
        page.get_by_role("button", name="Create").click()
        expect(page.locator("input[name=schedule]")).to_be_focused()
        found += _findings(page, theme, {})
    assert not found, "\n".join(found)


def _findings(page: Page, theme: Any, rules: dict[str, Any]) -> list[str]:
    """What axe finds serious or critical in that theme, in words."""
    page.emulate_media(color_scheme=theme)
    expect(page.locator("html")).to_have_attribute("data-theme", theme)
    found = Axe().run(page, options={"resultTypes": ["violations"], **rules}).response["violations"]
    return [
        f"{theme}: {one['id']} {one['help']}: {'; '.join(node['html'][:120] for node in one['nodes'][:3])}"
        for one in found
        if one["impact"] in GRAVE
    ]


def test_fits_a_phone(server: Served, browser: Browser, cookies: dict[str, str], everywhere: list[str]) -> None:
    context, _ = watched(browser, base_url=server.url, viewport=PHONE, has_touch=True, is_mobile=True)
    context.add_cookies([{"name": name, "value": value, "url": server.url} for name, value in cookies.items()])
    page, wide = context.new_page(), []
    for address in ["/sign-in", *everywhere]:
        page.goto(address)
        width = page.evaluate("document.documentElement.scrollWidth")
        if width > PHONE["width"]:
            wide.append(f"{address}: {width}")
    context.close()
    assert not wide, "\n".join(wide)


def test_all_of_them_are_found(everywhere: list[str]) -> None:
    """The list comes from the routes, so that a page that is added is visited without a word here."""
    assert {"/", "/memories", "/jobs"} <= set(everywhere)
