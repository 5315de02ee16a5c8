"""Slow clients, half-open sockets and too many connections, on real sockets, with the bounds scaled down."""

import asyncio
import socket
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, cast

import httpx2
import pytest
import uvicorn
from prometheus_client import REGISTRY
from starlette.types import Receive, Scope, Send
from uvicorn.server import ServerState

from mnemon.api.connections import Bounds, protocol_within
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
    ],
    ids=["nothing", "a letter", "half a head", "no body", "half a body", "half a chunk", "blank lines", "idle",
         "half a second request", "blank lines between"],
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


def test_two_hundred_half_open_sockets_are_gone_and_the_server_answers(short: Served) -> None:
    with ExitStack() as open_:
        sockets = [open_.enter_context(connected(short)) for _ in range(200)]
        for connection in sockets:
            connection.sendall(HEAD)
        assert httpx2.get(f"{short.url}/healthz").status_code == 200
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
    protocol = protocol_within(Bounds(timeout_s=30, most=10, clock=clock))(
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


def test_a_head_without_end_is_refused(short: Served) -> None:
    with connected(short) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\n")
        try:
            for n in range(200):
                connection.sendall(f"X-{n}: {'x' * 1000}\r\n".encode())
        except (BrokenPipeError, ConnectionResetError):
            return
        assert told(connection).startswith(b"HTTP/1.1 431")


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
    ask = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    with ExitStack() as open_:
        kept = open_.enter_context(connected(narrow))
        kept.sendall(ask)
        assert kept.recv(65_536).startswith(b"HTTP/1.1 200")
        silent = [open_.enter_context(connected(narrow)) for _ in range(30)]
        assert told(silent[0]) == b""
        assert httpx2.get(f"{narrow.url}/healthz", timeout=HANGS_S).status_code == 200
        kept.sendall(ask)
        assert kept.recv(65_536).startswith(b"HTTP/1.1 200")


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
