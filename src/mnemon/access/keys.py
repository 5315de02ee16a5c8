"""Keys: `mnk_<org>_<secret>`, 256 bits, shown once, stored as a hash, compared in constant time."""

import hashlib
import hmac
import re
import secrets
from datetime import datetime, timedelta

from structlog.contextvars import bind_contextvars

from mnemon.access import store
from mnemon.access.grants import ALL_GRANTS, Grant
from mnemon.access.principal import Key, Principal
from mnemon.db.database import ORG_NAME, Database
from mnemon.db.tx import Tx
from mnemon.errors import DatabaseDown, Invalid, NotFound, Unauthenticated
from mnemon.scope import Scope

_KEY = re.compile(r"mnk_(?P<org>[a-z0-9-]{1,40})_(?P<secret>[0-9a-f]{64})")
_USED_EVERY = timedelta(minutes=1)


def split(bearer: str) -> tuple[str, str]:
    """The organization and the secret that a bearer text carries."""
    match = _KEY.fullmatch(bearer)
    if match is None or ORG_NAME.fullmatch(match["org"]) is None:
        raise Unauthenticated(
            "The key is not valid. Send `Authorization: Bearer mnk_<org>_<secret>`; `mnemon keys create` makes one."
        )
    return match["org"], match["secret"]


async def create_key(
    tx: Tx,
    scope: Scope,
    *,
    name: str,
    grants: frozenset[Grant] = ALL_GRANTS,
    bound_user: str | None = None,
    expires_at: datetime | None = None,
) -> tuple[Key, str]:
    """A new key and its text, which is shown this once."""
    if not name.strip():
        raise Invalid("A key needs a name that tells where it is used.", code="name_missing")
    secret = secrets.token_hex(32)
    key = Key(
        id=tx.new_id("key"),
        name=name.strip(),
        grants=grants,
        bound_user=bound_user,
        created_at=tx.now,
        expires_at=expires_at,
        revoked_at=None,
        used_at=None,
    )
    await store.insert_key(scope, tx, key, digest(secret))
    return key, f"mnk_{scope.org_id}_{secret}"


async def authenticate(db: Database, bearer: str) -> Principal:
    """The holder of this key; refused when unknown, expired or revoked."""
    org_id, secret = split(bearer)
    scope, wanted, now = Scope(org_id=org_id), digest(secret), db.now()
    found = await store.key_by_digest(scope, db, wanted)
    if found is None or not hmac.compare_digest(found[1], wanted):
        raise Unauthenticated("The key is not known. `mnemon keys list` shows the organization's keys.")
    key = found[0]
    bind_contextvars(org=org_id, key=key.id)  # log lines tell whose request it is, also where the key is refused
    if key.revoked_at is not None:
        raise Unauthenticated("The key was revoked. `mnemon keys create` makes another.", code="key_revoked")
    if key.expires_at is not None and key.expires_at <= now:
        raise Unauthenticated("The key has expired. `mnemon keys create` makes another.", code="key_expired")
    if key.used_at is None or now - key.used_at >= _USED_EVERY:
        await _note_use(db, scope, key.id)
    return Principal(org_id=org_id, key_id=key.id, grants=key.grants, bound_user=key.bound_user)


async def _note_use(db: Database, scope: Scope, key_id: str) -> None:
    """Keep when the key was used; a database that only reads for now, as in a failover, refuses nobody for that."""
    try:
        async with db.tx(scope.org_id) as tx:
            await store.touch_key(scope, tx, key_id)
    except DatabaseDown as error:
        if error.code != "database_read_only":
            raise


async def revoke_key(tx: Tx, scope: Scope, key_id: str) -> None:
    """The key opens nothing any more, nor does a session that it opened."""
    if not await store.revoke_key(scope, tx, key_id):
        raise NotFound("key")
    await store.end_signins_of(scope, tx, key_id)


def digest(secret: str) -> bytes:
    """What is stored of a secret. It has 256 random bits, so a plain hash is enough."""
    return hashlib.sha256(secret.encode()).digest()
