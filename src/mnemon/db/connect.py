"""How connections are opened, and how errors of connecting are explained: cause and next step in one or two sentences.

`explain_error` turns a driver's error into that sentence without ever showing the password. The connection options set
timeouts and TCP keepalives; `open_connection` opens one outside the pool.
"""

import re
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from mnemon.errors import Misconfigured

MIN_SERVER_VERSION = 150000
MIN_VECTOR_VERSION = (0, 8)
CONNECT_TIMEOUT_SECONDS = 10


@dataclass(frozen=True, kw_only=True)
class ConnectionFailure:
    """One reason why connecting fails: how to recognize it, and how to explain it."""

    states: tuple[str, ...] = ()
    """SQLSTATEs of this failure."""
    sign: str = ""
    """A pattern in the message; connections that fail carry no SQLSTATE."""
    detail: str
    """Cause and next step; `{user}`, `{place}` and `{database}` are filled in."""
    embedded: str = ""
    """The detail for the embedded database, which no setting names; empty where `detail` fits it too."""


@dataclass(frozen=True, kw_only=True)
class DatabaseTarget:
    """The user, server and database that a URL names, without the password."""

    user: str
    place: str
    database: str


# Looked through in order: a pattern that fits many errors, such as "permission denied", comes after narrower ones.
CONNECTION_FAILURES = (
    ConnectionFailure(
        states=("28P01",),
        sign=r"password authentication failed|no password supplied|empty password",
        detail="The database at {place} refused the password of role {user}. "
        "Put the right one into MNEMON_DATABASE_URL (special characters written as %40, %2F …).",
    ),
    ConnectionFailure(
        sign=r'role "[^"]*" does not exist|Peer authentication failed|Ident authentication failed',
        detail="The database at {place} does not know role {user}, or does not let this user be it. Create it "
        "(`createuser --login --createrole {user}`) or name another one in MNEMON_DATABASE_URL.",
    ),
    ConnectionFailure(
        sign=r"no pg_hba.conf entry|pg_hba.conf rejects",
        detail="The database at {place} does not let role {user} in from this machine. "
        "Add a line for it to the server's pg_hba.conf, or add `?sslmode=require` if it asks for SSL.",
    ),
    ConnectionFailure(
        sign=r"server does not support SSL|SSL error|certificate verify failed|sslmode|root certificate",
        detail="The connection to {place} failed over SSL. "
        "Set `sslmode` in MNEMON_DATABASE_URL to what that server offers (`disable`, `require`, `verify-full`).",
    ),
    ConnectionFailure(
        states=("3D000",),
        sign=r'database "[^"]*" does not exist',
        detail="There is no database {database} at {place}. "
        "Create it (`createdb {database}`) or name another one in MNEMON_DATABASE_URL.",
    ),
    ConnectionFailure(
        sign=r"could not translate host name|Name or service not known|nodename nor servname|failed to resolve host"
        r"|Temporary failure in name resolution|No address associated",
        detail="The host in MNEMON_DATABASE_URL ({place}) has no address. Check its spelling and the network.",
    ),
    ConnectionFailure(
        sign=r"Connection refused|No such file or directory|No route to host|Network is unreachable",
        detail="Nothing answers at {place}. Start that PostgreSQL, or correct host and port in MNEMON_DATABASE_URL.",
        embedded="The embedded PostgreSQL does not listen in {place}. `mnemon serve` starts it again; its log stands "
        "in the data directory.",
    ),
    ConnectionFailure(
        sign=r"timeout expired|timed out|connection timeout",
        detail="{place} did not answer in time. Check host, port and firewall in front of MNEMON_DATABASE_URL.",
        embedded="The embedded PostgreSQL in {place} runs but does not answer: its processes are stopped, or the "
        "disk of the data directory hangs. `ps -C postgres -o pid,stat,args` shows T for a stopped process, which "
        "`kill -CONT PID` lets go on.",
    ),
    ConnectionFailure(
        states=("57P03",),
        sign=r"the database system is (starting up|shutting down|in recovery mode|not yet accepting)",
        detail="The database at {place} is starting, stopping or recovering. Try again in a few seconds.",
    ),
    ConnectionFailure(
        states=("53300",),
        sign=r"too many (clients|connections)|remaining connection slots",
        detail="The database at {place} has no connection left. "
        "Raise its max_connections, or lower MNEMON_POOL_SIZE in every process.",
    ),
    ConnectionFailure(
        states=("53100",),
        sign=r"No space left on device|could not extend file",
        detail="The disk of the database at {place} is full. Free some space there, then start again.",
    ),
    ConnectionFailure(
        sign=r'extension "vector" is not available|could not open extension control file|"vector.control"'
        r"|\$libdir/vector",
        detail="The PostgreSQL at {place} has no pgvector. "
        "Install pgvector 0.8 or newer on that server (package postgresql-NN-pgvector), then start again.",
    ),
    ConnectionFailure(
        sign=r"permission denied to create extension|must be superuser to create",
        detail="Role {user} may not create the extension vector in {database}. Run `CREATE EXTENSION vector` there "
        "once as a superuser, or give a URL that may as MNEMON_MIGRATION_URL.",
    ),
    ConnectionFailure(
        sign=r"permission denied to create role|permission denied to grant role|must have admin option"
        r"|only roles with the .*option",
        detail="Role {user} may not create or grant the role mnemon_app. Give it the right "
        "(`ALTER ROLE {user} CREATEROLE`) or give a URL that may as MNEMON_MIGRATION_URL.",
    ),
    ConnectionFailure(
        states=("42501",),
        sign=r"permission denied|must be owner of",
        detail="Role {user} lacks rights in database {database}. Make it the owner "
        "(`ALTER DATABASE {database} OWNER TO {user}`), or give the owner's URL as MNEMON_MIGRATION_URL "
        "and run `mnemon migrate`.",
    ),
    ConnectionFailure(
        states=("25006",),
        sign=r"read-only transaction",
        detail="The database at {place} is read-only, a standby perhaps. Point MNEMON_DATABASE_URL at the primary.",
    ),
)


