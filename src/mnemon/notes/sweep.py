"""The work `note_sweep`: a person's notes whose time is over are deleted, also when nobody writes any more."""

from datetime import datetime, timedelta

from mnemon.basement import Basement
from mnemon.db.statements import statements
from mnemon.db.tx import Tx
from mnemon.jobs.kind import Attempt, Kind
from mnemon.jobs.store import enqueue
from mnemon.scope import Scope
from mnemon.sessions.people import hold_person

SQL = statements("mnemon.notes")
SWEEP = "note_sweep"
"""Its key is the person."""
GATHERED = timedelta(minutes=1)
"""So long after the first of them expires, notes are swept together; none of them is shown meanwhile."""


async def enqueue_sweep(tx: Tx, scope: Scope, expires_at: datetime) -> None:
    """A note that expires then will be swept soon after."""
    await enqueue(tx, scope, SWEEP, scope.user, due_at=expires_at + GATHERED)


def kinds(basement: Basement) -> tuple[Kind, ...]:
    """The work this file does."""

    async def run(attempt: Attempt) -> None:
        owner = {"org_id": attempt.scope.org_id, "user_id": attempt.key}
        async with basement.db.tx(attempt.scope.org_id) as tx:
            await hold_person(tx, Scope(**owner))
            await attempt.hold(tx)
            await tx.run(SQL["sweep"], **owner, now=tx.now)
            following = (await tx.one(SQL["next_expiry"], **owner))["at"]
            if following is None:
                await attempt.settle(tx)
            else:
                await attempt.repeat(tx, after=following - tx.now + GATHERED)

    return (Kind(name=SWEEP, run=run),)
