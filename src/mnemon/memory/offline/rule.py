"""A rule: a pattern that a clause must match as a whole, and what is remembered when it does."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from mnemon.memory.fact import FactType, MemoryType
from mnemon.memory.keys import make_slug
from mnemon.memory.offline.clauses import LONGEST_CLAUSE, Clause
from mnemon.untrusted_text import reads_outside_text_up_to

GroupCheck = Callable[[str, Clause], bool]
"""Whether what a group caught is what the rule means by it."""

_CUT = re.compile(
    r"(?<!\s)\s*(?:[,;(]|\s[-–—]\s|\s(?:in (?:the|my|our)|on|for|with|during|at \d\S*|around \d\S*|at around|after"
    r"|before|because|when|while|since|so|but|over|than|rather|instead|as|by|every|each|once|twice|until|especially"
    r"|most of|more than|a lot|very much|so much|and (?:hates?|likes?|loves?|prefers?|dislikes?|enjoys?))\b"
    r"|\s(?:these days|now|too)$).*$",
    re.IGNORECASE,
)
_LEADING = re.compile(r"^(?:[Aa]n?|[Tt]he|some|to|any|really|very|just|little|big|all|new|our|small) ")
LONGEST_OBJECT = 6
"""Words an attribute may have; a longer one is no name for anything."""
LONGEST_ATTRIBUTE = 80


@dataclass(frozen=True, kw_only=True)
class ExtractionRule:
    """One line of a table."""

    pattern: re.Pattern[str]
    type: MemoryType = MemoryType.PROFILE
    fact: FactType = FactType.FACT
    attribute: str | None = None
    """What it is a value of; `{x}` stands for what the group `x` caught, shortened."""
    entity: str | None = None
    """`person:{who}` or `project:{what}`; None: the person themselves."""
    checks: Mapping[str, GroupCheck] = field(default_factory=dict)
    """By group."""
    passing: bool = False
    """Whether it may hold for the day only."""


def compile_rule(pattern: str, **rest: object) -> ExtractionRule:
    """A rule whose pattern is anchored at both ends and ignores case where it does not say otherwise."""
    return ExtractionRule(pattern=re.compile(rf"(?:{pattern})\Z", re.IGNORECASE), **rest)  # type: ignore[arg-type]


@reads_outside_text_up_to(LONGEST_CLAUSE)
def shorten_object(caught: str) -> str:
    """The words that name a thing, without what is said about it."""
    short = _CUT.sub("", caught.strip())
    while (bare := _LEADING.sub("", short)) != short:
        short = bare
    return short


def fill_attribute(template: str, found: re.Match[str]) -> str | None:
    """The template with what its groups caught, as a slug; None when that is nothing or too much."""
    values = {name: make_slug(shorten_object(caught)) for name, caught in found.groupdict().items() if caught}
    try:
        attribute = template.format_map(values)
    except KeyError:
        return None
    words = attribute.strip("_").split("_")
    fits = len(words) <= LONGEST_OBJECT + 1 and len(attribute) <= LONGEST_ATTRIBUTE
    return attribute if all(values.values()) and fits else None
