"""How connections are made: with which limits, and for what is done beside the pool."""

from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from mnemon.db.explain import CONNECT_SECONDS

STATEMENT_TIMEOUT = "30s"
IDLE_TIMEOUT = "60s"
SESSION = {
    "statement_timeout": STATEMENT_TIMEOUT,
    "idle_in_transaction_session_timeout": IDLE_TIMEOUT,
    "timezone": "UTC",
}
"""What every transaction runs under."""

# A host that vanishes without a word is noticed within a minute, idle or not (libpq's own default is two hours).
_TCP = {
    "keepalives": 1,
    "keepalives_idle": 20,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 40_000,
}


def connection_options(url: str, *, connect_timeout_s: int, session: bool) -> dict[str, Any]:
    """Give the driver's options for this URL; what the URL says itself stands.

    `session` sets what transactions run under for the whole connection, which a pooler in transaction mode refuses.
    """
    given = conninfo_to_dict(url)
    ours: dict[str, Any] = {"connect_timeout": connect_timeout_s, "client_encoding": "UTF8", **_TCP}
    chosen = {name: value for name, value in ours.items() if name not in given}
    if session:
        settings = " ".join(f"-c {name}={value}" for name, value in SESSION.items())
        chosen["options"] = f"{settings} {given.get('options') or ''}".strip()
    return chosen


async def connect(url: str) -> psycopg.AsyncConnection:
    """Open a connection beside the pool, in autocommit; it prepares nothing, so it may go through any pooler."""
    options = connection_options(url, connect_timeout_s=CONNECT_SECONDS, session=False)
    return await psycopg.AsyncConnection.connect(url, autocommit=True, prepare_threshold=None, **options)
