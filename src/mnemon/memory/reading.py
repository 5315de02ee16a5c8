"""Read a short statement as a value of an attribute: whose it is, which attribute, which value.

"I live in Austin", "Austin is where I live" and "City: Austin" are one reading. What no pattern knows is not read:
such statements are kept apart by their content. English only; the patterns stand in `attributes.toml`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from mnemon.memory.attributes import Attribute, Holds, ValueKind, attribute_called, find_attribute, known_attributes
from mnemon.memory.entities.lexicon import KNOWN_NAMES
from mnemon.memory.fact import EntityType, FactEntity
from mnemon.memory.offline.vocabulary import KINSHIP_WORDS, NOT_NAMES, OCCUPATIONS
from mnemon.memory.plain_statement import LONGEST_READ, plain_statement
from mnemon.memory.values import clean_value, split_values, value_stems
from mnemon.untrusted_text import reads_outside_text_up_to

_TRAILERS = re.compile(
    r"[,\s]+(?:by the way|btw|you know|though|actually|now|at the moment|currently|these days|right now|nowadays)$",
    re.IGNORECASE,
)
_UNREAL = re.compile(
    r"\b(?:if|would|wish|might|(?-i:may)|could|should|maybe|perhaps|hope|hopes|want|wants|plan|plans|planning|going to"
    r"|will|probably|thinking|considering|almost|nearly|not sure|i think|i guess|about to|dream|dreams|visiting"
    r"|pretend|pretending|imagine|unless)\b|\?",
    re.IGNORECASE,
)
_NOT_NOW = re.compile(
    r"\b(?:not|never|used to|no longer|any ?more|any longer|formerly|former|ex|hardly)\b", re.IGNORECASE
)
_ADVERBS = re.compile(
    r"\b(?:right now|now|currently|still|also|really|actually|recently|just|finally|already|always|mostly|officially"
    r"|presently|happily|again|proudly|mainly|usually|generally|definitely|primarily)\s+",
    re.IGNORECASE,
)
_CAP = (
    r"(?-i:(?:(?:Dr|Mr|Mrs|Ms|Prof)\.? )?[A-ZÀ-Þ][\w'&-]*"
    r"(?: (?:of|the|and|de|van|von) [A-ZÀ-Þ][\w'&-]*| [A-ZÀ-Þ][\w'&-]*){0,3})"
)
_OWNER = r"(?:my|our|his|her|their|its|the|the user's|user's)"
_NOUN = r"[\w-]+(?: [\w-]+){0,3}?"
_MOVED = (
    r"(?:(?:has|have|was|were|got|has been|have been|is being|is|be)\s+)?(?:moved|pushed|changed|shifted|postponed"
    r"|extended|slipped|delayed|brought forward|increased|raised|cut|reduced|switched|updated|rescheduled|set)"
    r"(?: (?:back|forward|out|up|down))?(?: from .{1,40}?)? (?:to|until|till|by|for|on)"
)
_EQUALS = (
    rf"(?:{_MOVED}|becomes?|became|(?:is|are|be)(?: now| still| currently| actually)?"
    r"(?: (?:called|named|due on|due|scheduled for|planned for|on|at|in|by))?|=|:)"
)
_SELF = re.compile(r"^(?:i|we|the user|user|the person|the customer|the client|me)\s+(?P<rest>\S.*)$", re.IGNORECASE)
_PRONOUN = re.compile(r"^(?:he|she|they|it|who)\s+(?P<rest>\S.*)$", re.IGNORECASE)
_NAMED = re.compile(rf"^(?P<name>{_CAP})\s+(?P<rest>[a-z].*)$")
_KINSHIP = "|".join(sorted(map(re.escape, KINSHIP_WORDS), key=len, reverse=True))
_KIN = re.compile(
    rf"^(?:[Mm]y|[Oo]ur) (?P<kin>(?:[a-z]+ ){{0,2}}?(?:{_KINSHIP}))"
    rf"(?:,? (?P<name>{_CAP}),?)?\s+(?P<rest>[a-z].*)$"
)
_NOUN_IS = re.compile(
    rf"^{_OWNER} (?P<noun>{_NOUN})(?:'s name)? (?:(?:of|for|on) (?:the )?(?P<of>{_CAP}) (?:project )?)?{_EQUALS}"
    r" (?P<v>.+)$",
    re.IGNORECASE,
)
_OWNED_IS = re.compile(
    rf"^(?:the )?(?P<of>{_CAP})(?:'s|’s|') (?P<noun>{_NOUN})(?:'s name)? {_EQUALS} (?P<v>.+)$", re.IGNORECASE
)
_THE_X_NOUN = re.compile(
    rf"^(?:the |our )?(?P<of>{_CAP}) (?:project )?(?P<noun>(?-i:[a-z][\w-]*)(?: (?-i:[a-z])[\w-]*)??)"
    rf" {_EQUALS} (?P<v>.+)$",
    re.IGNORECASE,
)
_IS_NOUN = re.compile(
    rf"^(?P<v>.{{1,60}}?) (?:is|are|be|became|becomes)(?: now| still)? (?:also )?"
    rf"(?:(?:{_OWNER})|(?P<of>{_CAP})'s) (?P<noun>{_NOUN})(?:\s*[;,(].*)?$",
    re.IGNORECASE,
)
_LABELLED = re.compile(r"^(?P<noun>[A-Za-z][\w' -]{1,30}?)\s*(?::|=)\s+(?P<v>\S.*)$")
_BARE_IS = re.compile(r"^(?P<noun>[a-z]+(?: [a-z]+)?) is (?:now |still )?(?P<v>\S.*)$", re.IGNORECASE)
"""Only for nouns whose values are told by their capital or figure: "home is Austin", not "work is hard"."""
_TOLD_BY_FORM = frozenset({ValueKind.PLACE, ValueKind.ORG, ValueKind.NAME, ValueKind.DATE})
_LEAD_VERB = re.compile(r"^(am|is|are|has|have)\b", re.IGNORECASE)
_LEADS = {"am": "be", "is": "be", "are": "be", "has": "have", "have": "have"}
_TITLE = re.compile(
    r"^(?:ceo|cto|cfo|coo|cmo|cpo|vp|svp|evp|head|director|president|chair|chairman|chairwoman|founder|co-?founder|partner"
    r"|owner|lead|chief \w+ officer|managing director|vice president|professor|dean)\b(?: (?:of|at|for) .+)?$",
    re.IGNORECASE,
)
_OWNED = re.compile(r"(?:my|our)\b", re.IGNORECASE)
_DEMONYM = re.compile(
    r"(?:ish|ese|ian|ean|ench|erman|utch|reek|wiss|hai|can|egan|arian|tired|ill|sick|late|great|busy)$"
)
_CLAUSE = re.compile(r"\b(?:is|are|am|was|were|has|have|had|do|does)\b", re.IGNORECASE)
"""A verb within a value: the pattern took a subject for a part of it."""
_PERSON_OF = {"project": EntityType.PROJECT}


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What a statement says: a value of an attribute of the person or of an entity."""

    entity: FactEntity | None
    """Whose attribute it is; None for the person."""
    attribute: Attribute
    values: tuple[str, ...] = ()
    """The values, as the statement names them; empty if it names the attribute alone."""
    named: FactEntity | None = None
    """Somebody whom the value names: the manager, the daughter."""


