"""Rules for what people say about themselves. Each has a pattern of how it is said, and what it is a value of."""

from mnemon.memory.fact import FactType
from mnemon.memory.offline import checks
from mnemon.memory.offline.rule import ExtractionRule, compile_rule
from mnemon.memory.offline.vocabulary import CONDITIONS, DIETS, PETS, TRAITS

_BE = r"(?:i am|i'm|im|we are|we're)"
_HAVE = r"(?:i have|i've|we have|we've)"
_ADV = (
    r"(?: (?:really|actually|currently|now|also|still|mostly|mainly|absolutely|particularly|especially|quite"
    r"|always|usually"
    r"|originally|personally|generally|definitely|truly|recently|simply|both|strongly|already|finally|only|just"
    r"|much))*"
)
_SINCE = (
    r"(?: (?:now|these days|currently|for .+|since .+|in \d{4}|last .+|with .+|\w+ (?:years?|months?|weeks?) ago"
    r"|as .+))*"
)
# `(?-i:…)` switches case sensitivity back on where a capital tells a name from a word.
_CAP = r"(?-i:[A-ZÀ-Þ][\w.'&-]*(?: (?:of|the|de|la|del|van|von|and|&|on) [A-ZÀ-Þ][\w.'&-]*| [A-ZÀ-Þ][\w.'&-]*)*)"
_PLACE = rf"(?P<place>{_CAP}(?:, {_CAP})*|(?-i:[a-z]+(?: [a-z]+)?))"
_ORG = rf"(?P<org>(?:the |an? )?(?:{_CAP}|(?-i:[a-z]+(?: [a-z]+)?)))"
_NAME = r"(?P<name>[^\W\d_][\w'-]+(?: (?-i:[A-ZÀ-Þ])[\w'.-]+){0,2})"
_NUMBER = r"(?:two|three|four|five|six|seven|eight|one|an?|\d+)"
_FAVOURITE = r"(?:favou?rite|preferred)"

