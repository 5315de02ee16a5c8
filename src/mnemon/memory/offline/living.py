"""Rules for how people tell of their lives in passing: names, homes, family, health, food, pets and belongings.

They match more loosely than `profile.py`: what follows a value is left aside (`TAIL`).
"""

from mnemon.memory.fact import FactType, MemoryType
from mnemon.memory.offline import checks
from mnemon.memory.offline.fragments import (
    ADVERB,
    BE,
    CAPITALIZED,
    CONDITION,
    HAVE,
    NAME,
    NUMBER,
    PET,
    PLACE,
    ROLE,
    TAIL,
)
from mnemon.memory.offline.rule import ExtractionRule, compile_rule
from mnemon.memory.offline.vocabulary import DIETS, MEDICINES, TRAITS

_OWN_NAME = r"(?P<name>[^\W\d_][\w'-]+)"
_DIET = "|".join((*DIETS, "coeliac", "celiac", "dairy-free", "dairy free", "gluten free"))
_MEDICINE = "|".join(sorted(MEDICINES))
_TRAIT = "|".join(
    (
        *TRAITS,
        "left handed",
        "right handed",
        "trans",
        "transgender",
        "non-binary",
        "nonbinary",
        "gay",
        "bisexual",
        "lesbian",
        "queer",
        "asthmatic",
        "epileptic",
        "anemic",
        "anaemic",
        "hard of hearing",
        "short-sighted",
        "colour blind",
        "color blind",
        "a widower",
        "a widow",
        "an orphan",
        "adopted",
    )
)

WHO: tuple[ExtractionRule, ...] = (
    compile_rule(rf"{_OWN_NAME} here(?:,.*| again)?", attribute="name", checks={"name": checks.is_given_name}),
    compile_rule(rf"(?:my name's|the name's) {_OWN_NAME}{TAIL}", attribute="name", checks={"name": checks.is_own_name}),
    compile_rule(
        rf"(?:most people|everyone|everybody|friends|my friends|people)(?: just)? calls? me {_OWN_NAME}{TAIL}",
        attribute="name",
        checks={"name": checks.is_own_name},
    ),
    compile_rule(
        rf"{_OWN_NAME}(?: here)?, (?:\d\d, )?(?P<x>[^,]+)(?:, .+)?",
        attribute="name",
        checks={"name": checks.is_introduced, "x": checks.introduces_oneself},
    ),
    compile_rule(rf"i(?:'m| am) {_OWN_NAME}, .+", attribute="name", checks={"name": checks.is_known_name}),
    compile_rule(
        rf"{_OWN_NAME}(?: here)?, (?:\d\d, )?(?P<x>[^,]+?)(?:(?: at| for| in) .+|, .+)?",
        attribute="job",
        checks={"name": checks.is_introduced, "x": checks.is_occupation},
    ),
    compile_rule(
        rf"{_OWN_NAME}(?: here)?, (?:\d\d, )?(?P<x>[^,]+?) (?:at|for) (?:an? [\w ]+ (?:called|named) )?"
        rf"(?P<org>{CAPITALIZED})(?:,.*)?",
        attribute="employer",
        checks={"name": checks.is_introduced, "x": checks.is_occupation},
    ),
    compile_rule(
        rf"{_OWN_NAME}, (?:\d\d, )?(?P<x>[^,]+), (?P<place>{CAPITALIZED})",
        attribute="lives_in",
        checks={"name": checks.is_introduced, "x": checks.is_occupation, "place": checks.is_place},
    ),
    compile_rule(
        rf"{_OWN_NAME}, (?P<x>(?:he|she|they)/(?:him|her|them))(?:,.*)?",
        attribute="pronouns",
        checks={"name": checks.is_introduced},
    ),
    compile_rule(r"i turn \d{1,3} (?:on )?(?P<date>.+)", attribute="birthday", checks={"date": checks.is_date}),
    compile_rule(
        rf"my (?:birthday|bday|b-day)(?:'s| is)(?: on)? (?P<date>(?:the )?\S+(?: \S+){{0,3}}?){TAIL}",
        attribute="birthday",
        checks={"date": checks.is_date},
    ),
    compile_rule(
        rf"(?:my (?:e-?mail|mail)(?: address)?(?: is|:|'s)|(?:you can )?(?:reach|e-?mail|write to) me at)"
        rf" (?P<x>[\w.+-]+@[\w-]+(?:\.[\w-]+)+){TAIL}",
        attribute="email",
    ),
    compile_rule(
        rf"i{ADVERB} speak (?:fluent |some |a little |decent |native |ok |okay )?(?P<x>(?-i:[A-Z])\w+"
        rf"(?:(?:, and|, |,? and) (?:(?:some|a little|enough|a bit of) )?(?-i:[A-Z])\w+)*){TAIL}",
        attribute="speaks_{x}",
        checks={"x": checks.is_language_list},
    ),
)
"""Names, birthdays, contact and languages."""