@reads_outside_text_up_to(LONGEST_READ)
def read_statement(content: str, entity: FactEntity | None = None) -> Reading | None:
    """Return the attribute and values that a statement gives for the person or this entity; None if not understood."""
    text = plain_statement(content)
    if text is None or _UNREAL.search(text) or _NOT_NOW.search(text):
        return None
    return read_plain(text, entity)


def read_plain(text: str, entity: FactEntity | None = None) -> Reading | None:
    """Return the attribute and values that a plain present-tense statement gives; None if no pattern matches."""
    for form in dict.fromkeys((text, _TRAILERS.sub("", text))):
        found = _read_noun(form, entity) or _read_predicates(form, entity)
        if found is not None:
            return found
    return None


@reads_outside_text_up_to(LONGEST_READ)
def read_values(attribute: Attribute, content: str, entity: FactEntity | None = None) -> tuple[str, ...]:
    """Return the values that a statement gives for an attribute which its caller has named."""
    text = plain_statement(content)
    if text is None:
        return ()
    found = read_plain(text, entity)
    if found is not None and found.attribute.name == attribute.name:
        return found.values
    for _, predicate in _possible_subjects(text, entity):
        for form in _predicate_forms(predicate):
            if values := _predicate_values(attribute, form):
                return values
    if attribute.names and (labelled := _LABELLED.match(text)):
        text = labelled["v"]
    label = value_stems(entity.label) if entity else frozenset()
    words = [word for word in text.split() if not value_stems(word) <= attribute.noise | label | _GRAMMAR]
    left = clean_value(" ".join(words), attribute.value)
    return split_values(left) if attribute.holds is Holds.SET and left else (left,) if left else ()


