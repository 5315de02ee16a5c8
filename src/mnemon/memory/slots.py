"""Slots: of whose attribute a fact is a value, whatever words or names it was stated with.

Every door states facts through `remember_facts`, which asks here: two facts of one slot are the same fact with another
value (one value at a time), or members side by side (a set), of which each is held once. A slot is the entity's key and
the attribute, `person:self|lives_in`; a fact that is a value of nothing known has none, and is kept by its content.
"""

from dataclasses import dataclass, replace
from functools import lru_cache

from mnemon.memory.attributes import Attribute, Holds, attribute_called
from mnemon.memory.entities.kinship import kinship_slug
from mnemon.memory.fact import EntityType, Fact, FactEntity, FactType
from mnemon.memory.keys import SELF, content_hash, entity_key, make_slug, memory_key, split_key
from mnemon.memory.lifecycle import has_same_words
from mnemon.memory.memory import StoredMemory
from mnemon.memory.plain_statement import LONGEST_READ, plain_statement
from mnemon.memory.reading import Reading, read_denial, read_statement, read_values
from mnemon.memory.values import is_same_value, value_slug, value_stems

SELF_KEY = f"{EntityType.PERSON}:{SELF}"


@dataclass(frozen=True, kw_only=True)
class SlotReading:
    """Of what a fact or memory is a value, and which."""

    slot: str
    """The entity's key and the attribute; empty if it is a value of nothing known."""
    attribute: Attribute | None = None
    values: tuple[str, ...] = ()
    entity: FactEntity | None = None
    """Whose attribute it is, as the statement names it; None for the person."""
    named: FactEntity | None = None
    """Somebody whom the value names."""
    denies: bool = False
    """Whether it says that the set has no member."""


NO_SLOT = SlotReading(slot="")


def slot_of(key: str, attribute: str) -> str:
    """Return the slot, such as `person:self|lives_in`, of an entity's key and an attribute."""
    return f"{key}|{attribute}"


def slot_entity_key(entity: FactEntity | None) -> str:
    """Return an entity's key for slots, where kinship words of one meaning (mum, mother) share a key."""
    if entity is None or make_slug(entity.label) == SELF:
        return SELF_KEY
    kind, slug = split_key(entity_key(entity))
    if kind == EntityType.PROJECT:
        return f"{kind}:{slug.removesuffix('_project').removeprefix('project_') or slug}"
    return f"{kind}:{kinship_slug(slug)}"


def read_slot(content: str, entity: FactEntity | None, attribute: str | None) -> SlotReading:
    """Return the slot (entity and attribute) and values of a statement; an empty slot if no attribute is recognized."""
    if len(content) > LONGEST_READ and attribute is None:
        return NO_SLOT
    reading = _read_short_slot(content[:LONGEST_READ], entity, attribute)
    if reading.attribute is None or reading.attribute.holds is not Holds.LOG or reading.denies:
        return reading
    # An entry of a log is its words, all of them: two long ones that begin alike are two.
    words = " ".join(sorted(value_stems(content))) if len(content) <= LONGEST_READ else content
    return replace(reading, slot=f"{reading.slot}#{content_hash(words)}")


# A batch compares each statement with what is held of one person: a few thousand short texts. The cache holds no more,
# for its texts stay in the process after they are forgotten in the database, until others push them out.
@lru_cache(maxsize=4_096)
def _read_short_slot(content: str, entity: FactEntity | None, attribute: str | None) -> SlotReading:
    """Return the slot and values of a statement of at most `LONGEST_READ` characters, without a log's hash; cached."""
    if (denied := _denial_of(content, entity, attribute)) is not None:
        slot = slot_of(slot_entity_key(denied.entity), denied.attribute.name)
        return SlotReading(slot=slot, attribute=denied.attribute, entity=denied.entity, denies=True)
    reading = _reading_of(content, entity, attribute)
    if reading is None:
        return NO_SLOT
    known = reading.attribute
    key = slot_entity_key(reading.entity)
    slot = slot_of(key, known.name)
    return SlotReading(slot=slot, attribute=known, values=reading.values, entity=reading.entity, named=reading.named)


def _denial_of(content: str, entity: FactEntity | None, attribute: str | None) -> Reading | None:
    """Return the set that a statement says is empty; None if its caller named another attribute."""
    denied = read_denial(content, entity)
    if denied is None or attribute is None or attribute_called(attribute)[0].name == denied.attribute.name:
        return denied
    return None


def _reading_of(content: str, entity: FactEntity | None, attribute: str | None) -> Reading | None:
    """Return the attribute and values of a statement, with the attribute that its caller named, if any; else None."""
    if attribute is None or not make_slug(attribute):
        return read_statement(content, entity)
    known, value = attribute_called(attribute)
    said = read_statement(content, entity)
    if said is not None and said.attribute.name == known.name:
        return said
    values = (value,) if value else read_values(known, content, entity)
    if known.is_role and entity is not None and (not values or is_same_value(known.value, values[0], entity.label)):
        return Reading(entity=None, attribute=known, values=(entity.label,), named=entity)
    return Reading(entity=entity, attribute=known, values=values)


def read_fact(fact: Fact) -> SlotReading:
    """Return the slot (entity and attribute) and values of a fact."""
    return read_slot(fact.content, fact.entity, fact.attribute)


def read_memory(memory: StoredMemory) -> SlotReading:
    """Return the slot (entity and attribute) and values of a memory's current text."""
    return read_slot(memory.content, entity_of(memory), memory.attribute)


