"""One line per request, whatever becomes of it, and few about those who are refused."""

from collections.abc import Callable
from typing import Any

import pytest
import structlog
from starlette.types import Message, Receive, Scope, Send
from structlog.contextvars import bind_contextvars, merge_contextvars
from structlog.testing import capture_logs

from mnemon.api.middleware import RequestMiddleware
from mnemon.api.request_log import QUIET_SECONDS, LoggedRequest, RefusalLog
from mnemon.clock import ManualClock
from mnemon.event_loop import RequestPriority

App = Callable[[Scope, Receive, Send], Any]


class Template:
    """Stands for a matched route."""

    path = "/api/users/{user_id:any}/seed"
    path_format = "/api/users/{user_id}/seed"


def asked(**more: Any) -> Scope:
    return {"type": "http", "method": "GET", "path": "/api/users/ann@example.com/seed", "headers": [], **more}


async def gone() -> Message:
    return {"type": "http.disconnect"}


async def lines_of(app: App, clock: ManualClock, scope: Scope | None = None) -> list[Any]:
    async def send(message: Message) -> None:
        """Nobody listens."""

    with capture_logs([merge_contextvars]) as lines:
        await RequestMiddleware(app, clock, RequestPriority(), 1_000)(scope or asked(), gone, send)
    return lines


async def say(send: Send, status: int = 200, *bodies: bytes, end: bool = True) -> None:
    await send({"type": "http.response.start", "status": status, "headers": []})
    for body in bodies:
        await send({"type": "http.response.body", "body": body, "more_body": True})
    if end:
        await send({"type": "http.response.body", "body": b""})


async def test_a_request_is_told_by_its_template_its_status_and_who_asked(clock: ManualClock) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        scope["route"] = Template()
        bind_contextvars(key="key_1", org="acme")
        await say(send, 201, b"abc", b"de")

    (line,) = await lines_of(app, clock)
    assert line.pop("ms") >= 0
    assert line.pop("request_id").startswith("req_")
    assert line == {
        "event": "request",
        "log_level": "info",
        "method": "GET",
        "route": "/api/users/{user_id}/seed",
        "status": 201,
        "ended": "complete",
        "bytes": 5,
        "key": "key_1",
        "org": "acme",
    }


async def test_a_stream_whose_listener_leaves_is_told_when_it_ends(clock: ManualClock) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await say(send, 200, b"first", end=False)
        await receive()

    (line,) = await lines_of(app, clock)
    assert (line["status"], line["ended"], line["bytes"]) == (200, "client_left", 5)


async def test_a_listener_who_leaves_after_the_end_has_heard_everything(clock: ManualClock) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await say(send, 200, b"all")
        await receive()

    (line,) = await lines_of(app, clock)
    assert line["ended"] == "complete"


async def test_a_stream_that_fails_is_cut_and_told_with_its_lines(clock: ManualClock) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await say(send, 200, b"first", end=False)
        raise KeyError("something that was said")

    failed, line = await lines_of(app, clock)
    assert (failed["event"], failed["log_level"], failed["route"]) == ("request_failed", "error", "unmatched")
    assert failed["exc_info"]
    assert (line["event"], line["status"], line["ended"]) == ("request", 200, "cut")
    assert failed["request_id"] == line["request_id"]


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics"])
async def test_a_probe_is_for_debugging(clock: ManualClock, path: str) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        scope["route"] = type("Probe", (), {"path": path})
        await say(send)

    (line,) = await lines_of(app, clock)
    assert line["log_level"] == "debug"


async def test_what_an_earlier_request_on_the_connection_bound_is_not_told_of_the_next(clock: ManualClock) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await say(send)

    bind_contextvars(key="key_of_another", org="another")
    (line,) = await lines_of(app, clock)
    assert "key" not in line
    assert "org" not in line


class Refused:
    """A server that refuses, at a time that a test moves."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.log = RefusalLog(lambda: self.now)

    def lines(self, status: int, times: int = 1, *, client: str = "10.0.0.1", key: str | None = None) -> list[Any]:
        structlog.contextvars.clear_contextvars()
        if key is not None:
            bind_contextvars(key=key)
        scope = asked(client=(client, 1))
        with capture_logs() as lines:
            for _ in range(times):
                exchange = LoggedRequest(scope, 0.0)
                exchange.note_sent({"type": "http.response.start", "status": status})
                self.log.note_refusal(exchange, scope)
        return lines


def test_a_refused_key_is_told_once_a_minute_with_a_count() -> None:
    refused = Refused()
    (first,) = refused.lines(401, 50)
    assert (first["event"], first["log_level"], first["count"]) == ("key_refused", "warning", 1)
    assert (first["key"], first["client"]) == ("unknown", "10.0.0.1")
    refused.now += QUIET_SECONDS - 0.1
    assert refused.lines(401) == []
    refused.now += 0.1
    (second,) = refused.lines(401)
    assert second["count"] == 51


def test_each_key_and_each_address_has_a_line_of_its_own() -> None:
    refused = Refused()
    assert [line["client"] for line in refused.lines(401, client="10.0.0.2")] == ["10.0.0.2"]
    assert [line["client"] for line in refused.lines(401, client="2001:db8::1")] == ["2001:db8::1"]
    assert [line["key"] for line in refused.lines(401, key="key_1")] == ["key_1"]
    assert [line["event"] for line in refused.lines(429, key="key_1")] == ["rate_limited"]
    assert refused.lines(429, key="key_1") == []


def test_an_address_that_a_header_made_up_is_not_told() -> None:
    (line,) = Refused().lines(401, client="my locker word is zoltup")
    assert line["client"] == "unknown"


@pytest.mark.parametrize("status", [200, 403, 404, 422, 500, 503])
def test_nothing_else_counts_as_refused(status: int) -> None:
    assert Refused().lines(status) == []


def test_so_many_addresses_are_remembered_and_no_more() -> None:
    refused = Refused()
    for number in range(1_001):
        refused.lines(401, client=f"10.0.{number // 250}.{number % 250}")
    assert len(refused.lines(401, client="10.0.0.0")) == 1, "the oldest was forgotten"
    assert refused.lines(401, client="10.0.4.0") == [], "the newest was not"


async def test_a_route_without_variables_is_named_by_its_path(clock: ManualClock) -> None:
    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        scope.update(more)
        await say(send)

    described = asked(path="/openapi.json")
    more: dict[str, Any] = {"endpoint": answer, "path_params": {}}
    assert [line["route"] for line in await lines_of(answer, clock, described)] == ["/openapi.json"]
    more = {"endpoint": answer, "path_params": {"user_id": "ann@example.com"}}
    assert [line["route"] for line in await lines_of(answer, clock)] == ["unmatched"]
    more = {}
    assert [line["route"] for line in await lines_of(answer, clock)] == ["unmatched"]
