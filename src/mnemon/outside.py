"""Text from outside: the mark of every function that reads it, and what the standard library reads too slowly.

Whoever sends a text chooses it, so whatever reads it takes a time in proportion to its length. `tests/house` finds the
functions by their mark, feeds each of them texts made to be slow, and fails on one that takes more.
"""

import unicodedata
from collections.abc import Callable, Iterator
from typing import Literal, TypeVar

Read = TypeVar("Read", bound=Callable[..., object])

_BLOCK = 20_000
"""Characters that a pattern goes through at once: 10 ms of the slowest one."""
_PIECE = 256
"""Characters that are normalized at once."""
_MOST_MARKS = 32
"""Marks upon one letter that are kept together: Unicode's stream-safe format has at most 30."""


def reads_outside_text(function: Read) -> Read:
    """Mark a function whose time must stay in proportion to the texts it is given; costs nothing when it is called."""
    function.__dict__["reads_outside_text"] = True
    return function


def reads_outside_text_up_to(longest: int) -> Callable[[Read], Read]:
    """Mark a function that leaves a longer text unread: only up to this length is its time looked at."""

    def mark(function: Read) -> Read:
        function.__dict__["longest_text"] = longest
        return reads_outside_text(function)

    return mark


@reads_outside_text
def blocks(text: str) -> Iterator[str]:
    """The text in blocks of at most 20,000 characters, parted behind a line break, else a blank, else anywhere.

    A pattern that goes through a text keeps the interpreter to itself meanwhile, in whichever thread it runs.
    """
    start = 0
    while len(text) - start > _BLOCK:
        most = start + _BLOCK
        places = (text.rfind(sign, start + _BLOCK // 2, most) for sign in ("\n", " "))
        end = next((place + 1 for place in places if place >= 0), most)
        yield text[start:end]
        start = end
    yield text[start:]


@reads_outside_text
def normal_form(form: Literal["NFC", "NFD", "NFKC", "NFKD"], text: str) -> str:
    """The text in a Unicode normal form, in a time that grows with its length.

    `unicodedata.normalize` sorts the marks on one letter by insertion: 200,000 of them take a minute. So a long text is
    normalized piece by piece, parted before a letter; only more marks than any writing has are parted from each other.
    """
    if len(text) <= _PIECE or text.isascii():
        return unicodedata.normalize(form, text)
    return "".join(unicodedata.normalize(form, piece) for piece in _pieces(text))


def _pieces(text: str) -> Iterator[str]:
    start = 0
    while start < len(text):
        end = min(len(text), start + _PIECE)
        while start + _PIECE - _MOST_MARKS < end < len(text) and not _begins_letter(text[end]):
            end -= 1
        yield text[start:end]
        start = end


def _begins_letter(sign: str) -> bool:
    """Whether it never joins with what stands before it: no mark, no vowel or ending of a Korean syllable."""
    first = unicodedata.normalize("NFKD", sign)[0]
    return not unicodedata.category(first).startswith("M") and not "\u1160" <= first <= "\u11ff"
