"""Rules for what people say about the things they work on."""

from mnemon.memory.fact import MemoryType
from mnemon.memory.offline import checks
from mnemon.memory.offline.clauses import Clause
from mnemon.memory.offline.rule import ExtractionRule, GroupCheck, compile_rule, shorten_object
from mnemon.memory.offline.vocabulary import NOT_NAMES, NOT_PROJECTS

_BE = r"(?:(?:i am|i'm|im|we are|we're|our team is|my team is)(?: currently| also| now| still)? )"
_NAME = r"(?-i:[A-Z][\w'-]*(?: [A-Z][\w'-]*){0,2})"
_THE = r"(?:the |an? |my |our |some |this |new |a new )*"
_CUT = r"(?: (?:for|with|about|that|which|to|in|at|on|using|called|and) .+)?"


_THINGS_IN_ING = frozenset(
    {
        "building",
        "landing",
        "pricing",
        "onboarding",
        "marketing",
        "billing",
        "training",
        "wedding",
        "painting",
        "trading",
    }
)
"""Words in -ing that name a thing, not an activity."""


def is_project(caught: str, clause: Clause) -> bool:
    """Say whether a matched text is something that is made: no pronoun, no day, and no mere activity."""
    words = shorten_object(caught).lower().split()
    if words in ([], ["project"], ["thing"], ["app"]) or len(words) > 6 or NOT_PROJECTS & set(words):
        return False
    is_activity = words[0].endswith("ing") and words[0] not in _THINGS_IN_ING
    return words[0] not in NOT_NAMES and not is_activity


def _project_rule(
    pattern: str, attribute: str | None = None, entity: str | None = "project:{what}", **wanted: GroupCheck
) -> ExtractionRule:
    """Return an extraction rule for facts about something the person works on."""
    return compile_rule(
        pattern, type=MemoryType.PROJECT, attribute=attribute, entity=entity, checks={"what": is_project, **wanted}
    )


_WE_SHIP = r"(?:launch|ship|release)"
_SHIPPING = r"(?:launching|shipping|releasing)"
_SHIPS = r"(?:launches|ships|releases|goes live)"
_WHEN = r"(?P<when>(?:on|in|by|next|this|at|early|mid|late|tomorrow).*)"
_THING = r"(?P<what>[\w' -]+?)"

PROJECTS: tuple[ExtractionRule, ...] = (
    _project_rule(rf"(?:{_BE})?working on {_THE}{_THING}{_CUT}"),
    _project_rule(rf"{_BE}(?:building|developing|designing|creating|making|organi[sz]ing|renovating|prototyping) "
             rf"(?:an?|the|my|our|some) (?:new )?{_THING}{_CUT}"),
    _project_rule(
        rf"{_BE}writing {_THE}(?P<what>(?:\w+ ){{0,2}}(?:novel|book|thesis|dissertation|paper|screenplay|memoir"
             rf"|blog|grant|app|library|compiler|game|musical|opera|cookbook|play|script|series|report)){_CUT}"),
    _project_rule(rf"(?:my|our|the) (?:startup|company|project|app|product|team|band|podcast|book|game|newsletter)"
             rf"(?:'s name is| is called| is named) [\"']?(?P<what>{_NAME})[\"']?"),
    _project_rule(
        rf"(?:(?:{_BE})?{_SHIPPING}|(?:we|i) {_WE_SHIP}) {_THE}{_THING},? {_WHEN}", "launch", when=checks.is_time),
    _project_rule(rf"(?P<what>{_NAME}) {_SHIPS} {_WHEN}", "launch", when=checks.is_time),
    _project_rule(rf"the deadline for {_THE}{_THING} is (?P<when>.+)", "deadline", when=checks.is_time),
    _project_rule(rf"(?P<what>{_NAME}) is due (?P<when>.+)", "deadline", when=checks.is_time),
    _project_rule(rf"the budget for {_THE}{_THING} is (?P<x>(?:about |around )?[$€£]?\d.*)", "budget"),
    _project_rule(
        r"(?:our |my |the )?(?:project )?deadline is (?P<when>.+)", "deadline", entity=None, when=checks.is_time),
    _project_rule(r"(?:our |my |the )?(?:launch|release) is (?:scheduled for|planned for|on|in|set for) (?P<when>.+)",
             "launch", entity=None, when=checks.is_time),
    _project_rule(rf"(?:we|i)(?: are|'re|'m)? us(?:e|ing) (?P<x>[\w ,.+#-]+?) for (?:the |our )?"
             rf"(?P<what>{_NAME})(?: project)?", "uses"),
    _project_rule(r"(?:(?:the |our |my )?(?:project|backend|frontend|stack|codebase)|(?:our|my) (?:app|site|website)) "
             r"(?:uses|is built (?:with|on|in)|runs on|is written in) (?P<x>(?-i:[A-Z]).*)", entity=None),
    _project_rule(
        rf"{_BE}(?:migrating(?: everything| our \w+)?|moving (?:everything|our \w+)) to (?P<what>{_NAME}){_CUT}",
             "migration"),
)  # fmt: skip
