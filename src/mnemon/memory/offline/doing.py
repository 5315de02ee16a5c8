"""Rules for how people tell in passing of what they do: work, study, hobbies, tastes, habits, projects and dates."""

from mnemon.memory.fact import FactType, MemoryType
from mnemon.memory.offline import checks
from mnemon.memory.offline.fragments import ADVERB, BE, CAPITALIZED, HAVE, ORGANIZATION, PERSON, TAIL
from mnemon.memory.offline.fragments import OFTEN as _OFTEN
from mnemon.memory.offline.projects import is_project
from mnemon.memory.offline.rule import ExtractionRule, GroupCheck, compile_rule
from mnemon.memory.offline.vocabulary import SPORTS_AND_CRAFTS

_CRAFT = "|".join(sorted(SPORTS_AND_CRAFTS))
_INSTRUMENT = (
    r"guitar|piano|violin|cello|drums|flute|bass|saxophone|sax|trumpet|clarinet|ukulele|viola|harp|trombone|tuba|oboe"
    r"|accordion|banjo|harmonica|organ|keyboards?|double bass|french horn|mandolin|fiddle|bagpipes"
)
_GAME = (
    r"chess|tennis|soccer|football|basketball|volleyball|golf|squash|hockey|baseball|softball|rugby|badminton|dnd|d&d"
    r"|dungeons and dragons|poker|bridge|padel|pickleball|darts|pool|go|mahjong|cricket|netball|water polo|ping pong"
    r"|table tennis|bingo|warhammer|magic"
)
_SUBJECT_OF_STUDY = r"(?P<x>(?!the |for |it|this|hard|abroad|an? |at |my |your |with )[a-z]+(?: [a-z]+){0,2}?)"
_DATED = (
    r"(?:(?P<what>(?:[\w'-]+ ){1,3}?))??(?P<x>deadline|launch|release|hearing|closing|exam|wedding|trial|defen[cs]e"
    r"|presentation"
    r"|submission|due date|move|surgery|appointment|interview|audit|election|inspection|conference|opening)"
)
_TASK = (
    r"(?P<what>(?:[\w'-]+ ){0,3}?(?:assignments?|reports?|essays?|papers?|thesis|drafts?|proposals?|applications?"
    r"|slides"
    r"|presentations?|projects?|homework|chapters?|manuscripts?|grants?|submissions?|dissertation|reviews?"
    r"|translations?"
    r"|invoices?|tax(?:es)? returns?|taxes))"
)

