"""The memories that a batch of facts concerns, and what each fact changes in them. Pure: nothing is written here."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from mnemon.memory import store
from mnemon.memory.claims import archive_agreed, archive_claim, makes_claim
from mnemon.memory.ended import Ending, ended_memories, read_endings
from mnemon.memory.fact import Fact, FactOp, QuoteLocation
from mnemon.memory.keys import claim_key, content_hash, key_of_fact, legacy_claim_key
from mnemon.memory.lifecycle import CORRECTED, WITHDRAWN, ArchiveStatus
from mnemon.memory.memory import MemoryVersion, StoredMemory
from mnemon.memory.placing import MemoryPlace, SlotIndex, place_fact
from mnemon.memory.plan import MemoryChange, MemoryOutcome, WriteStamp, create_memory, plan_update, skip_if_known
from mnemon.memory.retraction import NOTHING_ENDED, SAID_SINCE, end_memory, endings_of_retraction, refuses_ending
from mnemon.memory.slots import read_fact, repeated_text
from mnemon.memory.trust import outranks
from mnemon.scope import NewId


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
    index: SlotIndex = field(default_factory=SlotIndex)
    """The memories by the attribute they are a value of."""
    retracted: list[MemoryChange] = field(default_factory=list)
    """Changes of memories that were taken back besides the one that a result shows."""
    claim_places: dict[str, set[MemoryPlace]] = field(init=False, default_factory=dict)
    """Places of claims by the key that they contradict."""

    def __post_init__(self) -> None:
        """Index the claims among the memories."""
        for place, one in self.held.items():
            self._index_claim(place, one)
            self.index.add_memory(place, one)

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
        persona_id = self.persona_id if fact.private else None
        targets = self._find_ended(persona_id, fact) if fact.key is None else ()
        if targets:
            return self._apply_retraction(number, fact, targets, new_id)
        if fact.op is FactOp.RETRACT:
            return MemoryChange(
                outcome=MemoryOutcome.SKIPPED, memory=self._memory_as_if_stored(fact), why=NOTHING_ENDED
            )
        placed = place_fact(fact, self.index, self.held, persona_id)
        if fact.key is None and number not in self.forgotten and read_fact(fact).denies:
            self._end_members(persona_id, placed)
        return self._apply_statement(number, placed, new_id)

    def _apply_statement(self, number: int, fact: Fact, new_id: NewId) -> MemoryChange:
        """Return the change that states a placed fact: repeat, replace or create a memory, or add a claim beside it."""
        persona_id, key = self.persona_id if fact.private else None, key_of_fact(fact)
        more_trusted = self._find_more_trusted(persona_id, key, fact)
        if more_trusted is not None:
            if (skipped := self._skip_known(persona_id, fact, more_trusted)) is not None:
                return skipped
            # A claim is never pinned: pinned memories are always shown, and the person did not pin this one.
            fact = replace(fact, pinned=None)
        place = self._claim_place(persona_id, fact) if more_trusted else (persona_id, key)
        held = self.held.get(place)
        if held is not None:
            fact = self._with_held_words(fact, held)
        digest = content_hash(fact.content)
        # The same words at the same place of the same message: this turn is being reflected again.
        if held and fact.ground and statement_key(held.id, fact.ground, digest) in self.recorded:
            return MemoryChange(outcome=MemoryOutcome.SKIPPED, memory=held, why="already on record")
        if held and makes_claim(held, fact, self.stamp.at):
            return MemoryChange(
                outcome=MemoryOutcome.SKIPPED, memory=held, why=f"a more trusted source says otherwise: {held.trust}"
            )
        if held:
            past = standing_versions(self.past.get(held.id, ()))
            change = plan_update(held, past, fact, self.stamp, extracted=self.extracted)
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
                self.recorded.add(statement_key(change.memory.id, fact.ground, digest))
                self.grounds.append((change.memory.id, fact.ground, digest))
        return change

    def _with_held_words(self, fact: Fact, held: StoredMemory) -> Fact:
        """Return the fact in the stored words if it only repeats them in other words; else the fact unchanged."""
        at = fact.valid_from or self.stamp.at
        texts = [one.content for one in self.past.get(held.id, ()) if not one.is_repeat] if at < held.valid_from else []
        for content in (held.content, *texts):
            if (kept := repeated_text(fact, held, content)) is not None:
                return replace(fact, content=kept)
        return fact

    def _find_ended(self, persona_id: str | None, fact: Fact) -> tuple[StoredMemory, ...]:
        """Return the active memories that the fact says are over; empty if it says nothing of the kind."""
        endings: tuple[Ending, ...] = read_endings(fact.content, fact.entity)
        if fact.op is FactOp.RETRACT:
            endings = (*endings, *endings_of_retraction(fact))
        if not endings:
            return ()
        held = [
            one
            for place, one in self.held.items()
            if place[0] == persona_id or (place[0] is None and persona_id is not None)
            if one.status is ArchiveStatus.ACTIVE and one.claim_of is None
        ]
        return ended_memories(endings, held, self.index.aliases)

    def _apply_retraction(
        self, number: int, fact: Fact, targets: Sequence[StoredMemory], new_id: NewId
    ) -> MemoryChange:
        """Return the change that ends the memories; against a more trusted or pinned one the fact becomes a claim."""
        at = fact.valid_from or self.stamp.at
        shown: MemoryChange | None = None
        for held in targets:
            if number in self.forgotten:
                return MemoryChange(outcome=MemoryOutcome.SKIPPED, memory=held, why="forgotten")
            if refuses_ending(held, fact):
                beside = replace(fact, content=fact.ending_words, key=held.memory_key, op=FactOp.STATE)
                change = self._apply_statement(number, beside, new_id)
            elif at < held.stated_at:
                change = MemoryChange(outcome=MemoryOutcome.SKIPPED, memory=held, why=SAID_SINCE)
            else:
                change = end_memory(held, fact, self.stamp)
                self._record_change((held.persona_id, held.memory_key), change)
            if shown is None:
                shown = change
            else:
                self.retracted.append(change)
        assert shown is not None
        return shown

    def _end_members(self, persona_id: str | None, denial: Fact) -> None:
        """Archive the members of a set that a statement says is empty, except the one that the statement replaces."""
        at = denial.valid_from or self.stamp.at
        for held in self.index.members(read_fact(denial).slot, self.held, persona_id):
            stays = held.status is not ArchiveStatus.ACTIVE or at < held.stated_at or refuses_ending(held, denial)
            if held.memory_key != denial.key and not stays:
                change = end_memory(held, denial, self.stamp)
                self._record_change((held.persona_id, held.memory_key), change)
                self.retracted.append(change)

    def _memory_as_if_stored(self, fact: Fact) -> StoredMemory:
        """Return the memory that a fact would have made, to be shown where there was nothing for it to retract."""
        return create_memory(fact, self.stamp, id="", persona_id=None).memory

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
        """Archive a source's claim once the source itself says what the stored fact says."""
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
        """Return the changes that archive claims, as they are after all facts of the batch."""
        places = sorted(self.ended, key=lambda place: self.held[place].id)
        return [MemoryChange(outcome=MemoryOutcome.UPDATED, memory=self.held[place]) for place in places]

    def _index_claim(self, place: MemoryPlace, one: StoredMemory) -> None:
        """Index a memory that is a claim by the key that it contradicts; do nothing for other memories."""
        if one.claim_of is not None:
            self.claim_places.setdefault(one.claim_of, set()).add(place)

    def _claim_place(self, persona_id: str | None, fact: Fact) -> MemoryPlace:
        """Return where the claim of the fact's source is stored: persona and key, one for each source."""
        # Earlier releases keyed claims by the slug of the source's name; keep using such a key if it is this source's.
        place, earlier = (persona_id, claim_key(fact)), (persona_id, legacy_claim_key(fact))
        held = self.held.get(earlier)
        if place in self.held or held is None or held.origin.casefold() != fact.said_by.casefold():
            return place
        return earlier

    def _record_change(self, place: MemoryPlace, change: MemoryChange) -> None:
        """Apply a change to the batch's memories and versions, so that the next fact sees it."""
        self.held[place] = change.memory
        self._index_claim(place, change.memory)
        self.index.add_memory(place, change.memory)
        known = {one.number: one for one in (*self.past.get(change.memory.id, ()), *change.versions)}
        for number, (since, until) in change.moved.items():
            one = known[number]
            known[number] = replace(one, valid_from=since or one.valid_from, valid_to=until or one.valid_to)
        for number in change.mentioned:
            known[number] = replace(known[number], mentions=known[number].mentions + 1)
        in_order = sorted(known.values(), key=lambda one: (one.valid_from, one.number))
        self.past[change.memory.id] = tuple(in_order)


def standing_versions(past: Sequence[MemoryVersion]) -> tuple[MemoryVersion, ...]:
    """Return the past versions without the withdrawn ones, which do not count in the memory's history."""
    # Withdrawn repeats stay: their numbers are taken.
    return tuple(one for one in past if one.is_repeat or one.reason != WITHDRAWN)


def statement_key(memory_id: str, ground: QuoteLocation, digest: str) -> store.StatementKey:
    """Return what identifies a recorded statement: memory, message, position and hash of the content."""
    return (memory_id, ground.message_id, ground.start, ground.end, digest)
