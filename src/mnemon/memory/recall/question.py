"""What a query asks for, as far as its words tell."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from mnemon.memory.slug import slug
from mnemon.memory.words import query_terms, terms
from mnemon.outside import reads_outside_text

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
_FIRST = re.compile(r"\b(?:i|me|my|mine|myself)\b", re.IGNORECASE)
_SECOND = re.compile(r"\b(?:you|your|yours|yourself)\b", re.IGNORECASE)
_NAME = re.compile(r"[^\W\d_][\w’'-]*")
_LONGEST_READ = 20_000
"""Characters of a query that are read: it is read on the event loop, and what is asked stands in fewer."""
_LONGEST_NAME = 8
"""Words an entity's name may have to be recognized."""


@dataclass(frozen=True, kw_only=True)
class Question:
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
def read(text: str) -> Question:
    """The query as the ranking needs it; kept for a moment, since a context asks it of several books."""
    text = text[:_LONGEST_READ]
    plain = text.replace("'s", "").replace("’s", "")
    words = _NAME.findall(plain)
    return Question(
        terms=tuple(query_terms(text)),
        asks_when=_WHEN.match(text) is not None,
        words=tuple(word.casefold() for word in words),
        proper=tuple(stem for word in words if word[0].isupper() for stem in terms(word, bare=True)),
        slugs=tuple(slug(plain).split("_")),
        side=_side(text),
    )


def _side(text: str) -> int:
    asked = _COURTESY.sub(" ", text)
    first, second = _FIRST.search(asked) is not None, _SECOND.search(asked) is not None
    return 0 if first == second else 1 if first else 2


@reads_outside_text
def named(question: Question, speakers: Iterable[str]) -> list[str]:
    """The speakers it names, by their whole name or one part of it."""
    told, words = f" {' '.join(question.words)} ", frozenset(question.words)
    return [
        speaker
        for speaker in speakers
        if f" {speaker} " in told or any(len(part) > 2 and part in words for part in speaker.split())
    ]


@reads_outside_text
def runs(words: Sequence[str], longest: int) -> Iterator[str]:
    """Every run of the words that could be an entity's name of up to so many words, as its key would write it."""
    most = min(longest, _LONGEST_NAME)
    for start in range(len(words)):
        for end in range(start + 1, min(len(words), start + most) + 1):
            yield "_".join(words[start:end])
