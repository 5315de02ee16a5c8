"""The job that gives a person's texts their vectors, in batches, with no transaction open while the model works.

The rooms that have such texts implement `TextSource`.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

import numpy as np

from mnemon.db.tx import Tx
from mnemon.jobs.kind import Attempt, JobKind, SlotGroup
from mnemon.jobs.work import WorkRetryPolicy
from mnemon.scope import Scope
from mnemon.services import Services
from mnemon.sessions.people import lock_person
from mnemon.vectors import active_model
from mnemon.vectors.text_vectors import EMBED_KIND

BATCH_SIZE = 256
"""Most texts embedded at once."""
_RETRY = WorkRetryPolicy(max_attempts=10_000, most=timedelta(minutes=5))
"""An embedder may be down for days; until it is back, texts are found by their words only."""


@dataclass(frozen=True, kw_only=True)
class UnembeddedText:
    """A text that has no vector yet."""

    address: tuple[str, ...]
    """The text's key in its room."""
    content: str


@dataclass(frozen=True, kw_only=True)
class VectorCount:
    """How many of an organization's texts have a vector."""

    texts: int
    """Texts that can have a vector."""
    done: int
    """Texts that have a vector of the model."""


class TextSource(Protocol):
    """The texts of one room. A scope names a person, or for counting an organization."""

    async def list_unembedded(self, tx: Tx, scope: Scope, model: str, *, most: int) -> list[UnembeddedText]:
        """Return up to `most` texts of the person that have no vector of this model."""
        ...

    async def store_vectors(
        self, tx: Tx, scope: Scope, model: str, vectors: Mapping[UnembeddedText, np.ndarray]
    ) -> None:
        """Store an embedding of the model for each text; the caller has locked the person's row."""
        ...

    async def count_vectors(self, tx: Tx, scope: Scope, model: str) -> VectorCount:
        """Return how many texts the organization's people have, and how many have a vector of the model."""
        ...

    async def delete_other_vectors(self, tx: Tx, scope: Scope, model: str) -> int:
        """Delete the person's vectors of other embedding models and return how many there were."""
        ...


async def _no_check(tx: Tx) -> None:
    """Do nothing, as the default of `before` in `embed_batch`, for callers without a work row to lock."""


async def embed_batch(
    services: Services, texts: TextSource, scope: Scope, *, before: Callable[[Tx], Awaitable[None]] = _no_check
) -> int:
    """Embed one batch of the person's texts and store the vectors; return how many texts it held.

    Returns how many texts it held, fewer than `BATCH_SIZE` when no more were waiting. `before` runs in the storing
    transaction, once the person's row is locked.
    """
    model = services.embedder.model
    async with services.db.tx(scope.org_id) as tx:
        waiting = await texts.list_unembedded(tx, scope, model, most=BATCH_SIZE)
    if not waiting:
        return 0
    # No transaction is open here: a model may take seconds (decision 8).
    vectors = dict(zip(waiting, await services.embedder.embed([one.content for one in waiting]), strict=True))
    async with services.db.tx(scope.org_id) as tx:
        # The person's row, then the work's in `before`: the order of every writer. Another could deadlock with them.
        held = await lock_person(tx, scope)
        await before(tx)
        if held is None:  # the person was deleted while the model worked, with all texts
            return 0
        # A text that was changed or deleted while the model worked must not get the old text's vector.
        still = set(await texts.list_unembedded(tx, scope, model, most=BATCH_SIZE))
        await texts.store_vectors(tx, scope, model, {one: vector for one, vector in vectors.items() if one in still})
        await active_model.activate_first_model(tx, scope, model)
    return len(waiting)


def job_kinds(services: Services, rooms: Sequence[TextSource]) -> tuple[JobKind, ...]:
    """Return the kind of work that embeds the texts of these sources, one person at a time."""

    async def run_embedding(attempt: Attempt) -> None:
        """Embed the texts of the person whose id is the work's key, batch by batch."""
        scope = Scope(org_id=attempt.scope.org_id, user_id=attempt.key)
        for texts in rooms:
            while await embed_batch(services, texts, scope, before=attempt.lock_work) == BATCH_SIZE:
                # Each batch has a time limit of its own. Texts stored meanwhile make the work due again.
                attempt.extend_time_limit()

    return (JobKind(name=EMBED_KIND, run=run_embedding, retry=_RETRY, group=SlotGroup.EMBEDDING),)
