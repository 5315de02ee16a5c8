"""Changes to memories by hand and by upkeep: text, importance, pin, archive, restore. Each keeps the earlier state."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mnemon.db.tx import Tx
from mnemon.errors import Conflict, NotFound
from mnemon.memory import store
from mnemon.memory.claims import archive_agreed
from mnemon.memory.edit_refusals import (
    refuse_if_outranked,
    refuse_if_replaced,
    refuse_if_stale,
    refuse_pinned_claim,
    refuse_rule_note,
    refuse_weight_of_pinned,
)
from mnemon.memory.fact import API, Fact, FactEntity
from mnemon.memory.folds import dissolve_folds
from mnemon.memory.importance import CRITICAL, unquoted_confidence
from mnemon.memory.lifecycle import ArchiveReason, ArchiveStatus, status_after_archive, status_after_restore
from mnemon.memory.memory import MemoryVersion, StoredMemory
from mnemon.memory.plan import MemoryChange, MemoryOutcome, rewrite_content
from mnemon.memory.relative_dates import LONGEST_DATED, resolve_dates
from mnemon.memory.remember import remember_facts, store_vectors
from mnemon.memory.time_zone import load_time_zone
from mnemon.memory.trust import outranks, trust_of
from mnemon.scope import Scope
from mnemon.sessions.people import bump_revision
from mnemon.vectors.text_vectors import TextVectors

EDITED_NOTE = "its text was changed by hand and is held by another memory"


@dataclass(frozen=True, kw_only=True)
class MemoryEdit:
    """What to change; None leaves a field as it is."""

    content: str | None = None
    importance: int | None = None
    pinned: bool | None = None
    status: ArchiveStatus | None = None
    reason: str | None = None
    """Why: for archiving one of the archive reasons, otherwise free text."""
    source: str = API
    """Who makes the change.

    A memory of a more trusted source is not changed, and a new text counts as this source's.
    """


async def edit_memory(
    tx: Tx,
    scope: Scope,
    memory_id: str,
    edit: MemoryEdit,
    *,
    vectors: TextVectors | None = None,
    version: int | None = None,
) -> StoredMemory:
    """Apply a change by hand to a memory and return it; a replaced text is kept as a version.

    Raises Stale if the text's version is not the given one, and Conflict where the source is not trusted enough, a
    claim is to be pinned, or the status cannot change.
    """
    revision = await bump_revision(tx, scope, asked_for="memory")
    held = await _load_memory(tx, scope, memory_id)
    # Checked under the person's lock, so that the memory cannot change in between.
    refuse_if_stale(held, version)
    refuse_rule_note(edit.reason)
    refuse_if_outranked(held, edit.source, changes_text=edit.content is not None, acts=_named_acts(edit))
    refuse_if_replaced(held, edit.status)
    refuse_pinned_claim(held, edit.pinned)
    refuse_weight_of_pinned(held, edit.pinned, edit.importance)
    change = MemoryChange(outcome=MemoryOutcome.UPDATED, memory=held)
    if edit.content is not None and edit.content != held.content:
        if held.claim_of is not None:
            # A reworded claim is a new statement: it may win over what it contradicted, under another key.
            return await _restate_claim(tx, scope, held, edit, vectors)
        change = rewrite_content(held, edit.content, at=tx.now, reason=edit.reason, revision=revision)
        dates = resolve_dates(edit.content[:LONGEST_DATED], tx.now, await load_time_zone(tx, scope)) or None
        change = replace(change, memory=replace(_attribute_to(change.memory, edit.source), dates=dates))
    pinned = change.memory.pinned if edit.pinned is None else edit.pinned
    importance = held.importance_without_pin if edit.importance is None else edit.importance
    memory = replace(
        change.memory,
        pinned=pinned,
        # Pinned memories are always critical; `_keeps_pin` of the withdrawal rules relies on it.
        importance=CRITICAL if pinned else importance,
        unpinned_importance=importance if pinned else None,
        note=edit.reason or change.memory.note,
        revision=revision,
        updated_at=tx.now,
    )
    memory = _apply_status(memory, edit, tx)
    return await _store_change(tx, scope, replace(change, memory=memory), vectors, was=held.status)


def _named_acts(edit: MemoryEdit) -> list[str]:
    """Return the edit's changes other than of the text in words, such as "archive it", for an error message."""
    return [
        *([] if edit.pinned is None else ["pin it" if edit.pinned else "unpin it"]),
        *([] if edit.importance is None else ["change its importance"]),
        *([] if edit.status is None else ["archive it" if edit.status is ArchiveStatus.ARCHIVED else "restore it"]),
    ]


