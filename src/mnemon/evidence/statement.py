"""A statement that is to be supported: its kind, whom it is about, and the sentences that its quotes stand in."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

from mnemon.evidence.clause import LONGEST_READ, ReadWord, read_words
from mnemon.evidence.quote_gate import Quotation
from mnemon.evidence.records import Field, read_fields, spell_fields

LONGEST_STATEMENT = 2_000
"""The most characters of a statement that can be supported."""
_SENTENCE_REACH = 600
"""Characters that are searched on either side of a quote for the ends of its sentence."""


_SENTENCE_END = re.compile(r"[.!?…](?=\s|$|[\"')”’])|\n")


class StatementKind(StrEnum):
    """What a statement is, which decides in which moods its quote may stand."""

    FACT = "fact"
    """True now, of the person or an entity."""
    TASK = "task"
    """Something the person means to do: wishes and plans support it."""
    QUESTION = "question"
    """Something the person left open: a question supports it."""
    LINE = "line"
    """A line of evidence, which names its source: a report supports it."""
    CLAIM = "claim"
    """What an agent takes to be true in a session: also what is wished supports it."""


@dataclass(frozen=True, kw_only=True)
class StatementSubject:
    """Who a statement is about, and who is speaking in its quote."""

    speaker: Collection[str] = ()
    """Names of the person who speaks; "I" in a quote means them."""
    entity: str | None = None
    """The label of the entity that the statement is about; None for the person."""
    entity_is_person: bool = True
    known: Collection[str] = ()
    """Further names that the statement may use: people and things already on record."""


@dataclass(frozen=True, kw_only=True)
class QuotedSentence:
    """The sentences a quote stands in, and where in them it begins and ends."""

    quotation: Quotation
    text: str
    start: int
    end: int
    words: tuple[ReadWord, ...]
    fields: tuple[Field, ...] = ()
    """What a quoted record of a program says, key by key; `text` is then the record spelled out."""

    @property
    def read(self) -> str:
        """Return the beginning of the sentence's text, up to the length that is read word for word."""
        return self.text[:LONGEST_READ]

    @property
    def sources(self) -> tuple[str, ...]:
        """Return the texts to look for figures, dates and codes in: the sentence and, for a record, its original."""
        return (self.text, self.quotation.passage.text[:LONGEST_READ]) if self.fields else (self.text,)

    def is_quoted(self, word: ReadWord) -> bool:
        """Say whether the word is inside the quote, not only in its sentence."""
        return self.start <= word.start < self.end


def quoted_sentence(quotation: Quotation) -> QuotedSentence:
    """Return the whole sentences around a quote; a record that is quoted as a whole is spelled out."""
    text = quotation.passage.text
    if quotation.start == 0 and quotation.end == len(text) and (fields := read_fields(text)):
        spelled = spell_fields(fields).lower()
        words = read_words(spelled)
        return QuotedSentence(quotation=quotation, text=spelled, start=0, end=len(spelled), words=words, fields=fields)
    low = max(0, quotation.start - _SENTENCE_REACH)
    begin = low
    for found in _SENTENCE_END.finditer(text, low, quotation.start):
        begin = found.end()
    high = min(len(text), quotation.end + _SENTENCE_REACH)
    # The quote may end with its sentence's own full stop.
    stop = _SENTENCE_END.search(text, max(quotation.start, quotation.end - 1), high)
    until = stop.end() if stop else high
    around = text[begin:until]
    return QuotedSentence(
        quotation=quotation,
        text=around,
        start=quotation.start - begin,
        end=quotation.end - begin,
        words=read_words(around),
    )