WORK: tuple[ExtractionRule, ...] = (
    compile_rule(
        rf"i{ADVERB} (?:work|am working|'m working)(?: part[- ]time| full[- ]time| nights)?{ADVERB} (?:at|for) (?:an?"
        rf" [\w ]*?"
        rf"(?:place|company|startup|firm|shop|fintech|bank|restaurant|school|nonprofit) (?:called|named) )?"
        rf"{ORGANIZATION}{TAIL}",
        attribute="employer",
        checks={"org": checks.is_organization},
    ),
    compile_rule(
        rf"i{ADVERB} work (?:part[- ]time |full[- ]time )?(?:at|for|in) an? (?P<x>(?!meeting|hurry|team|rush|mess|bit"
        rf"|lot|while"
        rf")[\w' -]+?){TAIL}",
        attribute="employer",
        checks={"x": checks.is_workplace},
    ),
    compile_rule(
        rf"{HAVE}{ADVERB} been (?:with|at|working (?:at|for)) {ORGANIZATION} (?:for|since) .+",
        attribute="employer",
        checks={"org": checks.is_employer},
    ),
    compile_rule(
        rf"(?:my |today was my |it's my )?(?:first day|first week) at (?P<org>{CAPITALIZED}){TAIL}",
        attribute="employer",
        checks={"org": checks.is_employer},
        passing=True,
    ),
    compile_rule(
        rf"(?:i )?(?:just |finally )?(?:got|landed|started|took) (?:an?|the|my) (?:new )?(?P<x>internship|job"
        rf"|position|role"
        rf"|apprenticeship)(?: \w+)? (?:at|with) (?P<org>(?:an? )?[\w&.' -]+?){TAIL}",
        attribute="employer",
        checks={"org": checks.is_named},
    ),
    compile_rule(
        rf"(?:{BE}{ADVERB}|i've been|i have been) (?:an?|the) (?P<x>[\w' -]+?){TAIL}",
        attribute="job",
        checks={"x": checks.is_occupation},
    ),
    compile_rule(
        r"(?:i've been|i have been) (?:an?|the) (?P<x>[\w' -]+?) (?:for|since) .+",
        attribute="job",
        checks={"x": checks.is_occupation},
    ),
    compile_rule(
        rf"(?:they|the company|my boss|chef|work)(?:'ve| have)?(?: just)? (?:made|promoted) me (?:to )?(?:an? |the )?"
        rf"(?P<x>[\w' -]+?){TAIL}",
        attribute="job",
        checks={"x": checks.is_occupation},
        passing=True,
    ),
    compile_rule(
        rf"i{ADVERB} (?P<x>teach (?!me|you|him|her|them|us|myself)(?:\w+ ){{1,3}}?(?:at|in|to) .+"
        rf"|teach (?-i:[A-Z])\w+(?: \d+)?{TAIL}|ta (?:for|in) .+)",
        attribute="job",
    ),
    compile_rule(
        rf"i(?:'m| am){ADVERB} (?P<x>(?:a|the) (?:partner|associate|resident|fellow|lecturer|senior|vp) (?:at|in|of)"
        rf" .+)",
        attribute="job",
    ),
    compile_rule(
        rf"i{ADVERB} (?:do|handle|look after) (?P<x>(?:product|sales|marketing|fundraising|finance"
        rf"|operations|hr"
        rf"|payroll|design|engineering|legal|support|bookkeeping)(?:(?:,| and|, and) \w+)*){TAIL}",
        attribute="role",
    ),
    compile_rule(r"my days? off (?:is|are) (?P<x>.+)", attribute="work_mode"),
    compile_rule(
        rf"(?:{BE}{ADVERB} on|i{ADVERB} work|i do) (?:the )?(?P<x>nights?|days|night shifts?|day shifts?|the late shift"
        rf"|late shifts?|weekends|early shifts?|graveyard){TAIL}",
        attribute="work_mode",
    ),
    compile_rule(
        rf"(?:i'm|i am|im){ADVERB} doing (?:an?|my) (?P<x>(?:phd|ph\.d\.?|masters?|master's|bachelors?|bachelor's|mba"
        rf"|degree"
        rf"|doctorate|diploma|apprenticeship)(?: in [\w ]+?)?)(?: at .+)?{TAIL}",
        attribute="studies",
    ),
    compile_rule(
        rf"(?:i'm|i am|im){ADVERB} doing (?:an?|my) (?:phd|masters?|master's|mba|degree|doctorate|bachelor's)(?: in"
        rf" [\w ]+?)?"
        rf" at (?P<org>(?:the )?{CAPITALIZED}){TAIL}",
        attribute="school",
    ),
    compile_rule(
        rf"i (?:did|got|have|finished|took|hold) (?:my|an?) (?:degree|phd|masters?|master's|bachelors?|bachelor's|ba"
        rf"|bsc|msc"
        rf"|mba) in (?P<x>[\w ]+?)(?: (?:at|from) .+)?{TAIL}",
        attribute="degree",
    ),
    compile_rule(
        rf"i (?:studied|majored in|read|was studying) {_SUBJECT_OF_STUDY} (?:at|in college|in school|before|back) ?.*",
        attribute="studies",
    ),
    compile_rule(
        rf"(?:{BE}{ADVERB} an? |i'm in my |.+, )?(?:first|second|third|fourth|final|1st|2nd|3rd|4th)[- ]year"
        rf" (?P<x>(?!of\b|student\b)[\w ]+?)(?: student| major)? (?:at|student at) .+",
        attribute="studies",
    ),
    compile_rule(rf"{BE}{ADVERB} majoring in (?P<x>[\w ]+?){TAIL}", attribute="studies"),
)
"""Work and study."""

