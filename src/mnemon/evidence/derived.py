"""The gate for texts that are made from stored ones: a summary, a line of the spine.

Such a text cites no quote; it may say only what its sources say. Every figure, date, code and name of it stands in
them, no word is negated or over that is not so in one of them, and most of its words are theirs.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime

from mnemon.evidence.clause import LONGEST_READ, ReadWord, read_words
from mnemon.evidence.number_gate import code_fault, number_fault
from mnemon.evidence.said_dates import date_fault
from mnemon.evidence.vocabulary import FREE, is_derived, stem_list, supporting_stems
from mnemon.untrusted_text import reads_outside_text

_TOLD_WORDS = stem_list("told")
"""Stems by which a summary tells what happened in a conversation."""
_COMMON_LETTERS = 4
"""Letters that two forms of one word share at least."""
_MOST_SOURCES_CHARS = 60_000
"""Characters of the sources that are read; a summary is made from less."""


class SourceTexts:
    """The texts that something was made from, read once."""

    @reads_outside_text
    def __init__(self, texts: Iterable[str], at: datetime | None = None) -> None:
        self.texts = tuple(_cut_to_limit(texts))
        self._at = at
        self._modes: dict[str, set[tuple[bool, bool]]] = {}
        for text in self.texts:
            for part in _readable_parts(text):
                for word in read_words(part):
                    self._modes.setdefault(word.stem, set()).add((word.negated, word.ceased))
        self._by_beginning: dict[str, list[str]] = {}
        for one in self._modes:
            self._by_beginning.setdefault(one[:_COMMON_LETTERS], []).append(one)

    @reads_outside_text
    def fault(self, line: str, *, share: float = 0.5) -> str | None:
        """Return what a line claims that its sources do not; None if they cover it.

        `share` of its words must be theirs, as themselves or as synonyms, and all of its names, figures and dates.
        """
        fault = number_fault(line, self.texts) or code_fault(line, self.texts)
        if fault is None and self._at is not None:
            fault = date_fault(line, [(text, self._at) for text in self.texts])
        if fault is not None:
            return fault
        words = [word for word in read_words(line) if self._is_told(word)]
        for word in words:
            modes = self._modes.get(word.stem)
            if modes is None and word.is_name:
                return f"“{word.text}” is in none of its sources"
            if modes is not None and word.negated and not any(negated or over for negated, over in modes):
                return f"its sources say “{word.text}” without a negation"
            if modes is not None and not word.negated and all(negated and not over for negated, over in modes):
                return f"its sources say “{word.text}” with a negation"
        new = [word.text for word in words if not self._is_known(word)]
        if len(new) > (1 - share) * len(words):
            return "its sources do not say: " + ", ".join(dict.fromkeys(new[:5]))
        return None

    def _is_told(self, word: ReadWord) -> bool:
        """Say whether a word makes a claim that a source must contain."""
        if word.is_function_word or word.stem in FREE or word.stem in _TOLD_WORDS:
            return False
        return not any(sign.isdigit() for sign in word.text)

    def _is_known(self, word: ReadWord) -> bool:
        """Say whether a source contains the word, a synonym or another form of it."""
        if word.stem in self._modes or any(other in self._modes for other in supporting_stems(word.stem)):
            return True
        return any(is_derived(word.stem, other) for other in self._by_beginning.get(word.stem[:_COMMON_LETTERS], ()))


def _cut_to_limit(texts: Iterable[str]) -> Iterator[str]:
    """Yield the texts up to the greatest number of characters that is read; the last one is cut."""
    room = _MOST_SOURCES_CHARS
    for text in texts:
        if room <= 0:
            return
        yield text[:room]
        room -= len(text)


def _readable_parts(text: str) -> Iterator[str]:
    """Yield the text in parts of a readable length, split after a full stop or a space if possible."""
    start = 0
    while len(text) - start > LONGEST_READ:
        most = start + LONGEST_READ
        places = (text.rfind(sign, start + LONGEST_READ // 2, most) for sign in ("\n", ". ", " "))
        end = next((place + 1 for place in places if place >= 0), most)
        yield text[start:end]
        start = end
    yield text[start:]
