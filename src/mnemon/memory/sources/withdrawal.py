"""The withdrawal of one source: everything it said about a person in one transaction, with a receipt.

For all people of an organization it is one transaction per person.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

import structlog

from mnemon.db.database import Database
from mnemon.db.statements import load_statements
from mnemon.db.tx import Tx
from mnemon.errors import Contended, NotAllowed, NotFound
from mnemon.event_loop import with_pauses
from mnemon.memory import store
from mnemon.memory.fact import CURATED_FOLD
from mnemon.memory.folds import dissolve_folds
from mnemon.memory.lifecycle import ArchiveReason, ArchiveStatus
from mnemon.memory.memory import MemoryVersion, StoredMemory
from mnemon.memory.plan import MemoryChange
from mnemon.memory.remember import store_vectors
from mnemon.memory.sources.overview import source_names, source_not_found
from mnemon.memory.sources.withdrawal_rules import withdrawal_changes
from mnemon.memory.trust import Trust, highest_trust, outranks, trust_of
from mnemon.memory.upkeep.schedule import enqueue_after_forgetting
from mnemon.scope import Scope
from mnemon.sessions.people import bump_revision

SQL = load_statements("mnemon.memory.sources")
log = structlog.get_logger(__name__)
_KEYS_AT_ONCE = 20
"""Keys handled between two pauses for other tasks; each replays its statements."""


@dataclass(frozen=True, kw_only=True)
class Withdrawal:
    """The receipt of one withdrawal; all counts are 0 if nothing of the source was left."""

    id: str
    at: datetime
    origin: str
    archived: tuple[str, ...]
    """Memories that only this source stated, and folds that contain what it stated."""
    restored: tuple[str, ...]
    """Memories that have the text again that the source replaced, that are no longer claims beside it, or that stand by
    themselves again because their fold was undone."""
    versions: int
    """Past versions that now count as never said."""
    todos: int
    """Open todos that were dropped."""
    people: int
    """People for whom the source was withdrawn; 0 if nothing of it was left for anyone."""

    @property
    def total(self) -> int:
        """Return the number of all memories, versions and todos that the withdrawal changed."""
        return len(self.archived) + len(self.restored) + self.versions + self.todos


async def withdraw_source(
    tx: Tx, scope: Scope, origin: str, *, at_most: Trust = Trust.OPERATOR, receipt_id: str | None = None
) -> Withdrawal:
    """Withdraw everything the source said about the person and return the receipt; repeated, it changes nothing.

    Raises NotFound for a source that never spoke about them, NotAllowed for one trusted more than `at_most`.
    """
    revision = await bump_revision(tx, scope, asked_for="user")
    await _check_withdrawable(tx, scope, origin, at_most)
    touched = await tx.fetch_all(SQL["touched_keys"], **scope.owner_params, origin=origin)
    # A key is replayed as a whole: a statement of the source may have decided what other rows of it hold.
    keys = [str(row["held_key"]) for row in touched]
    rows = await _load_rows(tx, scope, keys)
    # Folds would go on saying what the source said. They are undone first, so that the rules see their fragments.
    parts = [one.id for one in rows if one.archive_reason is ArchiveReason.FOLDED]
    parts += [id_ for one in rows if origin == CURATED_FOLD == one.source for id_ in one.sources]
    dissolved = await dissolve_folds(tx, scope, parts, revision=revision)
    if dissolved.folds:
        rows = await _load_rows(tx, scope, keys)
    past = await store.past_versions(tx, scope, [one.id for one in rows])
    by_key: dict[str, list[StoredMemory]] = {}
    for one in rows:
        by_key.setdefault(one.claim_of or one.memory_key, []).append(one)
    changes: list[MemoryChange] = []
    async for rows_of_key in with_pauses(by_key.values(), _KEYS_AT_ONCE):
        versions_by_id = {one.id: past.get(one.id, ()) for one in rows_of_key}
        changes += withdrawal_changes(
            rows_of_key, versions_by_id, origin, at=tx.now, revision=revision, new_id=tx.new_id
        )
    before = {one.id: one for one in rows}
    await store.write_changes(tx, scope, changes)
    await store_vectors(tx, scope, changes, None, revision=revision)
    todos = await tx.execute(SQL["drop_todos"], **scope.owner_params, origin=origin, now=tx.now)
    if changes or todos or dissolved.folds:
        # The spine may contain what the source said.
        await enqueue_after_forgetting(tx, scope)
    after = [one.memory for one in changes]
    withdrawn = [one.id for one in after if one.is_withdrawn and not before[one.id].is_withdrawn]
    restored = [one.id for one in after if one.id in before and _is_restored(one, before[one.id])]
    receipt = Withdrawal(
        id=receipt_id or tx.new_id("wdr"),
        at=tx.now,
        origin=origin,
        archived=tuple(dict.fromkeys([*(one.id for one in dissolved.folds), *withdrawn])),
        restored=tuple(dict.fromkeys([*(one.id for one in dissolved.fragments if one.id not in withdrawn), *restored])),
        versions=sum(one_past.origin == origin for one in changes for one_past in _moved_versions(one, past)),
        todos=todos,
        people=1 if changes or todos or dissolved.folds else 0,
    )
    await tx.execute(SQL["keep_withdrawal"], **scope.owner_params, id=receipt.id, origin=origin, at=receipt.at)
    log.info("source_withdrawn", user=scope.user, receipt=receipt.id, changed=receipt.total)
    return receipt


async def _load_rows(tx: Tx, scope: Scope, keys: list[str]) -> list[StoredMemory]:
    """Return the memories under these keys for any persona, and the claims against them."""
    return [store.memory_of(row) for row in await tx.fetch_all(SQL["under_keys"], **scope.owner_params, keys=keys)]


def _is_restored(after: StoredMemory, before: StoredMemory) -> bool:
    """Say whether a withdrawal gave the memory an earlier text back, or made a claim the fact."""
    return after.status is ArchiveStatus.ACTIVE and after.version != before.version


async def _check_withdrawable(tx: Tx, scope: Scope, origin: str, at_most: Trust) -> None:
    """Raise NotFound unless the source spoke about the person, NotAllowed if it is trusted more than `at_most`."""
    rows = await tx.fetch_all(SQL["levels_of_source"], **scope.owner_params, origin=origin)
    if not rows:
        raise source_not_found(origin, await source_names(tx, scope), "this person")
    levels = [trust_of(row["source"]) if row["kind"] == "todo" else store.trust_of_row(row) for row in rows]
    if outranks(highest_trust(levels), at_most):
        raise NotAllowed(
            "This key speaks for one person and cannot take back what the operator laid down. Use a key that is not "
            "bound to a person.",
            code="key_bound_to_user",
        )


def _moved_versions(change: MemoryChange, past: dict[str, tuple[MemoryVersion, ...]]) -> list[MemoryVersion]:
    """Return the past versions of the changed memory whose validity the change moves."""
    return [one for one in past.get(change.memory.id, ()) if one.number in change.moved]


MOST_TRIES = 3
"""How often one person's part is tried when a lock held by another writer stops it."""


