"""The work `embed`: gives a person's texts that have no vector yet their vectors."""

from datetime import timedelta

from mnemon.basement import Basement
from mnemon.db.tx import Tx
from mnemon.jobs import store as jobs
from mnemon.jobs.runner import Attempt, Kind
from mnemon.jobs.work import Retry
from mnemon.memory.vectors import store
from mnemon.scope import Scope
from mnemon.sessions.people import bump_revision

EMBED = "embed"
BATCH = 256
_PATIENCE = Retry(max_attempts=10_000, most=timedelta(minutes=5))
"""An embedder may be down for days; what waits for it is found by words meanwhile."""


def kinds(basement: Basement) -> tuple[Kind, ...]:
    """The work this file does."""

    async def run(attempt: Attempt) -> None:
        scope = Scope(org_id=attempt.scope.org_id, user_id=attempt.key)
        while await _embed_some(basement, attempt, scope):
            pass

    return (Kind(name=EMBED, run=run, retry=_PATIENCE),)


async def enqueue_embedding(tx: Tx, scope: Scope) -> None:
    """The person's texts without a vector get one soon."""
    await jobs.enqueue(tx, scope, EMBED, scope.user)


async def _embed_some(basement: Basement, attempt: Attempt, scope: Scope) -> bool:
    """A batch is embedded; whether there may be more."""
    model = basement.embedder.model
    async with basement.db.tx(scope.org_id) as tx:
        waiting = await store.pending(tx, scope, model, most=BATCH)
    if not waiting:
        return False
    made = await basement.embedder.embed([one.content for one in waiting])
    vectors = dict(zip(waiting, made, strict=True))
    async with basement.db.tx(scope.org_id) as tx:
        # The person's row before the work's, as every writer does: the other way round they would block each other.
        revision = await bump_revision(tx, scope)
        await attempt.hold(tx)
        # What was changed or forgotten while the model worked must not get the old text's vector.
        still = set(await store.pending(tx, scope, model, most=BATCH))
        fresh = {(one.kind, one.id): vector for one, vector in vectors.items() if one in still}
        await store.save(tx, scope, model, fresh, revision=revision)
    return True
