"""API keys: `mnk_<org>_<secret>`, 256 bits, shown once, stored as a hash, compared in constant time.

`KeyWatch` ends streams whose key was revoked or expired: a stream outlives the check at its beginning. However many
streams a key has open, the database is queried about it at most once in `CHECK_INTERVAL_S`. So a revoked key's streams
end within that time and the interval at which a stream asks; for an expired key no query is needed.
"""

import asyncio
import hashlib
import hmac
import re
import secrets
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta

from structlog.contextvars import bind_contextvars

from mnemon.access import store
from mnemon.access.audit import CLI_ACTOR
from mnemon.access.grants import Grant, Key, Principal, effective_grants, grants_of_new_key
from mnemon.clock import format_time
from mnemon.db.database import ORG_NAME_PATTERN, Database
from mnemon.db.tx import Tx
from mnemon.errors import DatabaseDown, Invalid, MnemonError, NotAllowed, NotFound, Unauthenticated, Unavailable
from mnemon.input_checks import check_name
from mnemon.scope import Scope, org_option

_KEY_PATTERN = re.compile(r"mnk_(?P<org>[a-z0-9-]{1,40})_(?P<secret>[0-9a-f]{64})")
MAX_NAME_CHARS = 200
# A last use to the minute is enough; to the second, every request of a busy key would cost a write.
_USE_RECORD_INTERVAL = timedelta(minutes=1)


