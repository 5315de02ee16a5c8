"""Values of attributes: where in a text a value ends, and when two texts name the same one."""

import re
from functools import lru_cache

from mnemon.evidence.said_dates import find_dates
from mnemon.evidence.stems import stem
from mnemon.memory.attributes import ValueKind
from mnemon.memory.entities.matching import NameLikeness, name_likeness
from mnemon.memory.fact import EntityType
from mnemon.memory.keys import make_slug
from mnemon.untrusted_text import reads_outside_text_up_to

LONGEST_VALUE = 120
"""Characters of a value that are compared."""
_CUT = re.compile(
    r"[,;(]?\s+(?:because|since|which|who|whose|where|when|whenever|while|though|although|but|so|as of|unless|until"
    r"|after|before|thanks to|due to|together|alone|by myself|with (?:my|our|his|her|their|a|an|two|three)"
    r"|and (?:i|we|he|she|they|it|my|our|have|has|am|is|are)|for (?:the|my|a|an|about|over|almost|nearly|many"
    r"|several|\d|two|three|four|five|six|seven|eight|nine|ten|now|work|years|months|good|some)\b|these days|nowadays"
    r"|now|currently|at the moment|right now|at present|any ?more|any longer|again|too|as well|already|instead"
    r"|full ?stop|yesterday|today|lately|recently|in the meantime)\b.*"
    r"|[,;(]?\s+(?:(?:last|this|next|every|each) (?:week|month|year|spring|summer|autumn|fall|winter|weekend|monday"
    r"|tuesday|wednesday|thursday|friday|saturday|sunday|january|february|march|april|may|june|july|august|september"
    r"|october|november|december)|in (?:19|20)\d\d|(?:\w+ )?\w+ (?:years?|months?|weeks?|days?) ago)\b.*"
    r"|\s*[;(–—].*|\s+-\s.*|,\s+(?:and|i|we|he|she|they|my|not)\b.*",
    re.IGNORECASE,
)
_DATE_CUT = re.compile(
    r"[,;(]?\s+(?:because|since|which|but|so|though|now|again|too|instead|at the latest)\b.*", re.IGNORECASE
)
_LEAD = re.compile(
    r"^(?:(?:an?|the|my|our|his|her|their|some|any|about|around|roughly|approximately|actually|called|named|on|at|by"
    r"|both|also|still|just|now|only|new|all|in)\s+)+",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W_]+(?:[.'’+#&/:@-]+[^\W_]+)*[+#]*")
_AND = re.compile(r"\s*(?:,\s*and\s+|,\s*|\s+and\s+|\s*&\s*|\s*/\s*)\s*", re.IGNORECASE)
_HEDGES = frozenset(
    {"a", "an", "the", "of", "in", "to", "my", "very", "really", "be", "s", "kind", "type", "eating", "being"}
)
_SAME_THING = {
    "diabet": "diabet", "asthmat": "asthma", "epilept": "epilepsi", "coeliac": "celiac", "maths": "math",
    "wed": "marri", "everyth": "omnivor", "anyth": "omnivor", "meat": "omnivor", "favorit": "favourit",
    "color": "colour", "neighbor": "neighbour", "nonsmok": "non-smok", "smoker": "smoke",
}  # fmt: skip
"""Stems that mean the same value."""
_NUMBERS = {
    word: str(number)
    for number, word in enumerate("zero one two three four five six seven eight nine ten eleven twelve".split())  # noqa: SIM905
}


@reads_outside_text_up_to(LONGEST_VALUE)
def clean_value(text: str, kind: ValueKind) -> str:
    """Return a value from a sentence without leading articles and trailing clauses."""
    cut = (_DATE_CUT if kind is ValueKind.DATE else _CUT).sub("", f" {text[:LONGEST_VALUE]}")
    # A leading "the" belongs to some names, yet no two values differ by it alone.
    return _LEAD.sub("", cut.strip(" \t.,;:!?\"“”'")).strip(" .,;:!?\"“”'")


@reads_outside_text_up_to(LONGEST_VALUE)
def split_values(text: str) -> tuple[str, ...]:
    """Return the members of an enumeration: `French` and `German` of "French and German"."""
    return tuple(part for part in _AND.split(text[:LONGEST_VALUE]) if part)


@lru_cache(maxsize=20_000)
def value_stems(value: str) -> frozenset[str]:
    """Return the word stems of a value, for comparison, without articles and fillers."""
    words = [_plain_word(word) for word in _WORD.findall(value.casefold().replace("’", "'"))]
    found = frozenset(_SAME_THING.get(one, one) for one in words if one)
    return found - _HEDGES or found


def _plain_word(word: str) -> str:
    """Return a word in comparable form: number words as digits, other words as stems."""
    bare = _NUMBERS.get(word, word).removesuffix("'s")
    return stem(bare.replace("-", "")) if bare.replace("-", "").isalpha() else bare


def value_slug(value: str) -> str:
    """Return a value as a slug for a key, the same for every inflection and order of its words."""
    return make_slug("_".join(sorted(value_stems(value)))) or make_slug(value)


@lru_cache(maxsize=20_000)
def is_same_value(kind: ValueKind, one: str, other: str) -> bool:
    """Say whether two texts name the same value of this kind, such as one place or one date."""
    if value_stems(one) == value_stems(other):
        return True
    match kind:
        case ValueKind.PLACE:
            return name_likeness(EntityType.PLACE, one, other) >= NameLikeness.PART
        case ValueKind.ORG:
            return name_likeness(EntityType.ORG, one, other) >= NameLikeness.PART
        case ValueKind.NAME:
            return name_likeness(EntityType.PERSON, one, other) in (NameLikeness.PART, NameLikeness.SAME)
        case ValueKind.DATE:
            return _same_date(one, other)
        case _:
            return False


def _same_date(one: str, other: str) -> bool:
    """Say whether two texts name one date; a year that only one of them names is ignored."""
    first, second = find_dates(one), find_dates(other)
    if len(first) != 1 or len(second) != 1:
        return False
    parts = [(getattr(first[0], part), getattr(second[0], part)) for part in ("year", "month", "day", "weekday")]
    shared = [(a, b) for a, b in parts if a is not None and b is not None]
    named = all((a is None) == (b is None) for a, b in parts[1:])
    return bool(shared) and named and all(a == b for a, b in shared)
