"""Merging clear cases by itself, some time after new entities were spoken of."""

import asyncio

from mnemon.basement import Basement
from mnemon.jobs.kind import Attempt, Kind
from mnemon.memory.entities import store
from mnemon.memory.entities.merge import merge_clear_cases, open_proposals
from mnemon.memory.upkeep.enqueue import MATCH_ENTITIES
from mnemon.scope import Scope


def kinds(basement: Basement) -> tuple[Kind, ...]:
    """The work of this file."""

    async def run(attempt: Attempt) -> None:
        # No persona: what was said to one in private is no ground for what all of them read.
        scope = Scope(org_id=attempt.scope.org_id, user_id=attempt.key)
        async with basement.db.tx(scope.org_id) as tx:
            spoken = await store.spoken_of(tx, scope)
            aliases = await store.load_aliases(tx, scope)
            apart = await store.kept_apart(tx, scope)
        proposals = await asyncio.to_thread(open_proposals, spoken, aliases, apart)
        async with basement.db.tx(scope.org_id) as tx:
            # The person's row before the work's, as every writer does: the other way round they would block each other.
            await merge_clear_cases(tx, scope, proposals)
            await attempt.hold(tx)
            await attempt.settle(tx)

    return (Kind(name=MATCH_ENTITIES, run=run),)
