"""Parsing of names: the spellings of each word in plain Latin letters, with titles and legal forms removed."""

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from mnemon.memory.entities import lexicon
from mnemon.memory.fact import EntityType
from mnemon.untrusted_text import normalize_text, reads_outside_text

WordSpellings = frozenset[str]
"""One word of a name in all its equivalent spellings: `müller` is {muller, mueller}."""

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
_SECOND_SPELLINGS = {"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa", "æ": "a"}
_TRANSLITERATION = str.maketrans({**{k: v.strip("_") for k, v in _CYRILLIC.items()}, **_GREEK, **_LETTERS})
_WORD_PATTERN = re.compile(r"[^\W_]+", re.UNICODE)


@dataclass(frozen=True, kw_only=True)
class ParsedName:
    """The parts of a label."""

    words: tuple[WordSpellings, ...]
    """The words that carry the name, in order."""
    qualifier: tuple[WordSpellings, ...] = ()
    """The words after the comma of a place."""
    generation: str | None = None
    """`jr`, `sr`, `ii` of a person."""
    gender: str | None = None
    """`m` or `f` if a title says so."""
    loose: bool = False
    """Whether a word that only says the kind of thing was removed ("Kestrel App")."""
    titled: bool = False
    """Whether a title was removed."""


@reads_outside_text
@lru_cache(maxsize=50_000)
def latin_spellings(word: str) -> WordSpellings:
    """Return every way to write the word in plain Latin letters, or the word itself if its script has none."""
    text = _to_hiragana(normalize_text("NFKC", word).casefold())
    composed = normalize_text("NFC", text)
    plain = _to_latin(composed)
    other = _to_latin("".join(_SECOND_SPELLINGS.get(letter, letter) for letter in composed))
    return frozenset({plain, other})


@reads_outside_text
def plain_words(text: str) -> tuple[str, ...]:
    """Return the words of a text in their shortest plain spelling, without apostrophes and dots inside words."""
    joined = re.sub(r"(?<=\w)['’.](?=\w)", "", text.replace("&", " and "))
    return tuple(map(_shortest_spelling, _WORD_PATTERN.findall(joined)))


@lru_cache(maxsize=20_000)
def _shortest_spelling(word: str) -> str:
    """Return the shortest Latin spelling of a word, cached."""
    return min(latin_spellings(word), key=length_key)


@lru_cache(maxsize=20_000)
def parse_name(entity_type: EntityType, label: str) -> ParsedName:
    """Return the parts of an entity's name: its words in all spellings, titles, region and the like."""
    joined = re.sub(r"(?<=\w)['’.](?=\w)", "", label.replace("&", " and "))
    if entity_type is EntityType.PLACE:
        return _parse_place(joined)
    words = [latin_spellings(word) for word in _WORD_PATTERN.findall(joined)]
    if entity_type is EntityType.PERSON:
        return _parse_person(words)
    if entity_type is EntityType.ORG:
        return _strip_words(words, lexicon.LEGAL_FORMS | {"the"}, loose=frozenset())
    return _strip_words(words, lexicon.PROJECT_WORDS, loose=lexicon.GENERIC_WORDS)


def _parse_person(words: list[WordSpellings]) -> ParsedName:
    """Return the parts of a person's name, with titles, generation suffixes and particles set aside."""
    # A label of titles only, such as "Doctor", keeps them: see `core or words`.
    titles = {word for word in words if word & lexicon.TITLES}
    generations = [min(word & lexicon.GENERATION_SUFFIXES) for word in words[1:] if word & lexicon.GENERATION_SUFFIXES]
    rest = [word for word in words if word not in titles and not (generations and word & lexicon.GENERATION_SUFFIXES)]
    core = rest[:1] + [word for word in rest[1:] if not word & lexicon.NAME_PARTICLES]
    male = any(word & lexicon.MALE_TITLES for word in titles)
    female = any(word & lexicon.FEMALE_TITLES for word in titles)
    return ParsedName(
        words=tuple(core or words),
        generation={"junior": "jr", "senior": "sr"}.get(generations[-1], generations[-1]) if generations else None,
        gender="m" if male and not female else "f" if female and not male else None,
        titled=bool(titles),
    )


def _strip_words(words: list[WordSpellings], form: frozenset[str], loose: frozenset[str]) -> ParsedName:
    """Return the name without legal-form and generic words ("Ltd", "Group"), unless nothing would be left."""
    kept = [word for word in words if not word & form] or words
    tight = [word for word in kept if not word & loose] or kept
    return ParsedName(words=tuple(tight), loose=len(tight) < len(kept))


def _parse_place(label: str) -> ParsedName:
    """Return the parts of a place's name, abbreviations expanded; what follows the comma is the region."""
    head, _, tail = label.partition(",")
    if not plain_words(head):  # nothing but signs: then what follows is the name
        head, tail = tail, ""
    words = [lexicon.PLACE_WORD_EXPANSIONS.get(word, word) for word in plain_words(head)]
    region = " ".join(plain_words(tail))
    region = lexicon.PLACE_ABBREVIATIONS.get(region, region)
    return ParsedName(
        words=tuple(_spellings_of(word, head) for word in words),
        qualifier=tuple(frozenset({word}) for word in region.split()),
    )


def _spellings_of(word: str, head: str) -> WordSpellings:
    """Return all spellings of a word of a place's name, as in its original label; expanded words unchanged."""
    found = [latin_spellings(raw) for raw in _WORD_PATTERN.findall(head) if word in latin_spellings(raw)]
    return found[0] if found else frozenset({word})


def length_key(spelling: str) -> tuple[int, str]:
    """Return the key that sorts spellings: shorter first, then alphabetical."""
    return len(spelling), spelling


def _to_hiragana(text: str) -> str:
    """Return the text with katakana as hiragana, so that both spell one name."""
    return "".join(chr(ord(c) - 0x60) if "ァ" <= c <= "ヶ" else c for c in text)


def _to_latin(text: str) -> str:
    """Return the text in plain Latin letters without accents; kana and Hangul stay as they are."""
    bare = normalize_text("NFD", text.translate(_TRANSLITERATION))
    # Kana and Hangul are composed of parts that NFD would take apart; they have no Latin spelling here.
    if any("぀" <= c <= "ヿ" or "가" <= c <= "힣" for c in text):
        return text
    stripped = "".join(c for c in bare if not unicodedata.combining(c))
    return stripped.translate(_TRANSLITERATION)