async def _store_change(
    tx: Tx, scope: Scope, change: MemoryChange, vectors: TextVectors | None, *, was: ArchiveStatus
) -> StoredMemory:
    """Write a change made by hand, with vectors; archive claims that now agree; return the stored memory."""
    memory = change.memory
    await store.write_changes(tx, scope, [change])
    under_key = await store.under_key(tx, scope, memory.claim_of or memory.memory_key)
    agreed = archive_agreed(under_key, tx.now)
    if was is ArchiveStatus.ARCHIVED and any(one.id == memory.id for one in agreed):
        raise Conflict(
            "The memory that this claim contradicted now says the same. Leave the claim archived, or change that "
            "memory."
        )
    ended = [replace(one, revision=memory.revision) for one in agreed if one.id != memory.id]
    await store.write_changes(tx, scope, [MemoryChange(outcome=MemoryOutcome.UPDATED, memory=one) for one in ended])
    await store_vectors(tx, scope, [change], vectors, revision=memory.revision)
    if change.displaced is not None:
        dissolved = await dissolve_folds(tx, scope, [memory.id], revision=memory.revision)
        memory = next((one for one in dissolved.fragments if one.id == memory.id), memory)
    return (await store.with_provenance(tx, scope, [memory]))[0]


def _attribute_to(memory: StoredMemory, source: str) -> StoredMemory:
    """Return the memory attributed to this source, with that source's confidence and trust."""
    trust = trust_of(source)
    return replace(memory, source=source, origin=source, trust=trust, confidence=unquoted_confidence(trust))


async def _restate_claim(
    tx: Tx, scope: Scope, claim: StoredMemory, edit: MemoryEdit, vectors: TextVectors | None
) -> StoredMemory:
    """State the claim's new text as the editor's own: it replaces what the claim contradicts, or stays a claim.

    Returns the memory that has the text; the old claim, if that is another memory, is archived.
    """
    entity = FactEntity(type=claim.entity_type, label=claim.entity_label) if claim.entity_label else None
    fact = Fact(
        type=claim.type,
        content=edit.content or claim.content,
        entity=entity,
        fact_type=claim.fact_type,
        attribute=claim.attribute,
        importance=edit.importance,
        source=edit.source,
        private=claim.persona_id is not None,
    )
    [restated] = await remember_facts(tx, replace(scope, persona_id=claim.persona_id), [fact], vectors=vectors)
    if restated.memory.id != claim.id:
        await archive_memories(tx, scope, [claim.id], ArchiveReason.OUTDATED, note=edit.reason or EDITED_NOTE)
    rest = replace(edit, content=None, pinned=None, importance=None)
    return await edit_memory(tx, scope, restated.memory.id, rest) if edit.status else restated.memory


def _apply_status(memory: StoredMemory, edit: MemoryEdit, tx: Tx) -> StoredMemory:
    """Return the memory with the status the edit asks for; raise Conflict where that is not possible."""
    if edit.status is ArchiveStatus.ACTIVE and memory.status is ArchiveStatus.ARCHIVED:
        # The old note says why it was archived.
        return replace(_activate_memory(memory), note=edit.reason)
    if edit.pinned and edit.status is None and memory.status is ArchiveStatus.ARCHIVED:
        raise Conflict("An archived memory cannot be pinned. Restore it first (`status: ACTIVE`).", code="archived")
    if edit.status is ArchiveStatus.ARCHIVED:
        return _archive_memory(memory, parse_archive_reason(edit.reason), tx)
    return memory


def parse_archive_reason(reason: str | None) -> ArchiveReason:
    """Return the archive reason with this name; any other text, or none, means unwanted."""
    known = (reason or "").strip().lower()
    return ArchiveReason(known) if known in set(ArchiveReason) else ArchiveReason.UNWANTED


