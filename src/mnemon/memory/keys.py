"""Keys: slugs of names, keys of entities, and memory keys, which decide whether two facts are the same fact."""

import hashlib
import unicodedata

from mnemon.memory.fact import EntityType, Fact, FactEntity, FactType, MemoryType
from mnemon.untrusted_text import normalize_text, reads_outside_text

_SEPARATORS = {"Zs", "Zl", "Zp", "Pd", "Pc"}
_VARIATION_SELECTORS = (range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0))


@reads_outside_text
def make_slug(name: str) -> str:
    """Return the name in lower case, without punctuation, spaces and hyphens as single underscores.

    Letters of every script stay. A name without a letter or digit ("🚀") becomes a hash, so that two such names differ.
    """
    # Fast path: recall makes slugs of every query.
    if name.isascii() and (plain := "_".join(filter(None, name.lower().translate(_ASCII_SLUGS).split("_")))):
        return plain
    text = normalize_text("NFKC", name).lower()
    words = "".join(_slug_character(character) for character in text).split("_")
    joined = normalize_text("NFKC", "_".join(filter(None, map(_without_stray_marks, words))))
    if joined or not name.strip():
        return joined
    digest = hashlib.sha256(normalize_text("NFKC", name.strip()).encode("utf-8", "surrogatepass"))
    return f"x{digest.hexdigest()[:12]}"


def _slug_character(character: str) -> str:
    """Return what a character becomes in a slug: itself, an underscore, or nothing."""
    category = unicodedata.category(character)
    if category[0] in "LN":
        return character
    if category in _SEPARATORS or character.isspace():
        return "_"
    # Accents and vowel signs belong to the letter before them; emoji variation selectors are marks only by category.
    if category[0] == "M" and not any(ord(character) in span for span in _VARIATION_SELECTORS):
        return character
    return ""


def _without_stray_marks(word: str) -> str:
    """Return a word of a slug without accents at its start, which have no letter to belong to."""
    start = 0
    while start < len(word) and unicodedata.category(word[start])[0] == "M":
        start += 1
    return word[start:]


_ASCII_SLUGS = {number: _slug_character(chr(number)) for number in range(128)}
"""The slug of each ASCII character: most names need no others."""


SELF = "self"
"""The slug of the person themselves."""
_SENTENCE_ENDS = " \t\n.!?;,。！？"


def entity_key(entity: FactEntity) -> str:
    """Return the entity's key, such as `person:john_doe` for the person called "John Doe"."""
    return f"{entity.type}:{make_slug(entity.label)}"


def split_key(key: str) -> tuple[str, str]:
    """Return the type and the slug of an entity key."""
    kind, _, name = key.partition(":")
    return kind, name


def memory_key(
    *,
    type: MemoryType,  # noqa: A002 (the field's name on the wire)
    fact_type: FactType,
    content: str,
    entity: FactEntity | None = None,
    attribute: str | None = None,
) -> str:
    """Return a fact's key, `people|person|john_doe|relationship`, with `|attribute` if the fact names one.

    Without an entity the person is meant. Without an attribute the content's hash takes its place, so that nothing is
    overwritten; what somebody is to the person needs none.
    """
    entity_type = entity.type if entity else EntityType.PERSON
    primary = make_slug(entity.label) if entity else SELF
    parts = [type.lower(), entity_type, primary, fact_type]
    named = make_slug(attribute) if attribute else ""
    if named:
        parts.append(named)
    elif entity is None or fact_type is not FactType.RELATIONSHIP:
        parts.append(content_hash(content))
    return "|".join(parts)


def key_of_fact(fact: Fact) -> str:
    """Return the memory key under which a fact is stored."""
    return fact.key or memory_key(
        type=fact.type,
        fact_type=fact.fact_type,
        content=fact.content,
        entity=fact.entity,
        attribute=fact.attribute,
    )


def claim_key(fact: Fact) -> str:
    """Return the key of a fact that contradicts a more trusted memory and is stored beside it as a claim."""
    return f"{key_of_fact(fact)}|claim|{fact.effective_trust}|{fact.said_by.casefold()}"


def legacy_claim_key(fact: Fact) -> str:
    """Return a claim's key as earlier releases made it, which sources with similar names shared."""
    return f"{key_of_fact(fact)}|claim|{fact.effective_trust}|{make_slug(fact.said_by)}"


def withdrawn_key(key: str, memory_id: str) -> str:
    """Return the key of a withdrawn memory whose own key another memory now has."""
    return f"{key}|withdrawn|{memory_id}"


def original_key(key: str) -> str:
    """Return the key that a memory had before it was withdrawn and replaced."""
    return key.rpartition("|withdrawn|mem_")[0] or key


@reads_outside_text
def normalize_content(content: str) -> str:
    """Return a memory's text without differences of case, spacing and closing punctuation."""
    # NFKC again after folding, since case folding can undo it.
    folded = normalize_text("NFKC", content).casefold()
    return normalize_text("NFKC", " ".join(folded.split())).strip(_SENTENCE_ENDS)


def content_hash(content: str) -> str:
    """Return 16 hex digits that are equal for memories with the same normalized words."""
    return hashlib.sha256(normalize_content(content).encode("utf-8", "surrogatepass")).hexdigest()[:16]
