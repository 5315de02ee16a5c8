"""What a query asks for, as far as its words tell."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from mnemon.memory.slug import slug
from mnemon.memory.words import terms

_WHEN = re.compile(
    r"\s*(?:when\b|since when\b|how long\b|(?:on |in )?(?:what|which) (?:date|day|week|month|year)\b)",
    re.IGNORECASE,
)
_NAME = re.compile(r"[^\W\d_][\w’'-]*")
_LONGEST_NAME = 8
"""Words an entity's name may have to be recognized."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """A query, read."""

    terms: tuple[str, ...]
    """Its stems, each once."""
    asks_when: bool
    spoken: frozenset[str]
    """Every run of its words, folded, that could be a speaker's name."""
    proper: tuple[str, ...]
    """Stems of its words that are written like a name."""
    slugs: frozenset[str]
    """Every run of its words as an entity key would write it."""


def read(text: str) -> Question:
    """The query as the ranking needs it."""
    plain = text.replace("'s", "").replace("’s", "")
    return Question(
        terms=tuple(dict.fromkeys(terms(text))),
        asks_when=_WHEN.match(text) is not None,
        spoken=frozenset(_runs([word.casefold() for word in _NAME.findall(plain)], " ")),
        proper=tuple(stem for word in _NAME.findall(plain) if word[0].isupper() for stem in terms(word, bare=True)),
        slugs=frozenset(_runs(slug(plain).split("_"), "_")),
    )


def named(question: Question, speakers: Iterable[str]) -> list[str]:
    """The speakers it names, by their whole name or one part of it."""
    return [
        speaker
        for speaker in speakers
        if speaker in question.spoken or any(len(part) > 2 and part in question.spoken for part in speaker.split())
    ]


def _runs(words: list[str], joint: str) -> Iterable[str]:
    for start in range(len(words)):
        for end in range(start + 1, min(len(words), start + _LONGEST_NAME) + 1):
            yield joint.join(words[start:end])
