"""Sign-in to the console: a link that works once opens a session, which a cookie carries.

    serve, `mnemon console`            first visit                     sign out, 14 days, or the key's end
───────────────────────► link ───────────────────► session ───────────────────► (gone)
                          └── 15 minutes: gone
"""

import hmac
import re
import secrets
from datetime import datetime, timedelta
from hashlib import sha256

from structlog.contextvars import bind_contextvars

from mnemon.access.grants import ALL_GRANTS, Grant, Principal, stored_grants
from mnemon.access.keys import hash_secret
from mnemon.access.store import SQL
from mnemon.db.database import ORG_NAME_PATTERN
from mnemon.db.tx import Tx
from mnemon.errors import Unauthenticated
from mnemon.scope import Scope

LINK_LIFETIME = timedelta(minutes=15)
SESSION_LIFETIME = timedelta(days=14)
_KEY_ID_PREFIX = "key_"
"""How the id of a key begins: a session of a key that no longer exists is not valid."""
_TOKEN_PATTERN = re.compile(r"(?P<org>[a-z0-9-]{1,40})_(?P<secret>[0-9a-f]{64})")


def parse_token(token: str) -> tuple[str, str]:
    """Return organization and secret of a sign-in link or a session cookie; raise Unauthenticated for other text."""
    match = _TOKEN_PATTERN.fullmatch(token)
    if match is None or ORG_NAME_PATTERN.fullmatch(match["org"]) is None:
        raise Unauthenticated("This is not a valid sign-in link. `mnemon console` prints one.")
    return match["org"], match["secret"]


async def create_link(tx: Tx, scope: Scope, *, actor: str) -> str:
    """Store a sign-in link and return its token, which opens one console session within 15 minutes."""
    return await _insert_token(tx, scope, "link", actor, ALL_GRANTS, tx.now + LINK_LIFETIME)


async def redeem_link(tx: Tx, scope: Scope, secret: str) -> str:
    """Use up a sign-in link; return the cookie of a new console session. Raise Unauthenticated for an invalid link."""
    # Deleted and read in one statement, so that two visits at once cannot both redeem it.
    row = await tx.fetch_one_or_none(SQL["end_signin"], org_id=scope.org_id, digest=hash_secret(secret), kind="link")
    if row is None or row["expires_at"] <= tx.now:
        raise Unauthenticated("This link was used already or is too old. `mnemon console` prints a new one.")
    return await open_session(tx, scope, actor=row["actor"], grants=stored_grants(row["grants"]))


async def open_session(
    tx: Tx, scope: Scope, *, actor: str, grants: frozenset[Grant], key_ends: datetime | None = None
) -> str:
    """Store a console session with these grants, ending no later than its key; return its cookie."""
    # Ended sessions and links are removed here, in place of a job that cleans up.
    await tx.execute(SQL["drop_old_signins"], org_id=scope.org_id, now=tx.now)
    ends = tx.now + SESSION_LIFETIME
    return await _insert_token(tx, scope, "session", actor, grants, ends if key_ends is None else min(ends, key_ends))


async def authenticate_session(tx: Tx, scope: Scope, secret: str) -> Principal:
    """Return the caller of a console session's cookie; raise Unauthenticated once it or its key ended."""
    row = await tx.fetch_one_or_none(
        SQL["signin"], org_id=scope.org_id, digest=hash_secret(secret), kind="session", now=tx.now
    )
    if row is None or (row["key_id"] is None and row["actor"].startswith(_KEY_ID_PREFIX)):
        raise Unauthenticated("The session has ended. `mnemon console` prints a link that signs you in.")
    bind_contextvars(org=scope.org_id, key=row["actor"])
    grants = stored_grants(row["grants"])
    if row["key_id"] is not None:
        # A session never has more than its key has now, even if it was opened with more.
        grants &= stored_grants(row["key_grants"])
    return Principal(org_id=scope.org_id, key_id=row["actor"], grants=grants, expires_at=row["key_expires_at"])


async def close_session(tx: Tx, scope: Scope, secret: str) -> None:
    """Delete the console session with this secret, so that its cookie is no longer valid."""
    await tx.execute(SQL["end_signin"], org_id=scope.org_id, digest=hash_secret(secret), kind="session")


def csrf_token(secret: str) -> str:
    """Return the CSRF token that every writing form of this console session must carry."""
    # Derived from the session's secret, so that nothing more has to be stored.
    return hmac.new(secret.encode(), b"csrf", sha256).hexdigest()


async def _insert_token(tx: Tx, scope: Scope, kind: str, actor: str, grants: frozenset[Grant], ends: datetime) -> str:
    """Insert a link or session into `signins` by the hash of a new secret; return its token."""
    secret = secrets.token_hex(32)
    await tx.execute(
        SQL["insert_signin"],
        org_id=scope.org_id,
        digest=hash_secret(secret),
        kind=kind,
        actor=actor,
        grants=sorted(grants),
        now=tx.now,
        expires_at=ends,
    )
    return f"{scope.org_id}_{secret}"
