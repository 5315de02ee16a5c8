"""Slow clients, half-open sockets and too many connections, on real sockets, with the bounds scaled down."""

import asyncio
import json
import socket
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import ExitStack, closing, suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, cast

import httpx2
import pytest
import uvicorn
from prometheus_client import REGISTRY
from starlette.types import Receive, Scope, Send
from structlog.testing import capture_logs
from uvicorn.server import ServerState

from mnemon.api.connections import ConnectionLimits, protocol_class
from mnemon.clock import ManualClock
from support.bounds import HANGS_S
from support.served import Served, served

SHORT_S = 1.0
HEAD = b"POST /api/memories HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"


@pytest.fixture
def short(database_url: str, tmp_path: Path) -> Iterator[Served]:
    """A server that waits a second for a client."""
    with served(database_url, tmp_path, worker=False, model="offline", request_timeout_s=SHORT_S) as running:
        yield running


@pytest.fixture
def narrow(database_url: str, tmp_path: Path) -> Iterator[Served]:
    """A server with ten connections, which waits for ever."""
    options: dict[str, Any] = {"model": "offline", "request_timeout_s": 10 * HANGS_S, "max_connections": 10}
    with served(database_url, tmp_path, worker=False, **options) as running:
        yield running


def connected(server: Served) -> socket.socket:
    url = httpx2.URL(server.url)
    return socket.create_connection((url.host, url.port or 80), timeout=HANGS_S)


def told(connection: socket.socket) -> bytes:
    """Everything until the server closes; it fails where the server does not."""
    heard = b""
    try:
        while some := connection.recv(65_536):
            heard += some
    except ConnectionResetError:
        pass
    return heard


