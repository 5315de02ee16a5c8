"""A proxy in front of a server that loses the first responses: the request arrives, the answer does not."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx2


@dataclass
class LossyProxy:
    """What a test tells the proxy to lose, and what it saw."""

    target: str
    url: str = ""
    lose: int = 0
    """How many of the next responses are lost, after the server has made them."""
    lose_within: bool = False
    """Whether a lost response breaks off after its headers, in place of before them."""
    keys: list[str | None] = field(default_factory=list)
    """The Idempotency-Key of each request, in order."""


@contextmanager
def lossy_proxy(target: str) -> Iterator[LossyProxy]:
    """Run a proxy of the server at `target` until the block ends."""
    proxy = LossyProxy(target=target)

    class Handler(BaseHTTPRequestHandler):
        """Forwards one request, whole, and sends the response back whole, or loses it."""

        def _forward(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            proxy.keys.append(self.headers.get("Idempotency-Key"))
            kept = {name: value for name, value in self.headers.items() if name.lower() not in ("host", "connection")}
            answer = httpx2.request(self.command, proxy.target + self.path, content=body, headers=kept, timeout=60)
            self.close_connection = True
            lost = proxy.lose > 0
            proxy.lose -= lost
            if lost and not proxy.lose_within:
                return
            self.send_response(answer.status_code)
            for name in ("content-type", "retry-after", "idempotent-replayed"):
                if name in answer.headers:
                    self.send_header(name, answer.headers[name])
            self.send_header("Content-Length", str(len(answer.content)))
            self.end_headers()
            self.wfile.write(b"" if lost else answer.content)

        do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = _forward

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  its parent's name
            """Write nothing to the terminal."""

    listener = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    proxy.url = f"http://127.0.0.1:{listener.server_address[1]}"
    thread = threading.Thread(target=listener.serve_forever, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        listener.shutdown()
        listener.server_close()
        thread.join()
