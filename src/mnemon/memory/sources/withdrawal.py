"""Taking back what one source said: everything of it in one transaction, with a receipt."""

from dataclasses import dataclass
from datetime import datetime

import structlog

from mnemon.db.statements import statements
from mnemon.db.tx import Tx
from mnemon.errors import NotAllowed
from mnemon.memory import store
from mnemon.memory.lifecycle import Status
from mnemon.memory.memory import Memory, Version
from mnemon.memory.plan import Change
from mnemon.memory.remember import keep_vectors
from mnemon.memory.sources.names import no_such_source
from mnemon.memory.sources.overview import source_names
from mnemon.memory.sources.undo import withdrawn_changes
from mnemon.memory.trust import Trust, highest, outranks, trust_of
from mnemon.memory.upkeep.enqueue import after_forgetting
from mnemon.pauses import with_pauses
from mnemon.scope import Scope
from mnemon.sessions.people import bump_revision

SQL = statements("mnemon.memory.sources")
log = structlog.get_logger(__name__)
_KEYS_AT_ONCE = 20
"""Keys gone through before others may run: each tells its statements again."""


@dataclass(frozen=True, kw_only=True)
class Withdrawal:
    """The receipt: what one withdrawal did; all empty when nothing of the source was left."""

    id: str
    at: datetime
    origin: str
    archived: tuple[str, ...]
    """Memories that only this source stated."""
    restored: tuple[str, ...]
    """Memories that say again what they said before the source replaced it, or are no longer claims beside it."""
    versions: int
    """Past versions that count as never held."""
    todos: int
    """Open todos that were dropped."""
    people: int = 1
    """People of whom something was looked for; 0 where nothing of the source was left with anybody."""

    @property
    def total(self) -> int:
        return len(self.archived) + len(self.restored) + self.versions + self.todos


async def withdraw_source(
    tx: Tx, scope: Scope, origin: str, *, at_most: Trust = Trust.OPERATOR, receipt_id: str | None = None
) -> Withdrawal:
    """Take back everything the source said about the person, over all personas. Doing it again changes nothing.

    Raises NotFound for a source that never spoke about them, NotAllowed for one that is trusted above `at_most`.
    """
    revision = await bump_revision(tx, scope, asked_for="user")
    await _refuse(tx, scope, origin, at_most)
    touched = await tx.all(SQL["touched_keys"], **_owner(scope), origin=origin)
    keys = [str(row["held_key"]) for row in touched]
    rows = [store.memory_of(row) for row in await tx.all(SQL["under_keys"], **_owner(scope), keys=keys)]
    past = await store.past_versions(tx, scope, [one.id for one in rows])
    by_key: dict[str, list[Memory]] = {}
    for one in rows:
        by_key.setdefault(one.claim_of or one.memory_key, []).append(one)
    changes: list[Change] = []
    async for under in with_pauses(by_key.values(), _KEYS_AT_ONCE):
        said = {one.id: past.get(one.id, ()) for one in under}
        changes += withdrawn_changes(under, said, origin, at=tx.now, revision=revision, new_id=tx.new_id)
    before = {one.id: one for one in rows}
    await store.write(tx, scope, changes)
    await keep_vectors(tx, scope, changes, None, revision=revision)
    todos = await tx.run(SQL["drop_todos"], **_owner(scope), origin=origin, now=tx.now)
    if changes or todos:
        await after_forgetting(tx, scope)
    after = [one.memory for one in changes]
    done = Withdrawal(
        id=receipt_id or tx.new_id("wdr"),
        at=tx.now,
        origin=origin,
        archived=tuple(one.id for one in after if one.is_withdrawn and not before[one.id].is_withdrawn),
        restored=tuple(one.id for one in after if one.id in before and _says_anew(one, before[one.id])),
        versions=sum(one_past.origin == origin for one in changes for one_past in _moved(one, past)),
        todos=todos,
    )
    await tx.run(SQL["keep_withdrawal"], **_owner(scope), id=done.id, origin=origin, at=done.at)
    log.info("source_withdrawn", user=scope.user, receipt=done.id, changed=done.total)
    return done


def _says_anew(after: Memory, before: Memory) -> bool:
    """Whether it holds something again: an earlier text, or as a fact what was a claim."""
    return after.status is Status.ACTIVE and after.version != before.version


async def _refuse(tx: Tx, scope: Scope, origin: str, at_most: Trust) -> None:
    """Raise unless the source spoke about the person, with no more trust than the caller may take back."""
    rows = await tx.all(SQL["levels_of_source"], **_owner(scope), origin=origin)
    if not rows:
        raise no_such_source(origin, await source_names(tx, scope), "this person")
    levels = [trust_of(row["source"]) if row["kind"] == "todo" else store.trust_in(row) for row in rows]
    if outranks(highest(levels), at_most):
        raise NotAllowed(
            "This key speaks for one person and cannot take back what the operator laid down. Use a key that is not "
            "bound to a person.",
            code="key_bound_to_user",
        )


def _moved(change: Change, past: dict[str, tuple[Version, ...]]) -> list[Version]:
    return [one for one in past.get(change.memory.id, ()) if one.number in change.moved]


def _owner(scope: Scope) -> dict[str, str]:
    return {"org_id": scope.org_id, "user_id": scope.user}
