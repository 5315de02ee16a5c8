"""A batch of one person's texts is given its vectors, no transaction being open while the model works."""

from collections.abc import Awaitable, Callable

from mnemon.basement import Basement
from mnemon.db.tx import Tx
from mnemon.scope import Scope
from mnemon.sessions.people import hold_person
from mnemon.vectors import active
from mnemon.vectors.texts import Texts

BATCH = 256


async def _nothing(tx: Tx) -> None: ...


async def embed_some(
    basement: Basement, texts: Texts, scope: Scope, *, before: Callable[[Tx], Awaitable[None]] = _nothing
) -> int:
    """One batch has its vectors; how many texts that were, fewer than `BATCH` when no more were waiting."""
    model = basement.embedder.model
    async with basement.db.tx(scope.org_id) as tx:
        waiting = await texts.waiting(tx, scope, model, most=BATCH)
    if not waiting:
        return 0
    vectors = dict(zip(waiting, await basement.embedder.embed([one.content for one in waiting]), strict=True))
    async with basement.db.tx(scope.org_id) as tx:
        # The person's row before the work's, as every writer does: the other way round they would block each other.
        held = await hold_person(tx, scope)
        await before(tx)
        if held is None:  # forgotten while the model worked, with all their texts
            return 0
        # What was changed or forgotten while the model worked must not get the old text's vector.
        still = set(await texts.waiting(tx, scope, model, most=BATCH))
        await texts.keep(tx, scope, model, {one: vector for one, vector in vectors.items() if one in still})
        await active.begin(tx, scope, model)
    return len(waiting)
