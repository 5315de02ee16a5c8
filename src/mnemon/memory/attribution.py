"""Attribution: find out whose words a statement is made of, whatever it quotes.

A model that obeys a page it has read can quote the person's "What does it say?" as the ground for what the page wants
remembered, and the quote gate finds that quote. So a statement counts as the person's only if
- at least one of its words is the person's in this turn; otherwise it is the model's, or that of the author whose words
  it consists of;
- at most half of its words were used by one other author (in one message, result, memory or todo) and not by the
  person; but a question's words count as the person's as soon as they answer it ("Rust." to "Your favorite language?");
- it contains no figure (an account, a phone number, a price) that another author gave and the person did not;
- at most half of its letters, without blanks and signs, are a run of one other author's: `n o n e` reads as "none".
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mnemon.db.tx import Tx
from mnemon.evidence.quote_gate import quotable_passages
from mnemon.memory import store
from mnemon.memory.todos.store import open_todos
from mnemon.memory.trust import Trust, outranks, speaks_for_person
from mnemon.memory.words import STOP_WORDS, terms
from mnemon.sessions import messages
from mnemon.sessions.sentences import split_sentences
from mnemon.sessions.state import list_rolling_summaries
from mnemon.turn import Role, Turn, TurnMessage
from mnemon.untrusted_text import reads_outside_text, strip_invisible

_LONGEST_NAME = 190
_MOST_MEMORIES = 200
_MOST_MESSAGES = 100
_LONGEST_MESSAGE = 8_000
"""Limits on the memories and messages of others that are compared, and on the characters of an earlier message."""
_LONGEST_ANSWER = 8
"""The most meaningful words of an answer that needs its question to be understood."""
_SCRIPTS_WITHOUT_SPACES = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
"""Thai, Lao, Burmese, Khmer, Japanese and Chinese; and Korean, whose endings are attached to the word."""
_SHORTEST_FIGURE = 3
"""The fewest characters of a figure that identifies its author; a day of the month is in many texts."""
_RUN = 10
"""A run of this many letters is in two texts only if one was copied from the other."""
_RUN_FACTOR = np.uint64(0x9E3779B97F4A7C15)
"""An odd number without a pattern, as factor of a polynomial hash modulo 2 to the 64th."""
_PREFIX_LETTERS = 4
"""Letters that two forms of a word share in most languages; the stemmer is for English only."""
ASSISTANT = "assistant"
"""The origin of what the model says."""
_HOMOGLYPHS = str.maketrans(
    "аеорсухікјѕԁһӏАВЕКМНОРСТУХІαεικνορτυχΑΒΕΖΗΙΚΜΝΟΡΤΥΧ",
    "aeopcyxikjsdhlABEKMHOPCTYXIaeiknoptuxABEZHIKMNOPTYX",
)
"""Cyrillic and Greek letters that look like Latin ones."""


@dataclass(frozen=True, kw_only=True)
class OtherAuthor:
    """A text that the model was shown and that is not the person's, with its author."""

    trust: Trust
    origin: str
    text: str
    spoken: bool = False
    """Whether it is a message of an earlier turn; the latest of them comes first."""


_MODEL_AUTHOR = OtherAuthor(trust=Trust.AGENT, origin=ASSISTANT, text="")


