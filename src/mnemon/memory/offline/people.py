"""Rules for what people say about the people in their lives: relationships, and facts about someone."""

from mnemon.memory.fact import FactType, MemoryType
from mnemon.memory.offline import checks
from mnemon.memory.offline.rule import ExtractionRule, GroupCheck, compile_rule
from mnemon.memory.offline.vocabulary import BARE_KINSHIP_WORDS, KINSHIP_WORDS

# Longest first, since alternatives are tried in order: "mother-in-law" before "mother".
_KIN = "|".join(sorted(KINSHIP_WORDS, key=len, reverse=True))
_ROLE = (
    rf"(?:(?:best|older|younger|little|big|eldest|oldest|youngest|new|former|close|twin|business|old"
    rf"|good) )*(?:{_KIN})"
)
_NAME = r"(?-i:(?:(?:Dr|Mr|Mrs|Ms|Prof)\.? )?[A-ZÀ-Þ][\w'-]*\w(?: [A-ZÀ-Þ][\w'-]*\w){0,2})"
PERSON_PATTERN = (
    rf"(?:(?:my|our) (?:best |older |younger |little |big |eldest |oldest |youngest |twin )?(?P<kin>{_KIN})"
    rf"(?:,? (?P<who>{_NAME}),?)?|(?P<bare>(?-i:{'|'.join(BARE_KINSHIP_WORDS)}))|(?P<name>{_NAME}))"
)
"""A person at the start of a clause: a relative, with or without a name, or a name alone."""
_CAP = r"(?-i:[A-ZÀ-Þ][\w.'&-]*(?: (?:of|the|de|and|&) [A-ZÀ-Þ][\w.'&-]*| [A-ZÀ-Þ][\w.'&-]*)*)"
_PLACE = rf"(?P<place>{_CAP}(?:, {_CAP})*)"
_ORG = rf"(?P<org>(?:the |an? )?(?:{_CAP}|(?-i:[a-z]+(?: [a-z]+)?)))"
_REST = r"(?: (?:now|for .+|since .+|in \d{4}|last .+|these days|with .+|and .+))*"
_WHO_CHECKS = {"name": checks.is_person_name}

RELATIONSHIPS: tuple[ExtractionRule, ...] = tuple(
    compile_rule(pattern, type=MemoryType.PEOPLE, fact=FactType.RELATIONSHIP, entity="person:{who}", checks=wanted)
    for pattern, wanted in (
        (
            rf"(?P<who>{_NAME}) is (?:my|our) {_ROLE}(?:[,;] .+| at .+| and .+| from .+| who .+)?",
            {"who": checks.is_kin_name},
        ),
        (
            rf"(?:my|our) {_ROLE}(?:'s name is| is| is called| is named|'s called) (?P<who>{_NAME})",
            {"who": checks.is_person_name},
        ),
        (rf"(?:i|we) have an? {_ROLE} (?:named|called) (?P<who>{_NAME})(?:,? .+)?", {"who": checks.is_person_name}),
        (rf"(?P<who>{_NAME}), (?:my|our) {_ROLE},? .+", {"who": checks.is_kin_name}),
        (rf"i report to (?P<who>{_NAME})", {"who": checks.is_person_name}),
        (rf"(?:i'm|i am)(?: happily)? (?:married|engaged) to (?P<who>{_NAME})", {"who": checks.is_person_name}),
    )
)
"""Who someone is to the person, as the clause's main statement."""

NAMED_KIN = compile_rule(
    rf"(?P<quote>(?:my|our) {_ROLE},? (?P<who>{_NAME})),? (?P<verb>[a-z]+(?:'s)?) .+",
    type=MemoryType.PEOPLE,
    fact=FactType.RELATIONSHIP,
    entity="person:{who}",
    checks={"who": checks.is_person_name, "verb": lambda caught, _: caught not in ("and", "or", "but", "to", "who")},
)
"""Who someone is, mentioned in passing: only these words are the quote."""


def _person_rule(tail: str, attribute: str, fact: FactType = FactType.FACT, **wanted: GroupCheck) -> ExtractionRule:
    """Return an extraction rule for facts about another person: a person at the clause's start, then this pattern."""
    return compile_rule(
        rf"{PERSON_PATTERN} {tail}",
        type=MemoryType.PEOPLE,
        fact=fact,
        attribute=attribute,
        entity="person:{person}",
        checks={**_WHO_CHECKS, **wanted},
    )


PERSON_FACTS: tuple[ExtractionRule, ...] = (
    _person_rule(rf"(?:lives?|is living|are living|is based) in {_PLACE}{_REST}", "lives_in", place=checks.is_place),
    _person_rule(rf"(?:has |just |recently )?moved (?:back )?to {_PLACE}{_REST}", "lives_in", place=checks.is_place),
    _person_rule(rf"(?:is|comes) from {_PLACE}", "from", place=checks.is_place),
    _person_rule(rf"works (?:at|for) {_ORG}(?: as .+| in .+)?{_REST}", "employer", org=checks.is_organization),
    _person_rule(r"works as (?:an? )?(?P<x>.+)", "job"),
    _person_rule(r"is an? (?P<x>.+)", "job", x=checks.is_occupation),
    _person_rule(
        r"is (?:the )?(?P<x>(?:ceo|cto|cfo|coo|vp|head|director|founder|president|chair|chairman|owner|cofounder)"
           r"(?: of| at) .+)", "job"),
    _person_rule(r"(?:is|just turned|turned) (?P<age>\d{1,3})(?: years? old)?", "age", age=checks.is_age),
    _person_rule(r"are (?P<x>\d{1,2}(?:, \d{1,2})* and \d{1,2})(?: years old)?", "age"),
    _person_rule(r"(?:handles|runs|leads|manages|is responsible for|is in charge of|takes care of) (?P<x>.+)", "role",
           x=checks.is_thing),
    _person_rule(r"is allergic to (?P<x>.+)", "allergic_to_{x}", x=checks.is_allergen),
    _person_rule(r"speaks (?P<x>(?-i:[A-Z])\w+.*)", "speaks_{x}"),
    _person_rule(r"(?:really |absolutely )?(?:likes?|loves?|enjoys?|prefers?|hates?|dislikes?) (?P<x>.+)", "{x}",
           FactType.PREFERENCE, x=checks.is_thing),
    _person_rule(r"is (?:an? )?(?P<x>vegetarian|vegan)", "diet", FactType.PREFERENCE),
    compile_rule(rf"(?:(?:my|our) (?P<kin>{_KIN})|(?P<name>{_NAME}))'s birthday is (?P<date>.+)",
         type=MemoryType.PEOPLE, attribute="birthday", entity="person:{person}",
         checks={"name": checks.is_person_name, "date": checks.is_date}),
)  # fmt: skip
"""Facts about someone."""

PEOPLE: tuple[ExtractionRule, ...] = (*RELATIONSHIPS, NAMED_KIN, *PERSON_FACTS)
