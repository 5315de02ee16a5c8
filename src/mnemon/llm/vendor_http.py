"""The HTTP client for requests to models, and errors about a model's key, which never appears in a message or log."""

import ssl
from urllib.parse import urlsplit

import httpx2

from mnemon.errors import Misconfigured

_CONNECTION_LIMITS = httpx2.Limits(max_connections=None, max_keepalive_connections=20, keepalive_expiry=60.0)
"""Connections are unlimited and kept open between two turns of a conversation.

With a limit the next reply would wait for a free connection, which would look like a model that does not answer.
"""


def http_client(
    timeout: float, *, base_url: str | None = None, transport: httpx2.AsyncBaseTransport | None = None
) -> httpx2.AsyncClient:
    """Return an HTTP client with this timeout; a server on this machine is reached without a proxy."""
    server = urlsplit(base_url or "")
    local = server.hostname in ("127.0.0.1", "localhost", "::1")
    # Loading certificates takes 25 ms, and plain HTTP on this machine needs none.
    unsecured = local and server.scheme == "http"
    return httpx2.AsyncClient(
        # An address that accepts no connection is given up early, so that time for a retry is left.
        timeout=httpx2.Timeout(timeout, connect=min(5.0, timeout)),
        limits=_CONNECTION_LIMITS,
        transport=transport,
        trust_env=not local,
        verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if unsecured else True,
    )


def missing_key_error(vendor: str, model: str) -> Misconfigured:
    """Return the Misconfigured error for a model that needs a key and has none."""
    return Misconfigured(
        f"{vendor}:{model} needs a key. Set {vendor.upper()}_API_KEY. The key of the model in MNEMON_MODEL may also "
        "stand in MNEMON_MODEL_API_KEY. MNEMON_MODEL=offline needs neither."
    )


def require_sendable_key(key: str) -> str:
    """Return the API key; raise Misconfigured when no HTTP header can carry it."""
    # Checked here because the HTTP client's error would quote the key.
    if key.isascii() and key.isprintable():
        return key
    raise Misconfigured(
        "MNEMON_MODEL_API_KEY has a character that cannot be sent, perhaps a line break at its end. Set it without."
    )
