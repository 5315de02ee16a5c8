"""Remember facts: turn statements into memories.

Everything happens under the person's lock (`bump_revision` locks the person's row), so that concurrent writers of
the same fact make one memory.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from mnemon.db.tx import Tx
from mnemon.event_loop import with_pauses
from mnemon.memory import store, vector_store
from mnemon.memory.batch import FactBatch
from mnemon.memory.claims import archive_overtaken
from mnemon.memory.entities import store as entities
from mnemon.memory.entities.role_links import link_roles
from mnemon.memory.fact import Fact
from mnemon.memory.folds import dissolve_folds
from mnemon.memory.importance import importance_after_use
from mnemon.memory.keys import claim_key, key_of_fact, legacy_claim_key
from mnemon.memory.lifecycle import ArchiveReason
from mnemon.memory.memory import StoredMemory
from mnemon.memory.placing import SlotIndex, names_no_project, place_fact, wanted_slots
from mnemon.memory.plan import MemoryChange, MemoryOutcome, WriteStamp
from mnemon.memory.relative_dates import LONGEST_DATED, has_dates, resolve_dates
from mnemon.memory.retraction import may_end
from mnemon.memory.slots import complete_fact, own_key, read_memory
from mnemon.memory.time_zone import load_time_zone
from mnemon.memory.tombstones import find_forgotten
from mnemon.memory.upkeep.schedule import enqueue_after_write
from mnemon.scope import Scope
from mnemon.sessions.people import bump_revision
from mnemon.vectors.text_vectors import TextVectors, enqueue_embedding

_FACTS_BETWEEN_PAUSES = 40
"""Facts handled between two pauses for other tasks, about 3 ms."""
MOST_ENDABLE = 2_000
"""Active memories among which those are looked for that a statement takes back."""


@dataclass(frozen=True, kw_only=True)
class RememberedFact:
    """The outcome of one statement."""

    outcome: MemoryOutcome
    memory: StoredMemory
    """The memory afterwards; for a skipped statement that is not stored, the memory it would have made."""
    why: str | None = None
    """Why it was skipped; None if it was not."""


async def remember_facts(
    tx: Tx,
    scope: Scope,
    facts: Sequence[Fact],
    *,
    vectors: TextVectors | None = None,
    at: datetime | None = None,
    extracted: bool = False,
) -> list[RememberedFact]:
    """Store each fact as a memory of the person, count another mention, or insert it into the history.

    The person's row must exist. `at` is when it was said; None means now. `extracted` facts were found by
    reflection, not stated by a caller.
    """
    # `bump_revision` comes first: it locks the person's row until the commit, and all that follows relies on that.
    stamp = WriteStamp(at=at or tx.now, now=tx.now, revision=await bump_revision(tx, scope))
    facts = await _with_dates(tx, scope, facts, stamp.at)
    batch = await _load_batch(tx, scope, facts, stamp, extracted=extracted)
    folded = {one.id: one.version for one in batch.held.values() if one.archive_reason is ArchiveReason.FOLDED}
    changes = [
        batch.apply_fact(number, fact, tx.new_id)
        async for number, fact in with_pauses(enumerate(facts), _FACTS_BETWEEN_PAUSES)
    ]
    ended = [*batch.ended_claims(), *await _overtaken_claims(tx, scope, batch)]
    await store.write_changes(tx, scope, [*changes, *batch.retracted, *ended])
    # A fold must not go on saying what its fragment no longer says.
    restated = [one.memory.id for one in changes if one.memory.version != folded.get(one.memory.id, one.memory.version)]
    if restated:
        await dissolve_folds(tx, scope, restated, revision=stamp.revision)
    await store.write_provenance(tx, scope, batch.grounds)
    await _raise_importance(tx, scope, batch)
    new = (MemoryOutcome.CREATED, MemoryOutcome.UPDATED)
    told = [complete_fact(fact) for fact, one in zip(facts, changes, strict=True) if one.outcome in new]
    await link_roles(tx, scope, told, revision=stamp.revision)
    await store_vectors(tx, scope, changes, vectors, revision=stamp.revision)
    # Mere repeats change nothing that upkeep would look at.
    if any(change.outcome is MemoryOutcome.CREATED or change.displaced is not None for change in changes):
        await enqueue_after_write(tx, scope)
    return await _load_results(tx, scope, changes, ended)


async def _load_batch(tx: Tx, scope: Scope, facts: Sequence[Fact], stamp: WriteStamp, *, extracted: bool) -> FactBatch:
    """Load what the facts may concern: memories, versions, recorded statements and tombstones, as one batch."""
    index, members = await _load_members(tx, scope, facts)
    seen = {(one.persona_id, one.memory_key): one for one in members}
    for place, one in seen.items():
        index.add_memory(place, one)
    placed = [place_fact(fact, index, seen, scope.persona_id if fact.private else None) for fact in facts]
    earliest: dict[str, datetime] = {}
    for fact in (*placed, *(replace(fact, key=own_key(fact)) for fact in placed)):
        at = fact.valid_from or stamp.at
        for key in (key_of_fact(fact), claim_key(fact), legacy_claim_key(fact)):
            earliest[key] = min(at, earliest.get(key, at))
    found = await store.with_claims(tx, scope, earliest, {key_of_fact(fact) for fact in placed})
    held = seen | {(one.persona_id, one.memory_key): one for one in found}
    authors: dict[str, set[str]] = {}
    for fact in placed:
        authors.setdefault(key_of_fact(fact), set()).add(fact.said_by)
    # Versions are needed for a statement about the past, and to record each other source that repeats a memory once.
    with_history = [
        one.id
        for one in held.values()
        if one.memory_key in earliest
        and (earliest[one.memory_key] < one.valid_from or authors.get(one.memory_key, set()) - {one.origin})
    ]
    messages = {fact.ground.message_id for fact in facts if fact.ground}
    return FactBatch(
        persona_id=scope.persona_id,
        stamp=stamp,
        extracted=extracted,
        held=held,
        past=await store.past_versions(tx, scope, with_history),
        recorded=await store.recorded_statements(tx, scope, messages) if messages else set(),
        forgotten=await find_forgotten(tx, scope, placed) if extracted else frozenset(),
        index=SlotIndex(aliases=index.aliases),
    )


async def _with_dates(tx: Tx, scope: Scope, facts: Sequence[Fact], at: datetime) -> Sequence[Fact]:
    """Return the facts with the days that their relative dates mean, at the time and in the zone of the person."""
    if not any(has_dates(fact.content) for fact in facts):
        return facts
    zone = await load_time_zone(tx, scope)
    return [
        replace(fact, dates=resolve_dates(fact.content[:LONGEST_DATED], fact.ground.at if fact.ground else at, zone))
        for fact in facts
    ]


async def _load_members(tx: Tx, scope: Scope, facts: Sequence[Fact]) -> tuple[SlotIndex, list[StoredMemory]]:
    """Return an index of slots with the person's aliases, and the memories that share an attribute with a fact."""
    aliases, unread = await tx.gather(entities.load_aliases(tx, scope), store.without_slot(tx, scope))
    await _fill_slots(tx, scope, unread)
    index = SlotIndex(aliases=aliases)
    slots = wanted_slots([complete_fact(fact) for fact in facts], index)
    members = await store.in_slots(tx, scope, slots)
    if any(may_end(fact) or names_no_project(fact) for fact in facts):
        members += await store.active_of(tx, scope, most=MOST_ENDABLE)
    return index, list({one.id: one for one in members}.values())