LEISURE: tuple[ExtractionRule, ...] = (
    compile_rule(
        rf"i{ADVERB} play (?:the )?(?P<x>{_INSTRUMENT}|{_GAME})(?:,? .+)?",
        attribute="plays_{x}",
    ),
    compile_rule(
        rf"(?:i|we){ADVERB} (?:play|sing) (?:\w+ )?in an? (?:\w+ )?(?:band|group|quartet) (?:called|named) (?P<x>.+)",
        attribute="band",
    ),
    compile_rule(rf"{BE}{ADVERB} in an? (?:\w+ )?band (?:called|named) (?P<x>.+)", attribute="band"),
    compile_rule(
        rf"(?:i'm|i am|im|i've been|i've started|i started|i have started|i have been){ADVERB} (?:learning|studying"
        rf"|teaching"
        rf" myself)(?: (?:to (?:play|speak)|how to play))?(?: the)? (?P<x>(?-i:[A-Z])\w+|{_INSTRUMENT}|chess"
        rf"|sign language|pottery|knitting|woodworking|welding|programming|coding){TAIL}",
        attribute="learning_{x}",
        checks={"x": checks.is_language_or_craft},
    ),
    compile_rule(
        rf"{BE}{ADVERB} training for (?P<x>(?:the |an? |my )?(?:\w+ )*?(?:marathon|half[- ]marathon|triathlon|ironman"
        rf"|10k|5k"
        rf"|race|ultra)){TAIL}",
        fact=FactType.HABIT,
        attribute="{x}",
    ),
    compile_rule(rf"i{ADVERB} (?P<x>(?:{_CRAFT})\b[^,]*? {_OFTEN})(?:,? .+)?", fact=FactType.HABIT, attribute="{x}"),
    compile_rule(rf"i{ADVERB} (?P<x>sing in (?:an?|the) (?:\w+ )?choir){TAIL}", fact=FactType.HABIT, attribute="{x}"),
    compile_rule(
        rf"{HAVE}{ADVERB} been (?P<x>(?:making|building|painting|collecting|restoring|carving|knitting|baking|brewing) "
        rf"[\w ]+?) (?:lately|recently|for years|these days|in my spare time|since .+)",
        fact=FactType.HABIT,
        attribute="{x}",
    ),
    compile_rule(
        rf"i{ADVERB} (?P<x>(?:read|watch|bake|write|cook|eat|drink|smoke|go through) (?:about |around |like )?(?:\d+"
        rf"|two"
        rf"|three|four|five|six|ten|way too much|too much|a lot of|lots of) (?!messages)[\w ]+?)(?: (?:a|per|each"
        rf"|every)"
        rf" (?:day|week|month|shift|year|night))?{TAIL}",
        fact=FactType.HABIT,
        attribute="{x}",
        checks={"x": checks.is_thing},
    ),
    compile_rule(
        rf"i{ADVERB} (?P<x>(?:bike|cycle|walk|commute|drive|run) (?:everywhere|to (?:work|school|campus|class|the"
        rf" office))"
        rf"){TAIL}",
        fact=FactType.HABIT,
        attribute="{x}",
    ),
    compile_rule(
        rf"i{ADVERB} (?P<x>take the (?:ferry|bus|train|tram|subway|metro|tube) to [\w ]+?) {_OFTEN}(?:,? .+)?",
        fact=FactType.HABIT,
        attribute="{x}",
    ),
    compile_rule(
        r"i(?: usually| always| normally)? (?P<x>wake up|get up|go to bed|go to sleep|start work|finish work|have"
        r" lunch"
        r"|have dinner|eat dinner|go for a run) (?:at|around|by|before) (?:\d|one|two|three|four|five|six|seven"
        r"|eight|nine|ten"
        r"|eleven|noon|midnight|dawn).*",
        fact=FactType.HABIT,
        attribute="{x}",
    ),
    compile_rule(
        rf"i{ADVERB} (?:do|get) my best (?P<x>work|thinking|writing) (?P<when>.+)",
        fact=FactType.HABIT,
        attribute="best_{x}",
    ),
    compile_rule(
        rf"i (?P<x>fast|observe|keep|celebrate) (?:during |for )?(?:ramadan|lent|shabbat|sabbath|diwali|yom"
        rf" kippur)"
        rf"{TAIL}",
        fact=FactType.HABIT,
        attribute="religion",
    ),
)
"""Hobbies and habits."""

TASTES: tuple[ExtractionRule, ...] = tuple(
    compile_rule(pattern, fact=fact, attribute=attribute, checks={"x": checks.is_taste})
    for pattern, attribute, fact in (
        (
            (
                rf"{BE}{ADVERB} an? (?:big |huge |lifelong |die-hard |massive )?(?P<x>(?!big\b|huge\b|great\b|real\b"
                rf"|massive\b)[\w' ]+?) fan(?! of){TAIL}"
            ),
            "{x}",
            FactType.PREFERENCE,
        ),
        (
            rf"(?:i|we){ADVERB} (?:support|root for|follow) (?:the )?(?P<x>(?-i:[A-Z])[\w ]+?){TAIL}",
            "{x}",
            FactType.PREFERENCE,
        ),
        (
            (
                rf"my (?:all-time )?(?:fav|fave|favou?rite) (?P<kind>[\w ]+?)(?:'s| is| are| has to be) (?P<x>[\w'"
                rf" .&-]+?){TAIL}"
            ),
            "favourite_{kind}",
            FactType.PREFERENCE,
        ),
        (
            rf"i{ADVERB} (?:prefer|like|love|hate|adore|enjoy|detest) (?P<x>(?!how |when |that |what )\w[^,]*)",
            "{x}",
            FactType.PREFERENCE,
        ),
        (
            (
                rf"{BE}{ADVERB} (?:terrible|bad|awful|hopeless|useless|rubbish|not (?:good|great)) (?:at|with)"
                rf" (?P<x>.+?){TAIL}"
            ),
            "{x}",
            FactType.FRICTION,
        ),
        (rf"i{ADVERB} (?:put off|procrastinate on) (?P<x>.+)", "{x}", FactType.FRICTION),
    )
)
"""Likes, dislikes and weaknesses."""


