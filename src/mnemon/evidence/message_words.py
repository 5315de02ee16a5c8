"""How much a text has to do with the message that is answered, by the words they share. Pure.

For choosing among what a prompt could show. English words are compared by their stems, names and codes as they are,
scripts without spaces by pairs of characters.
"""

import math
import re

from mnemon.evidence.stems import stem, stem_words
from mnemon.evidence.vocabulary import FUNCTION_WORDS
from mnemon.untrusted_text import reads_outside_text

_WORD = re.compile(r"[^\W_]+")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff]+")
_LONGEST_READ = 4_000
"""Characters of a message or text that are compared; of a longer one the beginning."""
_TELLS_LITTLE = stem_words(
    "what which who how why when where do does did is are was were can could should would will we our us you your i my "
    "me it this that there here now please tell know think about go going get have has had the a an"
)
_MIN_SHARED = 2
"""The words that a text must share with a message to bear on it, if the message has so many."""


@reads_outside_text
def telling_words(text: str) -> frozenset[str]:
    """Return the stems of the words that tell what a text is about."""
    found: set[str] = set()
    for match in _WORD.finditer(text[:_LONGEST_READ].casefold()):
        word = match[0]
        unspaced = _UNSPACED.search(word)
        if unspaced:
            run = unspaced[0]
            found.update(run[place : place + 2] for place in range(max(1, len(run) - 1)))
        elif word not in FUNCTION_WORDS and (len(word) > 1 or word.isdigit()):
            found.add(stem(word))
    return frozenset(found - _TELLS_LITTLE)


class MessageWords:
    """The telling words of the message that is answered."""

    def __init__(self, message: str) -> None:
        """Read the message once."""
        self._words = telling_words(message)

    def relevance(self, text: str) -> float:
        """Return from 0 to 1 how much the text shares with the message: the cosine of their sets of words."""
        words = telling_words(text)
        if not words or not self._words:
            return 0.0
        return len(words & self._words) / math.sqrt(len(words) * len(self._words))

    def touches(self, text: str) -> bool:
        """Say whether the text bears on the message: two telling words are the same, or all of a shorter message's."""
        shared = len(telling_words(text) & self._words)
        return shared >= min(_MIN_SHARED, max(1, len(self._words)))
