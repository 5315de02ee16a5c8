"""A name taken apart: spellings of each word in plain Latin letters, titles and legal forms set aside."""

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from mnemon.memory.entities import lexicon
from mnemon.memory.fact import EntityType
from mnemon.outside import normal_form, reads_outside_text

Word = frozenset[str]
"""One word of a name in all the spellings that are the same letters: `müller` is {muller, mueller}."""

_CYRILLIC = dict(
    zip(
        "абвгдеёжзийклмнопрстуфхцчшщъыьэюяіїєґ",
        "a b v g d e e zh z i i k l m n o p r s t u f kh ts ch sh shch _ y _ e yu ya i i e g".split(),  # noqa: SIM905
        strict=True,
    )
)
_GREEK = dict(
    zip(
        "αβγδεζηθικλμνξοπρσςτυφχψω",
        "a v g d e z i th i k l m n x o p r s s t y f ch ps o".split(),  # noqa: SIM905
        strict=True,
    )
)
_LETTERS = {"ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i", "ß": "ss", "ø": "o", "æ": "ae", "œ": "oe"}
_TWO_WAYS = {"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa", "æ": "a"}
_TRANSLITERATED = str.maketrans({**{k: v.strip("_") for k, v in _CYRILLIC.items()}, **_GREEK, **_LETTERS})
_WORDS = re.compile(r"[^\W_]+", re.UNICODE)


@dataclass(frozen=True, kw_only=True)
class Name:
    """What a label says once its form is set aside."""

    words: tuple[Word, ...]
    """The words that carry the name, in order."""
    qualifier: tuple[Word, ...] = ()
    """What stands after the comma of a place."""
    generation: str | None = None
    """`jr`, `sr`, `ii` of a person."""
    gender: str | None = None
    """`m` or `f` where a title says so."""
    loose: bool = False
    """A word that only says the kind of thing was set aside ("Kestrel App")."""
    titled: bool = False
    """A title was set aside."""


@reads_outside_text
@lru_cache(maxsize=50_000)
def spellings(word: str) -> Word:
    """Every way to write the word in plain Latin letters, or the word itself in a script that has none."""
    text = _hiragana(normal_form("NFKC", word).casefold())
    composed = normal_form("NFC", text)
    plain = _plain(composed)
    other = _plain("".join(_TWO_WAYS.get(letter, letter) for letter in composed))
    return frozenset({plain, other})


@reads_outside_text
def words_of(text: str) -> tuple[str, ...]:
    """The words of a text in their plain spelling, apostrophes and dots inside a word dropped."""
    joined = re.sub(r"(?<=\w)['’.](?=\w)", "", text.replace("&", " and "))
    return tuple(map(_plainest, _WORDS.findall(joined)))


@lru_cache(maxsize=20_000)
def _plainest(word: str) -> str:
    return min(spellings(word), key=_shorter)


@lru_cache(maxsize=20_000)
def parse(entity_type: EntityType, label: str) -> Name:
    """The name that a label of this entity type carries."""
    joined = re.sub(r"(?<=\w)['’.](?=\w)", "", label.replace("&", " and "))
    if entity_type is EntityType.PLACE:
        return _place(joined)
    words = [spellings(word) for word in _WORDS.findall(joined)]
    if entity_type is EntityType.PERSON:
        return _person(words)
    if entity_type is EntityType.ORG:
        return _without(words, lexicon.LEGAL_FORMS | {"the"}, loose=frozenset())
    return _without(words, lexicon.PROJECT_WORDS, loose=lexicon.LOOSE_WORDS)


def _person(words: list[Word]) -> Name:
    titles = {word for word in words if word & lexicon.TITLES}
    generations = [min(word & lexicon.GENERATIONS) for word in words[1:] if word & lexicon.GENERATIONS]
    rest = [word for word in words if word not in titles and not (generations and word & lexicon.GENERATIONS)]
    core = rest[:1] + [word for word in rest[1:] if not word & lexicon.PARTICLES]
    male = any(word & lexicon.MALE_TITLES for word in titles)
    female = any(word & lexicon.FEMALE_TITLES for word in titles)
    return Name(
        words=tuple(core or words),
        generation={"junior": "jr", "senior": "sr"}.get(generations[-1], generations[-1]) if generations else None,
        gender="m" if male and not female else "f" if female and not male else None,
        titled=bool(titles),
    )


def _without(words: list[Word], form: frozenset[str], loose: frozenset[str]) -> Name:
    kept = [word for word in words if not word & form] or words
    tight = [word for word in kept if not word & loose] or kept
    return Name(words=tuple(tight), loose=len(tight) < len(kept))


def _place(label: str) -> Name:
    head, _, tail = label.partition(",")
    words = [lexicon.PLACE_WORDS.get(word, word) for word in words_of(head)]
    region = " ".join(words_of(tail))
    region = lexicon.PLACE_SHORT.get(region, region)
    return Name(
        words=tuple(_both(word, head) for word in words),
        qualifier=tuple(frozenset({word}) for word in region.split()),
    )


def _both(word: str, head: str) -> Word:
    found = [spellings(raw) for raw in _WORDS.findall(head) if word in spellings(raw)]
    return found[0] if found else frozenset({word})


def _shorter(spelling: str) -> tuple[int, str]:
    return len(spelling), spelling


def _hiragana(text: str) -> str:
    return "".join(chr(ord(c) - 0x60) if "ァ" <= c <= "ヶ" else c for c in text)


def _plain(text: str) -> str:
    bare = normal_form("NFD", text.translate(_TRANSLITERATED))
    if any("぀" <= c <= "ヿ" or "가" <= c <= "힣" for c in text):
        return text
    stripped = "".join(c for c in bare if not unicodedata.combining(c))
    return stripped.translate(_TRANSLITERATED)
