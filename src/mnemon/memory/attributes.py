"""The attributes that a fact can be a value of: what each is called, how it is said, and how many values it holds.

The table is `attributes.toml` beside this file; a reader extends it by adding a line there.
"""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from mnemon.evidence.stems import stem
from mnemon.memory.keys import make_slug

_LONGEST_VALUE = 80
_SPELLINGS = {"favorite": "favourite", "color": "colour", "mum": "mother", "mom": "mother"}
_FILLERS = frozenset({"my", "our", "his", "her", "their", "the", "a", "an", "user", "users", "person", "persons", "s"})
_QUALIFIERS = frozenset({"new", "current", "present", "main", "primary", "latest", "own", "actual", "exact", "now"})
"""Words before a name that change nothing: "current employer" is the employer."""


class Holds(StrEnum):
    """How many values an attribute has."""

    ONE = "one"
    """One at a time: a new value replaces the old one."""
    SET = "set"
    """Several side by side, each once."""
    LOG = "log"
    """Entries side by side, each once."""


class ValueKind(StrEnum):
    """How two values of an attribute are compared."""

    PLACE = "place"
    ORG = "org"
    NAME = "name"
    DATE = "date"
    STATUS = "status"
    THING = "thing"


@dataclass(frozen=True, kw_only=True)
class Attribute:
    """One attribute of the table, or one that a caller named and the table does not have."""

    name: str
    holds: Holds = Holds.ONE
    value: ValueKind = ValueKind.THING
    of: str = "person"
    """`person`, `project` or `any`: whom it is an attribute of."""
    is_role: bool = False
    """Whether the value is somebody and the attribute what they are to the person."""
    names: frozenset[str] = frozenset()
    """Its name and its other names, as stems."""
    says: tuple[re.Pattern[str], ...] = field(default=(), repr=False)
    """Predicates that state a value, in the group `v`."""
    is_value: tuple[re.Pattern[str], ...] = field(default=(), repr=False)
    """Whole statements that state a value."""
    whole: frozenset[str] = frozenset()
    """Values that stand without a name of the attribute, as stems: "vegan"."""
    whole_says: tuple[re.Pattern[str], ...] = field(default=(), repr=False)
    is_occupation: bool = False
    """Whether a value that stands alone has to be an occupation."""
    noise: frozenset[str] = frozenset()
    """Stems by which the attribute is named and stated; what else a statement says is its value or a detail."""


@dataclass(frozen=True, kw_only=True)
class EndingVerbs:
    """Verbs that end something, and the attributes whose values they end."""

    verbs: re.Pattern[str] | None = None
    """Before the value: "quit Acme"."""
    subject_verbs: re.Pattern[str] | None = None
    """After the value: "Rex died"."""
    pair_verbs: re.Pattern[str] | None = None
    """Of two: "Ana and I broke up"."""
    bare_verbs: re.Pattern[str] | None = None
    """Without a value: "I quit my job"."""
    ends: tuple[str, ...] = ()


def _split_phrases(text: str) -> list[str]:
    """Return the phrases of an entry of the table, which ` / ` separates."""
    return [one.strip() for one in text.split(" / ") if one.strip()]


@lru_cache(maxsize=20_000)
def name_stems(name: str) -> str:
    """Return an attribute's name as its stems, so that inflections and spellings of it compare as one."""
    words = [_SPELLINGS.get(word, word) for word in make_slug(name).split("_")]
    kept = [word for word in words if word not in _FILLERS] or words
    return " ".join(stem(word) for word in kept)


def _compile_pattern(pattern: str) -> re.Pattern[str]:
    """Return a pattern of the table as a compiled regular expression, whose `{}` stands for the value."""
    return re.compile(pattern.replace("{}", rf"(?P<v>.{{1,{_LONGEST_VALUE}}})"), re.IGNORECASE)