def _project_rule(
    pattern: str, attribute: str | None = None, entity: str | None = "project:{what}", **wanted: GroupCheck
) -> ExtractionRule:
    """Return an extraction rule for facts about something the person works on, caught by the group `what`."""
    return compile_rule(
        pattern, type=MemoryType.PROJECT, attribute=attribute, entity=entity, checks=wanted, passing=True
    )


MAKING: tuple[ExtractionRule, ...] = (
    _project_rule(
        rf"{BE}{ADVERB} (?:redesigning|rebuilding|building|renovating|remodelling|remodeling|writing|restoring"
        rf"|migrating|rewriting|refactoring|developing|coding|designing|making) (?:an?|the|my|our) (?P<what>(?:new )?"
        rf"(?:[\w-]+ ){{0,3}}?[\w-]+){TAIL}",
        what=is_project,
    ),
    _project_rule(
        r"(?:my|our) (?P<what>thesis|dissertation|book|novel|podcast|paper|blog|channel|newsletter|screenplay|startup"
        r"|project"
        r"|research) (?:is|looks) (?:about|at|on) .+"
    ),
    _project_rule(
        rf"(?:the|my|our) (?P<what>backend|frontend|app|site|website|codebase|stack|server|[\w-]+ app|bot|[\w-]+ bot"
        rf"|game)"
        rf" (?:is|was|'s)(?: all| mostly)? (?:in|built (?:in|on|with)|written in|made with|on)"
        rf" (?P<x>(?-i:[A-Z])[\w+#.]*"
        rf"(?:(?:,| and|, and) [A-Z][\w+#.]*)*){TAIL}",
        "uses",
    ),
    _project_rule(
        r"(?P<what>[\w-]+ app|backend|frontend)(?: is|'s)? (?P<x>(?-i:[A-Z])[\w+#.]*)", "uses", x=checks.is_technology
    ),
    compile_rule(
        rf"(?:i|we|i've|we've){ADVERB} switched (?:from [\w ]+ )?to (?P<x>(?-i:[A-Z])[\w+#]*){TAIL}", attribute="uses"
    ),
    _project_rule(
        r"(?:my|our|the) (?:\w+ )?budget (?:for|of) (?:the |my |our |this )?(?P<what>[\w ]+?) is"
        r" (?P<x>(?:about"
        r"|around|roughly )?[$€£]?\d.*)",
        "budget",
    ),
    _project_rule(
        r"(?:the|my|our|this|that) (?P<x>(?:[\w'-]+ ){0,3}?(?:round|sale|hearing|case|committee|trial|wedding|exam"
        r"|defen[cs]e"
        r"|event|conference|show|opening|election|launch|deadline|closing)(?: in the [\w' ]+?)?) (?:is set for|is"
        r" scheduled for"
        r"|closes on|meets on|starts on|opens on|takes place on|falls on|is on|is now|is now on) (?P<when>.+)",
        "{x}",
        entity=None,
        when=checks.is_time,
    ),
    _project_rule(
        rf"(?:the |my |our )?{_TASK} (?:is|are)(?: now)? due(?: on| by| back)? (?P<when>.+)",
        "deadline",
        when=checks.is_time,
    ),
    _project_rule(
        rf"(?:they |we |the client |the lawyers |she |he )?(?:pushed|moved|postponed|shifted|delayed|extended)(?:"
        rf" back)?"
        rf" (?:the|my|our) {_DATED}(?: back)? (?:to|until) (?P<when>.+)",
        "{x}",
        entity="project:{what}?",
        when=checks.is_time,
    ),
    _project_rule(
        rf"(?:the|my|our) {_DATED}(?: has| just| was| is| got| has been| been| have been)* (?:moved|pushed|postponed"
        rf"|shifted"
        rf"|slipped|delayed|rescheduled|changed|extended)(?: back| forward| up)? (?:to|until) (?P<when>.+)",
        "{x}",
        entity="project:{what}?",
        when=checks.is_time,
    ),
)
"""Projects, what they are made with, and dates that are set or moved."""

OTHERS_DO: tuple[ExtractionRule, ...] = (
    compile_rule(
        rf"{PERSON} (?P<x>(?!(?:is|was|has|had|will|would|can|could|says?|said|thinks?|wants?|just)\b)[a-z]+s(?:"
        rf" (?!every)[^,]+?)?) "
        rf"{_OFTEN}(?:,? .+)?",
        type=MemoryType.PEOPLE,
        fact=FactType.HABIT,
        attribute="{x}",
        entity="person:{person}",
        checks={"name": checks.is_person_name, "x": checks.is_thing},
    ),
)
"""What others do regularly."""

DOING: tuple[ExtractionRule, ...] = (*WORK, *LEISURE, *TASTES, *MAKING, *OTHERS_DO)
"""All rules of this table."""
