"""Finding any of many phrases in a text in time linear in both: the automaton of Aho and Corasick, over words."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence


class PhraseMatcher:
    """The words of all phrases as a tree, with links from each place to the longest phrase that may go on there."""

    def __init__(self, phrases: Iterable[Sequence[str]]) -> None:
        """Build the automaton for these phrases, each given as its words."""
        self._following: list[dict[str, int]] = [{}]
        """By place, the place that each next word leads to; 0 is the root."""
        self._fallback: list[int] = [0]
        """By place, that of the longest end of its words with which a phrase begins."""
        self._found: list[int] = [0]
        """By place, how many words the longest phrase has that ends there; 0 for none."""
        for phrase in phrases:
            self._add_phrase(phrase)
        self._link_places()

    def _add_phrase(self, phrase: Sequence[str]) -> None:
        """Add the phrase's words to the tree."""
        place = 0
        for word in phrase:
            following = self._following[place].get(word)
            if following is None:
                following = self._following[place][word] = len(self._following)
                self._following.append({})
                self._fallback.append(0)
                self._found.append(0)
            place = following
        self._found[place] = len(phrase)

    def _link_places(self) -> None:
        """Set each place's fallback, level by level, and the phrase that ends there if a shorter one does."""
        waiting = deque(self._following[0].values())
        while waiting:
            place = waiting.popleft()
            self._found[place] = self._found[place] or self._found[self._fallback[place]]
            for word, following in self._following[place].items():
                self._fallback[following] = self._next_place(self._fallback[place], word)
                waiting.append(following)

    def _next_place(self, place: int, word: str) -> int:
        """Return the place after one more word."""
        while place and word not in self._following[place]:
            place = self._fallback[place]
        return self._following[place].get(word, 0)

    def find_phrases(self, words: Iterable[str | None]) -> Iterator[tuple[int, int]]:
        """Yield first and last position of phrases among the words; None is a gap that no phrase spans.

        Of several phrases with the same last word only the longest is given, which covers the others.
        """
        place = 0
        for position, word in enumerate(words):
            place = 0 if word is None else self._next_place(place, word)
            if length := self._found[place]:
                yield position - length + 1, position