@reads_outside_text_up_to(LONGEST_READ)
def read_denial(content: str, entity: FactEntity | None = None) -> Reading | None:
    """Return the set that a statement says is empty ("Has no allergies", "Allergies: none"); None for another."""
    text = plain_statement(content)
    if text is None:
        return None
    plain = _AFTER_DENIAL.sub("", text)
    if match := _NONE_OF.match(plain):
        return _denied_set(match["noun"], entity)
    for about, predicate in _possible_subjects(plain, entity):
        match = _HAS_NO.match(_ADVERBS.sub("", predicate))
        if match and (found := _denied_set(match["noun"], about)) is not None:
            return found
    return None


def _denied_set(noun: str, about: FactEntity | None) -> Reading | None:
    """Return the attribute that a noun names as an empty set; None if the noun names no attribute that is a set."""
    attribute = find_attribute(noun)
    if attribute is None or attribute.holds is not Holds.SET:
        return None
    return Reading(entity=about, attribute=attribute)


_AFTER_DENIAL = re.compile(r"\s*[;,.].*$| (?:at all|whatsoever|of any kind)$", re.IGNORECASE)
_HAS_NO = re.compile(
    r"^(?:(?:have|has|have got|has got) no|(?:do|does) not have any)(?: known)? (?P<noun>\w+(?: \w+)?)$", re.IGNORECASE
)
_NONE_OF = re.compile(r"^(?:my |known )?(?P<noun>\w+(?: \w+)?)(?: are|:) none$", re.IGNORECASE)


_GRAMMAR = value_stems(
    "i am is are have has he she they his her their my the a an was be does do now current still also user our we it "
    "you who this that"
)


def _read_noun(text: str, entity: FactEntity | None) -> Reading | None:
    """Return what a statement says that calls an attribute by name ("My boss is Ruth", "City: Austin"), or None."""
    for pattern in (_NOUN_IS, _OWNED_IS, _THE_X_NOUN, _IS_NOUN, _LABELLED, _BARE_IS):
        match = pattern.match(text)
        if match is None:
            continue
        if pattern is _BARE_IS and not _is_told_by_form(match["noun"], match["v"]):
            continue
        groups = match.groupdict()
        found = _noun_reading(groups["noun"], groups["v"], groups.get("of"), entity, lax=pattern is _LABELLED)
        if found is not None:
            return found
    return None


def _is_told_by_form(noun: str, value: str) -> bool:
    """Say whether a noun without "my" is an attribute whose value this is by its form."""
    attribute = find_attribute(noun)
    return attribute is not None and attribute.value in _TOLD_BY_FORM and (value[0].isupper() or value[0].isdigit())


def _noun_reading(noun: str, value: str, owner: str | None, entity: FactEntity | None, *, lax: bool) -> Reading | None:
    """Return the attribute that a noun names, with the value; None if it names none or the value cannot be one."""
    attribute = find_attribute(noun)
    if attribute is None and noun.lower().startswith(("favourite ", "favorite ", "preferred ")):
        attribute = attribute_called(noun)[0]
    if attribute is None:
        return _relation_reading(noun, value, owner)
    if attribute.holds is Holds.LOG or (attribute.name in ("like", "dislike", "relation") and not lax):
        return None
    cleaned = clean_value(value, attribute.value)
    if not cleaned or not _may_be_value(attribute, cleaned, value):
        return None
    about = _owner_entity(attribute, owner) if owner else entity
    if about is not None and attribute.is_role and about == entity and _is_same_name(entity, cleaned):
        # "Ruth is my manager", with Ruth named as the entity: it is the person who has a manager.
        about = None
    values = (
        split_values(cleaned) if attribute.holds is Holds.SET and attribute.value is ValueKind.THING else (cleaned,)
    )
    named = FactEntity(type=EntityType.PERSON, label=cleaned) if attribute.is_role else None
    return Reading(entity=about, attribute=attribute, values=values, named=named)


