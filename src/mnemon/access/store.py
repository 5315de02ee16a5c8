"""Statements on organizations, keys, console sessions and the audit log."""

from dataclasses import dataclass
from datetime import datetime

from mnemon.access.grants import Key, stored_grants
from mnemon.db.database import Database
from mnemon.db.rows import from_row
from mnemon.db.statements import load_statements
from mnemon.db.tx import Row, Tx
from mnemon.scope import Scope

SQL = load_statements("mnemon.access")


@dataclass(frozen=True, kw_only=True)
class Organization:
    """A tenant, as the operator sees it."""

    name: str
    created_at: datetime
    keys: int
    """Keys that are not revoked."""


@dataclass(frozen=True, kw_only=True)
class AuditEntry:
    """Who did what to what, and when: ids and fixed words, never content."""

    id: str
    at: datetime
    actor: str
    action: str
    target: str | None


async def insert_organization(tx: Tx) -> bool:
    """Insert the transaction's organization into `organizations`; return False if it exists."""
    return await tx.execute(SQL["insert_organization"], org_id=tx.org_id, now=tx.now) > 0


async def organization_exists(tx: Tx, scope: Scope) -> bool:
    """Say whether the scope's organization has a row in `organizations`."""
    return await tx.fetch_one_or_none(SQL["organization_exists"], org_id=scope.org_id) is not None


async def list_organizations(tx: Tx) -> list[Organization]:
    """Return every organization; needs a transaction of the owner."""
    rows = await tx.fetch_all(SQL["organizations"])
    return [Organization(name=row["org_id"], created_at=row["created_at"], keys=row["keys"]) for row in rows]


async def insert_key(tx: Tx, scope: Scope, key: Key, secret: bytes) -> None:
    """Insert an API key into `keys`, with the hash of its secret."""
    await tx.execute(
        SQL["insert_key"],
        org_id=scope.org_id,
        key_id=key.id,
        name=key.name,
        secret=secret,
        grants=sorted(key.grants),
        bound_user=key.bound_user,
        now=tx.now,
        expires_at=key.expires_at,
    )


async def key_by_digest(db: Database, scope: Scope, secret: bytes) -> tuple[Key, bytes] | None:
    """Return the API key whose secret has this hash, and the stored hash; None for an unknown one."""
    rows = await db.read_once(scope.org_id, SQL["key_by_digest"], org_id=scope.org_id, secret=secret)
    return (_key_from_row(rows[0]), bytes(rows[0]["secret"])) if rows else None


async def key_end_times(db: Database, scope: Scope, key_id: str) -> tuple[datetime | None, datetime | None] | None:
    """Return when the API key expires and when it was revoked; None for a key that does not exist."""
    rows = await db.read_once(scope.org_id, SQL["key_end"], org_id=scope.org_id, key_id=key_id)
    return (rows[0]["expires_at"], rows[0]["revoked_at"]) if rows else None


async def list_keys(tx: Tx, scope: Scope) -> list[Key]:
    """Return the organization's API keys, revoked ones included."""
    return [_key_from_row(row) for row in await tx.fetch_all(SQL["keys"], org_id=scope.org_id)]


async def touch_key(tx: Tx, scope: Scope, key_id: str) -> None:
    """Store the current time as the API key's last use."""
    await tx.execute(SQL["touch_key"], org_id=scope.org_id, key_id=key_id, now=tx.now)


async def revoke_key_at(tx: Tx, scope: Scope, key_id: str, at: datetime) -> bool:
    """Mark the API key as revoked at a past time; return False where it is unknown or revoked already."""
    return await tx.execute(SQL["revoke_again"], org_id=scope.org_id, key_id=key_id, at=at) > 0


async def revoke_key(tx: Tx, scope: Scope, key_id: str) -> bool:
    """Mark the API key as revoked now; return False where it is unknown or revoked already."""
    return await tx.execute(SQL["revoke_key"], org_id=scope.org_id, key_id=key_id, now=tx.now) > 0


async def end_signins_of_key(tx: Tx, scope: Scope, key_id: str) -> None:
    """Delete every console session and sign-in link that this key opened."""
    await tx.execute(SQL["end_signins_of_key"], org_id=scope.org_id, actor=key_id)


async def list_audit_entries(tx: Tx, scope: Scope, *, before: str | None, most: int) -> list[AuditEntry]:
    """Return up to `most` entries of the audit log before this one, newest first."""
    rows = await tx.fetch_all(SQL["audit"], org_id=scope.org_id, before=before, most=most)
    return [AuditEntry(**row) for row in rows]


def _key_from_row(row: Row) -> Key:
    """Return the API key of a `keys` row; scopes unknown to this version are left out."""
    return from_row(Key, row, id=row["key_id"], grants=stored_grants(row["grants"]))