NOT_A_URL_DETAIL = (
    "MNEMON_DATABASE_URL is not a PostgreSQL URL. "
    "Write it as postgresql://USER:PASSWORD@HOST:PORT/DATABASE, special characters as %40, %2F …."
)


UNREADABLE_URL_DETAIL = (
    "MNEMON_DATABASE_URL reads as if its password ended early, or its port is no number. Write special characters in "
    "the user and the password as %40 for @, %2F for /, %3A for :, and the whole as "
    "postgresql://USER:PASSWORD@HOST:PORT/DATABASE."
)
_HIGHEST_PORT = 65_535


def explain_error(error: psycopg.Error, url: str, *, embedded: bool = False) -> str:
    """Return why connecting failed and the next step, in a sentence or two; never the password."""
    if may_show_password(url):
        return UNREADABLE_URL_DETAIL
    target = describe_target(url)
    if target is None:
        return NOT_A_URL_DETAIL
    message = _without_password(str(error), url)
    for failure in CONNECTION_FAILURES:
        if error.sqlstate in failure.states or (failure.sign and re.search(failure.sign, message, re.IGNORECASE)):
            detail = failure.embedded if embedded and failure.embedded else failure.detail
            return detail.format(user=target.user, place=target.place, database=target.database)
    last = next((line.strip() for line in reversed(message.splitlines()) if line.strip()), type(error).__name__)
    return f"The database at {target.place} refused: {last.rstrip('.')}. `mnemon doctor` checks the usual causes."


def describe_target(url: str) -> DatabaseTarget | None:
    """Return user, server and database of a URL as words for a message; None if libpq cannot read it.

    None too where libpq may have taken part of the password for one of them.
    """
    if may_show_password(url):
        return None
    try:
        parts = conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        return None
    user = str(parts.get("user") or "of this login")
    host, port = str(parts.get("host") or "the local socket"), parts.get("port")
    return DatabaseTarget(
        user=user,
        place=f"{host}:{port}" if port and not host.startswith("/") else host,
        database=str(parts.get("dbname") or user),
    )


