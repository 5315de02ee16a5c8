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
from mnemon.evidence.quote import passages
from mnemon.fence import visible
from mnemon.memory import store
from mnemon.memory.todos.store import open_todos
from mnemon.memory.trust import Trust, outranks, speaks_for_person
from mnemon.memory.words import STOP_WORDS, terms
from mnemon.outside import reads_outside_text
from mnemon.sessions import messages
from mnemon.sessions.sentences import sentences
from mnemon.sessions.state import rolling_summaries
from mnemon.turn import Role, Said, Turn

_LONGEST_NAME = 190
_MOST_HELD = 200
_MOST_EARLIER = 100
_LONGEST_EARLIER = 8_000
"""Memories and messages of others that are looked at, and characters of an earlier message."""
_LONGEST_ANSWER = 8
"""Words that carry meaning in an answer that needs its question to be understood."""
_UNPARTED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
"""Thai, Lao, Burmese, Khmer, Japanese, Chinese; and Korean, whose endings stick to the word."""
_SHORTEST_FIGURE = 3
"""Signs of a figure that tells whose it is: a day of the month stands in many texts."""
_RUN = 10
"""Letters in a row that two texts share only where one of them took them from the other."""
_RUN_FACTOR = np.uint64(0x9E3779B97F4A7C15)
"""An odd number without a pattern; products are taken modulo 2 to the 64th."""
_BEGINNING = 4
"""Letters that two forms of a word share in most languages: there is a stemmer for English only."""
ASSISTANT = "assistant"
_LOOK_ALIKES = str.maketrans(
    "аеорсухікјѕԁһӏАВЕКМНОРСТУХІαεικνορτυχΑΒΕΖΗΙΚΜΝΟΡΤΥΧ",
    "aeopcyxikjsdhlABEKMHOPCTYXIaeiknoptuxABEZHIKMNOPTYX",
)
"""Cyrillic and Greek letters that are read as Latin ones."""


@dataclass(frozen=True, kw_only=True)
class Voice:
    """Someone besides the person whose words the model was shown."""

    trust: Trust
    origin: str
    text: str
    spoken: bool = False
    """A message of an earlier turn; the latest of them comes first."""


_THE_MODEL = Voice(trust=Trust.AGENT, origin=ASSISTANT, text="")


@dataclass(frozen=True, kw_only=True)
class Voices:
    """The stems that the person used in a turn, and those that others used."""

    own: frozenset[str]
    others: tuple[tuple[Voice, frozenset[str]], ...]
    asked: frozenset[str] = frozenset()
    """The stems of what the assistant asked last before the person spoke."""
    own_text: str = ""

    def lender(self, content: str) -> Voice | None:
        """Whose statement it is if not the person's: of several, the least trusted one."""
        words = _stems(content)
        if self._answers(words):
            return None
        foreign = words - self.own
        figures = {one for one in foreign if len(one) >= _SHORTEST_FIGURE and any(sign.isdecimal() for sign in one)}
        lent = [(voice, len(foreign & stems)) for voice, stems in self.others if foreign & stems]
        shares = bool(_beginnings(words) & _beginnings(self.own))
        lenders = [voice for voice, number in lent if 2 * number > len(words)]
        lenders += [voice for voice, stems in self.others if figures & stems]
        lenders += self._lenders_of_letters(content)
        if shares and not lenders:
            return None
        return _least_trusted(lenders or [voice for voice, _ in lent]) or _THE_MODEL

    @cached_property
    def _own_runs(self) -> np.ndarray:
        return _runs(_letters(self.own_text))

    @cached_property
    def _others_runs(self) -> tuple[tuple[Voice, np.ndarray], ...]:
        return tuple((voice, _runs(_letters(voice.text))) for voice, _ in self.others)

    def _lenders_of_letters(self, content: str) -> list[Voice]:
        """Those whose runs of letters make up more than half of the statement's, where the person's do not."""
        runs = _runs_in_order(_letters(content))
        foreign = ~_are_in(runs, self._own_runs)
        return [voice for voice, theirs in self._others_runs if _covers_half(foreign & _are_in(runs, theirs))]

    def _answers(self, words: frozenset[str]) -> bool:
        """Whether the statement is the assistant's question with the person's short answer put in, and nothing else."""
        short = 0 < len(self.own) <= _LONGEST_ANSWER
        return short and self.own <= words and words <= self.own | self.asked and not self.own <= self.asked