def _relation_reading(noun: str, value: str, owner: str | None) -> Reading | None:
    """Return the person's relation to somebody, for "Sarah is my cofounder"; None if noun or value do not fit."""
    role = noun.lower()
    if owner is not None or role.split()[-1] not in KINSHIP_WORDS | {
        "co-founder",
        "coach",
        "client",
        "customer",
        "investor",
    }:
        return None
    name = clean_value(value, ValueKind.NAME)
    if not _is_name(name):
        return None
    return Reading(
        entity=FactEntity(type=EntityType.PERSON, label=name),
        attribute=known_attributes()["relation"],
        values=(role.split()[-1],),
    )


def _may_be_value(attribute: Attribute, value: str, given: str) -> bool:
    """Say whether a text can be a value of the attribute: a name for a pet's name, a place for a city."""
    if attribute.value is ValueKind.NAME:
        return _is_name(value)
    if attribute.value in (ValueKind.PLACE, ValueKind.ORG):
        return value[:1].isupper() or given.islower()
    if attribute.value is ValueKind.DATE:
        return any(letter.isdigit() for letter in value) or value[:1].isupper() or given.startswith("next")
    return len(value.split()) <= 6


def _is_name(value: str) -> bool:
    """Say whether a value looks like a person's name, by its capital: "Laura", not "French" or "a teacher"."""
    words = value.split()
    if not words or len(words) > 4 or not all(word[0].isupper() for word in words if word not in ("de", "van", "von")):
        return False
    first = words[0].rstrip(".").lower()
    return first in KNOWN_NAMES or (first not in NOT_NAMES and not (len(words) == 1 and _DEMONYM.search(first)))


def _is_same_name(entity: FactEntity | None, value: str) -> bool:
    """Say whether a value is the entity's own name."""
    return entity is not None and bool(value_stems(entity.label) & value_stems(value))


def _owner_entity(attribute: Attribute, label: str) -> FactEntity:
    """Return the entity that a named owner is: a project for a project's attribute, else a person."""
    return FactEntity(type=_PERSON_OF.get(attribute.of, EntityType.PERSON), label=label)


def _read_predicates(text: str, entity: FactEntity | None) -> Reading | None:
    """Return what a statement says by its predicate ("lives in Rome", "is vegan"); None if no pattern matches."""
    for whole in known_attributes().values():
        for pattern in whole.is_value:
            match = pattern.fullmatch(text)
            value = clean_value(match["v"], whole.value) if match else ""
            if value and len(value.split()) <= 5:
                return Reading(entity=entity, attribute=whole, values=(value,))
    for about, predicate in _possible_subjects(text, entity):
        for form in _predicate_forms(predicate):
            for attribute in known_attributes().values():
                if values := _predicate_values(attribute, form):
                    return _predicate_reading(about, attribute, values)
    return None


def _predicate_reading(about: FactEntity | None, attribute: Attribute, values: tuple[str, ...]) -> Reading:
    """Return what a predicate says of somebody; for a project's attribute, the entity becomes a project."""
    if about is not None and attribute.of == "project" and about.type is EntityType.PERSON:
        about = replace(about, type=EntityType.PROJECT)
    named = None
    if attribute.is_role and _is_name(values[0]):
        named = FactEntity(type=EntityType.PERSON, label=values[0])
    return Reading(entity=about, attribute=attribute, values=values, named=named)