# A rule must match a whole clause. All rules are tried; of several results with the same attribute the first counts.
WHO_AND_WHERE: tuple[ExtractionRule, ...] = (
    compile_rule(
        rf"my (?:full |first |real )?name(?:'s| is) {_NAME}", attribute="name", checks={"name": checks.is_own_name}
    ),
    compile_rule(
        rf"(?:(?:you can |please )?call me|(?:people|everyone|everybody|my friends|they"
        rf"|most people)(?: all)? calls? me"
        rf"|i'm called|i am called|i go by|name's) {_NAME}",
        attribute="name",
        checks={"name": checks.is_own_name},
    ),
    compile_rule(rf"(?:i'm|i am|im) {_NAME}(?:, .*)?", attribute="name", checks={"name": checks.is_known_name}),
    compile_rule(
        rf"(?:i{_ADV} live|lives?|i{_ADV} reside|{_BE}{_ADV} living|{_BE}{_ADV} based) in {_PLACE}{_SINCE}",
        attribute="lives_in",
        checks={"place": checks.is_place},
    ),
    compile_rule(
        rf"{_HAVE}{_ADV} (?:lived|been living) in {_PLACE}{_SINCE}",
        attribute="lives_in",
        checks={"place": checks.is_place},
    ),
    compile_rule(
        rf"(?:i|we|{_HAVE}){_ADV} (?:moved|relocated) (?:back )?to {_PLACE}{_SINCE}",
        attribute="lives_in",
        checks={"place": checks.is_place},
    ),
    compile_rule(
        rf"my home(?: town| city)?(?: is|'s)(?: in)? {_PLACE}", attribute="lives_in", checks={"place": checks.is_place}
    ),
    compile_rule(rf"(?:{_BE}{_ADV}|i{_ADV} come) from {_PLACE}", attribute="from", checks={"place": checks.is_place}),
    compile_rule(rf"i (?:grew up|was raised) in {_PLACE}", attribute="grew_up_in", checks={"place": checks.is_place}),
    compile_rule(
        rf"i{_ADV} live in an? (?:\w+ ){{0,2}}?(?:village|town|city|suburb|house|flat|apartment|cabin|farmhouse)"
        rf" (?:in|near|outside|outside of|close to) {_PLACE}",
        attribute="lives_in",
        checks={"place": checks.is_place},
    ),
    compile_rule(r"i live (?P<x>alone|by myself|with (?:my|two|three|a|an|my own) .+)", attribute="lives_with"),
    compile_rule(rf"i was born (?:and raised )?in {_PLACE}", attribute="born_in", checks={"place": checks.is_place}),
    compile_rule(r"i was born (?P<date>(?:on|in) .+)", attribute="birthday", checks={"date": checks.is_date}),
    compile_rule(r"my birthday(?:'s| is)(?: on)? (?P<date>.+)", attribute="birthday", checks={"date": checks.is_date}),
    compile_rule(
        rf"{_BE} (?P<age>\d{{1,3}})(?: years? old| y/o)?(?: and (?!a half)[a-z]+)?",
        attribute="age",
        checks={"age": checks.is_age},
    ),
    compile_rule(
        r"i(?:'ve| have)?(?: just)? turned (?P<age>\d{1,3})(?: (?:years old|last|in|on|this|yesterday|today|a) ?.*)?",
        attribute="age",
        checks={"age": checks.is_age},
        passing=True,
    ),
    compile_rule(
        r"(?:my e-?mail(?: address)?(?: is|:)|you can (?:reach|email) me at) (?P<x>[\w.+-]+@[\w-]+\.[\w.-]+)",
        attribute="email",
    ),
    compile_rule(r"my (?:phone|mobile|cell)(?: number)?(?: is|:) (?P<x>\+?[\d][\d ()./-]{5,})", attribute="phone"),
    compile_rule(r"my time ?zone(?: is|:) (?P<x>[\w+/: -]+)", attribute="timezone"),
    compile_rule(rf"{_BE} (?:in|on) (?:the )?(?P<x>[\w+:/-]+(?: \w+)?) time ?zone", attribute="timezone"),
    compile_rule(r"(?:my pronouns are|i use) (?P<x>\w+/\w+(?:/\w+)?)(?: pronouns)?", attribute="pronouns"),
    compile_rule(
        r"i(?: also)? speak (?:fluent )?(?P<x>(?-i:[A-Z])\w+(?:(?:,| and|, and) (?-i:[A-Z])\w+)*)",
        attribute="speaks_{x}",
    ),
    compile_rule(
        r"my (?P<kind>address|shoe size|zip code|postcode|postal code|height|weight)(?: is|:) (?P<x>\S.*)",
        attribute="{kind}",
        checks={"x": checks.has_figure},
    ),
    compile_rule(
        r"my (?:wedding )?anniversary is(?: on)? (?P<date>.+)", attribute="anniversary", checks={"date": checks.is_date}
    ),
    compile_rule(r"my blood type is (?P<x>(?-i:AB|A|B|O)(?: ?[+-]| positive| negative)?)", attribute="blood_type"),
    compile_rule(r"my (?:hometown|home town) is (?P<x>(?-i:[A-Z]).+)", attribute="from"),
    compile_rule(r"i(?:'m| am) (?P<x>\d+(?:\.\d+)? ?(?:cm|m|feet|ft)(?: \d+)?) tall", attribute="height"),
    compile_rule(r"i weigh (?P<x>\d+(?:\.\d+)? ?(?:kg|kilos|pounds|lbs|stone))", attribute="weight"),
    compile_rule(r"my (?:native language|mother tongue|first language) is (?P<x>\w+)", attribute="native_language"),
)
"""Name, place, age, contact and the like."""

