"""Idempotency keys: the first response to a request is stored in the transaction of its effect, for retries.

A crash before the commit leaves neither effect nor response, a crash after it leaves both: there is no third case.
"""

import hashlib
from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta

from mnemon.access.store import SQL
from mnemon.db.tx import Tx
from mnemon.errors import Conflict, Invalid
from mnemon.scope import Scope

REPLY_LIFETIME = timedelta(hours=24)


@dataclass(frozen=True, kw_only=True)
class IdempotencyKey:
    """An Idempotency-Key of one caller, with the fingerprint of its request."""

    caller: str
    key: str
    fingerprint: bytes


@dataclass(frozen=True, kw_only=True)
class StoredReply:
    """The stored response. Without a status the effect is still under way, and `subject` names it."""

    status: int | None
    body: bytes | None
    subject: str | None


def check_key(key: str) -> str:
    """Return the value of an Idempotency-Key header; raise Invalid when it is too long or not printable."""
    if not 1 <= len(key) <= 255 or not key.isprintable():
        raise Invalid("An Idempotency-Key has 1 to 255 printable characters.", code="bad_idempotency_key")
    return key


def request_fingerprint(method: str, path: str, query: str, body: bytes) -> bytes:
    """Return a hash over method, path, query string and body, to tell a retry from another request.

    Without a query string it is what it was before query strings counted, so that replies stored then still match.
    """
    parts = (b"?", method.encode(), path.encode(), query.encode()) if query else (method.encode(), path.encode())
    return hashlib.sha256(b"\0".join((*parts, body))).digest()


async def load_reply(tx: Tx, scope: Scope, slot: IdempotencyKey) -> StoredReply | None:
    """Lock the Idempotency-Key until commit; return the reply stored for this request, None if it is the first.

    Raises Conflict while another request with the same key is running, and Invalid for the same key with another
    request.
    """
    names = {"org_id": scope.org_id, "caller": slot.caller, "key": slot.key}
    # A transaction-level advisory lock: a committed reservation would outlive a crash and answer 409 until it expires.
    if not (await tx.fetch_one(SQL["reply_lock"], **names))["ours"]:
        raise Conflict(
            "The first request with this Idempotency-Key is still running. Try again in a moment.",
            code="idempotency_in_progress",
        )
    row = await tx.fetch_one_or_none(SQL["reply"], **names, now=tx.now)
    if row is None:
        return None
    if bytes(row["fingerprint"]) != slot.fingerprint:
        raise Invalid(
            "This Idempotency-Key was used with another request. Use a new key for a new request.",
            code="idempotency_key_reused",
        )
    body = row["body"]
    return StoredReply(status=row["status"], body=None if body is None else bytes(body), subject=row["subject"])


async def store_reply(
    tx: Tx,
    scope: Scope,
    slot: IdempotencyKey,
    *,
    status: int | None = None,
    body: bytes | None = None,
    subject: str | None = None,
    concerns: Collection[str] = (),
) -> None:
    """Store a request's reply under its Idempotency-Key for 24 hours, if this transaction commits.

    `concerns` are the internal ids of the people it is about: when one of them is forgotten, it is blanked.
    """
    await tx.execute(
        SQL["keep_reply"],
        org_id=scope.org_id,
        caller=slot.caller,
        key=slot.key,
        fingerprint=slot.fingerprint,
        status=status,
        body=body,
        subject=subject,
        concerns=sorted(concerns),
        expires_at=tx.now + REPLY_LIFETIME,
    )
    # At most 20 expired replies with every write, in place of a job that cleans up.
    await tx.execute(SQL["drop_old_replies"], org_id=scope.org_id, now=tx.now)