def _possible_subjects(text: str, entity: FactEntity | None) -> Iterator[tuple[FactEntity | None, str]]:
    """Yield each entity that a statement may be about (None: the person), with its predicate, likeliest first."""
    if entity is not None:
        yield entity, _without_label(text, entity)
        if match := _PRONOUN.match(text):
            yield entity, match["rest"]
        return
    if match := _SELF.match(text):
        yield None, match["rest"]
        return
    yield None, text
    if match := _KIN.match(text):
        label = match["name"] or match["kin"].split()[-1]
        yield FactEntity(type=EntityType.PERSON, label=label), match["rest"]
    elif (match := _NAMED.match(text)) and match["name"].split()[0].lower() not in NOT_NAMES:
        yield FactEntity(type=EntityType.PERSON, label=match["name"]), match["rest"]


def _without_label(text: str, entity: FactEntity) -> str:
    """Return a statement without the entity's name at its beginning."""
    for label in (entity.label, entity.label.split()[0] if entity.label.split() else ""):
        if label and text.lower().startswith(f"{label.lower()} "):
            return text[len(label) + 1 :].lstrip()
    if match := _KIN.match(text):
        return match["rest"]
    if (match := _NAMED.match(text)) and value_stems(match["name"]) & value_stems(entity.label):
        return match["rest"]
    return text


def _predicate_forms(predicate: str) -> Iterator[str]:
    """Yield a predicate in the forms that patterns expect: "is" as "be", "has" as "have", with and without adverbs."""
    plain = _ADVERBS.sub("", f"{predicate} ").strip()
    led = _LEAD_VERB.sub(lambda verb: _LEADS[verb[0].lower()], plain)
    led = re.sub(r"^have been (?=an? |the |\w+ing\b|vegan|vegetarian|on |at |with )", "be ", led, flags=re.IGNORECASE)
    yield led
    if led == plain:
        yield f"be {plain[:1].lower()}{plain[1:]}" if plain[1:2].islower() else f"be {plain}"


def _predicate_values(attribute: Attribute, form: str) -> tuple[str, ...]:
    """Return the values that a predicate gives for an attribute; empty if it is not about the attribute."""
    for pattern in attribute.says:
        if match := pattern.fullmatch(form):
            value = clean_value(match["v"], attribute.value)
            if value and _is_value_of_kind(attribute, value):
                return split_values(value) if _may_have_several(attribute) else (value,)
    for pattern in attribute.whole_says:
        # "is my coach" says what somebody is to the person, not what they do.
        if (match := pattern.fullmatch(form)) and not _OWNED.match(match["v"]):
            value = clean_value(match["v"], attribute.value)
            if value and _implies_attribute(attribute, value):
                return (value,)
    return ()


def _may_have_several(attribute: Attribute) -> bool:
    """Say whether one statement may give several values of the attribute."""
    return attribute.holds is Holds.SET and attribute.value is ValueKind.THING


def _is_value_of_kind(attribute: Attribute, value: str) -> bool:
    """Say whether a value found in a predicate is of the kind that the attribute takes: place, name, date."""
    words = value.split()
    if _CLAUSE.search(value):
        return False
    if attribute.value is ValueKind.NAME:
        return _is_name(value)
    if attribute.value is ValueKind.DATE:
        return any(letter.isdigit() for letter in value) or value[:1].isupper()
    if attribute.value in (ValueKind.PLACE, ValueKind.ORG):
        return len(words) <= 6 and (value[:1].isupper() or (value.islower() and len(words) <= 2))
    return len(words) <= 6


def _implies_attribute(attribute: Attribute, value: str) -> bool:
    """Say whether a value implies its attribute without its name: "vegan", "a nurse", "CEO of Acme"."""
    if _CLAUSE.search(value):
        return False
    if attribute.is_occupation:
        head = re.split(r"\b(?:at|for|in|of|on)\b", value)[0].split()
        plain = bool(head) and len(head) <= 5 and head[-1].lower().removesuffix("s") in OCCUPATIONS
        return plain or _TITLE.match(value) is not None
    return " ".join(sorted(value_stems(value))) in _implying_values(attribute)


def _implying_values(attribute: Attribute) -> frozenset[str]:
    """Return the values that imply the attribute by themselves, each as its word stems in order."""
    return frozenset(" ".join(sorted(value_stems(one))) for one in attribute.whole)
