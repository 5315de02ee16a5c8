"""A form that is refused comes back on its page: as it was filled in, with the reason beside the field."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import unescape
from html.parser import HTMLParser

import httpx2
import pytest

from support.bounds import HANGS_S
from support.console_door import signed_in
from support.served import Served
from support.told import Told, tell


@dataclass
class Control:
    """A field of a form as the page shows it."""

    name: str
    value: str = ""
    ticked: bool = False
    wrong: bool = False
    focused: bool = False


@dataclass
class Form:
    to: str
    controls: dict[str, Control] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)


class _Forms(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[Form] = []
        self._form: Form | None = None
        self._open: Control | None = None
        self._fault = False
        self._options: list[tuple[str | None, bool]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "form" and given.get("method") == "post":
            self._form = Form(to=given["action"] or "")
            self.found.append(self._form)
        elif tag in {"input", "textarea", "select"} and self._form and given.get("name"):
            one = Control(name=given["name"] or "", value=given.get("value") or "", ticked="checked" in given)
            one.wrong, one.focused = "aria-invalid" in given, "autofocus" in given
            self._form.controls[one.name] = self._open = one
        elif tag == "option" and self._open is not None:
            self._options.append((given.get("value"), "selected" in given))
        self._fault = given.get("class") == "fault"

    def handle_endtag(self, tag: str) -> None:
        if tag == "select" and self._open is not None:  # without a chosen one, the first is
            self._open.value = next((value for value, on in self._options if on), self._options[0][0]) or ""
            self._options.clear()
        self._form = None if tag == "form" else self._form
        self._open = None if tag in {"textarea", "select"} else self._open

    def handle_data(self, data: str) -> None:
        if self._fault and self._form is not None:
            self._form.faults.append(data)
            self._fault = False
        elif self._open is not None and self.lasttag == "textarea":
            self._open.value += data
        elif self._options and self.lasttag == "option" and self._options[-1][0] is None:
            self._options[-1] = (data, self._options[-1][1])


def forms(html: str) -> Iterator[Form]:
    parser = _Forms()
    parser.feed(html)
    yield from parser.found


def form(html: str, to: str) -> Form:
    return next(one for one in forms(html) if one.to == to)


def send(browser: httpx2.Client, page: str, to: str, **typed: str) -> httpx2.Response:
    """The form of that page, filled in like this, as a browser sends it."""
    shown = form(browser.get(page).text, to)
    carried = ("csrf", "at", "user", "into")
    hidden = {name: control.value for name, control in shown.controls.items() if name in carried}
    assert unescape(hidden["at"]) == page
    return browser.post(to, data={**hidden, **typed})


def comes_back(browser: httpx2.Client, page: str, to: str, wrong: str, says: str, **typed: str) -> Form:
    """The page again, with the form as it was typed and the fault at its field; the form."""
    answer = send(browser, page, to, **typed)
    assert 400 <= answer.status_code < 500, (to, answer.status_code)
    assert answer.headers["hx-push-url"] == "false"  # the address stays the page's: a reload sends nothing
    assert f'data-at="{page}"'.replace("&", "&amp;") in answer.text
    assert browser.get(page).status_code == 200
    back = form(answer.text, to)
    for name, value in typed.items():
        control = back.controls[name]
        assert control.ticked or control.value == value, (to, name, control)
    assert [one.name for one in back.controls.values() if one.wrong] == [wrong], to
    assert back.controls[wrong].focused
    assert any(says in text for text in back.faults), (to, back.faults)
    alert = re.search(r'role="alert" tabindex="-1">(.*?)</div>', answer.text, re.DOTALL)
    assert alert
    assert says in unescape(alert[1])
    return back


@pytest.fixture
def told(server: Served, client: httpx2.Client) -> Told:
    return tell(server, client)


def test_settings_come_back(browser: httpx2.Client) -> None:
    typed = {"id": "coach 2", "name": " ", "prompt": "Be <kind>.\nAlways.", "engagement": "off"}
    comes_back(browser, "/settings/personas", "/settings/personas", "name", "needs a name", **typed)
    long = {"id": "coach", "name": "Coach", "prompt": "x" * 8001, "engagement": "shared"}
    comes_back(browser, "/settings/personas", "/settings/personas", "prompt", "at most 8000", **long)
    key = {"name": "my app", "user": "ann", "days": "soon", "grant:memory:read": "yes"}
    comes_back(browser, "/settings/keys", "/settings/keys", "days", "whole number of days", **key)
    back = comes_back(
        browser, "/settings/keys", "/settings/keys", "name", "Give the key a name", **{**key, "name": "", "days": ""}
    )
    assert back.controls["grant:memory:read"].ticked
    assert not back.controls["grant:admin"].ticked
    assert browser.get("/settings/keys.json").json()["live"] == []


def test_forgetting_a_person_comes_back(browser: httpx2.Client, told: Told) -> None:
    page, to = "/settings/privacy?q=an&user=ann", "/settings/privacy/forget"
    comes_back(browser, page, to, "confirm", "Nothing was forgotten", user="ann", confirm="anne")
    comes_back(browser, page, to, "user", "no such user", user="nobody", confirm="nobody")


def test_a_memorys_forms_come_back(browser: httpx2.Client, told: Told) -> None:
    page = f"/memories/{told.memories[0]}"
    comes_back(browser, page, f"{page}/edit", "content", "needs a text", content="  ", importance="2", reason="<b>so")
    comes_back(browser, page, f"{page}/forget", "confirm", "type the word forget", confirm="forgot")
    assert browser.get(page).status_code == 200


def test_the_table_comes_back_with_what_was_chosen_and_where_it_stood(browser: httpx2.Client, told: Told) -> None:
    page, chosen = "/memories?type=PEOPLE&status=any", []
    for one in form(browser.get(page).text, "/memories/bulk").controls:
        chosen += [one] if one.startswith("id:") else []
    typed = {chosen[0]: "yes", "confirm": "yes"}
    answer = send(browser, page, "/memories/bulk", deed="forget", **typed)
    back = form(answer.text, "/memories/bulk")
    assert answer.status_code == 422
    assert [name for name in chosen if back.controls[name].ticked] == chosen[:1]
    assert back.controls["confirm"].wrong
    assert [name for name in back.controls if name.startswith("id:")] == chosen
    none = send(browser, page, "/memories/bulk", deed="archive")
    assert none.status_code == 422
    assert "Choose 1 to 50 memories" in none.text


def test_an_entity_that_is_not_there_is_said_where_it_was_typed(browser: httpx2.Client, told: Told) -> None:
    page = "/entities/person:maria?user=ann"
    comes_back(browser, page, "/entities/merge", "from", "no such entity", **{"from": "person:nobody"})
    comes_back(browser, page, "/entities/merge", "from", "with itself", **{"from": "person:maria"})


def test_agents_come_back(server: Served, client: httpx2.Client, browser: httpx2.Client) -> None:
    blank = {"adapter": "model", "role": "solo", "card_type": "decision", "schedule": "", "model": ""}
    typed = {**blank, "name": "Scout", "skill": "# Look\n\nfar", "default_prompt": "What <now>?"}
    ticked = {"memoryEnabled": "on", "reviewDecisions": "on"}
    back = comes_back(
        browser, "/agents/new", "/agents", "schedule", "five fields", **{**typed, **ticked, "schedule": "often"}
    )
    assert not back.controls["memoryReadOnly"].ticked
    comes_back(browser, "/agents/new", "/agents", "model", "model's name", **{**typed, "model": "not a name"})
    made = client.post("/api/agents", json={"name": "Heron"}).json()["data"]["id"]
    to = f"/agents/{made}/edit"
    comes_back(browser, to, to, "name", "Give a name", **{**typed, "name": "", "role": "lead"})
    comes_back(browser, f"/agents/{made}", f"/agents/{made}/chat", "message", "Write something", message="   ")
    comes_back(browser, f"/agents/{made}", f"/agents/{made}/run", "prompt", "no default prompt", prompt=" ")
    assert [one["name"] for one in client.get("/api/agents").json()["data"]] == ["Heron"]


def test_a_resolution_comes_back(server: Served, client: httpx2.Client, browser: httpx2.Client) -> None:
    agent = client.post("/api/agents", json={"name": "Kestrel", "defaultPrompt": "Decide."}).json()["data"]["id"]
    server.script.add_replies("So be it.")
    server.script.add_answers("Card", {"decision": "GO", "summary": "It holds.", "confidence": 0.7})
    run = client.post(f"/api/agents/{agent}/runs").json()["data"]["id"]
    server.settled(client)
    page = f"/runs/{run}"
    comes_back(browser, page, f"{page}/resolve", "outcome", "Name the outcome", outcome=" ", note="seen by eye")
    comes_back(browser, page, f"{page}/resolve", "note", "at most 2000", outcome="right", note="x" * 2001)


def test_a_button_that_is_refused_says_so_above_its_page(browser: httpx2.Client, told: Told) -> None:
    page = f"/memories/{told.memories[0]}"
    shown = form(browser.get(page).text, f"{page}/archive")
    hidden = {name: one.value for name, one in shown.controls.items()}
    browser.post(f"{page}/pin", data={**hidden, "pinned": "yes"})
    answer = browser.post(f"{page}/archive", data=hidden)
    assert answer.status_code == 409
    assert re.search(r'role="alert" tabindex="-1" autofocus>✗ A pinned memory is never archived', answer.text)
    assert answer.headers["hx-push-url"] == "false"


def test_a_day_that_is_none_is_said_beside_it(browser: httpx2.Client, told: Told) -> None:
    answer = browser.get("/recall?q=tea&user=ann&as_of=tomorrow")
    assert answer.status_code == 422
    assert 'name="as_of" value="tomorrow" aria-invalid="true"' in answer.text
    assert "takes a day like" in answer.text


def test_nothing_comes_back_to_whom_it_does_not_belong(server: Served, browser: httpx2.Client, told: Told) -> None:
    page = f"/memories/{told.memories[0]}"
    with signed_in(server, "rival") as rival:
        own = form(rival.get("/settings/personas").text, "/settings/personas").controls["csrf"].value
        for at in (page, "/settings/personas", "//evil.example/", "https://evil.example/", "", "/nowhere"):
            answer = rival.post(f"{page}/edit", data={"csrf": own, "at": at, "content": "mine"})
            assert answer.status_code == 404, at
            assert "Globex" not in answer.text
            assert "evil.example" not in answer.text, at
    forged = browser.post(f"{page}/edit", data={"csrf": "0" * 64, "at": page, "content": "forged words"})
    assert forged.status_code == 403
    assert "forged words" not in forged.text


def test_a_wrong_key_is_said_beside_it_and_not_shown(server: Served) -> None:
    answer = httpx2.post(f"{server.url}/sign-in", data={"key": "mnk_acme_secret", "next": "/memories"}, timeout=HANGS_S)
    assert answer.status_code == 401
    assert 'data-at="/sign-in?next=/memories"' in answer.text
    assert 'class="fault"' in answer.text
    assert "mnk_acme_secret" not in answer.text


def test_what_is_shown_once_leaves_an_address_that_can_be_loaded_again(browser: httpx2.Client, told: Told) -> None:
    made = send(browser, "/settings/keys", "/settings/keys", name="app", everything="yes")
    assert made.status_code == 200
    assert made.headers["hx-push-url"] == "/settings/keys"
    gone = send(browser, "/settings/privacy", "/settings/privacy/forget", user="ben", confirm="ben")
    assert gone.headers["hx-push-url"] == "/settings/privacy"
    assert 'data-at="/settings/privacy"' in gone.text
