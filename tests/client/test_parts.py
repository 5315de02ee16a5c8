"""The client's pure parts, and what importing it pulls in."""

import subprocess
import sys

from mnemon import client
from mnemon_client import errors
from mnemon_client.events import Event, Verifications, decode_event
from mnemon_client.sse import SseParser
from mnemon_client.transport import retry_delay


def read(text: str) -> list[Event]:
    return [decode_event(event) for event in SseParser().feed(text.encode())]


def test_events_have_their_data_parsed_when_it_is_json() -> None:
    assert read('event: delta\ndata: {"text": "hi"}\n\n: comment\n\nid: 7\ndata: plain\n\n') == [
        Event(kind="delta", data={"text": "hi"}),
        Event(kind="message", data="plain", id="7"),
    ]


def update(version: int, status: str) -> Event:
    expectation = {"id": "exp_1", "action": "create", "status": status}
    data = {"sessionId": "ses_1", "version": version, "update": {"expectations": [expectation]}}
    return Event(kind="agent_state_update", data=data, id=str(version))


def test_an_expectation_is_told_once_when_it_is_settled() -> None:
    known = Verifications()
    assert known.of(update(1, "pending")) == []
    (verified,) = known.of(update(2, "failed"))
    assert (verified.confirmed, verified.version, verified.session_id) == (False, 2, "ses_1")
    assert known.of(update(3, "failed")) == []
    assert known.of(Event(kind="delta", data={})) == []


def test_every_error_of_the_client_can_be_imported_from_it() -> None:
    raised = {name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, Exception)}
    assert raised <= set(client.__all__)


def test_importing_the_client_pulls_in_no_server_code() -> None:
    words = (
        "import sys, mnemon_client; server = ('fastapi', 'psycopg', 'uvicorn', 'numpy');"
        "shared = ('mnemon_client', 'mnemon_client.sse');"
        "ours = [m for m in sys.modules if m.startswith('mnemon.') and not m.startswith(shared)];"
        "print(ours + [m for m in sys.modules if m.split('.')[0] in server])"
    )
    assert subprocess.run([sys.executable, "-c", words], capture_output=True, text=True).stdout.strip() == "[]"


def test_a_retry_waits_at_least_as_long_as_the_server_says_and_at_most_ten_seconds() -> None:
    assert (retry_delay(0, "3", 0.0), retry_delay(0, "3", 1.0)) == (3.0, 4.5)
    assert retry_delay(0, "60", 0.5) == 10.0
    assert (retry_delay(0, None, 0.0), retry_delay(3, "soon", 0.0)) == (0.2, 1.6)
