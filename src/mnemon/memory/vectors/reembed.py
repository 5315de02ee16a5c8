"""Moves an organization's vectors to another model while it is being served.

The new model's vectors are written beside the old ones, a batch per transaction, so that a killed run is taken up where
it ended. Only when nothing is left does the active model change; the old vectors stay until they are dropped.
"""

from collections.abc import Callable
from dataclasses import dataclass

from mnemon.basement import Basement
from mnemon.db.statements import statements
from mnemon.memory.vectors import active, store
from mnemon.memory.vectors.people import people_of
from mnemon.scope import Scope
from mnemon.sessions.people import bump_revision

SQL = statements("mnemon.memory.vectors")
BATCH = 256


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far an organization is."""

    org_id: str
    done: int
    texts: int
    """All that can have a vector; grows while people write."""


Report = Callable[[Progress], None]


async def reembed(basement: Basement, org_id: str, report: Report) -> int:
    """Every text has a vector of the basement's embedder, which is now active; how many were made."""
    scope = Scope(org_id=org_id)
    start = await progress(basement, org_id)
    report(start)
    made = 0

    def add(count: int) -> None:
        nonlocal made
        made += count
        report(Progress(org_id=org_id, done=start.done + made, texts=max(start.texts, start.done + made)))

    # Whoever wrote while one round went on is met by the next; the flip waits for a round without work.
    while await _round(basement, scope, add):
        pass
    async with basement.db.tx(org_id) as tx:
        await active.flip(tx, scope, basement.embedder.model)
    report(await progress(basement, org_id))
    return made


async def _round(basement: Basement, scope: Scope, add: Callable[[int], None]) -> int:
    """Everyone is visited once; how many vectors that made."""
    made = 0
    async for people in people_of(basement.db, scope):
        for user_id in people:
            while count := await _some_of(basement, Scope(org_id=scope.org_id, user_id=user_id)):
                made += count
                add(count)
    return made


async def progress(basement: Basement, org_id: str) -> Progress:
    """How many texts there are, and how many have a vector of the basement's embedder."""
    async with basement.db.tx(org_id) as tx:
        row = await tx.one(SQL["count_texts"], org_id=org_id, model=basement.embedder.model)
    return Progress(org_id=org_id, done=row["done"], texts=row["texts"])


async def drop_others(basement: Basement, org_id: str) -> int:
    """No vectors of other models are left; how many were there."""
    scope, dropped = Scope(org_id=org_id), 0
    async for people in people_of(basement.db, scope):
        for user_id in people:
            async with basement.db.tx(org_id) as tx:
                dropped += await tx.run(
                    SQL["drop_others"], org_id=org_id, user_id=user_id, model=basement.embedder.model
                )
    return dropped


async def _some_of(basement: Basement, scope: Scope) -> int:
    """One batch of the person's texts; how many, 0 when all have their vector."""
    model = basement.embedder.model
    async with basement.db.tx(scope.org_id) as tx:
        waiting = await store.pending(tx, scope, model, most=BATCH)
    if not waiting:
        return 0
    vectors = dict(zip(waiting, await basement.embedder.embed([one.content for one in waiting]), strict=True))
    async with basement.db.tx(scope.org_id) as tx:
        revision = await bump_revision(tx, scope)
        # What was changed or forgotten while the model worked must not get the old text's vector.
        still = set(await store.pending(tx, scope, model, most=BATCH))
        fresh = {(one.kind, one.id): vector for one, vector in vectors.items() if one in still}
        await store.save(tx, scope, model, fresh, revision=revision)
    return len(waiting)
