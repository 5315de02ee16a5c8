"""People: the row that stands for a person, and the revision that moves with what recall can see."""

from mnemon.db.statements import statements
from mnemon.db.tx import Tx
from mnemon.errors import NotFound
from mnemon.scope import Scope, person

SQL = statements("mnemon.sessions")


async def ensure_person(tx: Tx, org_id: str, external: str, persona_id: str | None = None) -> Scope:
    """The person exists and their row is locked to the transaction's end; gives their scope."""
    scope = person(org_id, external, persona_id)
    await tx.run(SQL["ensure_person"], org_id=org_id, user_id=scope.user, external_id=external, now=tx.now)
    return scope


async def bump_revision(tx: Tx, scope: Scope, *, asked_for: str = "user") -> int:
    """The person's revision is one higher and their row locked to the transaction's end: all writers queue here.

    Raises NotFound for `asked_for` when there is no such person, or they were forgotten while this waited.
    """
    row = await tx.maybe(SQL["bump_revision"], org_id=scope.org_id, user_id=scope.user)
    if row is None:
        raise NotFound(asked_for)
    tx.revisions.setdefault(scope.user, int(row["revision"]))
    return int(row["revision"])


async def hold_person(tx: Tx, scope: Scope) -> int | None:
    """The person's row is locked; how often something of theirs was forgotten, None for one never seen.

    Locked before the row of any work: writers hold the person and then enqueue, so a job does it in the same order.
    """
    row = await tx.maybe(SQL["hold_person"], org_id=scope.org_id, user_id=scope.user)
    return None if row is None else int(row["forgettings"])


async def keep_person(tx: Tx, scope: Scope) -> int | None:
    """Keep the person from being forgotten until the transaction ends; give how often something of theirs was.

    For a transaction that locks a turn or its work without writing about the person: forgetting deletes those rows
    in an order of its own, so one of the two would have to give way.
    """
    row = await tx.maybe(SQL["keep_person"], org_id=scope.org_id, user_id=scope.user)
    return None if row is None else int(row["forgettings"])


async def forgettings_of(tx: Tx, scope: Scope) -> int | None:
    """How often something of the person's was forgotten, without a lock; None for one never seen."""
    row = await tx.maybe(SQL["forgettings"], org_id=scope.org_id, user_id=scope.user)
    return None if row is None else int(row["forgettings"])


async def revision(tx: Tx, scope: Scope) -> int:
    """The person's revision; 0 for one never seen."""
    row = await tx.maybe(SQL["revision"], org_id=scope.org_id, user_id=scope.user)
    return 0 if row is None else int(row["revision"])


async def external_name(tx: Tx, scope: Scope) -> str | None:
    """What the application calls the person."""
    row = await tx.maybe(SQL["external_name"], org_id=scope.org_id, user_id=scope.user)
    return None if row is None else str(row["external_id"])
