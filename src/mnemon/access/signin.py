"""Signing in to the console: a link that works once opens a session that a cookie carries.

    serve, `mnemon console`            first visit                     sign out, or 14 days
───────────────────────► link ───────────────────► session ───────────────────► (gone)
                          └── 15 minutes: gone
"""

import hmac
import re
import secrets
from datetime import timedelta
from hashlib import sha256

from structlog.contextvars import bind_contextvars

from mnemon.access.grants import ALL_GRANTS, Grant
from mnemon.access.keys import digest
from mnemon.access.principal import Principal
from mnemon.access.store import SQL
from mnemon.db.database import ORG_NAME
from mnemon.db.tx import Row, Tx
from mnemon.errors import Unauthenticated
from mnemon.scope import Scope

LINK_LIFE = timedelta(minutes=15)
SESSION_LIFE = timedelta(days=14)
_TOKEN = re.compile(r"(?P<org>[a-z0-9-]{1,40})_(?P<secret>[0-9a-f]{64})")


def split(token: str) -> tuple[str, str]:
    """The organization and the secret of a link or a cookie."""
    match = _TOKEN.fullmatch(token)
    if match is None or ORG_NAME.fullmatch(match["org"]) is None:
        raise Unauthenticated("This is no sign-in of ours. `mnemon console` prints a link that works.")
    return match["org"], match["secret"]


async def make_link(tx: Tx, scope: Scope, *, actor: str) -> str:
    """A token that opens one session within a quarter of an hour."""
    return await _insert(tx, scope, "link", actor, ALL_GRANTS, LINK_LIFE)


async def follow_link(tx: Tx, scope: Scope, secret: str) -> str:
    """The cookie of a new session; the link opens nothing any more."""
    row = await tx.maybe(SQL["end_signin"], org_id=scope.org_id, digest=digest(secret), kind="link")
    if row is None or row["expires_at"] <= tx.now:
        raise Unauthenticated("This link was used already or is too old. `mnemon console` prints a new one.")
    return await open_session(tx, scope, actor=row["actor"], grants=_grants(row))


async def open_session(tx: Tx, scope: Scope, *, actor: str, grants: frozenset[Grant]) -> str:
    """The cookie of a new session with these grants."""
    await tx.run(SQL["drop_old_signins"], org_id=scope.org_id, now=tx.now)
    return await _insert(tx, scope, "session", actor, grants, SESSION_LIFE)


async def session(tx: Tx, scope: Scope, secret: str) -> Principal:
    """Whoever the session's cookie belongs to."""
    row = await tx.maybe(SQL["signin"], org_id=scope.org_id, digest=digest(secret), kind="session", now=tx.now)
    if row is None:
        raise Unauthenticated("The session has ended. `mnemon console` prints a link that signs you in.")
    bind_contextvars(org=scope.org_id, key=row["actor"])
    return Principal(org_id=scope.org_id, key_id=row["actor"], grants=_grants(row))


async def close_session(tx: Tx, scope: Scope, secret: str) -> None:
    """The cookie opens nothing any more."""
    await tx.run(SQL["end_signin"], org_id=scope.org_id, digest=digest(secret), kind="session")


def csrf_token(secret: str) -> str:
    """What every writing form of this session must carry; worthless without the cookie."""
    return hmac.new(secret.encode(), b"csrf", sha256).hexdigest()


async def _insert(tx: Tx, scope: Scope, kind: str, actor: str, grants: frozenset[Grant], life: timedelta) -> str:
    secret = secrets.token_hex(32)
    await tx.run(
        SQL["insert_signin"],
        org_id=scope.org_id,
        digest=digest(secret),
        kind=kind,
        actor=actor,
        grants=sorted(grants),
        now=tx.now,
        expires_at=tx.now + life,
    )
    return f"{scope.org_id}_{secret}"


def _grants(row: Row) -> frozenset[Grant]:
    return frozenset(Grant(word) for word in row["grants"])
