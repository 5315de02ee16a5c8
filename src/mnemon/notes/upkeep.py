"""Background work on notes: embed their texts, and delete them when they expire.

The job `note_sweep` deletes a person's expired notes even when no further note is written.
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
"""The kind of the job; its key is the person's user id."""
SWEEP_DELAY = timedelta(minutes=1)
"""How long after the first of them expires notes are swept together; expired notes are never shown meanwhile."""


async def enqueue_sweep(tx: Tx, scope: Scope, expires_at: datetime) -> None:
    """Queue the job that deletes the person's expired notes, due a minute after this expiry."""
    await enqueue_work(tx, scope, NOTE_SWEEP, scope.user, due_at=expires_at + SWEEP_DELAY)


def job_kinds(services: Services) -> tuple[JobKind, ...]:
    """Return the kind of job that deletes expired notes."""

    async def run(attempt: Attempt) -> None:
        """Delete the person's expired notes, and repeat the job after the next expiry if there is one."""
        owner = {"org_id": attempt.scope.org_id, "user_id": attempt.key}
        async with services.db.tx(attempt.scope.org_id) as tx:
            # The lock order (ARCHITECTURE.md): the person's row before the row of the work.
            await lock_person(tx, Scope(**owner))
            await attempt.lock_work(tx)
            await tx.execute(SQL["sweep"], **owner, now=tx.now)
            following = (await tx.fetch_one(SQL["next_expiry"], **owner))["at"]
            if following is None:
                await attempt.settle(tx)
            else:
                # One row of work per person, postponed to the next expiry, rather than one per note.
                await attempt.repeat(tx, after=following - tx.now + SWEEP_DELAY)

    return (JobKind(name=NOTE_SWEEP, run=run),)


class NoteTexts:
    """The texts of notes that the embedding job embeds; vectors that a program made itself are left alone."""

    async def list_unembedded(self, tx: Tx, scope: Scope, model: str, *, most: int) -> list[UnembeddedText]:
        """Return up to `most` texts of the person's notes that have no vector of this model yet."""
        rows = await tx.fetch_all(SQL["waiting_texts"], **scope.owner_params, model=model, most=most)
        return [
            # The namespace comes last, since it has any number of labels.
            UnembeddedText(address=(row["part"], row["key"], *row["namespace"]), content=row["content"])
            for row in rows
        ]

    async def store_vectors(
        self, tx: Tx, scope: Scope, model: str, vectors: Mapping[UnembeddedText, np.ndarray]
    ) -> None:
        """Store the vector of each text of a note."""
        for one, vector in vectors.items():
            part, key, *namespace = one.address
            address = {**scope.owner_params, "namespace": namespace, "key": key}
            await tx.execute(SQL["add_vector"], **address, model=model, part=part, vector=vector_literal(vector))

    async def count_vectors(self, tx: Tx, scope: Scope, model: str) -> VectorCount:
        """Count the note texts of every person of the organization, and those with a vector of this model."""
        return VectorCount(**await tx.fetch_one(SQL["count_texts"], org_id=scope.org_id, model=model))

    async def delete_other_vectors(self, tx: Tx, scope: Scope, model: str) -> int:
        """Delete the person's note vectors of other models, but not callers' own; return how many."""
        return await tx.execute(SQL["drop_other_vectors"], **scope.owner_params, model=model, caller=CALLER_MODEL)
