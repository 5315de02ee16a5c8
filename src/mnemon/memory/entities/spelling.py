"""Decide whether two words are one name in two spellings: by table for known names, by sound and letters for others."""

import re
from enum import IntEnum
from functools import lru_cache

import jellyfish
from rapidfuzz.distance import OSA

from mnemon.memory.entities.lexicon import KNOWN_NAMES, NAME_VARIANTS
from mnemon.memory.entities.names import WordSpellings

_SOUND_SPELLINGS = (
    ("eigh", "i"), ("ou", "u"), ("oo", "u"), ("ee", "i"), ("ea", "i"), ("ie", "i"), ("ey", "i"), ("ei", "i"),
    ("y", "i"), ("ph", "f"), ("ck", "k"), ("bh", "b"), ("dh", "d"), ("gh", "g"), ("kh", "k"), ("nds", "ns"),
    ("sz", "s"), ("ah", "a"),
)  # fmt: skip
_SHORTEST_COMPARED = 5
_LONG_WORD = 7
_VARIANT_GROUPS = {
    name: frozenset(n for n, group in enumerate(NAME_VARIANTS) if name in group)
    for name in frozenset().union(*NAME_VARIANTS)
}


class WordLikeness(IntEnum):
    """How two words of names are related; higher is closer."""

    OTHER = 0
    """Different words."""
    INITIAL = 1
    """One is the first letter of the other."""
    ALIKE = 2
    """Similar enough in sound or letters to ask, not to be sure (Devin, Devon)."""
    VARIANT = 3
    """One name in two spellings, or a short form."""
    EQUAL = 4
    """The same letters."""


@lru_cache(maxsize=100_000)
def word_likeness(one: WordSpellings, two: WordSpellings) -> WordLikeness:
    """Return how two words of names are related: equal, variants, alike, an initial, or others."""
    if one & two:
        return WordLikeness.EQUAL
    pairs = [(a, b) for a in one for b in two]
    if any(len(min(p, key=len)) == 1 and p[0][0] == p[1][0] and p[0].isascii() for p in pairs):
        return WordLikeness.INITIAL
    if any(_is_same_name(a, b) for a, b in pairs):
        return WordLikeness.VARIANT
    # Two known names that are no variants of each other differ, however similar they sound.
    if one & KNOWN_NAMES and two & KNOWN_NAMES:
        return WordLikeness.OTHER
    return max(_likeness_by_sound(a, b) for a, b in pairs)


def _is_same_name(a: str, b: str) -> bool:
    """Say whether the table lists two words as forms of one name."""
    return bool(_VARIANT_GROUPS.get(a, frozenset()) & _VARIANT_GROUPS.get(b, frozenset()))


def _likeness_by_sound(a: str, b: str) -> WordLikeness:
    """Return how alike two unknown names are by sound and letters; short ones are always others."""
    if not (a.isascii() and b.isascii() and a.isalpha() and b.isalpha()):
        return WordLikeness.OTHER
    shorter = min(len(a), len(b))
    # Short names differ by a letter too easily (Jon, Jan), and a final vowel often marks the gender.
    if shorter < _SHORTEST_COMPARED or _final_vowel(a) != _final_vowel(b):
        return WordLikeness.OTHER
    distance = OSA.distance(a, b)
    if _metaphone_code(a) == _metaphone_code(b) and distance <= 3:
        same_vowels = _phonetic_spelling(a) == _phonetic_spelling(b)
        return WordLikeness.VARIANT if same_vowels or (shorter >= _LONG_WORD and distance <= 2) else WordLikeness.ALIKE
    return WordLikeness.ALIKE if distance == 1 and shorter > _SHORTEST_COMPARED else WordLikeness.OTHER


def _final_vowel(word: str) -> str:
    """Return a name's last vowel, or "" if there is none: Mario is not Maria, Petrov not Petrova."""
    last = word[-1]
    if word.endswith(("ah", "oh", "eh")):
        last = word[-2]
    return {"y": "i"}.get(last, last) if last in "aeiouy" else ""


def _phonetic_spelling(word: str) -> str:
    """Return the word as it sounds: spellings of one sound unified, double letters single."""
    for spelt, sound in _SOUND_SPELLINGS:
        word = word.replace(spelt, sound)
    return re.sub(r"(.)\1", r"\1", word).replace("c", "k").replace("z", "s")


def _metaphone_code(word: str) -> str:
    """Return the word's Metaphone code, spellings of one sound unified first."""
    for spelt, sound in _SOUND_SPELLINGS:
        word = word.replace(spelt, sound)
    return jellyfish.metaphone(word)


@lru_cache(maxsize=50_000)
def lookup_codes(word: WordSpellings) -> frozenset[str]:
    """Return lookup codes of a name's word, given as all its spellings; forms of one name share at least one."""
    codes = {_metaphone_code(spelling)[:3] if spelling.isascii() else spelling[:1] for spelling in word}
    codes |= {f"{n}#" for spelling in word for n in _VARIANT_GROUPS.get(spelling, ())}
    return frozenset(codes | {f"{spelling[:1]}." for spelling in word if spelling})
