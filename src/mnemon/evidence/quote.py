"""The quote gate: a quote counts only where it stands, in what a person said or a tool gave back in the turn.

Verbatim means what stands there. Only white space may be folded and quotation marks may be curly or straight; a quote
begins and ends at whole words and numbers, so that "like" is never found in "dislike" nor "$4" in "$4.1M".
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from mnemon.evidence.own_tools import is_own_tool
from mnemon.outside import reads_outside_text
from mnemon.turn import Role, Said, ToolOutcome, Turn

_MARKS = str.maketrans({"‘": "'", "’": "'", "‚": "'", "‛": "'", "“": '"', "”": '"', "„": '"', "‟": '"'})
_SPACES = re.compile(r"\s+")
_MOST_PLACES = 1_000
"""Places in one text at which a quote is looked at: one that cuts words at a thousand of them is no quote."""
_LONGEST_POINTER = 1_000
"""Characters of a JSON pointer. What lies deeper is quoted from the result as rendered: a long name that many values
lie under would otherwise be written once for each of them."""


@dataclass(frozen=True, kw_only=True)
class Passage:
    """A text that may be quoted."""

    message_id: str
    """The message it stands in; for a tool result that is no message, the result's id."""
    text: str
    who: str
    """The person, or the tool."""
    role: Role
    """`user` or `tool`; a tool's words carry lower trust."""
    at: datetime
    pointer: str | None = None
    """In a tool result, the JSON pointer of the string that is meant; None for the result as rendered, or a message."""


@dataclass(frozen=True, kw_only=True)
class Quotation:
    """A quote where it stands."""

    passage: Passage
    start: int
    end: int

    @property
    def text(self) -> str:
        """The quote as it stands in its source."""
        return self.passage.text[self.start : self.end]


@reads_outside_text
def passages(turn: Turn) -> tuple[Passage, ...]:
    """Every text of the turn that may be quoted: the person's words first, then what tools gave back."""
    spoken = [_spoken(said, turn) for said in turn.messages if said.role is Role.USER]
    given = [_spoken(said, turn) for said in turn.messages if said.role is Role.TOOL and not is_own_tool(said.name)]
    results = [
        passage
        for outcome in turn.tool_results
        if not is_own_tool(outcome.action)
        for passage in _tool_passages(outcome, turn)
    ]
    return (*spoken, *given, *results)


@reads_outside_text
def find_quote(quote: str, sources: Iterable[Passage]) -> Quotation | None:
    """Where the quote first stands in the sources; None when it stands nowhere."""
    wanted = fold(quote)
    if not any(sign.isalnum() for sign in wanted):
        return None
    for passage in sources:
        text = _folded(passage.text)
        at = text.find(wanted)
        if at < 0:
            continue
        places = _places(passage.text)
        for _ in range(_MOST_PLACES):
            start, end = places[at], places[at + len(wanted) - 1] + 1
            if _whole(passage.text, start, end):
                return Quotation(passage=passage, start=start, end=end)
            at = text.find(wanted, at + 1)
            if at < 0:
                break
    return None


@reads_outside_text
def fold(text: str) -> str:
    """The text as quotes are compared: white space folded, marks straight."""
    return _folded(text.strip())


def rendered(output: Any) -> str:
    """What a tool gave back as text: itself when it is text, else as JSON."""
    return output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)


def _spoken(said: Said, turn: Turn) -> Passage:
    who = said.name or (turn.user_name if said.role is Role.USER else "tool")
    return Passage(message_id=said.message_id, text=said.content, who=who, role=said.role, at=said.at)


def _tool_passages(outcome: ToolOutcome, turn: Turn) -> Iterator[Passage]:
    if outcome.output is None:
        return
    for pointer, text in (*_strings(outcome.output, ""), (None, rendered(outcome.output))):
        yield Passage(message_id=outcome.id, text=text, who=outcome.action, role=Role.TOOL, at=turn.at, pointer=pointer)


def _strings(value: Any, pointer: str) -> Iterator[tuple[str | None, str]]:
    if len(pointer) > _LONGEST_POINTER:
        return
    if isinstance(value, str):
        yield pointer, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _strings(inner, f"{pointer}/{str(key).replace('~', '~0').replace('/', '~1')}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _strings(inner, f"{pointer}/{index}")


def _folded(text: str) -> str:
    """The text with white space folded and straight marks."""
    return _SPACES.sub(" ", text).translate(_MARKS)


def _places(text: str) -> list[int]:
    """For each character of the folded text, the place it came from."""
    places: list[int] = []
    at = 0
    for space in _SPACES.finditer(text):
        places.extend(range(at, space.start() + 1))
        at = space.end()
    places.extend(range(at, len(text)))
    return places


def _whole(text: str, start: int, end: int) -> bool:
    """Whether neither end of the span cuts a word or a number in two."""
    return not _cuts(text, start) and not _cuts(text, end)


def _cuts(text: str, at: int) -> bool:
    if at <= 0 or at >= len(text):
        return False
    left, right = text[at - 1], text[at]
    if left.isalnum() and right.isalnum():
        return not (_unspaced(left) or _unspaced(right))
    if right in ".," and left.isdigit():
        return at + 1 < len(text) and text[at + 1].isdigit()
    return left in ".," and right.isdigit() and at >= 2 and text[at - 2].isdigit()


def _unspaced(sign: str) -> bool:
    """Whether the sign belongs to a script that writes words without spaces: Thai to Khmer, kana, Han."""
    code = ord(sign)
    return 0x0E00 <= code <= 0x0EFF or 0x1000 <= code <= 0x109F or 0x1780 <= code <= 0x17FF or 0x2E80 <= code <= 0x9FFF
