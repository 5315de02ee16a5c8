"""Which memories a statement takes back: "I no longer live in Austin", "Rex died", "Ana and I broke up".

A statement that names what is over ends the memory that holds it, and nothing else: what is not held is not ended.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mnemon.memory.attributes import EndingVerbs, ValueKind, ending_verbs
from mnemon.memory.entities.aliases import Aliases
from mnemon.memory.fact import EntityType, FactEntity
from mnemon.memory.keys import make_slug
from mnemon.memory.memory import StoredMemory
from mnemon.memory.plain_statement import LONGEST_READ, plain_statement
from mnemon.memory.reading import Reading, read_plain
from mnemon.memory.slots import SELF_KEY, SlotReading, read_memory, slot_entity_key, slot_of
from mnemon.memory.values import LONGEST_VALUE, clean_value, is_same_value, value_stems
from mnemon.untrusted_text import reads_outside_text_up_to

_NO_LONGER = re.compile(r"\bno longer\b\s*", re.IGNORECASE)
_NOT_ANY_MORE = re.compile(
    r"\b(?:(?:do|does|did|can|will) not|not)\s+(?P<rest>.+?)[,\s]+(?:any ?more|any longer|these days|now)$",
    re.IGNORECASE,
)
_USED_TO = re.compile(r"\bused to\s+(?:be\s+)?", re.IGNORECASE)
_UNSURE = re.compile(
    r"\b(?:if|would|wish|might|maybe|perhaps|hope|want|wants|plan|plans|planning|going to|will|probably|thinking"
    r"|considering|almost|nearly|about to|never)\b|\?",
    re.IGNORECASE,
)
_CAP = r"[A-ZÀ-Þ][\w'-]*(?: [A-ZÀ-Þ][\w'-]*){0,2}"
_WHO = re.compile(
    rf"^(?:(?:I|[Ww]e|[Tt]he user|[Uu]ser)|(?:[Mm]y|[Oo]ur) (?:[a-z]+ ){{0,2}}?(?P<kin>[a-z]+)(?: (?P<kinname>{_CAP}))?"
    rf"|(?P<name>{_CAP})|(?:[Hh]e|[Ss]he|[Tt]hey))\s+(?P<rest>.+)$"
)
_PAIR = re.compile(
    rf"^(?:(?P<a>{_CAP}) and (?:I|me)|(?:I|[Mm]e) and (?P<b>{_CAP})|[Ww]e|[Mm]y (?P<c>[a-z]+) and I)\s+(?P<rest>.+)$"
)
_LEADING = re.compile(r"^(?:(?:have|has|just|recently|finally|also|am|is|are|officially|sadly)\s+)+", re.IGNORECASE)
_MOST_BY_WORDS = 2
"""Memories that are ended by their words alone; where more have them, it is not clear which is meant."""


@dataclass(frozen=True, kw_only=True)
class Ending:
    """What a statement says is over."""

    state: Reading | None = None
    """The state that no longer holds, if it could be read."""
    attributes: tuple[str, ...] = ()
    """The attributes whose value may have ended, likeliest first."""
    value: str | None = None
    """The value that ended; None: whichever the attribute has."""
    entity: FactEntity | None = None
    """Whose it was; None: the person's."""
    gone: bool = False
    """Whether the entity itself is gone, as a pet that died."""
    words: str = ""
    """The statement without what says that it is over."""


@reads_outside_text_up_to(LONGEST_READ)
def read_endings(content: str, entity: FactEntity | None = None) -> tuple[Ending, ...]:
    """Return what a statement says is over ("I no longer live in Austin"); empty for a statement of another kind."""
    text = plain_statement(content)
    if text is None or _UNSURE.search(text):
        return ()
    state = _state_before(text)
    if state is not None:
        return (Ending(state=read_plain(state, entity), entity=entity, words=state),)
    return tuple(_verb_endings(text, entity))


def _state_before(text: str) -> str | None:
    """Return what was true before, "I live in Austin" for "I no longer live in Austin"; None for another statement."""
    if _NO_LONGER.search(text):
        return _NO_LONGER.sub("", text)
    if match := _NOT_ANY_MORE.search(text):
        return f"{text[: match.start()]}{match['rest']}".strip()
    if _USED_TO.search(text):
        return _USED_TO.sub("", text)
    return None


def _verb_endings(text: str, entity: FactEntity | None) -> Iterable[Ending]:
    """Yield what a statement says is over by a verb: "I quit Acme", "Rex died", "we broke up"."""
    pair = _PAIR.match(text)
    who = _WHO.match(text)
    for row in ending_verbs():
        if pair and row.pair_verbs and row.pair_verbs.match(_strip_auxiliaries(pair["rest"])):
            name = pair["a"] or pair["b"] or pair["c"]
            yield Ending(attributes=row.ends, value=name, words=name or "")
    rest, about = (who["rest"], _subject_of(who)) if who else (text, None)
    about = entity or about
    rest = _strip_auxiliaries(rest)
    found = [one for row in ending_verbs() if (one := _row_ending(row, rest, about)) is not None]
    yield from found


def _strip_auxiliaries(predicate: str) -> str:
    """Return a predicate without leading auxiliaries and adverbs: "quit Acme" for "have just quit Acme"."""
    return _LEADING.sub("", predicate)


def _subject_of(who: re.Match[str]) -> FactEntity | None:
    """Return the entity that is a statement's subject, from its match; None for the person."""
    label = who["kinname"] or who["kin"] or who["name"]
    return FactEntity(type=EntityType.PERSON, label=label) if label else None


