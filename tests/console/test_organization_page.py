"""The page of the organization's settings: shown, changed, and refused with the reason beside the field."""

import re

import httpx2

PAGE = "/settings/organization"


def save(browser: httpx2.Client, **fields: str) -> httpx2.Response:
    seal = dict(re.findall(r'type="hidden" name="([^"]+)" value="([^"]*)"', browser.get(PAGE).text))
    return browser.post(PAGE, data={**seal, **fields}, follow_redirects=True)


def test_the_switch_is_turned_on_its_page(browser: httpx2.Client) -> None:
    changed = save(browser, engagement="off", time_zone="Europe/Berlin", instructions="Be <brief>.")
    assert changed.status_code == 200
    assert '<option value="off" selected>' in changed.text
    assert "Be &lt;brief&gt;." in changed.text
    assert "Engagement is off" in browser.get("/engagement").text
    refused = save(browser, engagement="off", time_zone="Mars", instructions="")
    assert "There is no time zone of this name" in refused.text
    assert 'value="Europe/Berlin"' in browser.get(PAGE).text