FAMILY_AND_BODY: tuple[ExtractionRule, ...] = (
    compile_rule(
        rf"{_BE}{_ADV} (?P<x>(?:happily )?married|single|divorced|widowed|engaged|in a relationship|separated)"
        r"(?: (?:with|to(?! my )|for|since) .+)?",
        attribute="marital_status",
    ),
    compile_rule(
        r"i(?:'ve| have) been (?P<x>married|divorced|single|widowed) (?:for|since) .+", attribute="marital_status"
    ),
    compile_rule(
        r"(?:i|we)(?: just| recently| finally)? got (?P<x>married|engaged|divorced)(?: .+)?",
        attribute="marital_status",
        passing=True,
    ),
    compile_rule(
        rf"{_HAVE} (?P<x>{_NUMBER} (?:\w+ )?(?:siblings|brothers?|sisters?)(?: and {_NUMBER} (?:brothers?"
        rf"|sisters?))?)",
        attribute="siblings",
    ),
    compile_rule(
        rf"(?:my|our) (?P<x>{'|'.join(sorted(PETS))})(?:'s name is| is called| is named| is) (?-i:[A-Z])\w+",
        attribute="has_{x}",
    ),
    compile_rule(rf"(?-i:[A-Z])\w+ is (?:my|our) (?:\w+ )?(?P<x>{'|'.join(sorted(PETS))})", attribute="has_{x}"),
    compile_rule(
        rf"(?:{_BE}{_ADV} on an?|i follow an?) (?P<x>{'|'.join(DIETS)}) diet",
        fact=FactType.PREFERENCE,
        attribute="diet",
    ),
    compile_rule(
        rf"i(?:'ve| have) been (?:an? )?(?P<x>{'|'.join(DIETS)}) (?:for|since) .+",
        fact=FactType.PREFERENCE,
        attribute="diet",
    ),
    compile_rule(
        rf"i was(?: recently)? diagnosed with (?P<x>{'|'.join(sorted(CONDITIONS))})(?: .+)?", attribute="has_{x}"
    ),
    compile_rule(
        rf"{_BE}{_ADV}(?: really| very| terribly)? (?:afraid|scared|terrified) of (?P<x>.+)",
        attribute="afraid_of_{x}",
        checks={"x": checks.is_thing},
    ),
    compile_rule(
        rf"{_HAVE} (?P<x>{_NUMBER}) (?:\w+ )?(?:children|kids|child|kid|sons?|daughters?)(?: and .+)?",
        attribute="children",
    ),
    compile_rule(
        rf"(?:{_HAVE}|i own|we own) {_NUMBER} (?P<x>(?:\w+ ){{0,2}}(?:{'|'.join(sorted(PETS))}))"
        r"(?: (?:named|called) .+|, .+)?",
        attribute="has_{x}",
    ),
    compile_rule(rf"{_BE}{_ADV} (?:an? )?(?P<x>{'|'.join(DIETS)})", fact=FactType.PREFERENCE, attribute="diet"),
    compile_rule(
        rf"{_BE}{_ADV}(?: severely| very| deathly)? allergic to (?P<x>.+)",
        attribute="allergic_to_{x}",
        checks={"x": checks.is_allergen},
    ),
    compile_rule(r"i have an? (?P<x>.+) allergy", attribute="allergic_to_{x}", checks={"x": checks.is_thing}),
    compile_rule(rf"{_BE}{_ADV} (?P<x>{'|'.join(TRAITS)})", attribute="{x}"),
    compile_rule(
        rf"i have(?: chronic| severe| mild| type \d)? (?P<x>{'|'.join(sorted(CONDITIONS))})", attribute="has_{x}"
    ),
)
"""Family, pets, diet and health."""

