"""The client that requests to a model go out by.

A model's key: what to say where it is missing or cannot be sent. It stands in no message and no log.
"""

import ssl
from urllib.parse import urlsplit

import httpx2

from mnemon.errors import Misconfigured

_CONNECTION_LIMITS = httpx2.Limits(max_connections=None, max_keepalive_connections=20, keepalive_expiry=60.0)
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
        limits=_CONNECTION_LIMITS,
        transport=transport,
        trust_env=not local,
        verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if unsecured else True,
    )


def missing_key_error(vendor: str, model: str) -> Misconfigured:
    """The error for a model that needs a key and has none."""
    return Misconfigured(
        f"{vendor}:{model} needs a key. Set {vendor.upper()}_API_KEY. The key of the model in MNEMON_MODEL may also "
        "stand in MNEMON_MODEL_API_KEY. MNEMON_MODEL=offline needs neither."
    )


def require_sendable_key(key: str) -> str:
    """The key, unless no header can carry it: the network's error would quote it in full."""
    if key.isascii() and key.isprintable():
        return key
    raise Misconfigured(
        "MNEMON_MODEL_API_KEY has a character that cannot be sent, perhaps a line break at its end. Set it without."
    )
