"""Whose words a statement is made of, whatever it quotes.

A model that obeys a page it has read can quote the person's "What does it say?" as the ground for what the page wants
remembered. The quote gate finds the quote. So a statement counts as the person's only if
- at least one of its words is the person's, in this turn: else it is the model's own, or whoever's words it is made of;
- no more than half of its words are one other's that the person did not use, in one message, result, memory or todo;
  but the words of a question are the person's own as soon as they answer it ("Rust." to "Your favorite language?");
- it holds no figure (an account, a phone number, a price) that one other said and the person did not;
- no more than half of its letters, blanks and signs left out, are a run of one other's: `n o n e` reads as "none".
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
"""Memories and messages of others that are looked at, and characters of an earlier message."""
_LONGEST_ANSWER = 8
"""Words that carry meaning in an answer that needs its question to be understood."""
_SCRIPTS_WITHOUT_SPACES = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
"""Thai, Lao, Burmese, Khmer, Japanese, Chinese; and Korean, whose endings stick to the word."""
_SHORTEST_FIGURE = 3
"""Signs of a figure that tells whose it is: a day of the month stands in many texts."""
_RUN = 10
"""Letters in a row that two texts share only where one of them took them from the other."""
_RUN_FACTOR = np.uint64(0x9E3779B97F4A7C15)
"""An odd number without a pattern; products are taken modulo 2 to the 64th."""
_PREFIX_LETTERS = 4
"""Letters that two forms of a word share in most languages: there is a stemmer for English only."""
ASSISTANT = "assistant"
_HOMOGLYPHS = str.maketrans(
    "аеорсухікјѕԁһӏАВЕКМНОРСТУХІαεικνορτυχΑΒΕΖΗΙΚΜΝΟΡΤΥΧ",
    "aeopcyxikjsdhlABEKMHOPCTYXIaeiknoptuxABEZHIKMNOPTYX",
)
"""Cyrillic and Greek letters that are read as Latin ones."""


@dataclass(frozen=True, kw_only=True)
class OtherAuthor:
    """Someone besides the person whose words the model was shown."""

    trust: Trust
    origin: str
    text: str
    spoken: bool = False
    """A message of an earlier turn; the latest of them comes first."""


_MODEL_AUTHOR = OtherAuthor(trust=Trust.AGENT, origin=ASSISTANT, text="")


@dataclass(frozen=True, kw_only=True)
class TurnAuthors:
    """The stems that the person used in a turn, and those that others used."""

    own: frozenset[str]
    others: tuple[tuple[OtherAuthor, frozenset[str]], ...]
    asked: frozenset[str] = frozenset()
    """The stems of what the assistant asked last before the person spoke."""
    own_text: str = ""

    def other_author(self, content: str) -> OtherAuthor | None:
        """Whose statement it is if not the person's: of several, the least trusted one."""
        words = _visible_stems(content)
        if self._is_short_answer(words):
            return None
        foreign = words - self.own
        figures = {one for one in foreign if len(one) >= _SHORTEST_FIGURE and any(sign.isdecimal() for sign in one)}
        lent = [(voice, len(foreign & stems)) for voice, stems in self.others if foreign & stems]
        shares = bool(_stem_prefixes(words) & _stem_prefixes(self.own))
        lenders = [voice for voice, number in lent if 2 * number > len(words)]
        lenders += [voice for voice, stems in self.others if figures & stems]
        lenders += self._lenders_of_letters(content)
        if shares and not lenders:
            return None
        return _least_trusted(lenders or [voice for voice, _ in lent]) or _MODEL_AUTHOR

    @cached_property
    def _own_runs(self) -> np.ndarray:
        return _runs(_letters(self.own_text))

    @cached_property
    def _others_runs(self) -> tuple[tuple[OtherAuthor, np.ndarray], ...]:
        return tuple((voice, _runs(_letters(voice.text))) for voice, _ in self.others)

    def _lenders_of_letters(self, content: str) -> list[OtherAuthor]:
        """Those whose runs of letters make up more than half of the statement's, where the person's do not."""
        runs = _runs_in_order(_letters(content))
        foreign = ~_are_in(runs, self._own_runs)
        return [voice for voice, theirs in self._others_runs if _covers_half(foreign & _are_in(runs, theirs))]

    def _is_short_answer(self, words: frozenset[str]) -> bool:
        """Whether the statement is the assistant's question with the person's short answer put in, and nothing else."""
        short = 0 < len(self.own) <= _LONGEST_ANSWER
        return short and self.own <= words and words <= self.own | self.asked and not self.own <= self.asked


def _least_trusted(voices: Sequence[OtherAuthor]) -> OtherAuthor | None:
    least = None
    for voice in voices:
        least = voice if least is None or outranks(least.trust, voice.trust) else least
    return least


def tool_origin(name: str) -> str:
    """The origin of what a tool of this name gave back."""
    return f"tool:{name[:_LONGEST_NAME]}"


