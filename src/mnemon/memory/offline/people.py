"""What people say about the people in their lives: who someone is to them, and facts about that someone."""

from mnemon.memory.fact import FactType, MemoryType
from mnemon.memory.offline import checks
from mnemon.memory.offline.rule import Check, Rule, rule
from mnemon.memory.offline.words import BARE_KIN, KIN

_KIN = "|".join(sorted(KIN, key=len, reverse=True))
_ROLE = (
    rf"(?:(?:best|older|younger|little|big|eldest|oldest|youngest|new|former|close|twin|business|old"
    rf"|good) )*(?:{_KIN})"
)
_NAME = r"(?-i:(?:(?:Dr|Mr|Mrs|Ms|Prof)\.? )?[A-ZÀ-Þ][\w'-]*\w(?: [A-ZÀ-Þ][\w'-]*\w){0,2})"
WHO = (
    rf"(?:(?:my|our) (?:best |older |younger |little |big |eldest |oldest |youngest |twin )?(?P<kin>{_KIN})"
    rf"(?:,? (?P<who>{_NAME}),?)?|(?P<bare>(?-i:{'|'.join(BARE_KIN)}))|(?P<name>{_NAME}))"
)
_CAP = r"(?-i:[A-ZÀ-Þ][\w.'&-]*(?: (?:of|the|de|and|&) [A-ZÀ-Þ][\w.'&-]*| [A-ZÀ-Þ][\w.'&-]*)*)"
_PLACE = rf"(?P<place>{_CAP}(?:, {_CAP})*)"
_ORG = rf"(?P<org>(?:the |an? )?(?:{_CAP}|(?-i:[a-z]+(?: [a-z]+)?)))"
_REST = r"(?: (?:now|for .+|since .+|in \d{4}|last .+|these days|with .+|and .+))*"
_WHO_CHECKS = {"name": checks.person}

RELATIONSHIPS: tuple[Rule, ...] = tuple(
    rule(pattern, type=MemoryType.PEOPLE, fact=FactType.RELATIONSHIP, entity="person:{who}", checks=wanted)
    for pattern, wanted in (
        (
            rf"(?P<who>{_NAME}) is (?:my|our) {_ROLE}(?:[,;] .+| at .+| and .+| from .+| who .+)?",
            {"who": checks.kin_of},
        ),
        (
            rf"(?:my|our) {_ROLE}(?:'s name is| is| is called| is named|'s called) (?P<who>{_NAME})",
            {"who": checks.person},
        ),
        (rf"(?:i|we) have an? {_ROLE} (?:named|called) (?P<who>{_NAME})(?:,? .+)?", {"who": checks.person}),
        (rf"(?P<who>{_NAME}), (?:my|our) {_ROLE},? .+", {"who": checks.kin_of}),
        (rf"i report to (?P<who>{_NAME})", {"who": checks.person}),
        (rf"(?:i'm|i am)(?: happily)? (?:married|engaged) to (?P<who>{_NAME})", {"who": checks.person}),
    )
)

NAMED_KIN = rule(
    rf"(?P<quote>(?:my|our) {_ROLE},? (?P<who>{_NAME})),? (?P<verb>[a-z]+(?:'s)?) .+",
    type=MemoryType.PEOPLE,
    fact=FactType.RELATIONSHIP,
    entity="person:{who}",
    checks={"who": checks.person, "verb": lambda caught, _: caught not in ("and", "or", "but", "to", "who")},
)
"""Who someone is, said in passing: only these words are the quote."""


def _about(tail: str, attribute: str, fact: FactType = FactType.FACT, **wanted: Check) -> Rule:
    return rule(
        rf"{WHO} {tail}",
        type=MemoryType.PEOPLE,
        fact=fact,
        attribute=attribute,
        entity="person:{person}",
        checks={**_WHO_CHECKS, **wanted},
    )


ABOUT: tuple[Rule, ...] = (
    _about(rf"(?:lives?|is living|are living|is based) in {_PLACE}{_REST}", "lives_in", place=checks.place),
    _about(rf"(?:has |just |recently )?moved (?:back )?to {_PLACE}{_REST}", "lives_in", place=checks.place),
    _about(rf"(?:is|comes) from {_PLACE}", "from", place=checks.place),
    _about(rf"works (?:at|for) {_ORG}(?: as .+| in .+)?{_REST}", "employer", org=checks.organization),
    _about(r"works as (?:an? )?(?P<x>.+)", "job"),
    _about(r"is an? (?P<x>.+)", "job", x=checks.occupation),
    _about(r"is (?:the )?(?P<x>(?:ceo|cto|cfo|coo|vp|head|director|founder|president|chair|chairman|owner|cofounder)"
           r"(?: of| at) .+)", "job"),
    _about(r"(?:is|just turned|turned) (?P<age>\d{1,3})(?: years? old)?", "age", age=checks.age),
    _about(r"are (?P<x>\d{1,2}(?:, \d{1,2})* and \d{1,2})(?: years old)?", "age"),
    _about(r"(?:handles|runs|leads|manages|is responsible for|is in charge of|takes care of) (?P<x>.+)", "role",
           x=checks.thing),
    _about(r"is allergic to (?P<x>.+)", "allergic_to_{x}", x=checks.allergen),
    _about(r"speaks (?P<x>(?-i:[A-Z])\w+.*)", "speaks_{x}"),
    _about(r"(?:really |absolutely )?(?:likes?|loves?|enjoys?|prefers?|hates?|dislikes?) (?P<x>.+)", "{x}",
           FactType.PREFERENCE, x=checks.thing),
    _about(r"is (?:an? )?(?P<x>vegetarian|vegan)", "diet", FactType.PREFERENCE),
    rule(rf"(?:(?:my|our) (?P<kin>{_KIN})|(?P<name>{_NAME}))'s birthday is (?P<date>.+)",
         type=MemoryType.PEOPLE, attribute="birthday", entity="person:{person}",
         checks={"name": checks.person, "date": checks.date}),
)  # fmt: skip

PEOPLE: tuple[Rule, ...] = (*RELATIONSHIPS, NAMED_KIN, *ABOUT)
