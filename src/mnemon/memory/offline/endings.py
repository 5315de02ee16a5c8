"""Retractions by rules: what the person says is over, of what is held.

"I no longer live in Austin", "Rex died" and "we broke up" take back facts; whether anything is held that they end is
decided where facts are applied. A statement that could end nothing held is none of this room's business.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mnemon.evidence.privacy import is_confidential_text
from mnemon.memory.answer import MemoryAnswer
from mnemon.memory.ended import Ending, read_endings
from mnemon.memory.fact import FactType, MemoryType
from mnemon.memory.offline.clauses import LONGEST_CLAUSE, LONGEST_MESSAGE, own_sentences
from mnemon.memory.offline.guards import is_own_telling
from mnemon.memory.offline.readings import ClauseReading, MentionedPerson, mentioned_people, read_sentence
from mnemon.memory.values import value_stems
from mnemon.untrusted_text import reads_outside_text_up_to

MOST_ENDINGS = 10
"""The most retractions of one message."""
_AFTER = re.compile(r"(?<=\w)(?P<sign> any ?more| any longer)\b.*$", re.IGNORECASE)
"""What follows "anymore" says nothing of what is over."""


@dataclass(frozen=True, kw_only=True)
class HeldStatement:
    """A fact on record, as far as it decides whether a message may end it."""

    content: str
    attribute: str | None = None


@reads_outside_text_up_to(LONGEST_MESSAGE)
def extract_endings(text: str, held: Sequence[HeldStatement], known: Sequence[str] = ()) -> list[MemoryAnswer]:
    """Return the retractions that a message states of facts that are held, each with its quote, in the text's order."""
    if not held:
        return []
    names = frozenset(label.split()[0].lower() for label in known if label.strip())
    private = True if is_confidential_text(text) else None
    found: dict[int, MemoryAnswer] = {}
    people: list[MentionedPerson] = []
    for sentence in own_sentences(text):
        for readings in read_sentence(sentence, people, names):
            for reading in readings:
                answer = _ending_of(reading, text, held, private)
                if answer is not None:
                    found.setdefault(reading.quote_end, answer)
                    break
        people = mentioned_people(sentence.text, sentence.start) or people
    return [found[place] for place in sorted(found)][:MOST_ENDINGS]


def _ending_of(
    reading: ClauseReading, message: str, held: Sequence[HeldStatement], private: bool | None
) -> MemoryAnswer | None:
    """Return the retraction that a clause states; None if it states none, or could end nothing that is held."""
    clause = reading.clause
    if not 0 < len(clause.text) <= LONGEST_CLAUSE or not reading.is_intact or not is_own_telling(clause):
        return None
    said = _AFTER.sub(r"\g<sign>", clause.text)
    if not any(_may_end(ending, one) for ending in read_endings(said) for one in held):
        return None
    quote = message[reading.quote_start : reading.quote_end].strip()
    return MemoryAnswer(
        op="retract", type=MemoryType.PROFILE, content=said, quote=quote, factType=FactType.FACT, private=private
    )


def _may_end(ending: Ending, held: HeldStatement) -> bool:
    """Say whether an ending may be one of a held fact: it shares a word with it, or ends its attribute as a whole."""
    words = frozenset().union(*map(value_stems, _ending_texts(ending)))
    if words & value_stems(held.content[:LONGEST_CLAUSE]):
        return True
    return ending.value is None and ending.state is None and held.attribute in ending.attributes


def _ending_texts(ending: Ending) -> Iterator[str]:
    """Yield the texts by which an ending names what is over."""
    if ending.state is not None:
        yield from ending.state.values or (ending.words,)
    elif ending.words or ending.value:
        yield ending.value or ending.words
    if ending.entity is not None:
        yield ending.entity.label