def _least_trusted(voices: Sequence[Voice]) -> Voice | None:
    least = None
    for voice in voices:
        least = voice if least is None or outranks(least.trust, voice.trust) else least
    return least


def tool_origin(name: str) -> str:
    """The origin of what a tool of this name gave back."""
    return f"tool:{name[:_LONGEST_NAME]}"


@reads_outside_text
def voices_of(turn: Turn, recalled: Sequence[Voice] = ()) -> Voices:
    """Everyone who speaks in the turn, and what was recalled for it that others had said."""
    given = [
        Voice(trust=Trust.TOOL, origin=tool_origin(one.who), text=one.text)
        for one in passages(turn)
        if one.role is Role.TOOL and one.pointer is None
    ]
    replied = [
        Voice(trust=Trust.AGENT, origin=ASSISTANT, text=said.content)
        for said in turn.messages
        if said.role is Role.ASSISTANT
    ]
    return Voices(
        own=_stems(turn.user_text),
        others=tuple((one, _stems(one.text)) for one in (*given, *replied, *recalled)),
        asked=_stems(_question_before(turn, recalled)),
        own_text=turn.user_text,
    )


def _question_before(turn: Turn, recalled: Sequence[Voice]) -> str:
    """What the assistant asked last before the person spoke: in this turn, or in the latest of its earlier messages."""
    first = next((place for place, said in enumerate(turn.messages) if said.role is Role.USER), 0)
    before = [said.content for said in turn.messages[:first] if said.role is Role.ASSISTANT]
    earlier = next((one.text for one in recalled if one.spoken and one.trust is Trust.AGENT), "")
    text = before[-1] if before else earlier
    return " ".join(line for line in sentences(text[-_LONGEST_EARLIER:]) if line.endswith("?"))


async def recalled_voices(tx: Tx, turn: Turn) -> list[Voice]:
    """What others worded and the model may have been shown: earlier messages, memories, todos, the summary."""
    todos, summaries, held, said = await tx.together(
        open_todos(tx, turn.scope),
        rolling_summaries(tx, turn.scope, most=1),
        store.of_other_voices(tx, turn.scope, most=_MOST_HELD),
        messages.of_others(tx, turn.scope, most=_MOST_EARLIER, longest=_LONGEST_EARLIER, apart_from_turn=turn.id),
    )
    theirs = [todo for todo in todos if not speaks_for_person(todo.trust)]
    return [
        *(Voice(trust=todo.trust, origin=todo.source, text=todo.content) for todo in theirs),
        *(Voice(trust=Trust.AGENT, origin=ASSISTANT, text=one.text) for one in summaries),
        *(Voice(trust=level, origin=origin, text=text) for level, origin, text in held),
        *map(_voice_of, said),
    ]


def size_of(voices: Sequence[Voice]) -> int:
    """How much text they said."""
    return sum(len(one.text) for one in voices)


def _voice_of(said: Said) -> Voice:
    if said.role is Role.TOOL:
        return Voice(trust=Trust.TOOL, origin=tool_origin(said.name or "tool"), text=said.content, spoken=True)
    return Voice(trust=Trust.AGENT, origin=ASSISTANT, text=said.content, spoken=True)


def _stems(text: str) -> frozenset[str]:
    """The stems of the text as it reads: without signs that take no room, and look-alikes read as Latin letters."""
    return frozenset(terms(visible(text).translate(_LOOK_ALIKES))) - STOP_WORDS


@reads_outside_text
def _letters(text: str) -> str:
    """The letters and figures of the text as it reads, in lower case, without what stands between them."""
    return "".join(filter(str.isalnum, visible(text).translate(_LOOK_ALIKES).casefold()))


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
def _beginnings(stems: frozenset[str]) -> frozenset[str]:
    """The first letters of each stem; of scripts that put no blanks between words, every pair of letters."""
    found: set[str] = set()
    for one in stems:
        if one.isascii() or not _UNPARTED.search(one):
            found.add(one[:_BEGINNING])
        else:
            found.update(one[place : place + 2] for place in range(max(1, len(one) - 1)))
    return frozenset(found)
