"""What is left of a forgotten fact in other texts, and how a text is cleared of it. Pure.

A phrase is what the memory said or the words it rested on. A mark is a word that only this memory has: no common one,
in nothing else that is kept. What is taken out is covered, character by character, so that offsets hold.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import resources
from typing import Any

COVER = "█"
_WORD = re.compile(r"[^\W_]+")
_SENTENCE = re.compile(r"[^.!?\n。！？]+[.!?\n。！？]*")
_YEAR = re.compile(r"(19|20)\d\d")
_STARTS_ALIKE = 50
"""A text of at least this length that begins a covered message is a cut copy of it."""


def _common() -> frozenset[str]:
    return frozenset((resources.files(__package__) / "common_words.txt").read_text(encoding="utf-8").split())


COMMON = _common()


def words(text: str) -> list[str]:
    """The words of a text, in lower case."""
    return [word.lower() for word in _WORD.findall(text)]


def strange(word: str) -> bool:
    """Whether a word is hardly ever said by chance: digits among letters, or a long number."""
    has_digit = any(character.isdigit() for character in word)
    if word.isdigit():
        return len(word) >= 5
    return has_digit and len(word) >= 4


def marks_of(forgotten: Iterable[str], kept: Iterable[str]) -> frozenset[str]:
    """The words that only what is forgotten has."""
    elsewhere = {word for text in kept for word in words(text)}
    return frozenset(word for text in forgotten for word in words(text) if _telling(word) and word not in elsewhere)


def _telling(word: str) -> bool:
    if word.isdigit():
        return len(word) >= 4 and _YEAR.fullmatch(word) is None
    return strange(word) or (len(word) >= 4 and word not in COMMON) or (len(word) >= 2 and not word.isascii())


@dataclass(frozen=True, kw_only=True)
class Span:
    """A place in a stored message."""

    message_id: str
    start: int
    end: int


@dataclass(frozen=True, kw_only=True)
class Traces:
    """What to look for and cover."""

    phrases: tuple[str, ...]
    marks: frozenset[str] = frozenset()
    copies: tuple[tuple[str, str], ...] = field(default=())
    """Messages before and after, so that a cut copy of one is covered in the same places."""

    @cached_property
    def pattern(self) -> re.Pattern[str] | None:
        """Matches any phrase, whatever stands between its words and however it is cased."""
        made = sorted({one for phrase in self.phrases if (one := _pattern(phrase))}, key=len, reverse=True)
        return re.compile("|".join(made), re.IGNORECASE) if made else None

    @cached_property
    def mark_pattern(self) -> re.Pattern[str] | None:
        if not self.marks:
            return None
        either = "|".join(re.escape(mark) for mark in sorted(self.marks, key=lambda m: (-len(m), m)))
        return re.compile(rf"(?<![^\W_])(?:{either})(?![^\W_])", re.IGNORECASE)

    @cached_property
    def hints(self) -> tuple[str, ...]:
        """Words of which at least one stands in every text that has a trace; for finding such texts quickly."""
        longest = {max(found, key=len) for phrase in self.phrases if _pattern(phrase) and (found := words(phrase))}
        spelt = longest | self.marks
        return tuple(sorted({form for word in spelt for form in (word, word.upper(), word.title())}))

    def strong(self) -> "Traces":
        """Only what could not be anyone else's: for texts of the organization that others have their part in."""
        phrases = tuple(p for p in self.phrases if len(words(p)) >= 4 or any(map(strange, words(p))))
        return Traces(phrases=phrases, marks=frozenset(filter(strange, self.marks)), copies=self.copies)

    def covered(self, text: str, *, sentences: bool = True) -> str:
        """The text without a trace. A mark covers its whole sentence, or in a person's own words itself alone."""
        for before, after in self.copies:
            if len(text) >= _STARTS_ALIKE and before.startswith(text):
                return after[: len(text)]
        if self.pattern:
            text = self.pattern.sub(lambda match: cover(match[0]), text)
        if self.mark_pattern is None or not self.mark_pattern.search(text):
            return text
        if not sentences:
            return self.mark_pattern.sub(lambda match: cover(match[0]), text)
        marked = self.mark_pattern
        return _SENTENCE.sub(lambda match: cover(match[0]) if marked.search(match[0]) else match[0], text)

    def covered_json(self, value: Any, *, sentences: bool = True) -> Any:
        """The JSON value with every text in it covered."""
        if isinstance(value, str):
            return self.covered(value, sentences=sentences)
        if isinstance(value, list):
            return [self.covered_json(one, sentences=sentences) for one in value]
        if isinstance(value, dict):
            return {name: self.covered_json(one, sentences=sentences) for name, one in value.items()}
        return value


def cover(text: str) -> str:
    """As many covers as characters; line breaks stay."""
    return "".join("\n" if character == "\n" else COVER for character in text)


def cover_spans(text: str, spans: Sequence[Span]) -> str:
    """The text with these places covered."""
    for span in spans:
        text = text[: span.start] + cover(text[span.start : span.end]) + text[span.end :]
    return text


def _pattern(phrase: str) -> str | None:
    found = _WORD.findall(phrase)
    enough = len(found) >= 2 or any(strange(w.lower()) or len(w) >= 8 for w in found)
    if not enough:
        return None
    return r"(?<![^\W_])" + r"[\W_]{1,6}".join(map(re.escape, found)) + r"(?![^\W_])"
