"""Remember facts: turn statements into memories.

Everything happens under the person's lock (`bump_revision` locks the person's row), so that concurrent writers of
the same fact make one memory.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from mnemon.db.tx import Tx
from mnemon.event_loop import with_pauses
from mnemon.memory import store, vector_store
from mnemon.memory.claims import archive_agreed, archive_claim, archive_overtaken, makes_claim
from mnemon.memory.fact import Fact, QuoteLocation
from mnemon.memory.folds import dissolve_folds
from mnemon.memory.importance import importance_after_use
from mnemon.memory.keys import claim_key, content_hash, key_of_fact, legacy_claim_key
from mnemon.memory.lifecycle import CORRECTED, WITHDRAWN, ArchiveReason, ArchiveStatus
from mnemon.memory.memory import MemoryVersion, StoredMemory
from mnemon.memory.plan import MemoryChange, MemoryOutcome, WriteStamp, create_memory, skip_if_known, update_memory
from mnemon.memory.tombstones import find_forgotten
from mnemon.memory.trust import outranks
from mnemon.memory.upkeep.schedule import enqueue_after_write
from mnemon.scope import NewId, Scope
from mnemon.sessions.people import bump_revision
from mnemon.vectors.text_vectors import TextVectors, enqueue_embedding

MemoryPlace = tuple[str | None, str]
"""What is unique for each person: the persona, or None for all personas, and the memory key."""
_FACTS_BETWEEN_PAUSES = 40
"""Facts handled between two pauses for other tasks, about 3 ms."""


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
    batch = await _load_batch(tx, scope, facts, stamp, extracted=extracted)
    folded = {one.id: one.version for one in batch.held.values() if one.archive_reason is ArchiveReason.FOLDED}
    changes = [
        batch.apply_fact(number, fact, tx.new_id)
        async for number, fact in with_pauses(enumerate(facts), _FACTS_BETWEEN_PAUSES)
    ]
    ended = [*batch.ended_claims(), *await _overtaken_claims(tx, scope, batch)]
    await store.write_changes(tx, scope, [*changes, *ended])
    # A fold must not go on saying what its fragment no longer says.
    restated = [one.memory.id for one in changes if one.memory.version != folded.get(one.memory.id, one.memory.version)]
    if restated:
        await dissolve_folds(tx, scope, restated, revision=stamp.revision)
    await store.write_provenance(tx, scope, batch.grounds)
    await _raise_importance(tx, scope, batch)
    await store_vectors(tx, scope, changes, vectors, revision=stamp.revision)
    # Mere repeats change nothing that upkeep would look at.
    if any(change.outcome is MemoryOutcome.CREATED or change.displaced is not None for change in changes):
        await enqueue_after_write(tx, scope)
    return await _load_results(tx, scope, changes, ended)


@dataclass(kw_only=True)
class FactBatch:
    """The memories that a batch of facts concerns, kept up to date in Python while the facts are applied."""

    persona_id: str | None
    stamp: WriteStamp
    extracted: bool
    held: dict[MemoryPlace, StoredMemory]
    """Memories by place, as they are after the facts applied so far."""
    past: dict[str, tuple[MemoryVersion, ...]]
    """Past versions by memory id."""
    recorded: set[store.StatementKey]
    """Statements that are recorded already."""
    forgotten: frozenset[int]
    """Positions of facts that were forgotten."""
    grounds: list[tuple[str, QuoteLocation, str]] = field(default_factory=list)
    """Statements to record: memory id, location of the quote, content hash."""
    taken: list[MemoryPlace] = field(default_factory=list)
    """Places of more trusted, archived memories that a fact of the person took."""
    ended: set[MemoryPlace] = field(default_factory=set)
    """Places of claims that were archived because they contradict nothing any more."""
    claim_places: dict[str, set[MemoryPlace]] = field(init=False, default_factory=dict)
    """Places of claims by the key that they contradict."""

    def __post_init__(self) -> None:
        """Index the claims among the memories."""
        for place, one in self.held.items():
            self._index_claim(place, one)

    @classmethod
    def empty(cls, stamp: WriteStamp, *, persona_id: str | None = None) -> "FactBatch":
        """Return a batch of facts for a person without memories."""
        return cls(
            persona_id=persona_id, stamp=stamp, extracted=False, held={}, past={}, recorded=set(), forgotten=frozenset()
        )

    def apply_fact(self, number: int, fact: Fact, new_id: NewId) -> MemoryChange:
        """Return what the fact changes, and update the batch so that the next fact builds on it.

        A fact that contradicts a more trusted memory becomes a claim under a key of its own.
        """
        persona_id, key = self.persona_id if fact.private else None, key_of_fact(fact)
        more_trusted = self._find_more_trusted(persona_id, key, fact)
        if more_trusted is not None:
            if (skipped := self._skip_known(persona_id, fact, more_trusted)) is not None:
                return skipped
            # A claim is never pinned: pinned memories are always shown, and the person did not pin this one.
            fact = replace(fact, pinned=None)
        place = self._claim_place(persona_id, fact) if more_trusted else (persona_id, key)
        held = self.held.get(place)
        digest = content_hash(fact.content)
        # The same words at the same place of the same message: this turn is being reflected again.
        if held and fact.ground and _statement_key(held.id, fact.ground, digest) in self.recorded:
            return MemoryChange(outcome=MemoryOutcome.SKIPPED, memory=held, why="already on record")
        if held and makes_claim(held, fact, self.stamp.at):
            return MemoryChange(
                outcome=MemoryOutcome.SKIPPED, memory=held, why=f"a more trusted source says otherwise: {held.trust}"
            )
        if held:
            past = _standing_versions(self.past.get(held.id, ()))
            change = update_memory(held, past, fact, self.stamp, extracted=self.extracted)
        else:
            claim_of = key if more_trusted else None
            change = create_memory(fact, self.stamp, id=new_id("mem"), persona_id=persona_id, claim_of=claim_of)
        # Checked last, so that the result can still show what would have been stored.
        if number in self.forgotten:
            return MemoryChange(outcome=MemoryOutcome.SKIPPED, memory=held or change.memory, why="forgotten")
        if change.outcome is not MemoryOutcome.SKIPPED:
            if held and outranks(held.trust, change.memory.trust) and not held.is_withdrawn:
                self.taken.append(place)
            self._record_change(place, change)
            self._end_agreed(key)
            if fact.ground:
                self.recorded.add(_statement_key(change.memory.id, fact.ground, digest))
                self.grounds.append((change.memory.id, fact.ground, digest))
        return change

    def _find_more_trusted(self, persona_id: str | None, key: str, fact: Fact) -> StoredMemory | None:
        """Return the more trusted memory under the key, of this persona or of all; None if there is none."""
        places = dict.fromkeys(((persona_id, key), (None, key)))
        held = [self.held[place] for place in places if place in self.held]
        return next((one for one in held if makes_claim(one, fact, self.stamp.at)), None)

    def _skip_known(self, persona_id: str | None, fact: Fact, more_trusted: StoredMemory) -> MemoryChange | None:
        """Return the change for a fact that repeats a more trusted memory; None if it says something else."""
        past, at = self.past.get(more_trusted.id, ()), fact.valid_from or self.stamp.at
        claim = self.held.get(self._claim_place(persona_id, fact))
        change = skip_if_known(fact, more_trusted, past, at, denied_at=claim.stated_at if claim else None)
        if change is not None and more_trusted.status is ArchiveStatus.ACTIVE:
            self._end_corrected(self._claim_place(persona_id, fact), at)
        if change is None or not (change.versions or change.moved):
            return change
        if more_trusted.persona_id != persona_id:
            # What was told to one persona only must not be recorded where every persona can see it.
            return replace(change, versions=(), moved={})
        self._record_change((more_trusted.persona_id, more_trusted.memory_key), change)
        return change

    def _end_corrected(self, place: MemoryPlace, at: datetime) -> None:
        """Archive a source's claim after the source has said what the fact says."""
        claim = self.held.get(place)
        # A statement of an earlier time does not take back what the source said since.
        if claim is not None and claim.status is ArchiveStatus.ACTIVE and at >= claim.stated_at:
            self._end_claim(place, archive_claim(claim, self.stamp.at, CORRECTED))

    def _end_agreed(self, key: str) -> None:
        """Archive the claims that say what the memory under the key now says."""
        places = self.claim_places.get(key, set())
        if not places:
            return
        personas = {None, *(persona for persona, _ in places)}
        facts = [one for persona in personas if (one := self.held.get((persona, key))) is not None]
        for claim in archive_agreed([*facts, *(self.held[place] for place in places)], self.stamp.at):
            self._end_claim((claim.persona_id, claim.memory_key), claim)

    def _end_claim(self, place: MemoryPlace, archived: StoredMemory) -> None:
        """Put an archived claim into the batch, to be written with its changes."""
        self.held[place] = replace(archived, revision=self.stamp.revision)
        self.ended.add(place)

    def ended_claims(self) -> list[MemoryChange]:
        """Return the changes of the claims that ended, as they are after all facts."""
        places = sorted(self.ended, key=lambda place: self.held[place].id)
        return [MemoryChange(outcome=MemoryOutcome.UPDATED, memory=self.held[place]) for place in places]

    def _index_claim(self, place: MemoryPlace, one: StoredMemory) -> None:
        """Note the place of a claim under the key that it contradicts."""
        if one.claim_of is not None:
            self.claim_places.setdefault(one.claim_of, set()).add(place)

    def _claim_place(self, persona_id: str | None, fact: Fact) -> MemoryPlace:
        """Return the place of the source's claim; each source has its own, even if another's name is similar."""
        # Earlier releases keyed claims by the slug of the source's name; keep using such a key if it is this source's.
        place, earlier = (persona_id, claim_key(fact)), (persona_id, legacy_claim_key(fact))
        held = self.held.get(earlier)
        if place in self.held or held is None or held.origin.casefold() != fact.said_by.casefold():
            return place
        return earlier

    def _record_change(self, place: MemoryPlace, change: MemoryChange) -> None:
        """Put a change into the batch's memories and versions, so that the next fact sees it."""
        self.held[place] = change.memory
        self._index_claim(place, change.memory)
        known = {one.number: one for one in (*self.past.get(change.memory.id, ()), *change.versions)}
        for number, (since, until) in change.moved.items():
            one = known[number]
            known[number] = replace(one, valid_from=since or one.valid_from, valid_to=until or one.valid_to)
        for number in change.mentioned:
            known[number] = replace(known[number], mentions=known[number].mentions + 1)
        in_order = sorted(known.values(), key=lambda one: (one.valid_from, one.number))
        self.past[change.memory.id] = tuple(in_order)


