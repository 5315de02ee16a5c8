"""The quote gate: a quote counts only where it stands, in what a person said or a tool gave back in the turn.

Verbatim means what stands there. Only white space may be folded and quotation marks may be curly or straight; a quote
begins and ends at whole words and numbers, so that "like" is never found in "dislike" nor "$4" in "$4.1M".

Which tools are Mnemon's own: what they give back came from memory, so it is never a source for a new one.

A program may hand our tools on under names of its own making (`mcp__mnemon__recall`, `mnemon_recall`, `Recall`), so a
name is compared without the server it is named after and without its way of writing.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from mnemon.turn import Role, ToolOutcome, Turn, TurnMessage
from mnemon.untrusted_text import reads_outside_text, reads_outside_text_up_to

OWN_TOOLS = frozenset(
    {
        "recall",
        "remember",
        "forget",
        "get_context",
        "get_engagement",
        "get_my_decisions",
        "list_todos",
        "expect",
        "report_result",
        "create_entities",
        "create_relations",
        "add_observations",
        "delete_entities",
        "delete_observations",
        "delete_relations",
        "read_graph",
        "search_nodes",
        "open_nodes",
        "memory",
    }
)
"""Every tool that chat, runs and MCP serve, and Anthropic's memory tool, which keeps its files with us."""

_SERVERS = frozenset({"mnemon", "orchestrator", "memory", "server", "mcp"})
"""Words that a name may begin with: what the server is called, and what clients put before it."""
_LONGEST_NAME = 200
_PARTS = re.compile(r"__|[./:]")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_BLANKS = re.compile(r"[\s_-]+")


@reads_outside_text_up_to(_LONGEST_NAME)
def is_own_tool(name: str | None) -> bool:
    """Whether the name means one of our own tools, whatever stands before it and however it is written."""
    if name is None or len(name) > _LONGEST_NAME:
        return False
    words = _BLANKS.split(_HUMP.sub("_", _PARTS.split(name.strip())[-1]).strip("_- ").casefold())
    while len(words) > 1 and words[0] in _SERVERS:
        words = words[1:]
    return "_".join(words) in OWN_TOOLS


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
def quotable_passages(turn: Turn) -> tuple[Passage, ...]:
    """Every text of the turn that may be quoted: the person's words first, then what tools gave back."""
    spoken = [_message_passage(said, turn) for said in turn.messages if said.role is Role.USER]
    given = [
        _message_passage(said, turn) for said in turn.messages if said.role is Role.TOOL and not is_own_tool(said.name)
    ]
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
    wanted = normalize_quote(quote)
    if not any(sign.isalnum() for sign in wanted):
        return None
    for passage in sources:
        text = _normalize_text(passage.text)
        at = text.find(wanted)
        if at < 0:
            continue
        places = _source_offsets(passage.text)
        for _ in range(_MOST_PLACES):
            start, end = places[at], places[at + len(wanted) - 1] + 1
            if _is_whole_span(passage.text, start, end):
                return Quotation(passage=passage, start=start, end=end)
            at = text.find(wanted, at + 1)
            if at < 0:
                break
    return None


@reads_outside_text
def normalize_quote(text: str) -> str:
    """The text as quotes are compared: white space folded, marks straight."""
    return _normalize_text(text.strip())


def render_output(output: Any) -> str:
    """What a tool gave back as text: itself when it is text, else as JSON."""
    return output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)


def _message_passage(said: TurnMessage, turn: Turn) -> Passage:
    who = said.name or (turn.user_name if said.role is Role.USER else "tool")
    return Passage(message_id=said.message_id, text=said.content, who=who, role=said.role, at=said.at)


def _tool_passages(outcome: ToolOutcome, turn: Turn) -> Iterator[Passage]:
    if outcome.output is None:
        return
    for pointer, text in (*_string_leaves(outcome.output, ""), (None, render_output(outcome.output))):
        yield Passage(message_id=outcome.id, text=text, who=outcome.action, role=Role.TOOL, at=turn.at, pointer=pointer)


def _string_leaves(value: Any, pointer: str) -> Iterator[tuple[str | None, str]]:
    if len(pointer) > _LONGEST_POINTER:
        return
    if isinstance(value, str):
        yield pointer, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _string_leaves(inner, f"{pointer}/{str(key).replace('~', '~0').replace('/', '~1')}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _string_leaves(inner, f"{pointer}/{index}")


def _normalize_text(text: str) -> str:
    """The text with white space folded and straight marks."""
    return _SPACES.sub(" ", text).translate(_MARKS)


def _source_offsets(text: str) -> list[int]:
    """For each character of the folded text, the place it came from."""
    places: list[int] = []
    at = 0
    for space in _SPACES.finditer(text):
        places.extend(range(at, space.start() + 1))
        at = space.end()
    places.extend(range(at, len(text)))
    return places


def _is_whole_span(text: str, start: int, end: int) -> bool:
    """Whether neither end of the span cuts a word or a number in two."""
    return not _is_inside_word(text, start) and not _is_inside_word(text, end)


def _is_inside_word(text: str, at: int) -> bool:
    if at <= 0 or at >= len(text):
        return False
    left, right = text[at - 1], text[at]
    if left.isalnum() and right.isalnum():
        return not (_is_unspaced_script(left) or _is_unspaced_script(right))
    if right in ".," and left.isdigit():
        return at + 1 < len(text) and text[at + 1].isdigit()
    return left in ".," and right.isdigit() and at >= 2 and text[at - 2].isdigit()


def _is_unspaced_script(sign: str) -> bool:
    """Whether the sign belongs to a script that writes words without spaces: Thai to Khmer, kana, Han."""
    code = ord(sign)
    return 0x0E00 <= code <= 0x0EFF or 0x1000 <= code <= 0x109F or 0x1780 <= code <= 0x17FF or 0x2E80 <= code <= 0x9FFF
