"""Whose words a statement is made of, whatever it quotes.

A model that obeys a page it has read can quote the person's "What does it say?" as the ground for what the page wants
remembered. The quote gate finds the quote. So a statement most of whose words the person did not use in the turn, while
somebody else did, is that other one's statement.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from mnemon.db.tx import Tx
from mnemon.evidence.quote import passages
from mnemon.memory.todos.store import open_todos
from mnemon.memory.trust import Trust, outranks, speaks_for_person
from mnemon.memory.words import STOP_WORDS, terms
from mnemon.outside import reads_outside_text
from mnemon.scope import Scope
from mnemon.sessions.state import rolling_summaries
from mnemon.turn import Role, Turn

_LONGEST_NAME = 190
ASSISTANT = "assistant"


@dataclass(frozen=True, kw_only=True)
class Voice:
    """Someone besides the person whose words the model was shown."""

    trust: Trust
    origin: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Voices:
    """The stems that the person used in a turn, and those that others used."""

    own: frozenset[str]
    others: tuple[tuple[Voice, frozenset[str]], ...]

    def lender(self, content: str) -> Voice | None:
        """The least trusted one from whom more than half of the content's words are; None where it is the person's."""
        words = _stems(content)
        foreign = words - self.own
        lent = [(voice, foreign & stems) for voice, stems in self.others if foreign & stems]
        if 2 * len(frozenset().union(*(stems for _, stems in lent))) <= len(words):
            return None
        least = lent[0][0]
        for voice, _ in lent[1:]:
            least = voice if outranks(least.trust, voice.trust) else least
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
        own=_stems(turn.user_text), others=tuple((one, _stems(one.text)) for one in (*given, *replied, *recalled))
    )


async def recalled_voices(tx: Tx, scope: Scope) -> list[Voice]:
    """What a reflection is shown that others may have worded: their todos, and the summary that a model wrote."""
    todos, summaries = await tx.together(open_todos(tx, scope), rolling_summaries(tx, scope, most=1))
    theirs = [todo for todo in todos if not speaks_for_person(todo.trust)]
    return [
        *(Voice(trust=todo.trust, origin=todo.source, text=todo.content) for todo in theirs),
        *(Voice(trust=Trust.AGENT, origin=ASSISTANT, text=one.text) for one in summaries),
    ]


def _stems(text: str) -> frozenset[str]:
    return frozenset(terms(text)) - STOP_WORDS
