"""Under which key a fact is stored, given what is held: that of the same fact, whatever names it was stated with."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from mnemon.memory.attributes import Holds
from mnemon.memory.entities.aliases import Aliases
from mnemon.memory.fact import Fact
from mnemon.memory.keys import SELF
from mnemon.memory.lifecycle import ArchiveReason, ArchiveStatus, has_same_words
from mnemon.memory.memory import StoredMemory
from mnemon.memory.slots import (
    apart_key,
    complete_fact,
    is_same_member,
    own_key,
    read_fact,
    read_memory,
    slot_of,
)

MemoryPlace = tuple[str | None, str]
"""What is unique for each person: the persona, or None for all personas, and the memory key."""


@dataclass(kw_only=True)
class SlotIndex:
    """Which memories stand in which slot, through all aliases of their entities."""

    aliases: Aliases = field(default_factory=Aliases)
    places: dict[str, set[MemoryPlace]] = field(default_factory=dict)

    def add_memory(self, place: MemoryPlace, memory: StoredMemory) -> None:
        """Add a memory to the index of slots (entity and attribute); claims and replaced memories are left out."""
        slot = memory.slot if memory.slot is not None else read_memory(memory).slot
        if slot and memory.claim_of is None and not memory.is_replaced:
            self.places.setdefault(slot, set()).add(place)

    def same_slots(self, slot: str) -> tuple[str, ...]:
        """Return the slot and the same attribute's slots under the entity's other keys (aliases)."""
        key, _, attribute = slot.partition("|")
        return tuple(slot_of(member, attribute) for member in dict.fromkeys((key, *self.aliases.member_keys(key))))

    def members(
        self, slot: str, held: Mapping[MemoryPlace, StoredMemory], persona_id: str | None
    ) -> list[StoredMemory]:
        """Return the memories in a slot that the persona may see: its own first, then active ones, then the latest."""
        places = {place for one in self.same_slots(slot) for place in self.places.get(one, ())}
        found = [held[place] for place in places if place in held and place[0] in (persona_id, None)]
        return sorted(found, key=lambda one: _slot_order(one, persona_id))


def _slot_order(one: StoredMemory, persona_id: str | None) -> tuple[bool, bool, float, str]:
    """Return the key that sorts memories in one slot: the persona's own, active, then stated last."""
    return (
        one.persona_id != persona_id,
        one.status is not ArchiveStatus.ACTIVE,
        -one.stated_at.timestamp(),
        one.id,
    )


def place_fact(fact: Fact, index: SlotIndex, held: Mapping[MemoryPlace, StoredMemory], persona_id: str | None) -> Fact:
    """Return the fact under the key of the stored memory that is the same fact, or under a key of its own."""
    if fact.key is not None:
        return fact
    fact = complete_fact(fact)
    if (found := _held_in_slot(fact, index, held, persona_id)) is not None:
        return replace(fact, key=found.memory_key)
    key = own_key(fact)
    there = [held[place] for place in ((persona_id, key), (None, key)) if place in held]
    if any(not _is_same_fact(fact, one, index) for one in there):
        return replace(fact, key=apart_key(fact))
    return replace(fact, key=key)


def _held_in_slot(
    fact: Fact, index: SlotIndex, held: Mapping[MemoryPlace, StoredMemory], persona_id: str | None
) -> StoredMemory | None:
    """Return the stored memory that is a value of the fact's attribute, in a set the same member; None without one."""
    reading = read_fact(fact)
    if reading.attribute is None:
        return None
    members = [one for one in index.members(reading.slot, held, persona_id) if _may_take_value(one)]
    if reading.attribute.holds is Holds.SET:
        return next((one for one in members if is_same_member(reading, read_memory(one))), None)
    if members or not names_no_project(fact):
        return members[0] if members else None
    # "The deadline moved to May 8", where one project alone has a deadline.
    others = [
        one
        for place, one in held.items()
        if place[0] in (persona_id, None) and one.status is ArchiveStatus.ACTIVE and one.claim_of is None
        and read_memory(one).slot.partition("|")[2] == reading.attribute.name
    ]  # fmt: skip
    return others[0] if len(others) == 1 else None


def names_no_project(fact: Fact) -> bool:
    """Say whether a fact gives a project's attribute and leaves open which: "The deadline moved to May 8"."""
    reading = read_fact(fact)
    return reading.attribute is not None and reading.attribute.of == "project" and reading.slot.startswith(_SELF_SLOT)


_SELF_SLOT = f"person:{SELF}|"


def _may_take_value(one: StoredMemory) -> bool:
    """Say whether a memory may receive a new value: not if it was folded into another memory."""
    return one.archive_reason is not ArchiveReason.FOLDED


def _is_same_fact(fact: Fact, held: StoredMemory, index: SlotIndex) -> bool:
    """Say whether the memory under a fact's key is the same fact: the same attribute, or else the same words."""
    reading, known = read_fact(fact), read_memory(held)
    if reading.attribute is None and known.attribute is None:
        # Only what somebody is to the person has a key without its content.
        return fact.attribute is not None or has_same_words(fact.content, held.content) or _is_hashed(held)
    if reading.attribute is None or known.attribute is None:
        return fact.attribute is not None and held.attribute is not None
    return known.slot in index.same_slots(reading.slot) and is_same_member(reading, known)


def _is_hashed(held: StoredMemory) -> bool:
    """Say whether a memory's key ends in a hash of its content, so that only the same content has it."""
    return held.memory_key.count("|") >= 4


def wanted_slots(facts: Iterable[Fact], index: SlotIndex) -> list[str]:
    """Return every slot (entity and attribute) in which a stored memory may be the same fact as one of these."""
    slots = {read_fact(fact).slot for fact in facts} - {""}
    return sorted({same for slot in slots for same in index.same_slots(slot)})
