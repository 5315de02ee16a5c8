"""Notes' texts, as what gives texts their vectors sees them."""

from collections.abc import Mapping

import numpy as np

from mnemon.db.statements import statements
from mnemon.db.tx import Tx
from mnemon.notes.note import CALLER
from mnemon.scope import Scope
from mnemon.vectors.literal import literal
from mnemon.vectors.texts import Counted, Waiting

SQL = statements("mnemon.notes")


class NoteTexts:
    """The parts of notes that are found by meaning; vectors that a program made itself are left alone."""

    async def waiting(self, tx: Tx, scope: Scope, model: str, *, most: int) -> list[Waiting]:
        """What of the person has no vector of this model yet."""
        rows = await tx.all(SQL["waiting_texts"], **_owner(scope), model=model, most=most)
        return [Waiting(address=(row["part"], row["key"], *row["namespace"]), content=row["content"]) for row in rows]

    async def keep(self, tx: Tx, scope: Scope, model: str, vectors: Mapping[Waiting, np.ndarray]) -> None:
        """Each has its vector."""
        for one, vector in vectors.items():
            part, key, *namespace = one.address
            where = {**_owner(scope), "namespace": namespace, "key": key}
            await tx.run(SQL["add_vector"], **where, model=model, part=part, vector=literal(vector))

    async def counted(self, tx: Tx, scope: Scope, model: str) -> Counted:
        """Over every person of the organization."""
        return Counted(**await tx.one(SQL["count_texts"], org_id=scope.org_id, model=model))

    async def drop_others(self, tx: Tx, scope: Scope, model: str) -> int:
        """The person has no vectors of other embedders; how many there were."""
        return await tx.run(SQL["drop_other_vectors"], **_owner(scope), model=model, caller=CALLER)


def _owner(scope: Scope) -> dict[str, str]:
    return {"org_id": scope.org_id, "user_id": scope.user}