def parse_key(bearer: str) -> tuple[str, str]:
    """Return the organization and the secret in a bearer token; raise Unauthenticated for a token of another form."""
    match = _KEY_PATTERN.fullmatch(bearer)
    if match is None or ORG_NAME_PATTERN.fullmatch(match["org"]) is None:
        raise Unauthenticated(
            "The key is not valid. Send `Authorization: Bearer mnk_<org>_<secret>`; "
            "`mnemon keys create --name laptop` makes one."
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
    """Insert an API key; return it with its text `mnk_<org>_<secret>`, which is shown only this once.

    Without named grants it has the default of its kind of key. A maker can pass on no more than their own grants, and
    for no longer; None is the operator at the command line, who has everything.
    """
    if not name.strip():
        raise Invalid("A key needs a name that tells where it is used.", code="name_missing")
    if bound_user is not None:
        check_bound_user(bound_user)
    if grants is not None and not grants:
        raise Invalid(
            "A key without a scope is of no use. Name one, or leave the scopes out for the default.",
            code="scopes_missing",
        )
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
    await store.insert_key(tx, scope, key, hash_secret(secret))
    return key, f"mnk_{scope.org_id}_{secret}"


def check_bound_user(name: str) -> None:
    """Raise Invalid for a name that no person can have and that a key therefore cannot be bound to."""
    if not name.strip():
        raise Invalid("The person to bind the key to is not named. Name them, or leave it out.", code="user_missing")
    if len(name) > MAX_NAME_CHARS:
        raise Invalid(f"A person's name has at most {MAX_NAME_CHARS} characters.", code="bad_user_id")
    try:
        check_name(name)
    except ValueError as error:
        raise Invalid(f"The person's name {error}.", code="bad_user_id") from None


async def authenticate(db: Database, bearer: str) -> Principal:
    """Return the caller that holds this API key; raise Unauthenticated when it is unknown, expired or revoked."""
    org_id, secret = parse_key(bearer)
    scope, wanted, now = Scope(org_id=org_id), hash_secret(secret), db.now()
    # One round trip: this runs before every request (`Database.read_once`).
    found = await store.key_by_digest(db, scope, wanted)
    if found is None or not hmac.compare_digest(found[1], wanted):
        raise unknown_key()
    key = found[0]
    # Log lines then name the key, also where it is refused below.
    bind_contextvars(org=org_id, key=key.id)
    if key.revoked_at is not None:
        raise revoked_key(org_id)
    if key.expires_at is not None and key.expires_at <= now:
        raise expired_key(org_id)
    if key.used_at is None or now - key.used_at >= _USE_RECORD_INTERVAL:
        await _record_use(db, scope, key.id)
    return Principal(
        org_id=org_id,
        key_id=key.id,
        grants=effective_grants(key.grants, bound=key.bound_user is not None),
        bound_user=key.bound_user,
        expires_at=key.expires_at,
    )


def unknown_key() -> Unauthenticated:
    """Return the Unauthenticated error for an API key that does not exist."""
    return Unauthenticated("The key is not known. `mnemon keys list` shows the organization's keys.")


def revoked_key(org_id: str) -> Unauthenticated:
    """Return the Unauthenticated error for an API key of the organization that was revoked."""
    command = f"mnemon keys create --name laptop{org_option(org_id)}"
    return Unauthenticated(f"The key was revoked. `{command}` makes another.", code="key_revoked")


def expired_key(org_id: str) -> Unauthenticated:
    """Return the Unauthenticated error for an API key of the organization that has expired."""
    command = f"mnemon keys create --name laptop{org_option(org_id)}"
    return Unauthenticated(f"The key has expired. `{command}` makes another.", code="key_expired")


def limit_to_maker(
    maker: Principal, grants: frozenset[Grant], expires_at: datetime | None, *, named: bool
) -> tuple[frozenset[Grant], datetime | None]:
    """Return grants and expiry of a key that another key creates; raise NotAllowed for more than its maker has."""
    beyond = sorted(grants - maker.grants)
    if named and beyond:
        raise NotAllowed(
            f"Your own sign-in lacks {', '.join(beyond)}, so it cannot make a key that has it.", code="more_than_own"
        )
    if maker.expires_at is not None and expires_at is not None and expires_at > maker.expires_at:
        raise NotAllowed(
            f"The key you signed in with ends at {format_time(maker.expires_at)}; a key made by it cannot last longer.",
            code="longer_than_own",
        )
    # A default is cut to the maker's without a word; only what was named is refused, above.
    return grants & maker.grants, expires_at or maker.expires_at


async def _record_use(db: Database, scope: Scope, key_id: str) -> None:
    """Store when the key was last used; do nothing on a database that is read-only for now, as in a failover."""
    try:
        async with db.tx(scope.org_id) as tx:
            await store.touch_key(tx, scope, key_id)
    except DatabaseDown as error:
        if error.code != "database_read_only":
            raise


async def revoke_key(tx: Tx, scope: Scope, key_id: str) -> None:
    """Revoke the API key and end the console sessions that it opened; raise NotFound for an unknown one.

    Revoking it again keeps the first time.
    """
    if not await store.revoke_key(tx, scope, key_id):
        raise NotFound(
            "key",
            detail=f"There is no key with this id in the organization `{scope.org_id}`. "
            f"`mnemon keys list{org_option(scope.org_id)}` lists its keys, as does the console's Settings page.",
        )
    await store.end_signins_of_key(tx, scope, key_id)


def hash_secret(secret: str) -> bytes:
    """Return the SHA-256 that is stored in place of a key's secret."""
    # A plain hash is enough: with 256 random bits there is nothing to guess that a slow hash would protect.
    return hashlib.sha256(secret.encode()).digest()


CHECK_INTERVAL_S = 1.0
# Bounds the memory; a check that is dropped costs one more query.
_MAX_KEYS = 10_000


def server_stops() -> Unavailable:
    """Return the error for an endless stream when the server is stopping."""
    return Unavailable("The server is being stopped. Open the stream again in a moment.", code="stopping")


class StreamEnd(asyncio.Event):
    """An event that is set when a stream has to end; `reason` is the error its reader then gets."""

    reason: MnemonError = Unavailable("The key could not be checked. Open the stream again.", code="internal")


class KeyWatch:
    """Checks whether keys are still valid, for every stream of this process."""

    def __init__(self, db: Database, monotonic: Callable[[], float] = time.monotonic) -> None:
        """Watch keys of this database; `monotonic` gives the time in seconds."""
        self._db = db
        self._monotonic = monotonic
        self._checks: OrderedDict[tuple[str, str], tuple[float, asyncio.Task[Unauthenticated | None]]] = OrderedDict()

    async def reason_ended(self, principal: Principal) -> Unauthenticated | None:
        """Return why the key is no longer valid; None while it is, and while the database is unavailable."""
        if principal.key_id == CLI_ACTOR:  # its token is no stored key, and ends with this process
            return None
        if principal.expires_at is not None and principal.expires_at <= self._db.now():
            return expired_key(principal.org_id)
        name, now = (principal.org_id, principal.key_id), self._monotonic()
        checked_at, check = self._checks.get(name, (0.0, None))
        if check is None or (check.done() and now - checked_at >= CHECK_INTERVAL_S):
            check = asyncio.create_task(self._check_database(principal))
            self._checks.pop(name, None)
            self._checks[name] = (now, check)
            while len(self._checks) > _MAX_KEYS:
                self._checks.popitem(last=False)
        # A stream that is closed must not cancel the check that others wait for.
        return await asyncio.shield(check)

    async def _check_database(self, principal: Principal) -> Unauthenticated | None:
        """Query whether the key is revoked, expired or gone and return the error; None if valid or unanswered."""
        try:
            end = await store.key_end_times(self._db, Scope(org_id=principal.org_id), principal.key_id)
        except Unavailable:
            # An outage must not end every stream; the key was valid when the stream began.
            return None
        if end is None:
            return unknown_key()
        expires_at, revoked_at = end
        if revoked_at is not None:
            return revoked_key(principal.org_id)
        ended = expires_at is not None and expires_at <= self._db.now()
        return expired_key(principal.org_id) if ended else None

    @asynccontextmanager
    async def key_end_event(self, principal: Principal, closing: asyncio.Event) -> AsyncIterator[StreamEnd]:
        """Provide an event that is set when the key is no longer valid, or when the server is closing."""
        end_event = StreamEnd()
        watching = asyncio.create_task(self._wait_for_end(principal, closing, end_event))
        try:
            yield end_event
        finally:
            watching.cancel()

    async def _wait_for_end(self, principal: Principal, closing: asyncio.Event, end_event: StreamEnd) -> None:
        """Check the key once a second; set `end_event` when it is no longer valid, or `closing` is set."""
        try:
            ended: Unauthenticated | None = None
            while not closing.is_set() and (ended := await self.reason_ended(principal)) is None:
                with suppress(TimeoutError):
                    async with asyncio.timeout(CHECK_INTERVAL_S):
                        await closing.wait()
            end_event.reason = ended or server_stops()
        finally:
            # Also on an unexpected error: a stream whose key is not checked must end.
            end_event.set()
