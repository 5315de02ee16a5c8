"""The recall query and its result, and the parsing of a query's text into what the ranking needs."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import lru_cache

import numpy as np

from mnemon.memory.cards import Card
from mnemon.memory.fact import MemoryType
from mnemon.memory.keys import make_slug
from mnemon.memory.memory import StoredMemory
from mnemon.memory.ranking import Ranking
from mnemon.memory.words import query_terms, terms
from mnemon.turn import Role
from mnemon.untrusted_text import reads_outside_text


class RecallKind(StrEnum):
    MEMORIES = "memories"
    MESSAGES = "messages"


@dataclass(frozen=True, kw_only=True)
class RecallQuery:
    """A search over a person's memories, messages or both."""

    text: str
    vector: np.ndarray | None
    """The query's embedding, computed before the transaction; None to match by words alone."""
    model: str
    """The embedding model whose stored vectors are compared."""
    ranking: Ranking = Ranking.HYBRID
    kinds: frozenset[RecallKind] = frozenset({RecallKind.MEMORIES})
    limit: int = 10
    types: frozenset[MemoryType] = frozenset(MemoryType)
    as_of: datetime | None = None
    """Search what was held at that time; None for what is current."""
    extra_claims: int = 0
    """Extra hits beyond the limit for claims only; within it, claims get the places that other hits leave free."""


@dataclass(frozen=True, kw_only=True)
class FoundMessage:
    """A message found by recall."""

    id: str
    session_id: str
    turn_id: str
    persona_id: str | None
    role: Role
    content: str
    name: str | None
    at: datetime
    revision: int
    """The revision of its row."""


RecallItem = StoredMemory | FoundMessage


@dataclass(frozen=True, kw_only=True)
class RecallHit:
    """A memory or message that was found, with its score and the score's parts and weights."""

    found: RecallItem
    score: float
    parts: Mapping[str, float]
    weights: Mapping[str, float]
    contradicts: str | None = None
    """Id of the preceding memory that this one contradicts; it is shown as a claim with that memory's score.

    None otherwise.
    """
    claims: int = 0
    """How many claims that contradict this memory are not shown."""


@dataclass(frozen=True, kw_only=True)
class RecallResult:
    """The hits and cards for a query."""

    hits: tuple[RecallHit, ...]
    cards: tuple[Card, ...]
    considered: int
    """How many candidates were ranked."""

    @property
    def memories(self) -> list[RecallHit]:
        """Return the hits that are memories, not messages."""
        return [hit for hit in self.hits if isinstance(hit.found, StoredMemory)]


_WHEN = re.compile(
    r"\s*(?:when\b|since when\b|how long\b|(?:on |in )?(?:what|which) (?:date|day|week|month|year)\b)",
    re.IGNORECASE,
)
_COURTESY = re.compile(
    r"\b(?:(?:can|could|would|will) you (?:please )?(?:tell|remind|show|give|help|find|say|list)(?: me| us)?"
    r"|do you (?:still )?(?:remember|recall|know))\b",
    re.IGNORECASE,
)
"""Polite openings such as "can you tell me": their pronouns address the assistant and say nothing about the subject."""
_FIRST_PERSON = re.compile(r"\b(?:i|me|my|mine|myself)\b", re.IGNORECASE)
_SECOND_PERSON = re.compile(r"\b(?:you|your|yours|yourself)\b", re.IGNORECASE)
_NAME = re.compile(r"[^\W\d_][\w’'-]*")
_LONGEST_QUERY = 20_000
"""Characters of a query that are parsed. Parsing runs on the event loop, and a question needs far fewer."""
_MOST_NAME_WORDS = 8
"""The most words of an entity's name that are recognized."""


@dataclass(frozen=True, kw_only=True)
class ParsedQuery:
    """The features of a query that the ranking uses."""

    terms: tuple[str, ...]
    """Its stems, without repetitions."""
    asks_when: bool
    words: tuple[str, ...]
    """Its words in case-folded form, to be compared with speakers' names."""
    proper: tuple[str, ...]
    """Stems of the words that begin with a capital letter, as names do."""
    slugs: tuple[str, ...]
    """Its words in the form that entity keys use."""
    side: int
    """Whom its pronouns mean: 1 the person who asks, 2 the assistant, 0 both or neither."""


@reads_outside_text
@lru_cache(maxsize=64)
def parse_query(text: str) -> ParsedQuery:
    """Return the terms, names and pronouns of a query's text, cached, since one context searches several indexes."""
    text = text[:_LONGEST_QUERY]
    # "Anna's" must match the name "Anna".
    plain = text.replace("'s", "").replace("’s", "")
    words = _NAME.findall(plain)
    return ParsedQuery(
        terms=tuple(query_terms(text)),
        asks_when=_WHEN.match(text) is not None,
        words=tuple(word.casefold() for word in words),
        proper=tuple(stem for word in words if word[0].isupper() for stem in terms(word, bare=True)),
        slugs=tuple(make_slug(plain).split("_")),
        side=_side_asked(text),
    )


def _side_asked(text: str) -> int:
    """Return whom a query's pronouns mean: 1 the person asking, 2 the assistant, 0 both or neither."""
    remainder = _COURTESY.sub(" ", text)
    first, second = _FIRST_PERSON.search(remainder) is not None, _SECOND_PERSON.search(remainder) is not None
    return 0 if first == second else 1 if first else 2


@reads_outside_text
def named_speakers(question: ParsedQuery, speakers: Iterable[str]) -> list[str]:
    """Return the speakers that the query names, by full name or by a part of it longer than two letters."""
    query_text, words = f" {' '.join(question.words)} ", frozenset(question.words)
    return [
        speaker
        for speaker in speakers
        # Parts of one or two letters, such as initials, would match too easily.
        if f" {speaker} " in query_text or any(len(part) > 2 and part in words for part in speaker.split())
    ]


@reads_outside_text
def possible_names(words: Sequence[str], longest: int) -> Iterator[str]:
    """Yield every run of up to `longest` words (at most 8) joined by `_`, to be looked up as entity keys."""
    most = min(longest, _MOST_NAME_WORDS)
    for start in range(len(words)):
        for end in range(start + 1, min(len(words), start + most) + 1):
            yield "_".join(words[start:end])
