"""The work that gives a person's texts their vectors, as it is asked for."""

from datetime import timedelta

from mnemon.db.tx import Tx
from mnemon.jobs import store as jobs
from mnemon.scope import Scope

EMBED = "embed"
"""Its key is the person."""
SHORTLY = timedelta(milliseconds=500)
"""For what is said in a conversation: found by its words at once; a few messages get their vectors together."""


async def enqueue_embedding(tx: Tx, scope: Scope, *, after: timedelta = timedelta(0)) -> None:
    """The person's texts without a vector get one soon."""
    await jobs.enqueue(tx, scope, EMBED, scope.user, due_at=tx.now + after)
