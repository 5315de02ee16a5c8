"""Taking back what one source said about everybody of an organization: a transaction for each person."""

from collections.abc import Callable

from mnemon.db.database import Database
from mnemon.db.statements import statements
from mnemon.db.tx import Tx
from mnemon.errors import Contended, NotFound
from mnemon.memory.sources.names import no_such_source
from mnemon.memory.sources.overview import source_names
from mnemon.memory.sources.withdrawal import Withdrawal, withdraw_source
from mnemon.scope import Scope

SQL = statements("mnemon.memory.sources")
TRIES = 3
"""How often one person's part is tried where it had to give way to another writer."""


Record = Callable[[Tx, Scope, str], None]
"""Puts one person's part on record in its own transaction, under the receipt's id."""


async def withdraw_from_everyone(db: Database, org: Scope, origin: str, record: Record) -> Withdrawal:
    """Take the source back from every person it spoke about; the receipt adds up what that did.

    An interruption leaves whole people behind: whoever was done stays done, and the next call goes on with the rest.
    Every person's part stands under the receipt's id.
    """
    async with db.tx(org.org_id) as tx:
        rows = await tx.all(SQL["people_of_source"], org_id=org.org_id, origin=origin)
        if not rows:
            raise no_such_source(origin, await source_names(tx, org), "anybody")
        receipt_id, at = tx.new_id("wdr"), tx.now
    parts = []
    for row in rows:
        if row["stands"]:
            scope = Scope(org_id=org.org_id, user_id=row["user_id"])
            parts += [part] if (part := await _withdraw_from_one(db, scope, origin, receipt_id, record)) else []
    return Withdrawal(
        id=receipt_id,
        at=at,
        origin=origin,
        archived=tuple(one for part in parts for one in part.archived),
        restored=tuple(one for part in parts for one in part.restored),
        versions=sum(part.versions for part in parts),
        todos=sum(part.todos for part in parts),
        people=len(parts),
    )


async def _withdraw_from_one(
    db: Database, scope: Scope, origin: str, receipt_id: str, record: Record
) -> Withdrawal | None:
    """Take the source back from one person; None for one who was forgotten meanwhile."""
    for left in reversed(range(TRIES)):
        try:
            async with db.tx(scope.org_id) as tx:
                record(tx, scope, receipt_id)
                return await withdraw_source(tx, scope, origin, receipt_id=receipt_id)
        except NotFound:
            return None
        except Contended:
            if not left:
                raise
    return None
