"""Rules for facts about others as people mention them in passing; the person may stand anywhere before the fact."""

from mnemon.memory.fact import FactType, MemoryType
from mnemon.memory.offline import checks
from mnemon.memory.offline.fragments import ADVERB, CONDITION, ORGANIZATION, PERSON, PET, PLACE, ROLE, TAIL
from mnemon.memory.offline.rule import ExtractionRule, GroupCheck, compile_rule
from mnemon.memory.offline.vocabulary import DIETS

_DIET = "|".join((*DIETS, "coeliac", "celiac", "gluten free"))


def _person_rule(tail: str, attribute: str, fact: FactType = FactType.FACT, **wanted: GroupCheck) -> ExtractionRule:
    """Return an extraction rule for facts about another person: a person's name, then this pattern."""
    return compile_rule(
        rf"{PERSON} {tail}",
        type=MemoryType.PEOPLE,
        fact=fact,
        attribute=attribute,
        entity="person:{person}",
        checks={"name": checks.is_person_name, **wanted},
        passing=True,
    )


OTHERS: tuple[ExtractionRule, ...] = (
    _person_rule(
        rf"(?:still |now |currently )?(?:lives?|is living|are living|is based)(?: \w+)?(?: (?:out|over|up|down"
        rf"|back))? (?:in|near"
        rf"|outside|outside of) {PLACE}{TAIL}",
        "lives_in",
        place=checks.is_place,
    ),
    _person_rule(rf"(?:lives|live) [\w ]+? (?:in|near|outside) {PLACE}{TAIL}", "lives_in", place=checks.is_place),
    _person_rule(
        rf"(?:has |just |recently |have )*(?:moved|relocated)(?: back| out| over| up| down| away)* to (?:an? [\w"
        rf" ]+? in )?{PLACE}{TAIL}",
        "lives_in",
        place=checks.is_place,
    ),
    _person_rule(rf"moved into [\w ]+? in {PLACE}{TAIL}", "lives_in", place=checks.is_place),
    _person_rule(
        rf"(?:now |still |currently )?(?:works?|is working) (?:at|for) {ORGANIZATION}{TAIL}",
        "employer",
        org=checks.is_organization,
    ),
    _person_rule(rf"drives for {ORGANIZATION}{TAIL}", "employer", org=checks.is_organization),
    _person_rule(
        rf"(?:is|was made|became|just became|works as)(?: now| still| currently| also)? (?:an?|the) (?P<x>[\w'"
        rf" -]+?){TAIL}",
        "job",
        x=checks.is_occupation,
    ),
    _person_rule(
        rf"is an? (?P<x>[\w' -]+?) (?:at|for|with) {ORGANIZATION}{TAIL}",
        "employer",
        x=checks.is_occupation,
        org=checks.is_named,
    ),
    _person_rule(
        r"is (?:now )?(?:the )?(?P<x>(?:ceo|cto|cfo|coo|vp|head|director|founder|president|chair|owner)(?: of| at)"
        r" .+)",
        "job",
    ),
    _person_rule(rf"(?P<x>runs an? [\w' -]+?){TAIL}", "job"),
    _person_rule(rf"(?P<x>teaches (?!me|us|him|her|you)[\w ]+?){TAIL}", "job"),
    _person_rule(
        r"(?P<x>handles|runs|leads|manages|looks after|is responsible for) (?P<what>[\w ,]+)",
        "role",
        what=checks.is_thing,
    ),
    _person_rule(
        r"(?:is|just turned|turned|turns)(?: now| already| only)? (?P<age>\d{1,3}|one|two|three|four|five|six"
        r"|seven|eight|nine"
        r"|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen|twenty)(?: years? old)?"
        r"(?: (?:now|and|last|in|on|this|today|next|already|so|but) ?.*)?",
        "age",
        age=checks.is_spoken_age,
    ),
    _person_rule(
        rf"(?:is )?(?:also |really |very |severely |deathly )?allergic to (?P<x>[\w ]+?){TAIL}",
        "allergic_to_{x}",
        x=checks.is_allergen,
    ),
    _person_rule(rf"(?:can't|cannot) (?:have|eat) (?P<x>[\w ]+?){TAIL}", "does_not_eat_{x}", x=checks.is_food),
    _person_rule(
        rf"(?:has|have|suffers from|was diagnosed with|just got diagnosed with)(?: got)?(?: (?:an?|severe|mild"
        rf"|chronic|bad"
        rf"|early))* (?P<x>{CONDITION}){TAIL}",
        "has_{x}",
        x=checks.is_lasting_condition,
    ),
    _person_rule(
        rf"is (?P<x>asthmatic|diabetic|deaf|blind|autistic|epileptic|dyslexic|retired|pregnant|left-handed){TAIL}",
        "{x}",
    ),
    _person_rule(
        rf"(?:is|went|has gone|became|has become|has decided (?:that )?(?:he|she) is|eats|has been)(?: now| also|"
        rf" strictly)?"
        rf" (?:an? )?(?P<x>{_DIET}){TAIL}",
        "diet",
        FactType.PREFERENCE,
    ),
    _person_rule(
        rf"(?:has|got|adopted|just got|bought|has got)(?: himself| herself)? (?:an?|two|three|\d) (?:[\w-]+"
        rf" ){{0,3}}?(?P<x>{PET})"
        rf"(?:,? .*)?",
        "has_{x}",
    ),
    _person_rule(
        r"plays (?:the )?(?P<x>guitar|piano|violin|cello|drums|flute|bass|saxophone|trumpet|clarinet|trombone|chess"
        r"|tennis"
        r"|soccer|football|basketball|hockey|baseball|rugby|golf)(?:,? .*)?",
        "plays_{x}",
    ),
    _person_rule(rf"speaks (?P<x>(?-i:[A-Z])\w+(?:(?:,| and|, and) [A-Z]\w+)*){TAIL}", "speaks_{x}"),
    _person_rule(
        rf"(?:{ADVERB.strip()} )?(?:is obsessed with|is into|is crazy about|loves|likes|enjoys|prefers|hates"
        rf"|dislikes|adores"
        r"|can't stand) (?P<x>[\w' ]+)",
        "{x}",
        FactType.PREFERENCE,
        x=checks.is_thing,
    ),
    _person_rule(rf"is from {PLACE}{TAIL}", "from", place=checks.is_place),
    _person_rule(
        rf"(?:is studying|studies|is doing|is majoring in) (?P<x>(?!hard|the |it|a lot|well|ok|fine|great|her"
        rf"|his)[\w ]+?)"
        rf"(?: at .+)?{TAIL}",
        "studies",
        x=checks.is_study,
    ),
    _person_rule(r"is an? (?P<x>(?:freshman|sophomore|junior|senior|student)) at .+", "studies"),
    compile_rule(
        rf"(?:(?:my|our) (?P<kin>{ROLE})|(?P<name>(?-i:[A-Z])\w+))(?:'s) (?:birthday|bday)(?: is|'s)(?: on)?"
        rf" (?P<date>.+?)",
        type=MemoryType.PEOPLE,
        attribute="birthday",
        entity="person:{person}",
        checks={"name": checks.is_person_name, "date": checks.is_date},
    ),
)
"""Facts about someone, with anything after the value."""