WHERE: tuple[ExtractionRule, ...] = (
    compile_rule(
        rf"(?:i{ADVERB} live|{BE}{ADVERB} living|{BE}{ADVERB} based)(?: \w+)? (?:in|outside|near|outside of|close to"
        rf"|around|north of|south of|east of|west of) {PLACE}{TAIL}",
        attribute="lives_in",
        checks={"place": checks.is_place},
    ),
    compile_rule(
        rf"we{ADVERB} live(?: \w+)? (?:in|outside|near|outside of|close to) {PLACE}{TAIL}",
        attribute="lives_in",
        checks={"place": checks.is_place},
    ),
    compile_rule(
        rf"{HAVE}{ADVERB} (?:been|lived|been living|been based)(?: here)? in {PLACE} (?:for|since|all) .+",
        attribute="lives_in",
        checks={"place": checks.is_place},
    ),
    compile_rule(
        rf"(?:i|we|{HAVE}){ADVERB} (?:moved|relocated)(?: back| out| over| up| down)* to {PLACE}{TAIL}",
        attribute="lives_in",
        checks={"place": checks.is_place},
    ),
    compile_rule(
        rf"(?:i|we){ADVERB} moved in with .+? (?:over |out |down |up )?in {PLACE}{TAIL}",
        attribute="lives_in",
        checks={"place": checks.is_place},
    ),
    compile_rule(
        rf"(?:i|we)(?:'ve)?{ADVERB} (?:bought|rent|own|rented|have|got) (?:an? |our )(?:\w+ ){{0,2}}(?:house|flat"
        rf"|apartment"
        rf"|condo|place|home|studio) (?:in|near|outside) {PLACE}{TAIL}",
        attribute="lives_in",
        checks={"place": checks.is_place},
    ),
    compile_rule(rf"i .+ here in {PLACE}", attribute="lives_in", checks={"place": checks.is_place}),
    compile_rule(rf"home is {PLACE}{TAIL}", attribute="lives_in", checks={"place": checks.is_place}),
    compile_rule(rf"i call {PLACE} home{TAIL}", attribute="lives_in", checks={"place": checks.is_place}),
    compile_rule(
        rf"{BE}{ADVERB} from {PLACE}(?: originally)?{TAIL}", attribute="from", checks={"place": checks.is_place}
    ),
    compile_rule(
        rf"(?:born|i was born)(?: and (?:raised|bred))? in {PLACE}{TAIL}",
        attribute="born_in",
        checks={"place": checks.is_place},
    ),
    compile_rule(
        rf"(?:i|we) (?:grew up|was raised|were raised)(?: [a-z]+){{0,6}}? in {PLACE}{TAIL}",
        attribute="grew_up_in",
        checks={"place": checks.is_place},
    ),
)
"""Homes and origins."""

FAMILY: tuple[ExtractionRule, ...] = (
    compile_rule(
        rf"(?:{HAVE} )?(?P<x>{NUMBER}(?: \w+)? (?:kids|children|daughters|sons|boys|girls))(?: together| now)?(?:,?"
        rf" .+)?",
        attribute="children",
        checks={"x": checks.counts_children},
    ),
    compile_rule(
        rf"{BE}{ADVERB} an? (?P<x>(?:single |proud )?(?:mom|mum|dad|mother|father|parent) (?:of|to) {NUMBER}){TAIL}",
        attribute="children",
    ),
    compile_rule(
        rf"(?:i|we|(?-i:[A-Za-z])\w+ and i|me and \w+){ADVERB} got (?P<x>married|engaged|divorced){TAIL}",
        attribute="marital_status",
        passing=True,
    ),
    compile_rule(
        rf"(?:{BE}|i've been|i have been){ADVERB} (?P<x>married|divorced|widowed|engaged|separated)(?! to (?:my|the"
        rf"|this)\b){TAIL}",
        attribute="marital_status",
    ),
    compile_rule(
        rf"(?:my|our) (?:(?:old|little|new|big|sweet|dear|crazy|rescue) )*(?P<x>{PET})(?: is (?:called|named)|'s name"
        rf" is|'s called"
        rf"|, called|, named|,)? (?P<name>{NAME})(?:,? .+)?",
        attribute="has_{x}",
    ),
    compile_rule(
        rf"(?:{HAVE}|i own|we own|i keep|we keep|(?:i|we)(?:'ve)?{ADVERB} (?:adopted|got|rescued|bought|brought home)) "
        rf"(?:{NUMBER}|another|some|our|my) (?:(?!fish )[\w-]+ ){{0,3}}?(?P<x>{PET})"
        rf"(?:(?:,? (?:called|named|who|which|that|and|at|in|from|with|last|this|on|now|together|but|so) .*|, .*)?)",
        attribute="has_{x}",
        passing=True,
    ),
)
"""Children, marriage and pets."""