def entity_of(memory: StoredMemory) -> FactEntity | None:
    """Return the entity that a memory is about; None if it is about the person."""
    if memory.entity_label is None:
        return None
    return FactEntity(type=memory.entity_type, label=memory.entity_label)


def complete_fact(fact: Fact) -> Fact:
    """Return the fact with the entity and attribute that its text names, where its source gave none."""
    reading = read_fact(fact)
    if reading.attribute is None:
        return fact
    entity, attribute = fact.entity, fact.attribute
    if attribute is None and not _is_plain_relation(fact, reading):
        attribute = reading.attribute.name
    if entity is None and reading.entity is not None:
        entity = reading.entity
    return replace(fact, entity=entity, attribute=attribute, slot=reading.slot)


def _is_plain_relation(fact: Fact, reading: SlotReading) -> bool:
    """Say whether a fact is nothing but an entity's relation to the person, whose key needs no attribute."""
    if fact.entity is None or fact.fact_type is not FactType.RELATIONSHIP or reading.attribute is None:
        return False
    return reading.attribute.name == "relation" or reading.attribute.is_role


def own_key(fact: Fact) -> str:
    """Return the key under which a new fact is stored if no stored memory is the same fact."""
    reading = read_fact(fact)
    key = memory_key(
        type=fact.type, fact_type=fact.fact_type, content=fact.content, entity=fact.entity, attribute=fact.attribute
    )
    if reading.attribute is None or reading.attribute.holds is Holds.ONE or fact.attribute is None:
        return key
    base = memory_key(
        type=fact.type,
        fact_type=fact.fact_type,
        content=fact.content,
        entity=fact.entity,
        attribute=reading.attribute.name,
    )
    if reading.attribute.holds is Holds.LOG:
        return f"{base}:{reading.slot.rpartition('#')[2]}"
    value = "+".join(sorted(map(value_slug, reading.values))) if reading.values else content_hash(fact.content)
    return f"{base}:{value}"


def apart_key(fact: Fact) -> str:
    """Return a key with a hash of the fact's content, for a fact whose usual key another fact already has."""
    return f"{own_key(fact)}|{content_hash(fact.content)}"


def is_same_member(one: SlotReading, other: SlotReading) -> bool:
    """Say whether two statements on one slot are the same fact: always if it has one value, in a set by member.

    That a set has no member is the same fact as each of its members, with another value.
    """
    if one.attribute is None or one.attribute.holds is not Holds.SET or one.denies or other.denies:
        return True
    if not one.values or not other.values:
        return False
    return _covers_values(one, other) or _covers_values(other, one)


def _covers_values(one: SlotReading, other: SlotReading) -> bool:
    """Say whether every value of the first statement is among the values of the second."""
    kind = one.attribute.value if one.attribute else None
    if kind is None:
        return False
    return all(any(is_same_value(kind, value, known) for known in other.values) for value in one.values)


def says_same(fact: Fact, held: StoredMemory | None, content: str) -> bool:
    """Say whether a fact says what a stored text says: in the same words, or with the same value."""
    if has_same_words(fact.content, content):
        return True
    entity = entity_of(held) if held else fact.entity
    attribute = held.attribute if held else fact.attribute
    return has_same_value(read_fact(fact), read_slot(content, entity, attribute))


def has_same_value(one: SlotReading, other: SlotReading) -> bool:
    """Say whether two statements give the same values of the same attribute."""
    if one.attribute is None or other.attribute is None or one.attribute.name != other.attribute.name:
        return False
    if not one.values or not other.values:
        return False
    return _covers_values(one, other) and (one.attribute.holds is Holds.SET or _covers_values(other, one))


def repeated_text(fact: Fact, held: StoredMemory, content: str) -> str | None:
    """Return the fuller of two texts, to be stored, if a fact repeats a stored text; None if it says something else.

    A paraphrase is kept in the words that are held; one that adds a detail and leaves none out, in its own.
    """
    if has_same_words(fact.content, content):
        return fact.content
    if _is_negative(fact.content) != _is_negative(content) or not says_same(fact, held, content):
        return None
    new, old = (
        _detail_stems(fact.content, read_fact(fact)),
        _detail_stems(content, read_fact(replace(fact, content=content))),
    )
    if new <= old:
        return content
    return fact.content if old < new else None


def _is_negative(text: str) -> bool:
    """Say whether a text contains a negation."""
    plain = plain_statement(text[:LONGEST_READ]) or text
    return any(word in _NEGATIVE for word in plain.lower().split())


_NEGATIVE = frozenset({"not", "no", "never", "none", "nothing", "without", "longer", "anymore"})


def _detail_stems(content: str, reading: SlotReading) -> frozenset[str]:
    """Return the stems of a text other than those of its attribute, value and entity."""
    if reading.attribute is None:
        return frozenset()
    label = value_stems(reading.entity.label) if reading.entity else frozenset()
    named = frozenset().union(*(value_stems(value) for value in reading.values)) if reading.values else frozenset()
    plain = plain_statement(content[:LONGEST_READ]) or content[:LONGEST_READ]
    return value_stems(plain) - reading.attribute.noise - label - named - _PLAIN


_PLAIN = value_stems(
    "i we my our me the a an user person is am are be have has had do does did of at in on for to from with and as it "
    "he she they his her their this that currently now still actually really also just been being day days these "
    "where there who which known called named moment time right well so very severely got get can by live place"
)
