"""Translation of driver errors into errors for callers: the database cannot do it now, why, and what to do about it.

A violated constraint, a bad statement or a row of another organization is a bug in Mnemon and stays the driver's error.
"""

import re
from dataclasses import dataclass

import psycopg

from mnemon.db.connect import IDLE_TIMEOUT, STATEMENT_TIMEOUT
from mnemon.db.lazy_transaction import CommitLost
from mnemon.db.pipeline import RoundTimeout
from mnemon.errors import Contended, DatabaseDown, Invalid, MnemonError, Unavailable


@dataclass(frozen=True, kw_only=True)
class Outage:
    """One reason why the database cannot run a transaction now."""

    states: tuple[str, ...] = ()
    """SQLSTATEs of this outage."""
    sign: str = ""
    """A pattern in the message, for connections that are refused: those carry no SQLSTATE."""
    kind: type[Unavailable] = DatabaseDown
    code: str | None = None
    """The stable code; None for the class's own."""
    detail: str

    def make_error(self) -> Unavailable:
        """Return the error that callers get for this outage, with its code and next step."""
        return self.kind(self.detail, code=self.code)


# Looked through in order; the first whose SQLSTATE or pattern fits is taken.
OUTAGES = (
    Outage(
        states=("40P01", "40001"),
        kind=Contended,
        detail="Two writers blocked each other and this one gave way. Nothing was stored. Try again.",
    ),
    Outage(
        states=("55P03",),
        kind=Contended,
        detail="Another writer held what this one needs for too long. Nothing was stored. Try again.",
    ),
    Outage(
        states=("25006",),
        code="database_read_only",
        detail="The database is read-only, as a standby is during a failover. Nothing was stored. Try again shortly; "
        "if it stays so, point MNEMON_DATABASE_URL at the primary.",
    ),
    Outage(
        states=("53100",),
        code="database_full",
        detail="The disk of the database is full. Nothing was stored. Free space there, then try again.",
    ),
    Outage(
        states=("53200",),
        code="database_out_of_memory",
        detail="The database ran out of memory. Nothing was stored. Try again; if it repeats, lower its work_mem or "
        "give it more memory.",
    ),
    Outage(
        states=("42501",),
        code="database_forbidden",
        detail="The server's database role lacks a right. Nothing was stored. Run `mnemon migrate` with the owner's "
        "URL: it grants what the role mnemon_app needs.",
    ),
    Outage(
        states=("57014",),
        code="statement_timeout",
        detail=f"A statement took longer than {STATEMENT_TIMEOUT}, or an administrator cancelled it. Nothing was "
        "stored. Try again; if it repeats, look for slow_statement in the server's log.",
    ),
    Outage(
        states=("25P03", "25P04"),
        code="transaction_timeout",
        detail=f"A transaction stood idle longer than {IDLE_TIMEOUT} and the database ended it. Nothing was stored. "
        "Try again.",
    ),
    Outage(
        states=("57P01", "57P02", "57P03"),
        sign=r"the database system is (starting up|shutting down|in recovery mode|not yet accepting)",
        code="database_restarting",
        detail="The database is stopping, starting or recovering. Try again in a few seconds.",
    ),
    Outage(
        states=("53300",),
        sign=r"too many (clients|connections)|remaining connection slots|no more connections allowed",
        code="too_many_connections",
        detail="The database has no connection left. Try again shortly; if it repeats, raise its max_connections or "
        "lower MNEMON_POOL_SIZE in every process.",
    ),
    Outage(
        states=("26000", "42P05"),
        sign=r"unsupported startup parameter",
        code="prepared_statements_refused",
        detail="A pooler in transaction mode stands in front of the database and cannot carry prepared statements. "
        "Set MNEMON_PREPARED_STATEMENTS=false, or connect without the pooler.",
    ),
)
_LIMIT_STATES = "54"
"""The class of SQLSTATEs for what is beyond a limit of PostgreSQL, such as a text that is too long for an index."""
BEYOND_LIMIT_DETAIL = (
    "The request is beyond a limit of the database, such as a text that is too long for an index. Nothing was stored. "
    "Send shorter texts, or less at once."
)
NO_CONNECTION_DETAIL = "The database did not give a connection in time. Try again shortly; `mnemon doctor` tells why."
CONNECTION_LOST_DETAIL = "The connection to the database was lost. Try again shortly; `mnemon doctor` tells why."
OUTCOME_UNKNOWN_DETAIL = (
    "The connection to the database was lost during COMMIT, so this may or may not have been stored. Repeat it with "
    "the same Idempotency-Key: it takes effect once."
)


def translate_error(error: psycopg.Error) -> MnemonError | None:
    """Return our error for a psycopg error: an outage, or a value beyond a limit; None where it is a bug in Mnemon."""
    if isinstance(error, CommitLost):
        return DatabaseDown(OUTCOME_UNKNOWN_DETAIL, code="outcome_unknown")
    if isinstance(error, RoundTimeout):
        return DatabaseDown(
            f"The database did not answer in {error.seconds:g} s. Try again shortly; `mnemon doctor` tells why."
        )
    # A row that row-level security rejects has the same SQLSTATE as a missing grant, but is a bug in Mnemon.
    if error.diag.source_function == "ExecWithCheckOptions":
        return None
    known = find_outage(error)
    if known is not None:
        return known.make_error()
    if (error.sqlstate or "").startswith(_LIMIT_STATES):
        # The driver counts it among the OperationalErrors, with lost connections.
        return Invalid(BEYOND_LIMIT_DETAIL, code="beyond_database_limit")
    if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        return DatabaseDown(CONNECTION_LOST_DETAIL)
    return None


def find_outage(error: psycopg.Error) -> Outage | None:
    """Return the known outage (by SQLSTATE, or by message without one) that a psycopg error is a case of, else None."""
    # A refused connection carries no SQLSTATE: only there is the message looked at.
    message = "" if error.sqlstate else str(error)
    for one in OUTAGES:
        if error.sqlstate in one.states or (message and one.sign and re.search(one.sign, message, re.IGNORECASE)):
            return one
    return None
