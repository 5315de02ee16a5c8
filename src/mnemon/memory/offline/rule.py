"""A rule: a pattern that must match a whole clause, and what is remembered if it does."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from mnemon.memory.fact import FactType, MemoryType
from mnemon.memory.keys import make_slug
from mnemon.memory.offline.clauses import LONGEST_CLAUSE, Clause
from mnemon.untrusted_text import reads_outside_text_up_to

GroupCheck = Callable[[str, Clause], bool]
"""Says whether the text of a group is what the rule means by it."""

_CUT = re.compile(
    r"(?<!\s)\s*(?:[,;(]|\s[-–—]\s|\s(?:in (?:the|my|our)|on|for|with|during|at \d\S*|around \d\S*|at around|after"
    r"|before|because|when|while|since|so|but|over|than|rather|instead|as|by|every|each|once|twice|until|especially"
    r"|most of|more than|a lot|very much|so much|and (?:hates?|likes?|loves?|prefers?|dislikes?|enjoys?))\b"
    r"|\s(?:these days|now|too)$).*$",
    re.IGNORECASE,
)
_LEADING = re.compile(r"^(?:[Aa]n?|[Tt]he|some|to|any|really|very|just|little|big|all|new|our|small) ")
LONGEST_OBJECT = 6
"""The most words of an attribute; a longer one is not a name for anything."""
LONGEST_ATTRIBUTE = 80


@dataclass(frozen=True, kw_only=True)
class ExtractionRule:
    """One rule of a table."""

    pattern: re.Pattern[str]
    type: MemoryType = MemoryType.PROFILE
    fact: FactType = FactType.FACT
    attribute: str | None = None
    """What the fact is a value of; `{x}` stands for the text of group `x`, shortened."""
    entity: str | None = None
    """`person:{who}` or `project:{what}`, with `?` where the group may be left out; None for the person themselves."""
    checks: Mapping[str, GroupCheck] = field(default_factory=dict)
    """Checks by group name."""
    passing: bool = False
    """Whether the rule also applies to a clause that speaks of today only."""


def compile_rule(pattern: str, **rest: object) -> ExtractionRule:
    """Return an extraction rule whose pattern must match the whole clause, ignoring case unless it says otherwise."""
    # `\Z`, not `$`, which would also match before a final newline.
    return ExtractionRule(pattern=re.compile(rf"(?:{pattern})\Z", re.IGNORECASE), **rest)  # type: ignore[arg-type]


@reads_outside_text_up_to(LONGEST_CLAUSE)
def shorten_object(caught: str) -> str:
    """Return the words of a matched text that name a thing, without leading articles and trailing additions."""
    short = _CUT.sub("", caught.strip())
    while (bare := _LEADING.sub("", short)) != short:
        short = bare
    return short


def fill_attribute(template: str, found: re.Match[str]) -> str | None:
    """Return the attribute name that a rule's template gives for a match; None if it is empty or too long."""
    values = {name: make_slug(shorten_object(caught)) for name, caught in found.groupdict().items() if caught}
    try:
        attribute = template.format_map(values)
    except KeyError:
        return None
    words = attribute.strip("_").split("_")
    fits = len(words) <= LONGEST_OBJECT + 1 and len(attribute) <= LONGEST_ATTRIBUTE
    return attribute if all(values.values()) and fits else None
