"""The client's pure parts, and what importing it pulls in."""

import subprocess
import sys

from mnemon.client.events import Event, Reader, Verifications


def read(*lines: str) -> list[Event]:
    reader = Reader()
    return [event for line in lines if (event := reader.take(line)) is not None]


def test_events_are_read_line_by_line() -> None:
    assert read("event: delta", 'data: {"text": "hi"}', "", ": comment", "", "id: 7", "data: plain", "") == [
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


def test_importing_the_client_pulls_in_no_server_code() -> None:
    words = (
        "import sys, mnemon.client; server = ('fastapi', 'psycopg', 'uvicorn', 'numpy');"
        "ours = [m for m in sys.modules if m.startswith('mnemon.') and not m.startswith('mnemon.client')];"
        "print(ours + [m for m in sys.modules if m.split('.')[0] in server])"
    )
    assert subprocess.run([sys.executable, "-c", words], capture_output=True, text=True).stdout.strip() == "[]"
