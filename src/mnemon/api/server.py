"""The HTTP server on its socket: start, readiness, and shutdown in order."""

import asyncio
import errno
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from math import ceil
from typing import Any

import uvicorn

from mnemon.api.connections import ConnectionLimits, protocol_class
from mnemon.errors import Misconfigured
from mnemon.services import Services

SHUTDOWN_GRACE_S = 15
"""How long requests in flight may take to finish when the server is asked to stop."""
REPLY_GRACE_S = 10
"""How long a model may go on with a reply then; shorter, so that its turn is sealed and answered in time."""


class HttpServer(uvicorn.Server):
    """A uvicorn server that runs as a task and reports when it is ready."""

    def __init__(self, app: Any, sock: socket.socket, *, handle_signals: bool = True) -> None:
        """Configure uvicorn with the settings' limits and start serving this socket in a task."""
        services: Services = app.state.services
        settings = services.settings
        bounds = ConnectionLimits(
            timeout_s=settings.request_timeout_s,
            most=settings.max_connections,
            most_dropped=2 * settings.max_body_bytes,
            clock=services.clock,
        )
        config = uvicorn.Config(
            app,
            log_config=None,
            # uvicorn would log the path, which may hold a person's name; `request_log.py` logs the route.
            access_log=False,
            timeout_graceful_shutdown=SHUTDOWN_GRACE_S,
            timeout_keep_alive=ceil(settings.request_timeout_s),
            http=protocol_class(bounds),
            ws="none",
            lifespan="on",
        )
        super().__init__(config)
        self._app = app
        self.port: int = sock.getsockname()[1]
        self._sock = sock
        self._handle_signals = handle_signals
        self._answering = asyncio.Event()
        self._task = asyncio.create_task(self.serve(sockets=[sock]))
        self._task.add_done_callback(lambda _: self._answering.set())

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop on SIGINT and SIGTERM, unless the program that this server runs in handles them itself.

        uvicorn's own handler would raise the signal again after the shutdown, and the services would not close in
        order.
        """
        # Signal handlers can only be installed in the main thread.
        if not self._handle_signals or threading.current_thread() is not threading.main_thread():
            yield
            return
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.handle_exit, number, None)
        try:
            yield
        finally:
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(number)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen on the socket and let `wait_until_ready` return."""
        # Here, because uvloop assumes that listen() succeeds.
        self._sock.listen(self.config.backlog)
        await super().startup(sockets=sockets)
        self._answering.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End event streams at once and replies after REPLY_GRACE_S, then wait for requests in flight."""
        # First of all, so that endless streams end and do not use up the grace period.
        self._app.state.closing.set()
        ending = asyncio.get_running_loop().call_later(REPLY_GRACE_S, self._app.state.streams.stop)
        try:
            await super().shutdown(sockets=sockets)
        finally:
            ending.cancel()

    async def wait_until_ready(self) -> None:
        """Wait until the server accepts requests; raise Misconfigured with the reason if it cannot."""
        await self._answering.wait()
        if self._task.done():
            try:
                await self._task
            except OSError as error:
                # Another process began to listen after the socket was bound.
                host, port = self._sock.getsockname()[:2]
                raise Misconfigured(listen_refusal(host, port, error)) from None
            raise Misconfigured("The server could not start; its log above says why.")

    async def wait_closed(self) -> None:
        """Wait until the server was asked to stop and the requests in flight are done."""
        await self._task


def bind_socket(host: str, port: int) -> socket.socket:
    """Return a socket bound to the address; raise Misconfigured with the reason if it cannot be used."""
    # IPPROTO_TCP is explicit because asyncio sets TCP_NODELAY only then; without it, each response on a kept-alive
    # connection waits 40 ms for an ACK.
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((host, port))
    except OSError as error:
        sock.close()
        raise Misconfigured(listen_refusal(host, port, error)) from None
    return sock


def listen_refusal(
    host: str, port: int, error: OSError, *, fix: str = "`mnemon serve --port 0` takes a free port."
) -> str:
    """Return the sentence why this address cannot be listened on, with `fix` as advice for a port that is taken."""
    words = f"Cannot listen on {host}:{port}: {error.strerror or error}."
    if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
        return (
            f"{words} This machine does not have the address {host}. Set --host or MNEMON_HOST to one that it has: "
            "127.0.0.1 for this machine only, 0.0.0.0 for every address."
        )
    if error.errno == errno.EACCES:
        return f"{words} This user may not use that port. Take one above 1023; {fix}"
    return f"{words} Another server may run there; {fix}"
