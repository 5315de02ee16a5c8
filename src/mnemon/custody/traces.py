"""Traces of a forgotten fact in other texts, and covering them. Pure functions.

A phrase is what the memory said or the words it rested on. A mark is a word that only this memory has: not a common
one, and in nothing else that is kept. Text is covered character by character, so that stored offsets stay right.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import resources
from typing import Any

from mnemon.custody.phrase_matching import PhraseMatcher
from mnemon.untrusted_text import reads_outside_text

REDACTION_CHAR = "█"
_WORD = re.compile(r"[^\W_]+")
_SENTENCE = re.compile(r"[^.!?\n。！？]+[.!?\n。！？]*")
_YEAR = re.compile(r"(19|20)\d\d")
_MAX_WORD_GAP = 6
"""Most characters between two words of a phrase."""
_MIN_COPY_CHARS = 50
"""A text of at least this length that a covered message begins with is a truncated copy of it."""


def _load_common_words() -> frozenset[str]:
    """Return the words of `common_words.txt`, which are too common to identify a person."""
    return frozenset((resources.files(__package__) / "common_words.txt").read_text(encoding="utf-8").split())


COMMON_WORDS = _load_common_words()


@reads_outside_text
def words_of(text: str) -> list[str]:
    """Return the words of a text, in lower case."""
    return [word.lower() for word in _WORD.findall(text)]


def is_distinctive(word: str) -> bool:
    """Say whether a word hardly ever occurs by chance: it has digits among letters, or is a long number."""
    has_digit = any(character.isdigit() for character in word)
    if word.isdigit():
        return len(word) >= 5
    return has_digit and len(word) >= 4


@reads_outside_text
def distinctive_words(forgotten: Iterable[str], kept: Iterable[str]) -> frozenset[str]:
    """Return the identifying words of the forgotten texts that no kept text has; they become marks."""
    elsewhere = {word for text in kept for word in words_of(text)}
    return frozenset(
        word for text in forgotten for word in words_of(text) if _can_identify(word) and word not in elsewhere
    )


def _can_identify(word: str) -> bool:
    """Say whether a word is rare enough to identify what is forgotten."""
    if word.isdigit():
        return len(word) >= 4 and _YEAR.fullmatch(word) is None
    return (
        is_distinctive(word) or (len(word) >= 4 and word not in COMMON_WORDS) or (len(word) >= 2 and not word.isascii())
    )


@dataclass(frozen=True, kw_only=True)
class TextSpan:
    """A range of characters in a text."""

    start: int
    end: int
    message_id: str = ""
    """The message that the text belongs to, if it is one."""


@dataclass(frozen=True, kw_only=True)
class ForgottenTraces:
    """The phrases, marks and copies to look for and cover."""

    phrases: tuple[str, ...]
    marks: frozenset[str] = frozenset()
    copies: tuple[tuple[str, str], ...] = field(default=())
    """Messages before and after, so that a truncated copy of one is covered in the same places."""

    @cached_property
    def _matcher(self) -> PhraseMatcher:
        """Return the matcher that finds the forgotten phrases that are specific enough, by their case-folded words."""
        found = filter(_is_specific_enough, (_WORD.findall(phrase) for phrase in self.phrases))
        return PhraseMatcher([word.casefold() for word in words] for words in found)

    @cached_property
    def _sorted_copies(self) -> tuple[list[str], list[str]]:
        """Return the messages before and after, in the order of the former: copies that begin alike stand together."""
        ordered = sorted(self.copies)
        return [before for before, _ in ordered], [after for _, after in ordered]

    @cached_property
    def _folded_marks(self) -> frozenset[str]:
        """Return the marks (identifying words), case-folded: lower case alone misses letters such as ß."""
        return frozenset(mark.casefold() for mark in self.marks)

    def _is_marked(self, word: str) -> bool:
        """Say whether the word is a mark, an identifying word of what is forgotten."""
        return word.lower() in self.marks or word.casefold() in self._folded_marks

    @cached_property
    def search_hints(self) -> tuple[str, ...]:
        """Return words of which every text with a trace contains at least one, to search for in the database."""
        # One word of a phrase stands for it, since every text with the phrase has it. By a common one, as `lives`, most
        # of a person's messages would be read and searched for nothing.
        standing = {
            max(found, key=lambda word: (word in self.marks, word not in COMMON_WORDS, len(word)))
            for phrase in self.phrases
            if (found := words_of(phrase)) and _is_specific_enough(found)
        }
        spelt = standing | self.marks
        return tuple(sorted({form for word in spelt for form in (word, word.upper(), word.title())}))

    def certain_traces(self) -> "ForgottenTraces":
        """Return the traces specific enough for texts that the organization shares, where others' words stand too.

        These are phrases of four words or more, or with a distinctive word; distinctive marks; and all copies.
        """
        phrases = tuple(p for p in self.phrases if len(words_of(p)) >= 4 or any(map(is_distinctive, words_of(p))))
        return ForgottenTraces(phrases=phrases, marks=frozenset(filter(is_distinctive, self.marks)), copies=self.copies)

    @reads_outside_text
    def redact_text(self, text: str, *, sentences: bool = True) -> str:
        """Return the text with forgotten phrases, and sentences with identifying words (marks), covered by `█`.

        A mark covers its whole sentence; with `sentences` off, as in a person's own words, only itself.
        """
        # Truncated copies of a message first: their end may cut a phrase in two, so that it would not be found.
        if (copied := self._covered_copy(text)) is not None:
            return copied
        text = redact_spans(text, [*self._find_phrases(text)])
        marked = [TextSpan(start=w.start(), end=w.end()) for w in _WORD.finditer(text) if self._is_marked(w[0])]
        if not marked or not sentences:
            return redact_spans(text, marked)
        return _SENTENCE.sub(lambda found: blank_out(found[0]) if self.has_mark(found[0]) else found[0], text)

    def _covered_copy(self, text: str) -> str | None:
        """Return the text covered as the message is that it is a truncated copy of; None if it is of none."""
        if len(text) < _MIN_COPY_CHARS:
            return None
        befores, afters = self._sorted_copies
        # A message that begins with the text is the first that does not sort before it.
        place = bisect_left(befores, text)
        if place == len(befores) or not befores[place].startswith(text):
            return None
        return afters[place][: len(text)]

    def has_mark(self, text: str) -> bool:
        """Say whether a word of the text is a mark, an identifying word of what is forgotten."""
        return any(self._is_marked(found[0]) for found in _WORD.finditer(text))

    def _find_phrases(self, text: str) -> Iterator[TextSpan]:
        """Yield where a forgotten phrase occurs in the text, whatever stands between its words, in any case.

        A phrase's words are at most six characters apart.
        """
        spans: list[tuple[int, int]] = []
        for first, last in self._matcher.find_phrases(_spaced_words(text, spans)):
            yield TextSpan(start=spans[first][0], end=spans[last][1])

    def redact_json(self, value: Any, *, sentences: bool = True) -> Any:
        """Return the JSON value with what is forgotten covered by `█` in every text."""
        if isinstance(value, str):
            return self.redact_text(value, sentences=sentences)
        if isinstance(value, list):
            return [self.redact_json(one, sentences=sentences) for one in value]
        if isinstance(value, dict):
            return {name: self.redact_json(one, sentences=sentences) for name, one in value.items()}
        return value


@reads_outside_text
def blank_out(text: str) -> str:
    """Return as many `█` as the text has characters; line breaks stay."""
    return "".join("\n" if character == "\n" else REDACTION_CHAR for character in text)


def redact_spans(text: str, spans: Sequence[TextSpan]) -> str:
    """Return the text with these ranges of characters covered by `█`."""
    pieces, at = [], 0
    for span in sorted(spans, key=lambda one: one.start):
        start, end = max(at, span.start), max(at, span.end)
        pieces += [text[at:start], blank_out(text[start:end])]
        at = end
    return "".join([*pieces, text[at:]])


def _is_specific_enough(found: Sequence[str]) -> bool:
    """Say whether a phrase is long or distinctive enough to be searched for in other texts."""
    return len(found) >= 2 or any(is_distinctive(word.lower()) or len(word) >= 8 for word in found)


def _spaced_words(text: str, spans: list[tuple[int, int]]) -> Iterator[str | None]:
    """Yield the text's words, case-folded, and None where two are too far apart; note the span of each in `spans`."""
    end = 0
    # One after the other: a list of all words of a long text is made in one step, and no other thread runs meanwhile.
    for found in _WORD.finditer(text):
        if found.start() - end > _MAX_WORD_GAP:
            spans.append((end, end))
            yield None
        end = found.end()
        spans.append((found.start(), end))
        yield found[0].casefold()
