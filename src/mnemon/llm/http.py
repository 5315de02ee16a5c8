"""The client that requests to a model go out by."""

import ssl
from urllib.parse import urlsplit

import httpx2

_KEPT = httpx2.Limits(max_connections=None, max_keepalive_connections=20, keepalive_expiry=60.0)
"""A connection outlives the pause between two turns: the next reply need not wait for another one.

There are as many as there are replies in the making. With a bound the next one would wait for a connection, and that
would look like a model that does not answer.
"""


def http_client(
    timeout: float, *, base_url: str | None = None, transport: httpx2.AsyncBaseTransport | None = None
) -> httpx2.AsyncClient:
    """A client within these bounds; a server on this machine is reached without any proxy."""
    there = urlsplit(base_url or "")
    local = there.hostname in ("127.0.0.1", "localhost", "::1")
    # Certificates take 25 ms to load, and a server on this machine shows none.
    unsecured = local and there.scheme == "http"
    return httpx2.AsyncClient(
        timeout=httpx2.Timeout(timeout, connect=min(5.0, timeout)),
        limits=_KEPT,
        transport=transport,
        trust_env=not local,
        verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if unsecured else True,
    )