def _standing_versions(past: Sequence[MemoryVersion]) -> tuple[MemoryVersion, ...]:
    """Return the past versions without withdrawn states, beside which no statement has its place."""
    # Withdrawn repeats stay: their numbers are taken.
    return tuple(one for one in past if one.is_repeat or one.reason != WITHDRAWN)


async def _load_batch(tx: Tx, scope: Scope, facts: Sequence[Fact], stamp: WriteStamp, *, extracted: bool) -> FactBatch:
    """Return the memories, versions, statements and tombstones that the facts may concern."""
    earliest: dict[str, datetime] = {}
    for fact in facts:
        at = fact.valid_from or stamp.at
        for key in (key_of_fact(fact), claim_key(fact), legacy_claim_key(fact)):
            earliest[key] = min(at, earliest.get(key, at))
    found = await store.with_claims(tx, scope, earliest, map(key_of_fact, facts))
    held = {(one.persona_id, one.memory_key): one for one in found}
    authors: dict[str, set[str]] = {}
    for fact in facts:
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
        forgotten=await find_forgotten(tx, scope, facts) if extracted else frozenset(),
    )


def _statement_key(memory_id: str, ground: QuoteLocation, digest: str) -> store.StatementKey:
    """Return what identifies a recorded statement: memory, message, position and hash of the content."""
    return (memory_id, ground.message_id, ground.start, ground.end, digest)


async def _overtaken_claims(tx: Tx, scope: Scope, batch: FactBatch) -> list[MemoryChange]:
    """Return the changes that archive the person's claims where a later statement of theirs has become the fact."""
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
    last = {change.memory.id: change.memory for change in changes}
    last |= {change.memory.id: change.memory for change in ended if change.memory.id in last}
    shown = {one.id: one for one in await store.with_provenance(tx, scope, list(last.values()))}
    return [
        RememberedFact(outcome=change.outcome, memory=shown[change.memory.id], why=change.why) for change in changes
    ]
