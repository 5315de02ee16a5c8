"""The work `embed`: gives a person's texts that have no vector yet their vectors."""

from collections.abc import Sequence
from datetime import timedelta

from mnemon.basement import Basement
from mnemon.db.tx import Tx
from mnemon.jobs.kind import Attempt, Kind
from mnemon.jobs.work import Retry
from mnemon.scope import Scope
from mnemon.vectors.batch import BATCH, embed_some
from mnemon.vectors.texts import Texts
from mnemon.vectors.work import EMBED

_PATIENCE = Retry(max_attempts=10_000, most=timedelta(minutes=5))
"""An embedder may be down for days; what waits for it is found by words meanwhile."""


def kinds(basement: Basement, rooms: Sequence[Texts]) -> tuple[Kind, ...]:
    """The work this file does, for the texts of these rooms."""

    async def run(attempt: Attempt) -> None:
        scope = Scope(org_id=attempt.scope.org_id, user_id=attempt.key)

        async def ours(tx: Tx) -> None:
            await attempt.hold(tx)

        for texts in rooms:
            while await embed_some(basement, texts, scope, before=ours) == BATCH:
                attempt.made_progress()  # what is told meanwhile makes this work due again

    return (Kind(name=EMBED, run=run, retry=_PATIENCE),)