HEALTH: tuple[ExtractionRule, ...] = (
    compile_rule(
        rf"(?:{HAVE}|i suffer from|i live with|i get|i was(?: just)? diagnosed with|i've been diagnosed with){ADVERB}"
        rf"(?: (?:an?|my|some|chronic|severe|mild|bad|terrible|slight|early|these))* (?P<x>{CONDITION}){TAIL}",
        attribute="has_{x}",
        checks={"x": checks.is_lasting_condition},
    ),
    compile_rule(
        rf"{BE}{ADVERB} allergic to (?P<x>.+?){TAIL}", attribute="allergic_to_{x}", checks={"x": checks.is_allergen}
    ),
    compile_rule(
        rf"(?:.+ )?i(?:'m| am) allergic to (?P<x>[\w ]+?){TAIL}",
        attribute="allergic_to_{x}",
        checks={"x": checks.is_allergen},
    ),
    compile_rule(
        rf"{BE}{ADVERB} (?P<x>\w+(?: \w+)?) allergic{TAIL}",
        attribute="allergic_to_{x}",
        checks={"x": checks.is_food},
    ),
    compile_rule(
        rf"{HAVE}(?: (?:an?|my|bad|terrible|severe|serious|mild))* (?P<x>(?!food |seasonal )\w+(?: \w+)?)"
        rf" allergy{TAIL}",
        attribute="allergic_to_{x}",
    ),
    compile_rule(
        rf"i can(?:'t|not)(?: really)? (?:eat|have|do|tolerate|digest) (?P<x>[\w ]+?)(?: anymore)?{TAIL}",
        attribute="does_not_eat_{x}",
        checks={"x": checks.is_food},
    ),
    compile_rule(
        rf"i (?:don't|do not|never) eat (?P<x>[\w ]+?)(?: (?:anymore|at all))?{TAIL}",
        fact=FactType.PREFERENCE,
        attribute="does_not_eat_{x}",
        checks={"x": checks.is_avoided},
    ),
    compile_rule(
        rf"i (?:don't|do not|never) drink (?P<x>[\w ]+?)(?: (?:anymore|at all))?{TAIL}",
        fact=FactType.PREFERENCE,
        attribute="does_not_drink_{x}",
        checks={"x": checks.is_food},
    ),
    compile_rule(
        rf"{BE}{ADVERB} (?:an? |strictly |mostly )?(?P<x>{_DIET})(?: (?:now|too|as well|again|these days"
        rf"|myself))*{TAIL}",
        fact=FactType.PREFERENCE,
        attribute="diet",
    ),
    compile_rule(
        rf"(?:i|we|i've|we've){ADVERB} (?:went|gone|turned|became|become) (?P<x>{_DIET}){TAIL}",
        fact=FactType.PREFERENCE,
        attribute="diet",
    ),
    compile_rule(
        rf"(?:i|we){ADVERB} (?:only )?(?:eat|keep|follow|do)(?: an?)?(?: strictly| only)? (?P<x>{_DIET})(?:"
        rf" diet)?{TAIL}",
        fact=FactType.PREFERENCE,
        attribute="diet",
    ),
    compile_rule(
        rf"(?:i(?:'m| am)?{ADVERB} (?:take|taking|on|have to take|need to take)|(?:my |the )?(?:doctor|doc|dr|gp)(?:"
        rf" has)?"
        rf" (?:put|started) me on) (?:(?:a|my|daily|some|\d+ ?mg of|low dose|the) )*(?P<x>{_MEDICINE}){TAIL}",
        attribute="takes_{x}",
        passing=True,
    ),
    compile_rule(rf"(?:i )?switched (?:from \w+ )?to (?P<x>{_MEDICINE}){TAIL}", attribute="takes_{x}"),
    compile_rule(
        rf"{BE}{ADVERB}(?: (?:really|properly|a bit|completely))* (?:afraid|scared|terrified|frightened) of"
        rf" (?P<x>(?!losing|being|getting)\w[\w ]*?){TAIL}",
        attribute="afraid_of_{x}",
        checks={"x": checks.is_thing},
    ),
    compile_rule(rf"{BE}{ADVERB} (?P<x>{_TRAIT}){TAIL}", attribute="{x}"),
    compile_rule(
        r"i can't (?P<x>hear (?:so |very |too )?(?:good|well|much)(?: (?:on|in|out of) .+)?|see (?:so |very |too"
        r" )?(?:good"
        r"|well)(?: .+)?|smell|tell colou?rs apart)",
        attribute="trait_{x}",
    ),
)
"""Conditions, allergies, diets, medicines, fears and traits."""

