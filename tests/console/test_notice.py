"""The notice cookie is text from outside: garbage says nothing, and an undo leads to a form that undoes."""

import json
from urllib.parse import quote

import httpx2
import pytest

from mnemon.console.forms import NOTICE_COOKIE

GARBAGE = ("garbage", "%7B", "[]", "1", '"x"', "{}", '{"text": 5}', '{"text": " "}', "[" * 2_000, '{"text": 1e400}')
ELSEWHERE = (
    "https://evil.example/",
    "//evil.example/memories/mem_x/restore",
    "/\\\\evil.example",
    "javascript:alert(1)",
    "/settings/privacy/forget",
    "/settings/keys",
    "/memories/mem_x/forget",
    "/memories/bulk?deed=pin&ids=mem_x",
    "/memories/bulk?deed=restore&ids=mem_x&deed=pin",
    "/memories/mem_x/restore?version=1",
    ["/memories/mem_x/restore"],
)


def shown(browser: httpx2.Client, cookie: str) -> str:
    browser.cookies.set(NOTICE_COOKIE, quote(cookie))
    try:
        answer = browser.get("/settings")
    finally:
        browser.cookies.delete(NOTICE_COOKIE)
    assert answer.status_code == 200, answer.text
    return answer.text


@pytest.mark.parametrize("cookie", GARBAGE, ids=lambda cookie: cookie[:12])
def test_a_cookie_that_is_none_of_ours_says_nothing(browser: httpx2.Client, cookie: str) -> None:
    assert 'class="notice"' not in shown(browser, cookie)


@pytest.mark.parametrize("undo", ELSEWHERE, ids=str)
def test_an_undo_leads_nowhere_but_to_a_form_that_undoes(browser: httpx2.Client, undo: object) -> None:
    page = shown(browser, json.dumps({"text": "Archived.", "undo": undo}))
    assert "Archived." in page
    assert ">Undo<" not in page


@pytest.mark.parametrize("undo", ["/memories/mem_x/restore", "/memories/bulk?deed=restore&ids=mem_x,mem_y"])
def test_an_undo_of_ours_is_offered(browser: httpx2.Client, undo: str) -> None:
    page = shown(browser, json.dumps({"text": "Archived.", "undo": undo}))
    assert f'action="{undo.replace("&", "&amp;")}"' in page
