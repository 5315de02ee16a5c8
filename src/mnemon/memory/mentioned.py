"""Whom and what a fact mentions besides the entity it is about, each with its role: the company of "CEO of Acme"."""

import re
from dataclasses import dataclass

from mnemon.memory.attributes import ValueKind
from mnemon.memory.fact import EntityType, Fact, FactEntity
from mnemon.memory.keys import entity_key
from mnemon.memory.slots import read_fact
from mnemon.memory.values import LONGEST_VALUE
from mnemon.untrusted_text import reads_outside_text_up_to

ABOUT = "about"
"""The role of the entity that a fact is about."""
_WHERE = re.compile(r"\b(?:at|of|for|with) (?:the )?(?P<name>[A-ZÀ-Þ0-9][\w'&.-]*(?: [A-ZÀ-Þ0-9][\w'&.-]*){0,3})$")


@dataclass(frozen=True, kw_only=True)
class MentionedEntity:
    """An entity of a fact, and what it is in it."""

    key: str
    label: str
    role: str
    """`about`, or the attribute whose value it is."""


def mentioned_entities(fact: Fact) -> tuple[MentionedEntity, ...]:
    """Return the entity that a fact is about and the organization that its value names; none for the person's own."""
    if fact.entity is None:
        return ()
    about = MentionedEntity(key=entity_key(fact.entity), label=fact.entity.label, role=ABOUT)
    reading = read_fact(fact)
    if reading.attribute is None or len(reading.values) != 1 or fact.entity.type is not EntityType.PERSON:
        return (about,)
    label = _organization_in(reading.values[0], is_name=reading.attribute.value is ValueKind.ORG)
    if label is None or (reading.attribute.value is not ValueKind.ORG and reading.attribute.name != "job"):
        return (about,)
    entity = FactEntity(type=EntityType.ORG, label=label)
    return (about, MentionedEntity(key=entity_key(entity), label=label, role=reading.attribute.name))


@reads_outside_text_up_to(LONGEST_VALUE)
def _organization_in(value: str, *, is_name: bool) -> str | None:
    """Return the organization that a value names: the value itself, or what a job is at; None if it has no capital."""
    if is_name:
        return value if value[:1].isupper() else None
    match = _WHERE.search(value[:LONGEST_VALUE])
    return match["name"].strip(" .") if match else None
