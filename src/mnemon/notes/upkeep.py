"""Notes' texts, as what gives texts their vectors sees them.

The work `note_sweep`: a person's notes whose time is over are deleted, also when nobody writes any more.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta

import numpy as np

from mnemon.db.statements import load_statements
from mnemon.db.tx import Tx
from mnemon.jobs.kind import Attempt, JobKind
from mnemon.jobs.store import enqueue_work
from mnemon.notes.note import CALLER_MODEL
from mnemon.scope import Scope
from mnemon.services import Services
from mnemon.sessions.people import lock_person
from mnemon.vectors.embed_job import UnembeddedText, VectorCount
from mnemon.vectors.text_vectors import vector_literal

SQL = load_statements("mnemon.notes")
NOTE_SWEEP = "note_sweep"
"""Its key is the person."""
SWEEP_DELAY = timedelta(minutes=1)
"""So long after the first of them expires, notes are swept together; none of them is shown meanwhile."""


async def enqueue_sweep(tx: Tx, scope: Scope, expires_at: datetime) -> None:
    """A note that expires then will be swept soon after."""
    await enqueue_work(tx, scope, NOTE_SWEEP, scope.user, due_at=expires_at + SWEEP_DELAY)


def job_kinds(services: Services) -> tuple[JobKind, ...]:
    """The work this file does."""

    async def run(attempt: Attempt) -> None:
        owner = {"org_id": attempt.scope.org_id, "user_id": attempt.key}
        async with services.db.tx(attempt.scope.org_id) as tx:
            await lock_person(tx, Scope(**owner))
            await attempt.lock_work(tx)
            await tx.execute(SQL["sweep"], **owner, now=tx.now)
            following = (await tx.fetch_one(SQL["next_expiry"], **owner))["at"]
            if following is None:
                await attempt.settle(tx)
            else:
                await attempt.repeat(tx, after=following - tx.now + SWEEP_DELAY)

    return (JobKind(name=NOTE_SWEEP, run=run),)


class NoteTexts:
    """The parts of notes that are found by meaning; vectors that a program made itself are left alone."""

    async def list_unembedded(self, tx: Tx, scope: Scope, model: str, *, most: int) -> list[UnembeddedText]:
        """What of the person has no vector of this model yet."""
        rows = await tx.fetch_all(SQL["waiting_texts"], **_owner_params(scope), model=model, most=most)
        return [
            UnembeddedText(address=(row["part"], row["key"], *row["namespace"]), content=row["content"]) for row in rows
        ]

    async def store_vectors(
        self, tx: Tx, scope: Scope, model: str, vectors: Mapping[UnembeddedText, np.ndarray]
    ) -> None:
        """Each has its vector."""
        for one, vector in vectors.items():
            part, key, *namespace = one.address
            where = {**_owner_params(scope), "namespace": namespace, "key": key}
            await tx.execute(SQL["add_vector"], **where, model=model, part=part, vector=vector_literal(vector))

    async def count_vectors(self, tx: Tx, scope: Scope, model: str) -> VectorCount:
        """Over every person of the organization."""
        return VectorCount(**await tx.fetch_one(SQL["count_texts"], org_id=scope.org_id, model=model))

    async def delete_other_vectors(self, tx: Tx, scope: Scope, model: str) -> int:
        """The person has no vectors of other embedders; how many there were."""
        return await tx.execute(SQL["drop_other_vectors"], **_owner_params(scope), model=model, caller=CALLER_MODEL)


def _owner_params(scope: Scope) -> dict[str, str]:
    return {"org_id": scope.org_id, "user_id": scope.user}