async def _fill_slots(tx: Tx, scope: Scope, unread: Sequence[StoredMemory]) -> None:
    """Compute and store the slot (entity and attribute) of the person's memories that have none yet."""
    rows = [
        (one.id, "" if one.claim_of is not None else read_memory(one).slot)
        async for one in with_pauses(unread, _FACTS_BETWEEN_PAUSES)
    ]
    await store.set_slots(tx, scope, rows)


async def _overtaken_claims(tx: Tx, scope: Scope, batch: FactBatch) -> list[MemoryChange]:
    """Return the changes that archive the person's claims which a later statement of theirs made the fact."""
    return [
        MemoryChange(outcome=MemoryOutcome.UPDATED, memory=replace(claim, revision=batch.stamp.revision))
        for persona_id, key in dict.fromkeys(batch.taken)
        for claim in archive_overtaken(await store.under_key(tx, scope, key), persona_id, tx.now)
    ]


async def _raise_importance(tx: Tx, scope: Scope, batch: FactBatch) -> None:
    """Raise the importance of memories that enough sessions have mentioned."""
    memory_ids = {memory_id for memory_id, *_ in batch.grounds}
    if not memory_ids:
        return
    sessions = await store.sessions_mentioning(tx, scope, memory_ids)
    for place, memory in batch.held.items():
        importance = importance_after_use(memory.importance, sessions=sessions.get(memory.id, 0))
        if memory.id in memory_ids and importance != memory.importance:
            await store.set_importance(tx, scope, memory.id, importance)
            batch.held[place] = replace(memory, importance=importance)


async def store_vectors(
    tx: Tx, scope: Scope, changes: Iterable[MemoryChange], vectors: TextVectors | None, *, revision: int
) -> None:
    """Store the vectors of new and changed texts as far as they are given, and queue the embedding of the others."""
    fresh: dict[tuple[vector_store.VectorKind, str], str] = {}
    waiting = False
    for change in changes:
        if change.displaced is not None:
            await vector_store.move_to_version(tx, scope, change.memory.id, change.displaced, revision=revision)
        if change.reworded:
            await vector_store.drop_vectors(tx, scope, change.memory.id)
        # Versions that are inserted besides the displaced text have no vector yet.
        past = sum(not version.is_repeat for version in change.versions)
        waiting = waiting or past > (change.displaced is not None)
        if change.outcome is MemoryOutcome.CREATED or change.displaced is not None or change.reworded:
            address = (vector_store.VectorKind.MEMORY, change.memory.id)
            # A text replaced within its own batch became a version that has no vector yet.
            waiting = waiting or (address in fresh and change.displaced is not None)
            fresh[address] = change.memory.content
    # Vectors are computed before the transaction; what was not foreseen is left to the embedding job.
    known = vectors.by_text if vectors else {}
    ready = {address: known[text] for address, text in fresh.items() if text in known}
    if vectors and ready:
        await vector_store.save_vectors(tx, scope, vectors.model, ready, revision=revision)
    if waiting or len(ready) < len(fresh):
        await enqueue_embedding(tx, scope)


async def _load_results(
    tx: Tx, scope: Scope, changes: Sequence[MemoryChange], ended: Sequence[MemoryChange]
) -> list[RememberedFact]:
    """Return the outcome of each remembered fact, with its memory as it is after all of them."""
    last = {change.memory.id: change.memory for change in changes if change.memory.id}
    last |= {change.memory.id: change.memory for change in ended if change.memory.id in last}
    shown = {one.id: one for one in await store.with_provenance(tx, scope, list(last.values()))}
    return [
        RememberedFact(outcome=change.outcome, memory=shown.get(change.memory.id, change.memory), why=change.why)
        for change in changes
    ]
