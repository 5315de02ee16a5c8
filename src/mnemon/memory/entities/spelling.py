"""Whether two words are one name in two spellings: by table where names are known, by sound and letters where not."""

import re
from enum import IntEnum
from functools import lru_cache

import jellyfish
from rapidfuzz.distance import OSA

from mnemon.memory.entities.lexicon import KNOWN_NAMES, ONE_NAME
from mnemon.memory.entities.names import Word

_SOUNDS = (
    ("eigh", "i"), ("ou", "u"), ("oo", "u"), ("ee", "i"), ("ea", "i"), ("ie", "i"), ("ey", "i"), ("ei", "i"),
    ("y", "i"), ("ph", "f"), ("ck", "k"), ("bh", "b"), ("dh", "d"), ("gh", "g"), ("kh", "k"), ("nds", "ns"),
    ("sz", "s"), ("ah", "a"),
)  # fmt: skip
_SHORTEST = 5
_LONG = 7
_GROUPS = {
    name: frozenset(n for n, group in enumerate(ONE_NAME) if name in group) for name in frozenset().union(*ONE_NAME)
}


class Tie(IntEnum):
    """How two words hang together, closest first when sorted downwards."""

    OTHER = 0
    """Different words."""
    INITIAL = 1
    """One is the first letter of the other."""
    ALIKE = 2
    """Near enough in sound or letters to ask, not to be sure (Devin, Devon)."""
    VARIANT = 3
    """One name, two spellings or a short form."""
    EQUAL = 4
    """The same letters."""


@lru_cache(maxsize=100_000)
def tie(one: Word, two: Word) -> Tie:
    """How two words of names hang together."""
    if one & two:
        return Tie.EQUAL
    pairs = [(a, b) for a in one for b in two]
    if any(len(min(p, key=len)) == 1 and p[0][0] == p[1][0] and p[0].isascii() for p in pairs):
        return Tie.INITIAL
    if any(_one_name(a, b) for a, b in pairs):
        return Tie.VARIANT
    if one & KNOWN_NAMES and two & KNOWN_NAMES:
        return Tie.OTHER
    return max(_by_ear(a, b) for a, b in pairs)


def _one_name(a: str, b: str) -> bool:
    return bool(_GROUPS.get(a, frozenset()) & _GROUPS.get(b, frozenset()))


def _by_ear(a: str, b: str) -> Tie:
    if not (a.isascii() and b.isascii() and a.isalpha() and b.isalpha()):
        return Tie.OTHER
    shorter = min(len(a), len(b))
    if shorter < _SHORTEST or _ending(a) != _ending(b):
        return Tie.OTHER
    apart = OSA.distance(a, b)
    if _sound(a) == _sound(b) and apart <= 3:
        same_vowels = _heard(a) == _heard(b)
        return Tie.VARIANT if same_vowels or (shorter >= _LONG and apart <= 2) else Tie.ALIKE
    return Tie.ALIKE if apart == 1 and shorter > _SHORTEST else Tie.OTHER


def _ending(word: str) -> str:
    """What tells Mario from Maria and Petrov from Petrova: the last vowel, or that there is none."""
    last = word[-1]
    if word.endswith(("ah", "oh", "eh")):
        last = word[-2]
    return {"y": "i"}.get(last, last) if last in "aeiouy" else ""


def _heard(word: str) -> str:
    """The word as it is heard: spellings of one sound made one, doubled letters single."""
    for spelt, heard in _SOUNDS:
        word = word.replace(spelt, heard)
    return re.sub(r"(.)\1", r"\1", word).replace("c", "k").replace("z", "s")


def _sound(word: str) -> str:
    for spelt, heard in _SOUNDS:
        word = word.replace(spelt, heard)
    return jellyfish.metaphone(word)


@lru_cache(maxsize=50_000)
def sounds(word: Word) -> frozenset[str]:
    """Codes under which a word may be looked up: words that could be one name share at least one."""
    codes = {_sound(spelling)[:3] if spelling.isascii() else spelling[:1] for spelling in word}
    codes |= {f"{n}#" for spelling in word for n in _GROUPS.get(spelling, ())}
    return frozenset(codes | {f"{spelling[:1]}." for spelling in word if spelling})
