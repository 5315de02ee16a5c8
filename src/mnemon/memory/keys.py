"""Keys: what an entity is called in the store, and what makes two facts the same fact."""

import hashlib

from mnemon.memory.fact import Entity, EntityType, Fact, FactType, MemoryType
from mnemon.memory.slug import slug
from mnemon.outside import normal_form, reads_outside_text

SELF = "self"
_SENTENCE_ENDS = " \t\n.!?;,。！？"


def entity_key(entity: Entity) -> str:
    """`person:john_doe` for the person called "John Doe"."""
    return f"{entity.type}:{slug(entity.label)}"


def split_key(key: str) -> tuple[str, str]:
    """Type and slug of an entity key."""
    kind, _, name = key.partition(":")
    return kind, name


def memory_key(
    *,
    type: MemoryType,  # noqa: A002 (the field's name on the wire)
    fact_type: FactType,
    content: str,
    entity: Entity | None = None,
    attribute: str | None = None,
) -> str:
    """`people|person|john_doe|relationship`, with `|attribute` appended when the fact names one.

    Without an entity the person is meant. Without an entity and an attribute the content's hash stands for the
    attribute, so that nothing is overwritten.
    """
    entity_type = entity.type if entity else EntityType.PERSON
    primary = slug(entity.label) if entity else SELF
    parts = [type.lower(), entity_type, primary, fact_type]
    named = slug(attribute) if attribute else ""
    if named:
        parts.append(named)
    elif entity is None:
        parts.append(content_hash(content))
    return "|".join(parts)


def key_of(fact: Fact) -> str:
    """The key under which a fact is stored."""
    return memory_key(
        type=fact.type,
        fact_type=fact.fact_type,
        content=fact.content,
        entity=fact.entity,
        attribute=fact.attribute,
    )


def claim_key(fact: Fact) -> str:
    """The key under which a fact stands as its source's claim, beside what a more trusted source says."""
    return f"{key_of(fact)}|claim|{fact.deserved_trust}|{fact.said_by.casefold()}"


def earlier_claim_key(fact: Fact) -> str:
    """The key an earlier release gave the claim, under which sources with similar names shared one."""
    return f"{key_of(fact)}|claim|{fact.deserved_trust}|{slug(fact.said_by)}"


def withdrawn_key(key: str, memory_id: str) -> str:
    """The key of a withdrawn memory whose own key another one has now."""
    return f"{key}|withdrawn|{memory_id}"


def held_key(key: str) -> str:
    """The key that a memory had before it was withdrawn and another one took its place."""
    return key.rpartition("|withdrawn|mem_")[0] or key


@reads_outside_text
def normalized(content: str) -> str:
    """The content without what does not change its meaning: case, spacing, closing punctuation."""
    folded = normal_form("NFKC", content).casefold()
    return normal_form("NFKC", " ".join(folded.split())).strip(_SENTENCE_ENDS)


def content_hash(content: str) -> str:
    """Sixteen hex digits that are the same for contents that say the same in the same words."""
    return hashlib.sha256(normalized(content).encode("utf-8", "surrogatepass")).hexdigest()[:16]