@dataclass(frozen=True, kw_only=True)
class TurnAuthors:
    """The stems that the person used in a turn, and those that others used."""

    own: frozenset[str]
    others: tuple[tuple[OtherAuthor, frozenset[str]], ...]
    asked: frozenset[str] = frozenset()
    """The stems of the assistant's last question before the person spoke."""
    own_text: str = ""

    def other_author(self, content: str) -> OtherAuthor | None:
        """Return the least trusted author whose words make up a statement; None if they are the person's own."""
        words = _visible_stems(content)
        # "Rust." answers a question whose words the statement needs; they would otherwise count as the assistant's.
        if self._is_short_answer(words):
            return None
        foreign = words - self.own
        figures = {one for one in foreign if len(one) >= _SHORTEST_FIGURE and any(sign.isdecimal() for sign in one)}
        borrowed = [(author, len(foreign & stems)) for author, stems in self.others if foreign & stems]
        # Prefixes rather than stems, since other forms of the person's words should count as theirs in any language.
        shares_words = bool(_stem_prefixes(words) & _stem_prefixes(self.own))
        authors = [author for author, number in borrowed if 2 * number > len(words)]
        authors += [author for author, stems in self.others if figures & stems]
        # Words alone miss texts that are spaced out or joined, such as `n o n e`.
        authors += self._authors_by_letters(content)
        if shares_words and not authors:
            return None
        return _least_trusted(authors or [author for author, _ in borrowed]) or _MODEL_AUTHOR

    @cached_property
    def _own_runs(self) -> np.ndarray:
        """Return the hashes of all runs of ten letters in the person's messages, sorted."""
        return _run_hashes(_visible_letters(self.own_text))

    @cached_property
    def _others_runs(self) -> tuple[tuple[OtherAuthor, np.ndarray], ...]:
        """Return each other author with the hashes of all runs of ten letters in their text."""
        return tuple((author, _run_hashes(_visible_letters(author.text))) for author, _ in self.others)

    def _authors_by_letters(self, content: str) -> list[OtherAuthor]:
        """Return the authors whose runs of letters cover more than half of the statement, the person's left out."""
        runs = _runs_in_order(_visible_letters(content))
        foreign = ~_are_in(runs, self._own_runs)
        return [
            author for author, author_runs in self._others_runs if _covers_half(foreign & _are_in(runs, author_runs))
        ]

    def _is_short_answer(self, words: frozenset[str]) -> bool:
        """Say whether a statement consists of the assistant's question and the person's short answer to it."""
        short = 0 < len(self.own) <= _LONGEST_ANSWER
        return short and self.own <= words and words <= self.own | self.asked and not self.own <= self.asked


def _least_trusted(authors: Sequence[OtherAuthor]) -> OtherAuthor | None:
    """Return the first of the least trusted authors; None without authors."""
    least = None
    for author in authors:
        least = author if least is None or outranks(least.trust, author.trust) else least
    return least


def tool_origin(name: str) -> str:
    """Return the origin that a memory gets from a tool of this name, `tool:<name>`."""
    return f"tool:{name[:_LONGEST_NAME]}"


@reads_outside_text
def authors_of_turn(turn: Turn, recalled: Sequence[OtherAuthor] = ()) -> TurnAuthors:
    """Return who wrote the texts of a turn, each author with the stems of their words."""
    tool_results = [
        OtherAuthor(trust=Trust.TOOL, origin=tool_origin(one.who), text=one.text)
        for one in quotable_passages(turn)
        if one.role is Role.TOOL and one.pointer is None
    ]
    replies = [
        OtherAuthor(trust=Trust.AGENT, origin=ASSISTANT, text=message.content)
        for message in turn.messages
        if message.role is Role.ASSISTANT
    ]
    return TurnAuthors(
        own=_visible_stems(turn.user_text),
        others=tuple((one, _visible_stems(one.text)) for one in (*tool_results, *replies, *recalled)),
        asked=_visible_stems(_last_question(turn, recalled)),
        own_text=turn.user_text,
    )


def _last_question(turn: Turn, recalled: Sequence[OtherAuthor]) -> str:
    """Return the assistant's last question before the person spoke, in this turn or in its latest earlier message."""
    first = next((position for position, message in enumerate(turn.messages) if message.role is Role.USER), 0)
    before = [message.content for message in turn.messages[:first] if message.role is Role.ASSISTANT]
    earlier = next((one.text for one in recalled if one.spoken and one.trust is Trust.AGENT), "")
    text = before[-1] if before else earlier
    return " ".join(line for line in split_sentences(text[-_LONGEST_MESSAGE:]) if line.endswith("?"))