def may_show_password(url: str) -> bool:
    """Say whether host, port or database in this URL may be part of a password with special characters.

    The user and password end at the first @, unless a / comes before it: then libpq takes both for host and port.
    """
    scheme, there, rest = url.partition("://")
    if not there or scheme not in ("postgresql", "postgres"):
        return False
    authority, _, path = rest.partition("?")[0].partition("/")
    if authority.count("@") > 1 or "@" in path:
        return True
    try:
        ports = str(conninfo_to_dict(url).get("port") or "")
    except psycopg.ProgrammingError:
        return False
    return any(not port.isdecimal() or int(port) > _HIGHEST_PORT for port in ports.split(",") if port)


def server_shortcoming(*, server_version: int, vector_version: str | None) -> str | None:
    """Return why PostgreSQL or pgvector on the server is too old, as a sentence; None if both are new enough.

    `vector_version` is the installed version of pgvector, or else the one that can be installed.
    """
    if server_version < MIN_SERVER_VERSION:
        return (
            f"The server is PostgreSQL {server_version // 10000}, and Mnemon needs 15 or newer. "
            "Upgrade it, or point MNEMON_DATABASE_URL at a newer one."
        )
    if vector_version is None:
        return (
            "The server has no pgvector. Install pgvector 0.8 or newer on it "
            f"(package postgresql-{server_version // 10000}-pgvector), then start again."
        )
    if _version_numbers(vector_version) < MIN_VECTOR_VERSION:
        return (
            f"The server has pgvector {vector_version}, and Mnemon needs 0.8 or newer. "
            "Install a newer one and run `ALTER EXTENSION vector UPDATE`."
        )
    return None


async def check_server(connection: psycopg.AsyncConnection) -> None:
    """Raise Misconfigured unless PostgreSQL and its pgvector are new enough; the message says what to install."""
    row = await (
        await connection.execute(
            "SELECT coalesce((SELECT extversion FROM pg_extension WHERE extname = 'vector'), "
            "(SELECT default_version FROM pg_available_extensions WHERE name = 'vector'))"
        )
    ).fetchone()
    lacks = server_shortcoming(
        server_version=connection.info.server_version, vector_version=row[0] if row is not None else None
    )
    if lacks is not None:
        raise Misconfigured(lacks)


def _version_numbers(version: str) -> tuple[int, ...]:
    """Return major and minor version as numbers, for comparison."""
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])


def _without_password(message: str, url: str) -> str:
    """Return the message with the URL's password replaced by "…"."""
    password = conninfo_to_dict(url).get("password")
    return message.replace(str(password), "…") if password else message


STATEMENT_TIMEOUT = "30s"
IDLE_TIMEOUT = "60s"
SESSION_SETTINGS = {
    "statement_timeout": STATEMENT_TIMEOUT,
    "idle_in_transaction_session_timeout": IDLE_TIMEOUT,
    "timezone": "UTC",
}
"""Session settings that every transaction runs under."""

# A host that vanishes without closing the connection is noticed within a minute, idle or not (by default: two hours).
_TCP_OPTIONS = {
    "keepalives": 1,
    "keepalives_idle": 20,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 40_000,
}


def connection_options(url: str, *, connect_timeout_s: int, session: bool) -> dict[str, Any]:
    """Return psycopg's options for this URL (timeouts, time zone); options that the URL sets itself are kept.

    `session` sets the timeouts and time zone for the whole connection, which a pooler in transaction mode refuses.
    """
    given = conninfo_to_dict(url)
    defaults: dict[str, Any] = {"connect_timeout": connect_timeout_s, "client_encoding": "UTF8", **_TCP_OPTIONS}
    chosen = {name: value for name, value in defaults.items() if name not in given}
    if session:
        settings = " ".join(f"-c {name}={value}" for name, value in SESSION_SETTINGS.items())
        # The URL's own options come last, so they win.
        chosen["options"] = f"{settings} {given.get('options') or ''}".strip()
    return chosen


async def open_connection(url: str) -> psycopg.AsyncConnection:
    """Open a connection outside the pool, in autocommit; it prepares no statements, so any pooler can carry it."""
    options = connection_options(url, connect_timeout_s=CONNECT_TIMEOUT_SECONDS, session=False)
    return await psycopg.AsyncConnection.connect(url, autocommit=True, prepare_threshold=None, **options)
