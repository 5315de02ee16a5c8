"""Text from outside: functions that read it in linear time, and the fences that keep it from reading as instructions.

The sender chooses the text, so every function that reads it must take time in proportion to its length. They are marked
by `reads_outside_text`; `tests/house` finds them by the mark, feeds each texts made to be slow, and fails on one that
takes longer. Stored text is fenced in the prompt by tags that it cannot close: memory is data, never an instruction.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator
from typing import Literal, TypeVar

ReadFunction = TypeVar("ReadFunction", bound=Callable[..., object])

_BLOCK_CHARS = 20_000
"""Characters that a pattern searches at once: 10 ms of the slowest one."""
_PIECE_CHARS = 256
"""Characters that are normalized at once."""
_MAX_MARKS = 32
"""Combining marks on one letter that are kept together: Unicode's stream-safe format has at most 30."""


def reads_outside_text(function: ReadFunction) -> ReadFunction:
    """Mark a function that reads outside text, so that a test checks that its time is linear; return it unchanged."""
    function.__dict__["reads_outside_text"] = True
    return function


def reads_outside_text_up_to(longest: int) -> Callable[[ReadFunction], ReadFunction]:
    """Mark a function that reads outside text up to this length only; a test checks its time up to there."""

    def mark_function(function: ReadFunction) -> ReadFunction:
        """Store the length on the function and mark it as a reader of outside text."""
        function.__dict__["longest_text"] = longest
        return reads_outside_text(function)

    return mark_function


@reads_outside_text
def text_blocks(text: str) -> Iterator[str]:
    """Yield the text in blocks of at most 20,000 characters, split after a line break, else a blank, else anywhere.

    A pattern that searches a text holds the interpreter lock meanwhile, in whichever thread it runs.
    """
    start = 0
    while len(text) - start > _BLOCK_CHARS:
        most = start + _BLOCK_CHARS
        # Only in the second half, so that no block is shorter than half.
        places = (text.rfind(sign, start + _BLOCK_CHARS // 2, most) for sign in ("\n", " "))
        end = next((place + 1 for place in places if place >= 0), most)
        yield text[start:end]
        start = end
    yield text[start:]


@reads_outside_text
def normalize_text(form: Literal["NFC", "NFD", "NFKC", "NFKD"], text: str) -> str:
    """Return the text in a Unicode normal form, in linear time.

    `unicodedata.normalize` sorts the combining marks on one letter by insertion: 200,000 of them take a minute. So a
    long text is normalized piece by piece, split before a letter; only more marks than any script uses are separated.
    """
    if len(text) <= _PIECE_CHARS or text.isascii():
        return unicodedata.normalize(form, text)
    return "".join(unicodedata.normalize(form, piece) for piece in _normalizable_pieces(text))


def _normalizable_pieces(text: str) -> Iterator[str]:
    """Yield the text in pieces that can be Unicode-normalized one by one."""
    start = 0
    while start < len(text):
        end = min(len(text), start + _PIECE_CHARS)
        # Back to the beginning of a letter, though not over more marks than any script uses.
        while start + _PIECE_CHARS - _MAX_MARKS < end < len(text) and not _begins_letter(text[end]):
            end -= 1
        yield text[start:end]
        start = end


def _begins_letter(sign: str) -> bool:
    """Say whether the character never combines with the one before it: no mark, no Korean vowel or final."""
    first = unicodedata.normalize("NFKD", sign)[0]
    return not unicodedata.category(first).startswith("M") and not "\u1160" <= first <= "\u11ff"


# Also the full-width and small forms, which a model may read as a bracket.
_OPENING_BRACKETS = re.compile("[<＜﹤]")
_MARKS = re.compile("=+")
_CONTROL = re.compile("[\x00-\x08\x0e-\x1f\x7f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")


@reads_outside_text
def escape_text(text: str) -> str:
    """Return the text without invisible characters and without anything that could open or close a tag.

    Escaping one bracket is enough: no tag begins without it. An ampersand stays, so that names like AT&T stay readable.
    """
    return strip_invisible(_OPENING_BRACKETS.sub("&lt;", text))


@reads_outside_text
def strip_invisible(text: str) -> str:
    """Return the text without invisible characters."""
    return _CONTROL.sub("", text)


@reads_outside_text
def item_line(text: str) -> str:
    """Return the text as one list item of a prompt; its further lines are indented, so none starts a line."""
    lines = [line.rstrip() for line in escape_text(text).splitlines() if line.strip()]
    return "- " + "\n  ".join(lines)


def fence_layer(name: str, lines: list[str]) -> str:
    """Return `item_line`s between an opening and a closing tag of the prompt layer's name."""
    return "\n".join([f"<memory layer={name}>", *lines, "</memory>"])


@reads_outside_text
def quote_verbatim(label: str, text: str) -> str:
    """Return the text unchanged between two marks that do not occur in it, for a reader who must quote it exactly."""
    longest = max(map(len, _MARKS.findall(text)), default=0)
    mark = "=" * max(5, longest + 1)
    return f"{mark} {label}\n{text}\n{mark}"
