"""A batch of one person's texts is given its vectors, no transaction being open while the model works.

What a room says of its texts that can be found by meaning, so that they get their vectors and keep them.

The work `embed`: gives a person's texts that have no vector yet their vectors.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

import numpy as np

from mnemon.db.tx import Tx
from mnemon.jobs.kind import Attempt, JobKind
from mnemon.jobs.work import WorkRetryPolicy
from mnemon.scope import Scope
from mnemon.services import Services
from mnemon.sessions.people import lock_person
from mnemon.vectors import active_model
from mnemon.vectors.active_model import EMBED_KIND


@dataclass(frozen=True, kw_only=True)
class UnembeddedText:
    """A text that has no vector yet."""

    address: tuple[str, ...]
    """Where it stands, in its room's words."""
    content: str


@dataclass(frozen=True, kw_only=True)
class VectorCount:
    """How far an organization's texts are."""

    texts: int
    """All that can have a vector."""
    done: int
    """Those that have one of the model."""


class TextSource(Protocol):
    """The texts of one room; a scope names a person, or the organization where all people's are counted."""

    async def list_unembedded(self, tx: Tx, scope: Scope, model: str, *, most: int) -> list[UnembeddedText]:
        """What of the person has no vector of this model yet."""
        ...

    async def store_vectors(
        self, tx: Tx, scope: Scope, model: str, vectors: Mapping[UnembeddedText, np.ndarray]
    ) -> None:
        """Each text has this vector of the model; the person's row is locked."""
        ...

    async def count_vectors(self, tx: Tx, scope: Scope, model: str) -> VectorCount:
        """Over every person of the organization."""
        ...

    async def delete_other_vectors(self, tx: Tx, scope: Scope, model: str) -> int:
        """The person has no vectors of other embedders; how many there were."""
        ...


BATCH_SIZE = 256


async def _no_check(tx: Tx) -> None: ...


async def embed_batch(
    services: Services, texts: TextSource, scope: Scope, *, before: Callable[[Tx], Awaitable[None]] = _no_check
) -> int:
    """One batch has its vectors; how many texts that were, fewer than `BATCH` when no more were waiting."""
    model = services.embedder.model
    async with services.db.tx(scope.org_id) as tx:
        waiting = await texts.list_unembedded(tx, scope, model, most=BATCH_SIZE)
    if not waiting:
        return 0
    vectors = dict(zip(waiting, await services.embedder.embed([one.content for one in waiting]), strict=True))
    async with services.db.tx(scope.org_id) as tx:
        # The person's row before the work's, as every writer does: the other way round they would block each other.
        held = await lock_person(tx, scope)
        await before(tx)
        if held is None:  # forgotten while the model worked, with all their texts
            return 0
        # What was changed or forgotten while the model worked must not get the old text's vector.
        still = set(await texts.list_unembedded(tx, scope, model, most=BATCH_SIZE))
        await texts.store_vectors(tx, scope, model, {one: vector for one, vector in vectors.items() if one in still})
        await active_model.activate_first_model(tx, scope, model)
    return len(waiting)


_RETRY = WorkRetryPolicy(max_attempts=10_000, most=timedelta(minutes=5))
"""An embedder may be down for days; what waits for it is found by words meanwhile."""


def job_kinds(services: Services, rooms: Sequence[TextSource]) -> tuple[JobKind, ...]:
    """The work this file does, for the texts of these rooms."""

    async def run_embedding(attempt: Attempt) -> None:
        scope = Scope(org_id=attempt.scope.org_id, user_id=attempt.key)

        async def hold_lease(tx: Tx) -> None:
            await attempt.lock_work(tx)

        for texts in rooms:
            while await embed_batch(services, texts, scope, before=hold_lease) == BATCH_SIZE:
                attempt.extend_time_limit()  # what is told meanwhile makes this work due again

    return (JobKind(name=EMBED_KIND, run=run_embedding, retry=_RETRY),)