@reads_outside_text
def authors_of_turn(turn: Turn, recalled: Sequence[OtherAuthor] = ()) -> TurnAuthors:
    """Everyone who speaks in the turn, and what was recalled for it that others had said."""
    given = [
        OtherAuthor(trust=Trust.TOOL, origin=tool_origin(one.who), text=one.text)
        for one in quotable_passages(turn)
        if one.role is Role.TOOL and one.pointer is None
    ]
    replied = [
        OtherAuthor(trust=Trust.AGENT, origin=ASSISTANT, text=said.content)
        for said in turn.messages
        if said.role is Role.ASSISTANT
    ]
    return TurnAuthors(
        own=_visible_stems(turn.user_text),
        others=tuple((one, _visible_stems(one.text)) for one in (*given, *replied, *recalled)),
        asked=_visible_stems(_last_question(turn, recalled)),
        own_text=turn.user_text,
    )


def _last_question(turn: Turn, recalled: Sequence[OtherAuthor]) -> str:
    """What the assistant asked last before the person spoke: in this turn, or in the latest of its earlier messages."""
    first = next((place for place, said in enumerate(turn.messages) if said.role is Role.USER), 0)
    before = [said.content for said in turn.messages[:first] if said.role is Role.ASSISTANT]
    earlier = next((one.text for one in recalled if one.spoken and one.trust is Trust.AGENT), "")
    text = before[-1] if before else earlier
    return " ".join(line for line in split_sentences(text[-_LONGEST_MESSAGE:]) if line.endswith("?"))


async def load_other_authors(tx: Tx, turn: Turn) -> list[OtherAuthor]:
    """What others worded and the model may have been shown: earlier messages, memories, todos, the summary."""
    todos, summaries, held, said = await tx.gather(
        open_todos(tx, turn.scope),
        list_rolling_summaries(tx, turn.scope, most=1),
        store.texts_of_others(tx, turn.scope, most=_MOST_MEMORIES),
        messages.list_others_messages(
            tx, turn.scope, most=_MOST_MESSAGES, longest=_LONGEST_MESSAGE, apart_from_turn=turn.id
        ),
    )
    theirs = [todo for todo in todos if not speaks_for_person(todo.trust)]
    return [
        *(OtherAuthor(trust=todo.trust, origin=todo.source, text=todo.content) for todo in theirs),
        *(OtherAuthor(trust=Trust.AGENT, origin=ASSISTANT, text=one.text) for one in summaries),
        *(OtherAuthor(trust=level, origin=origin, text=text) for level, origin, text in held),
        *map(_author_of_message, said),
    ]


def text_size(voices: Sequence[OtherAuthor]) -> int:
    """How much text they said."""
    return sum(len(one.text) for one in voices)


def _author_of_message(said: TurnMessage) -> OtherAuthor:
    if said.role is Role.TOOL:
        return OtherAuthor(trust=Trust.TOOL, origin=tool_origin(said.name or "tool"), text=said.content, spoken=True)
    return OtherAuthor(trust=Trust.AGENT, origin=ASSISTANT, text=said.content, spoken=True)


def _visible_stems(text: str) -> frozenset[str]:
    """The stems of the text as it reads: without signs that take no room, and look-alikes read as Latin letters."""
    return frozenset(terms(strip_invisible(text).translate(_HOMOGLYPHS))) - STOP_WORDS


@reads_outside_text
def _letters(text: str) -> str:
    """The letters and figures of the text as it reads, in lower case, without what stands between them."""
    return "".join(filter(str.isalnum, strip_invisible(text).translate(_HOMOGLYPHS).casefold()))


@reads_outside_text
def _runs_in_order(letters: str) -> np.ndarray:
    """A number for the run of letters that begins at each place."""
    codes = np.frombuffer(letters.encode("utf-32-le", "surrogatepass"), dtype=np.uint32).astype(np.uint64)
    number = max(0, len(codes) - _RUN + 1)
    runs = np.zeros(number, dtype=np.uint64)
    for place in range(_RUN):
        runs = runs * _RUN_FACTOR + codes[place : place + number]
    return runs


def _runs(letters: str) -> np.ndarray:
    """The different runs of the letters, sorted."""
    return np.unique(_runs_in_order(letters))


def _are_in(runs: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Whether each of the runs is known; the known ones are sorted."""
    if not len(known):
        return np.zeros(len(runs), dtype=bool)
    places = np.minimum(np.searchsorted(known, runs), len(known) - 1)
    return np.asarray(known[places] == runs)


def _covers_half(found: np.ndarray) -> bool:
    """Whether the runs that begin at these places make up more than half of the letters."""
    covered = np.zeros(len(found) + _RUN - 1, dtype=bool)
    for place in range(_RUN):
        covered[place : place + len(found)] |= found
    return bool(len(found)) and 2 * int(covered.sum()) > len(covered)


@reads_outside_text
def _stem_prefixes(stems: frozenset[str]) -> frozenset[str]:
    """The first letters of each stem; of scripts that put no blanks between words, every pair of letters."""
    found: set[str] = set()
    for one in stems:
        if one.isascii() or not _SCRIPTS_WITHOUT_SPACES.search(one):
            found.add(one[:_PREFIX_LETTERS])
        else:
            found.update(one[place : place + 2] for place in range(max(1, len(one) - 1)))
    return frozenset(found)
