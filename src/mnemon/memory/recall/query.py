"""What is asked of recall, and what it gives back.

What a query asks for, as far as its words tell.
"""

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
    """A search for what is known or was said."""

    text: str
    vector: np.ndarray | None
    """Its embedding, made before the transaction; None: matched by words alone."""
    model: str
    """Whose vectors are compared."""
    ranking: Ranking = Ranking.HYBRID
    kinds: frozenset[RecallKind] = frozenset({RecallKind.MEMORIES})
    limit: int = 10
    types: frozenset[MemoryType] = frozenset(MemoryType)
    as_of: datetime | None = None
    """What was held at that time; None: what is current."""
    extra_claims: int = 0
    """Places beyond the limit for claims alone: within it they have those that memories and messages leave."""


@dataclass(frozen=True, kw_only=True)
class FoundMessage:
    """A message that was found."""

    id: str
    session_id: str
    turn_id: str
    persona_id: str | None
    role: Role
    content: str
    name: str | None
    at: datetime
    revision: int
    """Of its row."""


RecallItem = StoredMemory | FoundMessage


@dataclass(frozen=True, kw_only=True)
class RecallHit:
    """Something found, with its score and what the score is made of."""

    found: RecallItem
    score: float
    parts: Mapping[str, float]
    weights: Mapping[str, float]
    beside: str | None = None
    """Id of the memory before it, which it contradicts: it is shown as a claim, with that one's score."""
    claims: int = 0
    """How many claims contradict it that are not shown."""


@dataclass(frozen=True, kw_only=True)
class RecallResult:
    """The answer to a query."""

    hits: tuple[RecallHit, ...]
    cards: tuple[Card, ...]
    considered: int
    """How many candidates were ranked."""

    @property
    def memories(self) -> list[RecallHit]:
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
"""Who is spoken to, and not what is asked about."""
_FIRST_PERSON = re.compile(r"\b(?:i|me|my|mine|myself)\b", re.IGNORECASE)
_SECOND_PERSON = re.compile(r"\b(?:you|your|yours|yourself)\b", re.IGNORECASE)
_NAME = re.compile(r"[^\W\d_][\w’'-]*")
_LONGEST_QUERY = 20_000
"""Characters of a query that are read: it is read on the event loop, and what is asked stands in fewer."""
_MOST_NAME_WORDS = 8
"""Words an entity's name may have to be recognized."""


@dataclass(frozen=True, kw_only=True)
class ParsedQuery:
    """A query, read."""

    terms: tuple[str, ...]
    """Its stems, each once."""
    asks_when: bool
    words: tuple[str, ...]
    """Its words, folded, as a speaker's name is."""
    proper: tuple[str, ...]
    """Stems of its words that are written like a name."""
    slugs: tuple[str, ...]
    """Its words as an entity key would write them."""
    side: int
    """Whom its pronouns mean: 1 the person who asks, 2 whom they ask, 0 both or neither."""


@reads_outside_text
@lru_cache(maxsize=64)
def parse_query(text: str) -> ParsedQuery:
    """The query as the ranking needs it; kept for a moment, since a context asks it of several books."""
    text = text[:_LONGEST_QUERY]
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
    asked = _COURTESY.sub(" ", text)
    first, second = _FIRST_PERSON.search(asked) is not None, _SECOND_PERSON.search(asked) is not None
    return 0 if first == second else 1 if first else 2


@reads_outside_text
def named_speakers(question: ParsedQuery, speakers: Iterable[str]) -> list[str]:
    """The speakers it names, by their whole name or one part of it."""
    told, words = f" {' '.join(question.words)} ", frozenset(question.words)
    return [
        speaker
        for speaker in speakers
        if f" {speaker} " in told or any(len(part) > 2 and part in words for part in speaker.split())
    ]


@reads_outside_text
def possible_names(words: Sequence[str], longest: int) -> Iterator[str]:
    """Every run of the words that could be an entity's name of up to so many words, as its key would write it."""
    most = min(longest, _MOST_NAME_WORDS)
    for start in range(len(words)):
        for end in range(start + 1, min(len(words), start + most) + 1):
            yield "_".join(words[start:end])
