"""Move an organization's vectors to another model while it is being served.

The new model's vectors are stored beside the old ones, a batch per transaction, so that a run that was killed continues
where it ended. Only when every text has one does the active model change. The old vectors stay until they are deleted.
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
    """How many of an organization's texts have a vector of the new model."""

    org_id: str
    done: int
    texts: int
    """Texts that can have a vector; the number grows while people write."""


ReportProgress = Callable[[ReembedProgress], None]


async def reembed_org(services: Services, rooms: Sequence[TextSource], org_id: str, report: ReportProgress) -> int:
    """Embed every text of the organization anew, make that model active, and return how many vectors were made."""
    scope = Scope(org_id=org_id)
    start = await reembed_progress(services, rooms, org_id)
    report(start)
    made = 0

    def report_made(count: int) -> None:
        """Add these new vectors to the count and report the progress."""
        nonlocal made
        made += count
        report(ReembedProgress(org_id=org_id, done=start.done + made, texts=max(start.texts, start.done + made)))

    # Texts stored during one round are embedded in the next; the model is switched after a round that found none.
    while await _embed_everyone(services, rooms, scope, report_made):
        pass
    async with services.db.tx(org_id) as tx:
        await active_model.switch_active_model(tx, scope, services.embedder.model)
    report(await reembed_progress(services, rooms, org_id))
    return made


async def _embed_everyone(
    services: Services, rooms: Sequence[TextSource], scope: Scope, add: Callable[[int], None]
) -> int:
    """Embed the waiting texts of every person once, and return how many vectors were made."""
    made = 0
    async for people in list_people(services.db, scope):
        for user_id in people:
            for texts in rooms:
                while count := await embed_batch(services, texts, Scope(org_id=scope.org_id, user_id=user_id)):
                    made += count
                    add(count)
    return made


async def reembed_progress(services: Services, rooms: Sequence[TextSource], org_id: str) -> ReembedProgress:
    """Return how many texts the organization has and how many have a vector of the configured embedder."""
    async with services.db.tx(org_id) as tx:
        counts = [await texts.count_vectors(tx, Scope(org_id=org_id), services.embedder.model) for texts in rooms]
    return ReembedProgress(org_id=org_id, done=sum(one.done for one in counts), texts=sum(one.texts for one in counts))


async def delete_other_vectors(services: Services, rooms: Sequence[TextSource], org_id: str) -> int:
    """Delete all vectors of the organization's other embedding models and return how many there were."""
    dropped = 0
    async for people in list_people(services.db, Scope(org_id=org_id)):
        for user_id in people:
            async with services.db.tx(org_id) as tx:
                for texts in rooms:
                    dropped += await texts.delete_other_vectors(
                        tx, Scope(org_id=org_id, user_id=user_id), services.embedder.model
                    )
    return dropped