def _verbs_pattern(phrases: str | None) -> re.Pattern[str] | None:
    """Return a compiled pattern that matches one of the phrases at the start of a predicate; None without phrases."""
    if phrases is None:
        return None
    words = sorted(_split_phrases(phrases), key=len, reverse=True)
    return re.compile(rf"(?:{'|'.join(map(re.escape, words))})(?!\w)", re.IGNORECASE)


def _make_attribute(name: str, row: dict[str, Any]) -> Attribute:
    """Return the attribute that a row of `attributes.toml` describes, its patterns compiled."""
    names = [name, *_split_phrases(row.get("names", ""))]
    whole = _split_phrases(row.get("whole", ""))
    says = [*row.get("says", ()), *row.get("is", ()), *row.get("whole_says", ())]
    words = re.findall(r"[a-z]{2,}", " ".join([*names, *says]).replace("\\w", " ").replace("\\d", " "))
    return Attribute(
        name=name,
        holds=Holds(row["holds"]),
        value=ValueKind(row.get("value", "thing")),
        of=row.get("of", "person"),
        is_role=bool(row.get("role")),
        names=frozenset(map(name_stems, names)),
        says=tuple(map(_compile_pattern, row.get("says", ()))),
        is_value=tuple(map(_compile_pattern, row.get("is", ()))),
        whole=frozenset(map(name_stems, whole)),
        whole_says=tuple(map(_compile_pattern, row.get("whole_says", ()))),
        is_occupation=row.get("whole_is") == "occupation",
        noise=frozenset(map(stem, words)),
    )


@cache
def _load_table() -> dict[str, Any]:
    """Return the parsed content of `attributes.toml`, cached."""
    return tomllib.loads(files("mnemon.memory").joinpath("attributes.toml").read_text("utf-8"))


@cache
def known_attributes() -> dict[str, Attribute]:
    """Return the attributes of `attributes.toml` by name, cached."""
    return {
        name: _make_attribute(name, row)
        for name, row in _load_table().items()
        if isinstance(row, dict) and "holds" in row
    }


@cache
def _attributes_by_stems() -> dict[str, Attribute]:
    """Return the attributes by each of their names and synonyms, reduced to word stems."""
    return {one: attribute for attribute in known_attributes().values() for one in attribute.names}


@cache
def ending_verbs() -> tuple[EndingVerbs, ...]:
    """Return the rows of `attributes.toml` with verbs that say something is over ("quit", "died"), cached."""
    forms = ("verbs", "subject_verbs", "pair_verbs", "bare_verbs")
    return tuple(
        EndingVerbs(ends=tuple(row["ends"].split()), **{form: _verbs_pattern(row.get(form)) for form in forms})
        for row in _load_table()["ending"]
    )


def find_attribute(name: str) -> Attribute | None:
    """Return the attribute of the table with this name, in any inflection or synonym; None if there is none."""
    words = name_stems(name).split()
    while words:
        if (found := _attributes_by_stems().get(" ".join(words))) is not None:
            return found
        if words[0] not in _QUALIFIERS:
            return None
        words = words[1:]
    return None


@lru_cache(maxsize=20_000)
def attribute_called(name: str) -> tuple[Attribute, str | None]:
    """Return the attribute that a caller means by this name, and the value that the name carries, if any.

    A name that the table does not have is an attribute of its own with one value at a time.
    """
    if (found := find_attribute(name)) is not None:
        return found, None
    slug = make_slug(name)
    for prefix, value in _split_slug(slug):
        if (target := _load_table()["with_value"].get(prefix)) is not None:
            return known_attributes()[target], value.replace("_", " ")
    return Attribute(name=name_stems(name).replace(" ", "_"), noise=frozenset(name_stems(name).split())), None


def _split_slug(slug: str) -> Iterator[tuple[str, str]]:
    """Yield each way to split a slug at an underscore into beginning and rest, longest beginning first."""
    words = slug.split("_")
    for count in range(min(len(words) - 1, 3), 0, -1):
        yield "_".join(words[:count]), "_".join(words[count:])
