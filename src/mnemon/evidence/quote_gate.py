"""The quote gate: a quote counts only if it occurs verbatim in what a person said or a tool returned in the turn.

White space may be collapsed; case, the form of quotation marks and dashes, and composed or decomposed letters do not
matter. A quote begins and ends at whole words and numbers, so that "like" is never found in "dislike" nor "$4" in
"$4.1M".

Results of Mnemon's own tools came from memory and are never a source for new memories. A client may expose these
tools under other names (`mcp__mnemon__recall`, `mnemon_recall`, `Recall`), so a name is compared without its server
prefix and independent of its spelling.
"""

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from mnemon.turn import Role, ToolOutcome, Turn, TurnMessage
from mnemon.untrusted_text import normalize_text, reads_outside_text, reads_outside_text_up_to

OWN_TOOLS = frozenset(
    {
        "recall",
        "remember",
        "forget",
        "get_context",
        "get_engagement",
        "get_state",
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
"""Every tool that chat, runs and MCP serve, and Anthropic's memory tool, whose files are stored here."""

_SERVERS = frozenset({"mnemon", "orchestrator", "memory", "server", "mcp"})
"""Words that a name may begin with: names of the server, and prefixes that clients add."""
_LONGEST_NAME = 200
_PARTS = re.compile(r"__|[./:]")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_BLANKS = re.compile(r"[\s_-]+")


@reads_outside_text_up_to(_LONGEST_NAME)
def is_own_tool(name: str | None) -> bool:
    """Say whether the name means one of Mnemon's own tools, whatever its prefix and spelling."""
    if name is None or len(name) > _LONGEST_NAME:
        return False
    words = _BLANKS.split(_HUMP.sub("_", _PARTS.split(name.strip())[-1]).strip("_- ").casefold())
    # One word always stays: `memory` is both a prefix and a tool.
    while len(words) > 1 and words[0] in _SERVERS:
        words = words[1:]
    return "_".join(words) in OWN_TOOLS


_MARKS = str.maketrans(
    {"‘": "'", "’": "'", "‚": "'", "‛": "'", "“": '"', "”": '"', "„": '"', "‟": '"', "«": '"', "»": '"'}
    | dict.fromkeys("‐‑‒–—―−", "-")
)
"""Typographic marks, each with the plain one of the same length."""
_SPACES = re.compile(r"\s+")
_MOST_PLACES = 1_000
"""The most occurrences in one text that are checked: a quote that cuts words in a thousand places is no quote."""
_LONGEST_POINTER = 1_000
"""The most characters of a JSON pointer. Deeper values are quoted from the rendered result: otherwise a long key with
many values below it would be copied once for each of them.
"""


@dataclass(frozen=True, kw_only=True)
class Passage:
    """A text that may be quoted."""

    message_id: str
    """The message that contains it; for a tool result that is not a message, the result's id."""
    text: str
    who: str
    """The person, or the tool."""
    role: Role
    """`user` or `tool`; a tool's words carry lower trust."""
    at: datetime
    pointer: str | None = None
    """In a tool result, the JSON pointer of the string; None for the whole result as rendered, or a message."""


@dataclass(frozen=True, kw_only=True)
class Quotation:
    """A quote with its position in its source."""

    passage: Passage
    start: int
    end: int

    @property
    def text(self) -> str:
        """Return the quoted words as they occur in their source."""
        return self.passage.text[self.start : self.end]


@reads_outside_text
def quotable_passages(turn: Turn) -> tuple[Passage, ...]:
    """Return every text of the turn that may be quoted: first the person's messages, then tool results."""
    spoken = [_passage_from_message(message, turn) for message in turn.messages if message.role is Role.USER]
    tool_messages = [
        _passage_from_message(message, turn)
        for message in turn.messages
        if message.role is Role.TOOL and not is_own_tool(message.name)
    ]
    results = [
        passage
        for outcome in turn.tool_results
        if not is_own_tool(outcome.action)
        for passage in _tool_passages(outcome, turn)
    ]
    # `find_quote` takes the first match: words that a tool repeats are attributed to the person, who is trusted more.
    return (*spoken, *tool_messages, *results)


@reads_outside_text
def find_quote(quote: str, sources: Iterable[Passage]) -> Quotation | None:
    """Return the first occurrence of the quote in the sources, preferably in the same case; None when there is none."""
    if not any(sign.isalnum() for sign in quote):
        return None
    given = tuple(sources)
    wanted = _plain_marks(normalize_text("NFC", quote.strip()))
    found = (_find_in(passage, wanted, fold=fold) for fold in (False, True) for passage in given)
    return next((one for one in found if one is not None), None)


def _find_in(passage: Passage, wanted: str, *, fold: bool) -> Quotation | None:
    """Return the first occurrence of the wanted quote in one passage, None without; `fold` ignores case."""
    composed = normalize_text("NFC", passage.text)
    text = _plain_marks(composed)
    if fold:
        text, wanted = _fold_case(text), _fold_case(wanted)
    at = text.find(wanted)
    if at < 0:
        return None
    # Only now, since it takes a list as long as the text; most passages do not contain the quote.
    places = _source_offsets(composed)
    if composed != passage.text:
        origins = _composed_offsets(passage.text)
        places = [origins[place] for place in places]
    for _ in range(_MOST_PLACES):
        start, end = places[at], places[at + len(wanted) - 1] + 1
        while end < len(passage.text) and unicodedata.combining(passage.text[end]):
            end += 1
        if _is_whole_span(passage.text, start, end):
            return Quotation(passage=passage, start=start, end=end)
        at = text.find(wanted, at + 1)
        if at < 0:
            break
    return None


@reads_outside_text
def normalize_quote(text: str) -> str:
    """Return the text as quotes are compared: white space collapsed, marks plain, letters composed, case folded."""
    return _fold_case(_plain_marks(normalize_text("NFC", text.strip())))


def render_output(output: Any) -> str:
    """Return a tool's output as text: itself when it is text, else as JSON."""
    return output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)


def _passage_from_message(message: TurnMessage, turn: Turn) -> Passage:
    """Return a whole message as a quotable passage, with its speaker's name."""
    who = message.name or (turn.user_name if message.role is Role.USER else "tool")
    return Passage(message_id=message.message_id, text=message.content, who=who, role=message.role, at=message.at)


def _tool_passages(outcome: ToolOutcome, turn: Turn) -> Iterator[Passage]:
    """Yield each string in a tool's output as a quotable passage, then the whole output as rendered."""
    if outcome.output is None:
        return
    # The whole result comes last: it serves quotes that span several values, and has no pointer.
    for pointer, text in (*_string_leaves(outcome.output, ""), (None, render_output(outcome.output))):
        yield Passage(message_id=outcome.id, text=text, who=outcome.action, role=Role.TOOL, at=turn.at, pointer=pointer)


def _string_leaves(value: Any, pointer: str) -> Iterator[tuple[str | None, str]]:
    """Yield each string in a JSON value, with its JSON pointer."""
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


def _plain_marks(text: str) -> str:
    """Return the text with white space collapsed and typographic marks made plain, its ends not stripped."""
    return _SPACES.sub(" ", text).translate(_MARKS)


def _fold_case(text: str) -> str:
    """Return the text in lower case, of the same length."""
    folded = text.lower()
    # A few letters become two in lower case; then each is folded alone, so that offsets stay those of the text.
    return (
        folded if len(folded) == len(text) else "".join(low if len(low := sign.lower()) == 1 else sign for sign in text)
    )


def _composed_offsets(text: str) -> list[int]:
    """Return, for each character of the text in composed Unicode form, where it begins in the original."""
    places: list[int] = []
    start = 0
    for at in range(1, len(text) + 1):
        if at == len(text) or not unicodedata.combining(text[at]):
            places += [start] * len(normalize_text("NFC", text[start:at]))
            start = at
    return places


def _source_offsets(text: str) -> list[int]:
    """Return, for each character of the text as `_normalize_text` gives it, its position in the text."""
    places: list[int] = []
    at = 0
    for space in _SPACES.finditer(text):
        places.extend(range(at, space.start() + 1))
        at = space.end()
    places.extend(range(at, len(text)))
    return places


def _is_whole_span(text: str, start: int, end: int) -> bool:
    """Say whether a span of text begins and ends between words and numbers, not inside one."""
    return not _is_inside_word(text, start) and not _is_inside_word(text, end)


def _is_inside_word(text: str, at: int) -> bool:
    """Say whether a position in a text lies within a word or a number."""
    if at <= 0 or at >= len(text):
        return False
    left, right = text[at - 1], text[at]
    if left.isalnum() and right.isalnum():
        # Where words are written without spaces, any two letters may belong to different ones.
        return not (_is_unspaced_script(left) or _is_unspaced_script(right))
    # A dot or comma between digits belongs to the number.
    if right in ".," and left.isdigit():
        return at + 1 < len(text) and text[at + 1].isdigit()
    return left in ".," and right.isdigit() and at >= 2 and text[at - 2].isdigit()


def _is_unspaced_script(sign: str) -> bool:
    """Say whether the character belongs to a script that writes words without spaces: Thai to Khmer, kana, Han."""
    code = ord(sign)
    return 0x0E00 <= code <= 0x0EFF or 0x1000 <= code <= 0x109F or 0x1780 <= code <= 0x17FF or 0x2E80 <= code <= 0x9FFF