WORK_AND_STUDY: tuple[ExtractionRule, ...] = (
    compile_rule(
        rf"i{_ADV} work (?:at|for) {_ORG}(?: as .+| in .+| on .+)?{_SINCE}",
        attribute="employer",
        checks={"org": checks.is_organization},
    ),
    compile_rule(
        rf"{_BE}{_ADV} (?:an?|the) (?P<x>(?!.*\bstudent\b).+?) (?:at|for) {_ORG}",
        attribute="employer",
        checks={"x": checks.is_occupation, "org": checks.is_organization},
    ),
    compile_rule(
        rf"{_BE}{_ADV} (?:the )?(?P<x>(?:head|director|vp|chief|lead) of [\w ]+?) (?:at|for) {_ORG}",
        attribute="employer",
        checks={"org": checks.is_organization},
    ),
    compile_rule(
        rf"{_BE}{_ADV} (?:the )?(?P<x>(?:head|director|vp|chief|lead|ceo|cto|cfo|coo|founder|cofounder) (?:of|at) .+)",
        attribute="job",
    ),
    compile_rule(
        rf"i{_ADV} work (?:at|for) {_ORG} as (?:an? |the )?(?P<x>.+)",
        attribute="job",
        checks={"org": checks.is_organization},
    ),
    compile_rule(rf"i{_ADV} work as (?:an? |the )?(?P<x>.+)", attribute="job"),
    compile_rule(
        rf"i{_ADV} work as (?:an? |the )?(?P<x>.+?) (?:at|for) {_ORG}",
        attribute="employer",
        checks={"org": checks.is_organization},
    ),
    compile_rule(
        rf"i(?:'ve| have) (?:worked|been working) (?:at|for) {_ORG}(?: as .+)? (?:for|since) .+",
        attribute="employer",
        checks={"org": lambda caught, _: caught[0].isupper()},
    ),
    compile_rule(
        r"i(?:'ve| have) been an? (?P<x>.+?) (?:for|since) .+", attribute="job", checks={"x": checks.is_occupation}
    ),
    compile_rule(
        r"i(?:'ve| have)?(?: just| recently)? (?:got|been|was) promoted to (?P<x>.+)", attribute="job", passing=True
    ),
    compile_rule(
        r"my (?:role|title|job title) is (?P<x>(?:an? |the )?[\w ]+)",
        attribute="job",
        checks={"x": checks.is_occupation},
    ),
    compile_rule(
        rf"my (?:employer|company) is {_ORG}",
        attribute="employer",
        checks={"org": lambda caught, _: caught[0].isupper()},
    ),
    compile_rule(
        rf"i{_ADV} work (?P<x>remotely|from home|nights|night shifts|the night shift|part[- ]time|full[- ]time)"
        r"(?: most days)?",
        attribute="work_mode",
    ),
    compile_rule(rf"{_BE}{_ADV} an? (?P<x>.+)", attribute="job", checks={"x": checks.is_occupation}),
    compile_rule(
        r"my (?:job|profession|occupation) is (?P<x>(?:an? .+|teaching .+|\w+ing .+))",
        attribute="job",
        checks={"x": lambda caught, clause: not caught.startswith(("killing", "driving me", "stressing", "boring"))},
    ),
    compile_rule(
        rf"(?:i|{_HAVE}){_ADV} (?:joined|started (?:working )?at|started a new job at|work now at)"
        rf" {_ORG}(?: in \d{{4}}| last \w+| this \w+| as .+| \w+ \w+ ago| in (?-i:[A-Z])\w+)?",
        attribute="employer",
        checks={"org": checks.is_employer},
    ),
    compile_rule(
        rf"{_BE}{_ADV} (?P<x>self-employed|freelancing|a freelancer|unemployed|between jobs)", attribute="employer"
    ),
    compile_rule(
        rf"i{_ADV} (?:run|own|founded|started) (?:an? |my own )(?P<x>(?:\w+ ){{0,3}}(?:bakery|shop|store"
        rf"|company|startup"
        r"|restaurant|cafe|café|business|studio|agency|farm|gym|school|salon|bar|bookstore|firm|practice|nonprofit"
        r"|charity|blog|podcast|newsletter))(?: .+)?",
        attribute="runs",
    ),
    compile_rule(
        rf"(?:i{_ADV} study|{_BE}{_ADV} studying) "
        r"(?P<x>(?!the |for |it|this|hard|abroad|a |an |at |my |your |with )[\w ]+?)(?: at .+| in .+)?",
        attribute="studies",
    ),
    compile_rule(
        rf"i graduated from {_ORG}{_SINCE}", attribute="graduated_from", checks={"org": checks.is_organization}
    ),
    compile_rule(
        r"i have an? (?P<x>(?:phd|ph\.d\.|masters?|master's|bachelors?|bachelor's|mba|doctorate|degree in)\b.*)",
        attribute="degree",
    ),
    compile_rule(
        rf"i{_ADV} play (?:the )?(?P<x>guitar|piano|violin|cello|drums|flute|bass|saxophone|trumpet|clarinet"
        rf"|ukulele|viola"
        r"|harp|chess|tennis|soccer|football|basketball|volleyball|golf|squash|hockey|baseball|rugby"
        r"|badminton)(?: .+)?",
        attribute="plays_{x}",
    ),
    compile_rule(
        rf"{_BE}{_ADV} learning (?:to (?:play|speak) )?(?:the )?(?P<x>(?-i:[A-Z])\w+|guitar|piano|violin|chess|cello)",
        attribute="learning_{x}",
    ),
    compile_rule(rf"i{_ADV} drive an? (?P<x>(?!hard ).+)", attribute="drives"),
    compile_rule(r"my car is an? (?P<x>(?:\w+ )?(?-i:[A-Z]).*)", attribute="drives"),
    compile_rule(r"(?:i|we) own an? (?P<x>(?!lot|few|bit)[\w ]+)", attribute="owns_{x}"),
    compile_rule(r"i (?:manage|lead|run) (?P<x>(?:an?|the) (?:\w+ ){0,2}team(?: of .+| at .+)?)", attribute="manages"),
)
"""Work, study, skills and possessions."""