def _archive_memory(memory: StoredMemory, reason: ArchiveReason, tx: Tx) -> StoredMemory:
    """Return the memory as archived now for this reason; raise Conflict if it is pinned."""
    status = status_after_archive(pinned=memory.pinned)
    # Archiving again keeps the first time: that is when it stopped being used.
    since = memory.archived_at or tx.now
    return replace(memory, status=status, archive_reason=reason, archived_at=since, valid_to=since)


def _activate_memory(memory: StoredMemory) -> StoredMemory:
    """Return the memory as active again; raise Conflict if it is active."""
    status = status_after_restore(memory.status)
    return replace(memory, status=status, archive_reason=None, archived_at=None, valid_to=None)


async def archive_memories(
    tx: Tx, scope: Scope, memory_ids: Sequence[str], reason: ArchiveReason, *, note: str | None = None
) -> list[StoredMemory]:
    """Archive the memories for the reason and return them; pinned and archived ones are left out."""
    revision = await bump_revision(tx, scope, asked_for="memory")
    held = await store.by_ids(tx, scope, memory_ids)
    archived = [
        replace(_archive_memory(one, reason, tx), note=note, revision=revision)
        for one in held
        if not one.pinned and one.status is ArchiveStatus.ACTIVE
    ]
    await store.write_changes(tx, scope, [MemoryChange(outcome=MemoryOutcome.UPDATED, memory=one) for one in archived])
    return archived


async def restore_memory(
    tx: Tx,
    scope: Scope,
    memory_id: str,
    *,
    version: int | None = None,
    reason: str | None = None,
    source: str = API,
    vectors: TextVectors | None = None,
) -> StoredMemory:
    """Make an archived memory active again; with a version's number, also bring back that version's text."""
    revision = await bump_revision(tx, scope, asked_for="memory")
    held = await _load_memory(tx, scope, memory_id)
    refuse_if_outranked(held, source, acts=["restore it"])
    refuse_if_replaced(held, ArchiveStatus.ACTIVE)
    refuse_rule_note(reason)
    change = MemoryChange(outcome=MemoryOutcome.UPDATED, memory=held)
    if version is not None:
        earlier = await _find_version(tx, scope, held, version)
        if earlier is not None and earlier.content != held.content:
            # The text comes back in its source's name, so nobody may bring back more than they may say.
            refuse_if_outranked(earlier, source, changes_text=True, acts=["bring it back as it was"])
            change = rewrite_content(held, earlier.content, at=tx.now, reason=reason, revision=revision)
            if outranks(held.trust, earlier.trust):
                # Whoever brings back a text that was trusted less vouches for it.
                restored = _attribute_to(change.memory, source)
            else:
                restored = replace(
                    change.memory,
                    source=earlier.source,
                    origin=earlier.origin,
                    trust=earlier.trust,
                    confidence=earlier.confidence,
                    mentions=earlier.mentions,
                )
            change = replace(change, memory=restored)
    memory = change.memory
    # Without a version the call means "make it active", which raises Conflict for an active memory.
    if memory.status is ArchiveStatus.ARCHIVED or version is None:
        memory = _activate_memory(memory)
    memory = replace(memory, revision=revision, updated_at=tx.now, note=reason)
    return await _store_change(tx, scope, replace(change, memory=memory), vectors, was=held.status)


async def _load_memory(tx: Tx, scope: Scope, memory_id: str) -> StoredMemory:
    """Return the person's memory with this id, without provenance; raise NotFound if there is none."""
    held = await store.by_ids(tx, scope, [memory_id])
    if not held:
        raise NotFound("memory")
    return held[0]


async def _find_version(tx: Tx, scope: Scope, held: StoredMemory, number: int) -> MemoryVersion | None:
    """Return the memory's past version with this number, None for the current one; raise Conflict if there is none."""
    if number == held.version:
        return None
    recorded = (await store.past_versions(tx, scope, [held.id])).get(held.id, ())
    past = [one for one in recorded if not one.is_repeat]
    for one in past:
        if one.number == number:
            return one
    known = ", ".join(str(one.number) for one in past) or "none"
    raise Conflict(f"This memory has no version {number}. Earlier versions: {known}.", code="no_such_version")
