"""Remembering: statements become memories, under the person's lock, so that writers at once make one memory."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from mnemon.db.tx import Tx
from mnemon.event_loop import with_pauses
from mnemon.memory import store, vector_store
from mnemon.memory.fact import Fact, QuoteLocation
from mnemon.memory.importance import importance_after_use
from mnemon.memory.keys import claim_key, content_hash, key_of_fact, legacy_claim_key
from mnemon.memory.memory import MemoryVersion, StoredMemory
from mnemon.memory.plan import MemoryChange, MemoryOutcome, WriteStamp, create_memory, skip_if_known, update_memory
from mnemon.memory.tombstones import find_forgotten
from mnemon.memory.trust import outranks
from mnemon.memory.upkeep.schedule import enqueue_after_write
from mnemon.scope import NewId, Scope
from mnemon.sessions.people import bump_revision
from mnemon.vectors.active_model import enqueue_embedding
from mnemon.vectors.text_vectors import TextVectors

MemoryPlace = tuple[str | None, str]
"""What is unique per person: persona or none, and key."""
_FACTS_BETWEEN_PAUSES = 40
"""Facts gone through before others may run, in about 3 ms."""


@dataclass(frozen=True, kw_only=True)
class RememberedFact:
    """What became of one statement."""

    outcome: MemoryOutcome
    memory: StoredMemory
    """As it stands afterwards; for a skipped statement that is not held, as it would have stood."""
    why: str | None = None
    """Why it was skipped."""


async def remember_facts(
    tx: Tx,
    scope: Scope,
    facts: Sequence[Fact],
    *,
    vectors: TextVectors | None = None,
    at: datetime | None = None,
    extracted: bool = False,
) -> list[RememberedFact]:
    """Each fact is held, counted as one more mention, or in its place in history; the person's row must exist.

    `at` is when it was said; None means now. `extracted` facts were found by reflection, not stated by a caller.
    """
    stamp = WriteStamp(at=at or tx.now, now=tx.now, revision=await bump_revision(tx, scope))
    batch = await _load_batch(tx, scope, facts, stamp, extracted=extracted)
    changes = [
        batch.apply_fact(number, fact, tx.new_id)
        async for number, fact in with_pauses(enumerate(facts), _FACTS_BETWEEN_PAUSES)
    ]
    await store.write_changes(tx, scope, changes)
    await store.write_provenance(tx, scope, batch.grounds)
    await _raise_importance(tx, scope, batch)
    await store_vectors(tx, scope, changes, vectors, revision=stamp.revision)
    if any(change.outcome is MemoryOutcome.CREATED or change.displaced is not None for change in changes):
        await enqueue_after_write(tx, scope)
    return await _load_results(tx, scope, changes)


@dataclass(kw_only=True)
class FactBatch:
    """What is held while a batch of statements is gone through, fact by fact."""

    persona_id: str | None
    stamp: WriteStamp
    extracted: bool
    held: dict[MemoryPlace, StoredMemory]
    past: dict[str, tuple[MemoryVersion, ...]]
    told: set[store.StatementKey]
    """Statements that are on record."""
    buried: frozenset[int]
    """Places of facts that were forgotten."""
    grounds: list[tuple[str, QuoteLocation, str]] = field(default_factory=list)
    """Statements to be put on record."""

    @classmethod
    def empty(cls, stamp: WriteStamp, *, persona_id: str | None = None) -> "FactBatch":
        """Begin where nothing is held."""
        return cls(
            persona_id=persona_id, stamp=stamp, extracted=False, held={}, past={}, told=set(), buried=frozenset()
        )

    def apply_fact(self, number: int, fact: Fact, new_id: NewId) -> MemoryChange:
        """What the fact does to what is held; the next one finds it done."""
        persona_id, key = self.persona_id if fact.private else None, key_of_fact(fact)
        rival = self._find_more_trusted(persona_id, key, fact)
        if rival is not None:
            if (nothing := self._skip_known(persona_id, fact, rival)) is not None:
                return nothing
            # A claim is never pinned: what is pinned is always shown, and the person pinned something else.
            fact = replace(fact, pinned=None)
        place = self._claim_place(persona_id, fact) if rival else (persona_id, key)
        held = self.held.get(place)
        digest = content_hash(fact.content)
        if held and fact.ground and _statement_key(held.id, fact.ground, digest) in self.told:
            return MemoryChange(outcome=MemoryOutcome.SKIPPED, memory=held, why="already on record")
        if held and outranks(held.trust, fact.effective_trust) and not held.is_withdrawn:
            return MemoryChange(
                outcome=MemoryOutcome.SKIPPED, memory=held, why=f"a more trusted source says otherwise: {held.trust}"
            )
        if held:
            change = update_memory(held, self.past.get(held.id, ()), fact, self.stamp, extracted=self.extracted)
        else:
            claim_of = key if rival else None
            change = create_memory(fact, self.stamp, id=new_id("mem"), persona_id=persona_id, claim_of=claim_of)
        if number in self.buried:
            return MemoryChange(outcome=MemoryOutcome.SKIPPED, memory=held or change.memory, why="forgotten")
        if change.outcome is not MemoryOutcome.SKIPPED:
            self._record_change(place, change)
            if fact.ground:
                self.told.add(_statement_key(change.memory.id, fact.ground, digest))
                self.grounds.append((change.memory.id, fact.ground, digest))
        return change

    def _find_more_trusted(self, persona_id: str | None, key: str, fact: Fact) -> StoredMemory | None:
        """What a more trusted source said under the key, to this persona or to everyone."""
        places = dict.fromkeys(((persona_id, key), (None, key)))
        held = [self.held[place] for place in places if place in self.held]
        return next((one for one in held if outranks(one.trust, fact.effective_trust) and not one.is_withdrawn), None)

    def _skip_known(self, persona_id: str | None, fact: Fact, rival: StoredMemory) -> MemoryChange | None:
        """What is left to do for a fact that says the same as a more trusted memory; None when it says otherwise."""
        change = skip_if_known(fact, rival, self.past.get(rival.id, ()), fact.valid_from or self.stamp.at)
        if change is None or not (change.versions or change.moved):
            return change
        if rival.persona_id != persona_id:
            # What was told to one persona alone is not put on record where every persona may see it.
            return replace(change, versions=(), moved={})
        self._record_change((rival.persona_id, rival.memory_key), change)
        return change

    def _claim_place(self, persona_id: str | None, fact: Fact) -> MemoryPlace:
        """Where the source's claim stands: each source has its own place, whatever similar names there are."""
        place, earlier = (persona_id, claim_key(fact)), (persona_id, legacy_claim_key(fact))
        held = self.held.get(earlier)
        if place in self.held or held is None or held.origin.casefold() != fact.said_by.casefold():
            return place
        return earlier

    def _record_change(self, place: MemoryPlace, change: MemoryChange) -> None:
        self.held[place] = change.memory
        known = {one.number: one for one in (*self.past.get(change.memory.id, ()), *change.versions)}
        for number, (since, until) in change.moved.items():
            one = known[number]
            known[number] = replace(one, valid_from=since or one.valid_from, valid_to=until or one.valid_to)
        in_order = sorted(known.values(), key=lambda one: (one.valid_from, one.number))
        self.past[change.memory.id] = tuple(in_order)