RecordWithdrawal = Callable[[Tx, Scope, str], None]
"""Records one person's part in that part's own transaction, under the receipt's id."""


async def withdraw_from_everyone(db: Database, org: Scope, origin: str, record: RecordWithdrawal) -> Withdrawal:
    """Withdraw the source for every person it spoke about; return one receipt that sums up all of them.

    Each person is a transaction of their own: after an interruption those that were done stay done, and the next call
    continues with the others. Every person's part is recorded under the receipt's id.
    """
    async with db.tx(org.org_id) as tx:
        rows = await tx.fetch_all(SQL["people_of_source"], org_id=org.org_id, origin=origin)
        if not rows:
            raise source_not_found(origin, await source_names(tx, org), "anybody")
        receipt_id, at = tx.new_id("wdr"), tx.now
    parts = []
    for row in rows:
        # For the others nothing of it is left: it was withdrawn before, as by a call that was interrupted.
        if row["stands"]:
            scope = Scope(org_id=org.org_id, user_id=row["user_id"])
            parts += [part] if (part := await _withdraw_from_one(db, scope, origin, receipt_id, record)) else []
    return Withdrawal(
        id=receipt_id,
        at=at,
        origin=origin,
        archived=tuple(one for part in parts for one in part.archived),
        restored=tuple(one for part in parts for one in part.restored),
        versions=sum(part.versions for part in parts),
        todos=sum(part.todos for part in parts),
        people=sum(part.people for part in parts),
    )


async def _withdraw_from_one(
    db: Database, scope: Scope, origin: str, receipt_id: str, record: RecordWithdrawal
) -> Withdrawal | None:
    """Withdraw the source for one person, with retries; None for a person who was forgotten in the meantime."""
    for tries_left in reversed(range(MOST_TRIES)):
        try:
            async with db.tx(scope.org_id) as tx:
                # In the same transaction, so that no withdrawal is without its record.
                record(tx, scope, receipt_id)
                return await withdraw_source(tx, scope, origin, receipt_id=receipt_id)
        except NotFound:
            return None
        except Contended:
            if not tries_left:
                raise
    return None