def _row_ending(row: EndingVerbs, rest: str, about: FactEntity | None) -> Ending | None:
    """Return what a predicate says is over with a verb of this table row; None if it has no such verb."""
    if row.bare_verbs and (match := row.bare_verbs.match(rest)) and not rest[match.end() :].strip(" ."):
        return Ending(attributes=row.ends, entity=about)
    if row.subject_verbs and about is not None and row.subject_verbs.match(rest):
        return Ending(attributes=row.ends, entity=about, gone=True, words=about.label)
    if row.verbs and (match := row.verbs.match(rest)):
        value = clean_value(rest[match.end() :][:LONGEST_VALUE], ValueKind.THING)
        return Ending(attributes=row.ends, value=value, entity=about, words=value) if value else None
    return None


def ended_memories(
    endings: Sequence[Ending], held: Iterable[StoredMemory], aliases: Aliases
) -> tuple[StoredMemory, ...]:
    """Return the stored memories that are over, according to what statements say is over; empty if none matches."""
    read = [(one, read_memory(one)) for one in held]
    for ending in endings:
        found = _memories_by_state(ending, read, aliases) or _memories_by_verb(ending, read, aliases)
        if found:
            return tuple(found)
    for ending in endings:
        if found := _memories_by_words(ending, read):
            return tuple(found)
    return ()


def _keys_of(entity: FactEntity | None, aliases: Aliases) -> frozenset[str]:
    """Return every key under which the entity's facts may be stored, aliases included."""
    key = slot_entity_key(entity)
    return frozenset({key, *aliases.member_keys(key)})


def _memories_by_state(
    ending: Ending, read: Sequence[tuple[StoredMemory, SlotReading]], aliases: Aliases
) -> list[StoredMemory]:
    """Return the memories that state exactly what a statement says is over."""
    state = ending.state
    if state is None:
        return []
    slots = {slot_of(key, state.attribute.name) for key in _keys_of(state.entity, aliases)}
    found = [(one, reading) for one, reading in read if reading.slot in slots]
    return [
        one
        for one, reading in found
        if not state.values
        or any(_matches_value(value, known, reading) for value in state.values for known in reading.values)
    ]


def _memories_by_verb(
    ending: Ending, read: Sequence[tuple[StoredMemory, SlotReading]], aliases: Aliases
) -> list[StoredMemory]:
    """Return the memories of an attribute that a statement ended by a verb, with the value that it names if any."""
    if not ending.attributes:
        return []
    keys = _keys_of(ending.entity, aliases)
    if ending.gone and ending.entity is not None:
        return [
            one
            for one, reading in read
            if reading.attribute is not None
            and reading.attribute.name in ending.attributes
            and (_is_about_entity(one, reading, keys) or _has_value(reading, ending.entity.label))
        ]
    for name in ending.attributes:
        of = [
            (one, r)
            for one, r in read
            if r.attribute is not None and r.attribute.name == name and _is_about_entity(one, r, keys)
        ]
        if name in ("partner", "relation") and ending.value is not None:
            of = [(one, r) for one, r in read if r.attribute is not None and r.attribute.name == name]
        if ending.value is None:
            if of and name != "relation":
                return [one for one, _ in of]
            continue
        found = [one for one, r in of if _has_value(r, ending.value) or _is_relation_to(one, r, ending.value)]
        if found:
            return found
    return []


def _is_about_entity(one: StoredMemory, reading: SlotReading, keys: frozenset[str]) -> bool:
    """Say whether a memory is about the entity that has one of these keys."""
    own = reading.slot.partition("|")[0] if reading.slot else (one.entity_refs[0] if one.entity_refs else SELF_KEY)
    return own in keys


def _has_value(reading: SlotReading, value: str) -> bool:
    """Say whether a named value is one of a memory's values."""
    return any(_matches_value(value, known, reading) for known in reading.values)


def _is_relation_to(one: StoredMemory, reading: SlotReading, value: str) -> bool:
    """Say whether a memory is the relation to a named person: "Ana is my girlfriend" for "Ana"."""
    if reading.attribute is None or reading.attribute.name not in ("relation", "partner") or one.entity_label is None:
        return False
    return is_same_value(ValueKind.NAME, value, one.entity_label)


def _matches_value(named: str, known: str, reading: SlotReading) -> bool:
    """Say whether a named value equals a known one or shortens it: "Tesla" for "Tesla Model 3"."""
    kind = reading.attribute.value if reading.attribute else ValueKind.THING
    if is_same_value(kind, named, known):
        return True
    stems = value_stems(named)
    return bool(stems) and stems <= value_stems(known)


def _memories_by_words(ending: Ending, read: Sequence[tuple[StoredMemory, SlotReading]]) -> list[StoredMemory]:
    """Return the memories that contain all words of an ended state; empty if more than two do."""
    wanted = value_stems(ending.words[:LONGEST_READ]) - _GRAMMAR
    if not wanted:
        return []
    about = ending.entity or (ending.state.entity if ending.state else None)
    label = make_slug(about.label) if about else None
    found = [
        one
        for one, reading in read
        if wanted <= value_stems(one.content[:LONGEST_READ])
        and (label is None or label in make_slug(one.content[:LONGEST_READ]) or label in "".join(one.entity_refs))
        and (label is not None or not _is_about_other(one, reading))
    ]
    return found if len(found) <= _MOST_BY_WORDS else []


def _is_about_other(one: StoredMemory, reading: SlotReading) -> bool:
    """Say whether a memory is a fact about another person than the user."""
    return (
        bool(reading.slot)
        and not reading.slot.startswith(SELF_KEY)
        and one.entity_label is not None
        and (reading.attribute is None or reading.attribute.name != "relation")
    )


_GRAMMAR = value_stems(
    "i we am are is be my our the a an have has had do does in at on of for to with user he she they his her"
)