async def _load_batch(tx: Tx, scope: Scope, facts: Sequence[Fact], stamp: WriteStamp, *, extracted: bool) -> FactBatch:
    earliest: dict[str, datetime] = {}
    for fact in facts:
        at = fact.valid_from or stamp.at
        for key in (key_of_fact(fact), claim_key(fact), legacy_claim_key(fact)):
            earliest[key] = min(at, earliest.get(key, at))
    held = {(one.persona_id, one.memory_key): one for one in await store.by_keys(tx, scope, earliest)}
    voices: dict[str, set[str]] = {}
    for fact in facts:
        voices.setdefault(key_of_fact(fact), set()).add(fact.said_by)
    # What was said of the past needs the past; so does what other sources repeat, as each is put on record once.
    late = [
        one.id
        for one in held.values()
        if earliest[one.memory_key] < one.valid_from or voices.get(one.memory_key, set()) - {one.origin}
    ]
    messages = {fact.ground.message_id for fact in facts if fact.ground}
    return FactBatch(
        persona_id=scope.persona_id,
        stamp=stamp,
        extracted=extracted,
        held=held,
        past=await store.past_versions(tx, scope, late),
        told=await store.recorded_statements(tx, scope, messages) if messages else set(),
        buried=await find_forgotten(tx, scope, facts) if extracted else frozenset(),
    )


def _statement_key(memory_id: str, ground: QuoteLocation, digest: str) -> store.StatementKey:
    return (memory_id, ground.message_id, ground.start, ground.end, digest)


async def _raise_importance(tx: Tx, scope: Scope, batch: FactBatch) -> None:
    """What came up in enough sessions matters more."""
    said = {memory_id for memory_id, *_ in batch.grounds}
    if not said:
        return
    sessions = await store.sessions_mentioning(tx, scope, said)
    for place, memory in batch.held.items():
        importance = importance_after_use(memory.importance, sessions=sessions.get(memory.id, 0))
        if memory.id in said and importance != memory.importance:
            await store.set_importance(tx, scope, memory.id, importance)
            batch.held[place] = replace(memory, importance=importance)


async def store_vectors(
    tx: Tx, scope: Scope, changes: Iterable[MemoryChange], vectors: TextVectors | None, *, revision: int
) -> None:
    """Changed texts have their vectors, or will get them soon."""
    fresh: dict[tuple[vector_store.VectorKind, str], str] = {}
    waiting = False
    for change in changes:
        if change.displaced is not None:
            await vector_store.move_to_version(tx, scope, change.memory.id, change.displaced, revision=revision)
        if change.reworded:
            await vector_store.drop_vectors(tx, scope, change.memory.id)
        past = sum(not version.is_repeat for version in change.versions)
        waiting = waiting or past > (change.displaced is not None)
        if change.outcome is MemoryOutcome.CREATED or change.displaced is not None or change.reworded:
            thing = (vector_store.VectorKind.MEMORY, change.memory.id)
            # Replaced within its own batch, an earlier text became a version that has no vector yet.
            waiting = waiting or (thing in fresh and change.displaced is not None)
            fresh[thing] = change.memory.content
    known = vectors.by_text if vectors else {}
    ready = {thing: known[text] for thing, text in fresh.items() if text in known}
    if vectors and ready:
        await vector_store.save_vectors(tx, scope, vectors.model, ready, revision=revision)
    if waiting or len(ready) < len(fresh):
        await enqueue_embedding(tx, scope)


async def _load_results(tx: Tx, scope: Scope, changes: Sequence[MemoryChange]) -> list[RememberedFact]:
    """Each statement's outcome with its memory as it stands at the end."""
    last = {change.memory.id: change.memory for change in changes}
    shown = {one.id: one for one in await store.with_provenance(tx, scope, list(last.values()))}
    return [
        RememberedFact(outcome=change.outcome, memory=shown[change.memory.id], why=change.why) for change in changes
    ]
