"""Script that people, models and agents said stays text on every page."""

import re

import httpx2
import pytest
from playwright.sync_api import Browser

from mnemon.cli.story.steps import read_story
from support import atlas, hostile
from support.chromium import watched
from support.served import Served
from support.storied import signed_in, tell

ORG = "hostile"
MORE = (
    "/memories?q=%22%3E%3Cscript%3Eexecuted.push('q')%3C/script%3E",
    "/recall?q=%3Cscript%3Eexecuted.push('q')%3C/script%3E&versus=blended",
    "/context?q=%3Csvg+onload=executed.push('q')%3E",
    "/entities?view=graph",
    "/entities?view=suggestions",
    "/sessions?user=%22%3E%3Cimg+src=x+onerror=executed.push('q')%3E",
    "/settings/personas?edit=atlas",
    "/sign-in?next=%22%3E%3Cscript%3Eexecuted.push('q')%3C/script%3E",
)


@pytest.fixture(scope="module")
def spoiled(server: Served) -> dict[str, str]:
    """Cookies for an organization whose every word carries script."""
    tell(server, ORG, hostile.spoiled(read_story()))
    return signed_in(server, ORG)


def test_the_payloads_would_run_if_they_were_let(browser: Browser) -> None:
    context, _ = watched(browser)
    page = context.new_page()
    page.set_content("".join(f"<p>{text}</p>" for text in list(hostile.payloads().values())[:3]))
    page.wait_for_function("window.executed.length >= 2")
    context.close()


def test_no_stored_script_runs_on_any_page(server: Served, browser: Browser, spoiled: dict[str, str]) -> None:
    with httpx2.Client(base_url=server.url, cookies=spoiled, timeout=60) as visitor:
        _more_of_it(visitor)
        addresses = [*atlas.addresses(visitor, MORE), *_all_of(visitor)]
    context, trouble = watched(browser, base_url=server.url)
    context.add_cookies([{"name": name, "value": value, "url": server.url} for name, value in spoiled.items()])
    page, seen, bad = context.new_page(), set(), []
    for address in addresses:
        page.goto(address)
        page.wait_for_timeout(50)
        seen |= set(re.findall(r"executed\.push\('(q\w\w)'\)", page.evaluate("document.body.innerHTML")))
        ran = page.evaluate("window.executed")
        links = page.locator("a[href^='javascript:' i]").count()
        bad += [f"{address}: {text}" for text in (*ran, *trouble.taken(), *(["a javascript: link"] * links))]
    context.close()
    assert not bad, "\n".join(bad)
    assert len(seen) > hostile.COUNT * 0.75, f"only {len(seen)} of them were on the pages"


def _all_of(visitor: httpx2.Client) -> list[str]:
    """Every session, hypothesis, agent and run that the lists lead to."""
    found: dict[str, None] = {}
    for listed in ("/sessions", "/engagement", "/agents", "/results/trade-decisions", "/results/research-theses"):
        for link in atlas.links(visitor.get(listed).text):
            if re.fullmatch(r"/(sessions|engagement|agents|runs)/[a-z]+_\w+", link):
                found[link] = None
    return list(found)


def _more_of_it(visitor: httpx2.Client) -> None:
    """Script in what the story has no word for: a key's name, the reason of an edit."""
    csrf = re.search(r'data-csrf="(\w+)"', visitor.get("/").text)
    assert csrf is not None
    form = {
        "csrf": csrf[1],
        "name": "<script>executed.push('qkey')</script>",
        "user": "<svg onload=executed.push('q')>",
        "everything": "yes",
    }
    assert visitor.post("/settings/keys", data=form).status_code == 200
    memory = visitor.get("/memories.json").json()["found"][0]["memory"]
    edit = {"csrf": csrf[1], "content": memory["content"] + "</textarea><script>executed.push('q')</script>"}
    reason = "<img src=x onerror=executed.push('q')>"
    assert visitor.post(f"/memories/{memory['id']}/edit", data={**edit, "reason": reason}).status_code == 303
