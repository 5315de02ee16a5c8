"""Keys: `mnk_<org>_<secret>`, 256 bits, shown once, stored as a hash, compared in constant time."""

import hashlib
import hmac
import re
import secrets
from datetime import datetime, timedelta

from structlog.contextvars import bind_contextvars

from mnemon.access import store
from mnemon.access.grants import Grant, effective_grants, grants_of_new_key
from mnemon.access.principal import Key, Principal
from mnemon.clock import iso
from mnemon.db.database import ORG_NAME, Database
from mnemon.db.tx import Tx
from mnemon.errors import DatabaseDown, Invalid, NotAllowed, NotFound, Unauthenticated
from mnemon.scope import Scope
from mnemon.storable import name_as_sent

_KEY = re.compile(r"mnk_(?P<org>[a-z0-9-]{1,40})_(?P<secret>[0-9a-f]{64})")
LONGEST_NAME = 200
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
    grants: frozenset[Grant] | None = None,
    bound_user: str | None = None,
    expires_at: datetime | None = None,
    maker: Principal | None = None,
) -> tuple[Key, str]:
    """Make a key and give its text, which is shown this once.

    Without named grants it has the default of its kind of key. A maker gives away no more than they have
    themselves, and for no longer; None is the operator at the command line, who has everything.
    """
    if not name.strip():
        raise Invalid("A key needs a name that tells where it is used.", code="name_missing")
    if bound_user is not None:
        check_bound_user(bound_user)
    if grants is not None and not grants:
        raise Invalid("A key without a scope opens nothing. Name one, or leave the scopes out.", code="scopes_missing")
    granted = grants_of_new_key(grants, bound=bound_user is not None)
    if maker is not None:
        granted, expires_at = limit_to_maker(maker, granted, expires_at, named=grants is not None)
    secret = secrets.token_hex(32)
    key = Key(
        id=tx.new_id("key"),
        name=name.strip(),
        grants=granted,
        bound_user=bound_user,
        created_at=tx.now,
        expires_at=expires_at,
        revoked_at=None,
        used_at=None,
    )
    await store.insert_key(scope, tx, key, digest(secret))
    return key, f"mnk_{scope.org_id}_{secret}"


def check_bound_user(name: str) -> None:
    """Refuse a name that no person can have: a key that is bound to it would look like one that is bound to nobody."""
    if not name.strip():
        raise Invalid("The person to bind the key to is not named. Name them, or leave it out.", code="user_missing")
    if len(name) > LONGEST_NAME:
        raise Invalid(f"A person's name has at most {LONGEST_NAME} characters.", code="bad_user_id")
    try:
        name_as_sent(name)
    except ValueError as error:
        raise Invalid(f"The person's name {error}.", code="bad_user_id") from None


async def authenticate(db: Database, bearer: str) -> Principal:
    """The holder of this key; refused when unknown, expired or revoked."""
    org_id, secret = split(bearer)
    scope, wanted, now = Scope(org_id=org_id), digest(secret), db.now()
    found = await store.key_by_digest(scope, db, wanted)
    if found is None or not hmac.compare_digest(found[1], wanted):
        raise unknown_key()
    key = found[0]
    bind_contextvars(org=org_id, key=key.id)  # log lines tell whose request it is, also where the key is refused
    if key.revoked_at is not None:
        raise revoked_key()
    if key.expires_at is not None and key.expires_at <= now:
        raise expired_key()
    if key.used_at is None or now - key.used_at >= _USED_EVERY:
        await _note_use(db, scope, key.id)
    return Principal(
        org_id=org_id,
        key_id=key.id,
        grants=effective_grants(key.grants, bound=key.bound_user is not None),
        bound_user=key.bound_user,
        expires_at=key.expires_at,
    )


def unknown_key() -> Unauthenticated:
    """What a key is told that is not there."""
    return Unauthenticated("The key is not known. `mnemon keys list` shows the organization's keys.")


def revoked_key() -> Unauthenticated:
    """What a key is told that was revoked."""
    return Unauthenticated("The key was revoked. `mnemon keys create` makes another.", code="key_revoked")


def expired_key() -> Unauthenticated:
    """What a key is told after its end."""
    return Unauthenticated("The key has expired. `mnemon keys create` makes another.", code="key_expired")


def limit_to_maker(
    maker: Principal, grants: frozenset[Grant], expires_at: datetime | None, *, named: bool
) -> tuple[frozenset[Grant], datetime | None]:
    """Give the grants and the end of a key that this maker may make; refuse what was asked for beyond that."""
    beyond = sorted(grants - maker.grants)
    if named and beyond:
        raise NotAllowed(
            f"Your own sign-in lacks {', '.join(beyond)}, so it cannot make a key that has it.", code="more_than_own"
        )
    if maker.expires_at is not None and expires_at is not None and expires_at > maker.expires_at:
        raise NotAllowed(
            f"The key you signed in with ends at {iso(maker.expires_at)}; a key made by it cannot last longer.",
            code="longer_than_own",
        )
    return grants & maker.grants, expires_at or maker.expires_at


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