PREFERENCES: tuple[ExtractionRule, ...] = tuple(
    compile_rule(pattern, fact=FactType.PREFERENCE, attribute=attribute, checks={"x": checks.is_thing})
    for pattern, attribute in (
        (rf"(?:i{_ADV} prefer|prefers) (?P<x>.+?)(?: (?:over|to|rather than|instead of) .+)?", "{x}"),
        (r"i'd rather (?:have|get|use|read|see|drink|eat|take) (?P<x>.+?)(?: than .+)?", "{x}"),
        (
            (
                rf"(?:i{_ADV} (?:like|love|enjoy|adore|hate|dislike|loathe|detest)|likes|loves|enjoys|hates"
                rf"|dislikes) (?P<x>.+)"
            ),
            "{x}",
        ),
        (r"i can't (?:stand|bear) (?P<x>.+)", "{x}"),
        (
            rf"{_BE}{_ADV} (?:an? )?(?:big |huge |great )?(?:fan of|into|fond of|crazy about|obsessed with) (?P<x>.+)",
            "{x}",
        ),
        (rf"my {_FAVOURITE} (?P<kind>\w+(?: \w+)?) (?:is|are) (?P<x>.+)", "favourite_{kind}"),
    )
)
"""Likes and dislikes."""

_OFTEN = (
    r"(?:every(?: other| single)? (?!time|one)\w+(?: (?:morning|evening|night|afternoon))?|each \w+|daily|weekly"
    r"|once an? \w+|twice an? \w+|(?:two|three|four|five|six|\d)(?: or \w+)? (?:times|days|nights) an? \w+"
    r"|on (?:mon|tues|wednes|thurs|fri|satur|sun)days|on weekends|on weekdays|at weekends|most (?:days|mornings"
    r"|evenings))"
)
_DO = (
    r"(?P<x>(?!just |\w+ed\b|agree|disagree|say |do\b$|crash|am |was |forget |keep |lose |miss |want |have\b|had\b"
    r"|need |see |know |get |love |like |hate |wonder |feel |think )[a-z]+(?: [^,]+?)??)"
)

HABITS: tuple[ExtractionRule, ...] = tuple(
    compile_rule(pattern, fact=FactType.HABIT, attribute="{x}", checks={"x": checks.is_thing})
    for pattern in (
        (
            rf"(?:{_BE}(?: more of| definitely| very much)?|is) an? (?P<x>(?:morning|evening|night) person"
            rf"|night owl|early bird)"
        ),
        rf"i {_DO} {_OFTEN}(?: .+)?",
        (
            r"i (?P<x>wake up|get up|go to bed|go to sleep|start work|finish work|have lunch|eat dinner) (?:at"
            r"|around|by) \d.*"
        ),
        (
            r"i (?P<x>commute|bike to work|walk to work|cycle to work|take the (?:bus|train|subway"
            r"|tram) to work)(?: by .+| for .+)?"
        ),
        rf"{_OFTEN},? i {_DO}(?: (?:at|with|before|after|in|for) .+)?",
        rf"i (?:usually|always|typically|normally|regularly) {_DO}(?: (?:at|with|before|after|in|for|around|by) .+)?",
    )
)
"""Habits."""

FRICTIONS: tuple[ExtractionRule, ...] = tuple(
    compile_rule(pattern, fact=FactType.FRICTION, attribute="{x}", checks={"x": checks.is_thing})
    for pattern in (
        rf"i{_ADV} struggle (?:with|to) (?P<x>.+)",
        rf"i{_ADV} have (?:a lot of |real |great )?(?:trouble|difficulty|problems|a hard time) (?:with )?(?P<x>.+)",
        (
            r"i (?:keep|always keep) (?P<x>(?:forgetting|losing|missing|procrastinating|postponing|putting off"
            r"|avoiding|failing"
            r"|mixing up|oversleeping)(?: .+)?)"
        ),
        r"i always (?P<x>(?:forget|lose|miss|mix up|oversleep|procrastinate)(?: .+)?)",
        r"i find it (?:very |really |so )?(?:hard|difficult|tough) to (?P<x>.+)",
    )
)
"""Struggles."""

PROFILE: tuple[ExtractionRule, ...] = (
    WHO_AND_WHERE + FAMILY_AND_BODY + WORK_AND_STUDY + PREFERENCES + HABITS + FRICTIONS
)
"""All rules about the person."""
