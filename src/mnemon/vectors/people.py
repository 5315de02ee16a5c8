"""Walks over everyone of an organization, a page at a time, each page in its own transaction."""

from collections.abc import AsyncIterator

from mnemon.db.database import Database
from mnemon.db.statements import statements
from mnemon.scope import Scope

SQL = statements("mnemon.vectors")
PAGE = 500


async def people_of(db: Database, scope: Scope) -> AsyncIterator[list[str]]:
    """Internal ids, in order; people who come while it walks may be left out."""
    after = ""
    while True:
        async with db.tx(scope.org_id) as tx:
            rows = await tx.all(SQL["people"], org_id=scope.org_id, after=after, most=PAGE)
        if not rows:
            return
        yield [row["user_id"] for row in rows]
        after = rows[-1]["user_id"]