def closed(why: str) -> float:
    return REGISTRY.get_sample_value("mnemon_connections_closed_total", {"why": why}) or 0.0


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"", b""),
        (b"G", b"408"),
        (HEAD, b"408"),
        (HEAD + b"Content-Length: 100\r\n\r\n", b"408"),
        (HEAD + b"Content-Length: 100\r\n\r\n{", b"408"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n", b"408"),
        (b"\r\n\r\n", b"408"),
        (b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", b"200"),
        (b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET", b"200"),
        (b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n\r\n", b"200"),
        (b"GET /healthz HTTP/1.0\r\n\r\n", b"200"),
    ],
    ids=["nothing", "a letter", "half a head", "no body", "half a body", "half a chunk", "blank lines", "idle",
         "half a second request", "blank lines between", "HTTP/1.0"],
)  # fmt: skip
def test_a_connection_that_brings_no_request_is_closed(short: Served, sent: bytes, status: bytes) -> None:
    with connected(short) as connection:
        connection.sendall(sent)
        assert told(connection).partition(b"\r\n")[0].split(b" ")[1:2] == ([status] if status else [])


def test_a_client_that_drips_a_head_is_closed_all_the_same(short: Served) -> None:
    with connected(short) as connection:
        connection.sendall(HEAD)
        deadline = time.monotonic() + HANGS_S
        with suppress(BrokenPipeError, ConnectionResetError):
            while time.monotonic() < deadline:
                connection.sendall(b"X-Drip: 1\r\n")
                time.sleep(SHORT_S / 10)
            raise AssertionError("it is still open")


def test_what_is_no_request_leaves_one_line(short: Served, caplog: pytest.LogCaptureFixture) -> None:
    with capture_logs() as lines, connected(short) as connection:
        connection.sendall(b"garbage\r\n\r\n")
        assert told(connection).startswith(b"HTTP/1.1 400")
    assert [(line["event"], line["code"]) for line in lines] == [("connection_refused", "bad_request")]
    assert [record.getMessage() for record in caplog.records if record.name == "uvicorn.error"] == []


def test_what_else_uvicorn_warns_of_is_logged(short: Served, caplog: pytest.LogCaptureFixture) -> None:
    with connected(short) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n")
        assert connection.recv(100).startswith(b"HTTP/1.1 200")
    assert "Unsupported upgrade request." in [one.getMessage() for one in caplog.records if one.name == "uvicorn.error"]


def test_two_hundred_half_open_sockets_are_gone_and_the_server_answers(short: Served) -> None:
    with ExitStack() as open_:
        sockets = [open_.enter_context(connected(short)) for _ in range(200)]
        for connection in sockets:
            connection.sendall(HEAD)
        assert httpx2.get(f"{short.url}/healthz", timeout=HANGS_S).status_code == 200
        assert {told(connection)[:12] for connection in sockets} == {b"HTTP/1.1 408"}


class Timers:
    """In the place of an event loop: timers go off when the test says so, and no application runs."""

    def __init__(self) -> None:
        self.late: Callable[[], None] | None = None

    def call_later(self, _: float, late: Callable[..., None], *words: str) -> "Timers":
        self.late = lambda: late(*words)
        return self

    def cancel(self) -> None:
        self.late = None

    def create_task(self, coroutine: Coroutine[None, None, None]) -> "Timers":
        coroutine.close()
        return self

    def add_done_callback(self, _: object) -> None:
        """Nothing is done."""

    def pass_time(self) -> None:
        late, self.late = self.late, None
        assert late is not None, "no timer runs"
        late()


class Wire(asyncio.Transport):
    """A transport that keeps what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.gone = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += bytes(data)

    def is_closing(self) -> bool:
        return self.gone

    def close(self) -> None:
        self.gone = True

    abort = close

    def pause_reading(self) -> None:
        """Nothing comes by itself."""

    resume_reading = pause_reading


async def _nothing(scope: Scope, receive: Receive, send: Send) -> None:
    """An application that is never run."""


def test_a_body_is_taken_for_as_long_as_it_keeps_coming(clock: ManualClock) -> None:
    timers, wire = Timers(), Wire()
    config = uvicorn.Config(_nothing, log_config=None)
    protocol = protocol_class(ConnectionLimits(timeout_s=30, most=10, most_dropped=100, clock=clock))(
        config, ServerState(), {}, cast("asyncio.AbstractEventLoop", timers)
    )
    protocol.connection_made(wire)
    protocol.data_received(HEAD + b"Content-Length: 1000000\r\n\r\n")
    for _ in range(5):
        protocol.data_received(b"x" * 70_000)
        protocol.cycle.body.clear()  # the application took it
        protocol.flow.resume_reading()
        timers.pass_time()
        assert not wire.is_closing()
    protocol.data_received(b"x" * 70_000)
    timers.pass_time()
    timers.pass_time()
    assert not wire.is_closing(), "the body waits for the application"
    protocol.cycle.body.clear()
    protocol.flow.resume_reading()
    protocol.data_received(b"x" * 100)
    timers.pass_time()
    assert wire.is_closing()
    assert wire.written.startswith(b"HTTP/1.1 408 Request Timeout\r\n")


def test_a_client_that_never_reads_its_answer_is_cut_off(short: Served) -> None:
    client = short.client()
    client.headers["Connection"] = "close"  # an idle one would be closed while a busy machine thinks
    for n in range(3):
        changes = [{"op": "put", "namespace": ["a"], "key": str(n), "value": "x" * 4_000_000}]
        assert client.post("/api/notes/write", json={"userId": "ann", "changes": changes}).status_code == 200
    before = closed("slow_reader")
    asked = b'{"userId": "ann", "namespace": ["a"]}'
    with connected(short) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        key = client.headers["Authorization"]
        lines = (
            f"POST /api/notes/search HTTP/1.1\r\nHost: x\r\nAuthorization: {key}\r\nContent-Length: {len(asked)}\r\n"
        )
        connection.sendall(lines.encode() + b"Content-Type: application/json\r\n\r\n" + asked)
        deadline = time.monotonic() + HANGS_S
        while closed("slow_reader") == before and time.monotonic() < deadline:
            time.sleep(0.05)
        assert closed("slow_reader") == before + 1


def problem_in(answer: bytes, status: int, code: str) -> None:
    """Assert that what came over the wire is a whole problem, with the same request id in head and body."""
    head, _, body = answer.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    assert first.split(" ")[1] == str(status)
    headers = dict(line.lower().split(": ", 1) for line in lines)
    assert headers["content-type"] == "application/problem+json"
    told_in_body = json.loads(body)
    assert (told_in_body["status"], told_in_body["code"]) == (status, code)
    assert told_in_body["requestId"].lower() == headers["x-request-id"]


@pytest.mark.parametrize(
    ("sent", "status", "code"),
    [
        (b"GET / HTTP/1.1\r\n" + b"X-Long: " + b"x" * 200_000, 431, "large_head"),
        (b"GET / HTTP/1.1\r\nHost: x\r\n" + b"X-Long: " + b"x" * 70_000 + b"\r\n\r\n", 431, "large_head"),
        (b"GET /" + b"x" * 70_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", 431, "large_head"),
        (b"GET /" + b"x" * 200_000, 431, "large_head"),
        (b"nonsense\r\n\r\n" + b"x" * 70_000, 400, "bad_request"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\nno number\r\n", 400, "bad_request"),
        (b"GET /healthz HTTP/2.0\r\nHost: x\r\n\r\n", 400, "bad_request"),
        (b"GET /healthz HTTP/1.1\r\n\r\n", 400, "bad_request"),
        (b"GET /healthz HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", 400, "bad_request"),
    ],
    ids=[
        "headers",
        "headers in one piece",
        "address",
        "address without end",
        "nonsense",
        "bad chunk",
        "another version",
        "no host",
        "two hosts",
    ],
)
def test_what_is_refused_before_the_application_is_a_problem_too(
    narrow: Served, sent: bytes, status: int, code: str
) -> None:
    with connected(narrow) as connection:
        connection.sendall(sent)
        problem_in(told(connection), status, code)


def test_a_second_request_that_cannot_be_read_is_a_problem_too(narrow: Served) -> None:
    with connected(narrow) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        heard = connection.recv(65_536)
        while not heard.endswith(b"}"):
            heard += connection.recv(65_536)
        connection.sendall(b"GET /" + b"x" * 70_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n")
        problem_in(told(connection), 431, "large_head")


@pytest.mark.parametrize(("sent", "code"), [(b"G", "slow_head"), (HEAD + b"Content-Length: 100\r\n\r\n{", "slow_body")])
def test_whoever_is_too_slow_gets_a_problem_too(short: Served, sent: bytes, code: str) -> None:
    with connected(short) as connection:
        connection.sendall(sent)
        problem_in(told(connection), 408, code)


@pytest.mark.parametrize("size", [9 * 1024 * 1024, 15 * 1024 * 1024], ids=["9 MB", "15 MB"])
@pytest.mark.parametrize("headers", [{}, {"Connection": "close"}], ids=["kept alive", "to be closed"])
def test_whoever_sends_too_much_can_read_why(narrow: Served, headers: dict[str, str], size: int) -> None:
    url = httpx2.URL(narrow.url)
    with closing(HTTPConnection(url.host, url.port, timeout=HANGS_S)) as client:
        client.request("POST", "/api/memories", body=b"x" * size, headers=headers)
        answer = client.getresponse()
        assert (answer.status, json.loads(answer.read())["code"]) == (413, "too_large")
        assert answer.headers["Connection"] == "close"


def test_a_body_in_chunks_that_grows_too_large_is_told_so_as_well(narrow: Served) -> None:
    url = httpx2.URL(narrow.url)
    with closing(HTTPConnection(url.host, url.port, timeout=HANGS_S)) as client:
        key = {"Authorization": f"Bearer {narrow.key()}", "Content-Type": "application/json"}
        chunks = (b"x" * 65_536 for _ in range(14 * 16))
        client.request("POST", "/api/memories", body=chunks, headers=key, encode_chunked=True)
        answer = client.getresponse()
        assert (answer.status, json.loads(answer.read())["code"]) == (413, "too_large")


def test_a_connection_whose_body_was_dropped_serves_the_next_request(narrow: Served) -> None:
    url = httpx2.URL(narrow.url)
    with closing(HTTPConnection(url.host, url.port, timeout=HANGS_S)) as client:
        client.request("POST", "/api/nothing-here", body=b"x" * 4_000_000)
        answer = client.getresponse()
        assert (answer.status, json.loads(answer.read())["code"]) == (404, "no_such_route")
        used = client.sock
        client.request("GET", "/healthz")
        assert client.getresponse().status == 200
        assert client.sock is used


@pytest.mark.parametrize("headers", [b"", b"Connection: close\r\n"], ids=["kept alive", "to be closed"])
def test_a_body_is_dropped_up_to_a_bound_only(narrow: Served, headers: bytes) -> None:
    before = closed("large_body")
    with connected(narrow) as connection:
        connection.sendall(b"POST /api/nothing-here HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n" + headers)
        connection.sendall(b"\r\n")
        assert connection.recv(100).startswith(b"HTTP/1.1 413")
        with suppress(BrokenPipeError, ConnectionResetError):
            for _ in range(1_000):
                connection.sendall(b"x" * 65_536)
    assert closed("large_body") == before + 1


def test_a_body_that_is_dropped_has_no_longer_than_any_other(short: Served) -> None:
    before = closed("slow_body")
    with connected(short) as connection:
        connection.sendall(b"POST /api/nothing-here HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n")
        with suppress(BrokenPipeError, ConnectionResetError):
            deadline = time.monotonic() + HANGS_S
            while time.monotonic() < deadline:
                connection.sendall(b"x" * 100)
                time.sleep(SHORT_S / 10)
            raise AssertionError("it is still open")
    assert closed("slow_body") == before + 1


def test_whoever_waits_longest_makes_room_for_a_new_request(narrow: Served) -> None:
    with ExitStack() as open_:
        sockets = [open_.enter_context(connected(narrow)) for _ in range(40)]
        for connection in sockets:
            with suppress(OSError):
                connection.sendall(HEAD)
        for _ in range(5):
            assert httpx2.get(f"{narrow.url}/healthz", timeout=HANGS_S).status_code == 200
        assert told(sockets[0]) == b""


def test_a_silent_connection_makes_room_before_an_idle_one(narrow: Served) -> None:
    url = httpx2.URL(narrow.url)
    with closing(HTTPConnection(url.host, url.port, timeout=HANGS_S)) as kept, ExitStack() as open_:
        kept.request("GET", "/healthz")
        assert kept.getresponse().read()
        used = kept.sock
        silent = [open_.enter_context(connected(narrow)) for _ in range(30)]
        assert told(silent[0]) == b""
        assert httpx2.get(f"{narrow.url}/healthz", timeout=HANGS_S).status_code == 200
        kept.request("GET", "/healthz")
        assert kept.getresponse().status == 200
        assert kept.sock is used


def test_a_connection_too_many_is_told_when_to_come_back(narrow: Served) -> None:
    key = narrow.key()
    with ExitStack() as open_:
        for _ in range(10):  # requests whose body never comes: in use, not waiting
            busy = open_.enter_context(connected(narrow))
            busy.sendall(
                HEAD + f"Authorization: Bearer {key}\r\nContent-Length: 10\r\nExpect: 100-continue\r\n\r\n".encode()
            )
            assert busy.recv(100).startswith(b"HTTP/1.1 100")
        answer = httpx2.get(f"{narrow.url}/healthz", timeout=HANGS_S)
        assert answer.status_code == 503
        assert answer.headers["Retry-After"] == "2"
        assert answer.json()["code"] == "too_many_connections"
    deadline = time.monotonic() + HANGS_S
    while httpx2.get(f"{narrow.url}/healthz", timeout=HANGS_S).status_code != 200:
        assert time.monotonic() < deadline
