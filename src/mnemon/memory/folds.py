"""Folds depend on their fragments: when one of these changes, what was made from it is undone."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from mnemon.db.tx import Tx
from mnemon.memory import store
from mnemon.memory.importance import CRITICAL
from mnemon.memory.lifecycle import DISSOLVED, ArchiveReason
from mnemon.memory.memory import StoredMemory
from mnemon.memory.plan import MemoryChange, MemoryOutcome
from mnemon.memory.upkeep import store as upkeep
from mnemon.scope import Scope


@dataclass(frozen=True, kw_only=True)
class DissolvedFolds:
    """What the undoing of folds changed."""

    folds: tuple[StoredMemory, ...] = ()
    """The folds, now archived."""
    fragments: tuple[StoredMemory, ...] = ()
    """Their fragments, active again."""


async def dissolve_folds(tx: Tx, scope: Scope, fragment_ids: Iterable[str], *, revision: int) -> DissolvedFolds:
    """Undo the folds that contain these memories, and folds of those; make all their fragments active again.

    The caller holds the person's lock. A fold whose text somebody edited is their statement, and stays.
    """
    changed = set(fragment_ids)
    folds: dict[str, StoredMemory] = {}
    wanted = changed
    while wanted:
        found = {one.id: one for one in await upkeep.folds_containing(tx, scope, sorted(wanted))}
        wanted = found.keys() - folds.keys()
        folds |= found
    if not folds:
        return DissolvedFolds()
    pinned = {source for fold in folds.values() if fold.pinned for source in fold.sources} - changed
    fragments = [
        # What was always shown as a part of a pinned fold is shown on.
        _activate_fragment(one, revision, pin=one.id in pinned)
        for one in await upkeep.fragments_of(tx, scope, list(folds))
        if one.id not in folds
    ]
    archived = [
        replace(
            fold.as_archived(ArchiveReason.OUTDATED, tx.now, note=DISSOLVED),
            pinned=False,
            revision=revision,
            updated_at=tx.now,
        )
        for fold in folds.values()
    ]
    changes = [MemoryChange(outcome=MemoryOutcome.UPDATED, memory=one) for one in (*archived, *fragments)]
    await store.write_changes(tx, scope, changes)
    return DissolvedFolds(folds=tuple(archived), fragments=tuple(fragments))


def _activate_fragment(fragment: StoredMemory, revision: int, *, pin: bool) -> StoredMemory:
    """Return a folded memory as active again, pinned if its fold was."""
    return replace(
        fragment.as_active(),
        pinned=pin,
        importance=CRITICAL if pin else fragment.importance,
        revision=revision,
    )