BELONGINGS: tuple[ExtractionRule, ...] = (
    compile_rule(
        rf"i{ADVERB} (?:drive|ride) (?:an?|my|our) (?P<x>(?!hard )(?:[\w-]+ ){{0,3}}?(?-i:[A-Z0-9])[\w-]+(?:"
        rf" [A-Z][\w-]+)?)"
        rf"{TAIL}",
        attribute="drives",
        checks={"x": checks.has_capital},
    ),
    compile_rule(
        rf"(?:(?:i|we)(?:'ve)?{ADVERB} )?(?:got|bought|picked up|leased)(?: myself| ourselves)? (?:an?|my|our) "
        rf"(?P<x>(?:(?:new|used|little|old|second-hand|electric|\d{{4}}) )*(?-i:Ford|Toyota|Honda|Volvo|Tesla|Subaru"
        rf"|Mazda"
        rf"|Nissan|Kia|Hyundai|Chevy|Chevrolet|BMW|Audi|Fiat|Skoda|Renault|Peugeot|Volkswagen|VW|Jeep|Lexus|Mercedes"
        rf"|Yamaha|Triumph|Ducati|Harley|Vespa|Suzuki|Opel|Seat|Mini|Dacia)(?: [A-Z0-9][\w-]*)?){TAIL}",
        attribute="drives",
    ),
    compile_rule(rf"i{ADVERB} use an? (?P<x>(?-i:[A-Z])[\w]+(?: [A-Z0-9]\w*)?){TAIL}", attribute="uses_{x}"),
    compile_rule(
        rf"my (?P<kind>laptop|phone|computer|bike|camera|guitar|car|truck|van|motorbike|boat) is an? "
        rf"(?P<x>(?:[\w-]+ ){{0,3}}?(?-i:[A-Z])\w+(?: [A-Z0-9]\w*)?){TAIL}",
        attribute="owns_{kind}",
        checks={"x": checks.has_capital},
    ),
    compile_rule(
        rf"(?:{HAVE}|i own|we own) (?:an?|my own|our own) (?:[\w-]+ ){{0,2}}?(?P<x>woodshop|workshop|allotment|garden"
        rf"|greenhouse"
        rf"|boat|cabin|cottage|piano|kiln|studio|food truck|motorcycle|camper van|camper|caravan|sauna|vineyard"
        rf"|darkroom"
        rf"|3d printer|telescope|sewing machine|orchard|treadmill|holiday home){TAIL}",
        attribute="owns_{x}",
    ),
)
"""What people own."""

PASSING_MENTIONS: tuple[ExtractionRule, ...] = tuple(
    compile_rule(
        pattern,
        type=MemoryType.PEOPLE,
        fact=FactType.RELATIONSHIP,
        entity="person:{who}",
        checks={"who": checks.is_person_name},
        passing=True,
    )
    for pattern in (
        rf"(?:.*?\b)?(?P<quote>(?:my|our) {ROLE},? (?P<who>{NAME}))(?:'s)?(?:[ ,].*)?",
        rf"(?P<quote>(?:my|our) {ROLE}(?:'s name is| is called| is named|'s called) (?P<who>{NAME}))(?:[ ,].*)?",
        rf"(?:.*?\b)?(?P<quote>(?P<who>{NAME}) as (?:my|our) {ROLE})(?:[ ,].*)?",
        rf"(?:.*?\b)?(?P<quote>(?:my|our) (?:new )?{ROLE} (?:is (?:called|named) )(?P<who>{NAME}))(?:[ ,].*)?",
        rf"(?:my|our) (?:new |old )?(?:head of \w+|{ROLE}) is (?P<who>{NAME})(?:,? .+)?",
        (
            rf"(?:i'm|i am|i've been|im|i have been){ADVERB} (?:seeing|dating) (?:(?:someone|somebody|an? (?:\w+"
            rf" )?(?:guy"
            rf"|man"
            rf"|girl|woman|boy))(?: new)?(?:,| called| named)? ?(?:(?:his|her|their) name(?:'s| is) |called |named )?)?"
            rf"(?P<who>{NAME})(?:,? .+)?"
        ),
        rf"(?P<who>{NAME}) is (?:my|our) {ROLE}(?: (?:actually|too|btw|now|by the way))?(?:[,;]? .+)?",
    )
)
"""Who somebody is to the person, mentioned beside something else: only these words are the quote."""

LIVING: tuple[ExtractionRule, ...] = (*WHO, *WHERE, *FAMILY, *HEALTH, *BELONGINGS, *PASSING_MENTIONS)
"""All rules of this table."""