async def load_other_authors(tx: Tx, turn: Turn) -> list[OtherAuthor]:
    """Return the texts by others that the model may have seen: earlier messages, memories, todos and the summary."""
    todos, summaries, held, earlier_messages = await tx.gather(
        open_todos(tx, turn.scope),
        list_rolling_summaries(tx, turn.scope, most=1),
        store.texts_of_others(tx, turn.scope, most=_MOST_MEMORIES),
        messages.list_others_messages(
            tx, turn.scope, most=_MOST_MESSAGES, longest=_LONGEST_MESSAGE, apart_from_turn=turn.id
        ),
    )
    others_todos = [todo for todo in todos if not speaks_for_person(todo.trust)]
    return [
        *(OtherAuthor(trust=todo.trust, origin=todo.source, text=todo.content) for todo in others_todos),
        *(OtherAuthor(trust=Trust.AGENT, origin=ASSISTANT, text=one.text) for one in summaries),
        *(OtherAuthor(trust=level, origin=origin, text=text) for level, origin, text in held),
        *map(_author_of_message, earlier_messages),
    ]


def text_size(authors: Sequence[OtherAuthor]) -> int:
    """Return the number of characters of all authors' texts."""
    return sum(len(one.text) for one in authors)


def _author_of_message(message: TurnMessage) -> OtherAuthor:
    """Return a message that is not the person's as another author: a tool, or the assistant."""
    if message.role is Role.TOOL:
        return OtherAuthor(
            trust=Trust.TOOL, origin=tool_origin(message.name or "tool"), text=message.content, spoken=True
        )
    return OtherAuthor(trust=Trust.AGENT, origin=ASSISTANT, text=message.content, spoken=True)


def _visible_stems(text: str) -> frozenset[str]:
    """Return the stems of the text as a reader sees it, ignoring invisible characters and Latin look-alikes."""
    return frozenset(terms(strip_invisible(text).translate(_HOMOGLYPHS))) - STOP_WORDS


@reads_outside_text
def _visible_letters(text: str) -> str:
    """Return a text's letters and digits as a reader sees them, in lower case, with nothing between them."""
    return "".join(filter(str.isalnum, strip_invisible(text).translate(_HOMOGLYPHS).casefold()))


@reads_outside_text
def _runs_in_order(letters: str) -> np.ndarray:
    """Return for each position of the letters a hash of the run of ten that begins there."""
    # `surrogatepass`: outside text may contain lone surrogates, which UTF-32 would refuse.
    codes = np.frombuffer(letters.encode("utf-32-le", "surrogatepass"), dtype=np.uint32).astype(np.uint64)
    number = max(0, len(codes) - _RUN + 1)
    runs = np.zeros(number, dtype=np.uint64)
    # A polynomial hash computed over all positions at once; numpy's unsigned arithmetic wraps around.
    for offset in range(_RUN):
        runs = runs * _RUN_FACTOR + codes[offset : offset + number]
    return runs


def _run_hashes(letters: str) -> np.ndarray:
    """Return the hashes of the distinct runs of ten letters, sorted."""
    return np.unique(_runs_in_order(letters))


def _are_in(runs: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Return for each run of letters whether it is among the known ones, which are sorted."""
    if not len(known):
        return np.zeros(len(runs), dtype=bool)
    places = np.minimum(np.searchsorted(known, runs), len(known) - 1)
    return np.asarray(known[places] == runs)


def _covers_half(found: np.ndarray) -> bool:
    """Say whether the runs that begin at the marked positions cover more than half of the letters."""
    covered = np.zeros(len(found) + _RUN - 1, dtype=bool)
    for offset in range(_RUN):
        covered[offset : offset + len(found)] |= found
    return bool(len(found)) and 2 * int(covered.sum()) > len(covered)


@reads_outside_text
def _stem_prefixes(stems: frozenset[str]) -> frozenset[str]:
    """Return the first letters of each stem; in scripts without spaces between words, each pair of letters."""
    found: set[str] = set()
    for one in stems:
        if one.isascii() or not _SCRIPTS_WITHOUT_SPACES.search(one):
            found.add(one[:_PREFIX_LETTERS])
        else:
            found.update(one[offset : offset + 2] for offset in range(max(1, len(one) - 1)))
    return frozenset(found)
