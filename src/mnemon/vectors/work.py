"""The work that gives a person's texts their vectors, as it is asked for."""

from mnemon.db.tx import Tx
from mnemon.jobs import store as jobs
from mnemon.scope import Scope

EMBED = "embed"
"""Its key is the person."""


async def enqueue_embedding(tx: Tx, scope: Scope) -> None:
    """The person's texts without a vector get one soon."""
    await jobs.enqueue(tx, scope, EMBED, scope.user)
