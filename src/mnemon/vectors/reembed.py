"""Moves an organization's vectors to another model while it is being served.

The new model's vectors are written beside the old ones, a batch per transaction, so that a killed run is taken up where
it ended. Only when nothing is left does the active model change; the old vectors stay until they are dropped.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mnemon.scope import Scope
from mnemon.services import Services
from mnemon.vectors import active_model
from mnemon.vectors.active_model import list_people
from mnemon.vectors.embed_job import TextSource, embed_batch


@dataclass(frozen=True, kw_only=True)
class ReembedProgress:
    """How far an organization is."""

    org_id: str
    done: int
    texts: int
    """All that can have a vector; grows while people write."""


ReportProgress = Callable[[ReembedProgress], None]


async def reembed_org(services: Services, rooms: Sequence[TextSource], org_id: str, report: ReportProgress) -> int:
    """Every text has a vector of the services's embedder, which is now active; how many were made."""
    scope = Scope(org_id=org_id)
    start = await reembed_progress(services, rooms, org_id)
    report(start)
    made = 0

    def report_made(count: int) -> None:
        nonlocal made
        made += count
        report(ReembedProgress(org_id=org_id, done=start.done + made, texts=max(start.texts, start.done + made)))

    # Whoever wrote while one round went on is met by the next; the flip waits for a round without work.
    while await _embed_everyone(services, rooms, scope, report_made):
        pass
    async with services.db.tx(org_id) as tx:
        await active_model.activate_model(tx, scope, services.embedder.model)
    report(await reembed_progress(services, rooms, org_id))
    return made


async def _embed_everyone(
    services: Services, rooms: Sequence[TextSource], scope: Scope, add: Callable[[int], None]
) -> int:
    """Everyone is visited once; how many vectors that made."""
    made = 0
    async for people in list_people(services.db, scope):
        for user_id in people:
            for texts in rooms:
                while count := await embed_batch(services, texts, Scope(org_id=scope.org_id, user_id=user_id)):
                    made += count
                    add(count)
    return made


async def reembed_progress(services: Services, rooms: Sequence[TextSource], org_id: str) -> ReembedProgress:
    """How many texts there are, and how many have a vector of the services's embedder."""
    async with services.db.tx(org_id) as tx:
        counts = [await texts.count_vectors(tx, Scope(org_id=org_id), services.embedder.model) for texts in rooms]
    return ReembedProgress(org_id=org_id, done=sum(one.done for one in counts), texts=sum(one.texts for one in counts))


async def delete_other_vectors(services: Services, rooms: Sequence[TextSource], org_id: str) -> int:
    """No vectors of other models are left; how many were there."""
    dropped = 0
    async for people in list_people(services.db, Scope(org_id=org_id)):
        for user_id in people:
            async with services.db.tx(org_id) as tx:
                for texts in rooms:
                    dropped += await texts.delete_other_vectors(
                        tx, Scope(org_id=org_id, user_id=user_id), services.embedder.model
                    )
    return dropped
