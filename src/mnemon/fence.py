"""Stored text stands in a fence that it cannot close: memory is data, never an instruction."""

import re

from mnemon.outside import reads_outside_text

_OPENING_BRACKETS = re.compile("[<＜﹤]")
_MARKS = re.compile("=+")
_CONTROL = re.compile("[\x00-\x08\x0e-\x1f\x7f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")


@reads_outside_text
def escape(text: str) -> str:
    """The text without anything that could open or close a tag, and without invisible characters.

    One bracket is enough: no tag begins without it. An ampersand stays, so that names like AT&T read as they are.
    """
    return visible(_OPENING_BRACKETS.sub("&lt;", text))


@reads_outside_text
def visible(text: str) -> str:
    """The text without invisible characters."""
    return _CONTROL.sub("", text)


@reads_outside_text
def item_line(text: str) -> str:
    """The text as one list entry; its further lines are indented, so that none of them begins a line of its own."""
    lines = [line.rstrip() for line in escape(text).splitlines() if line.strip()]
    return "- " + "\n  ".join(lines)


def fenced(name: str, lines: list[str]) -> str:
    """The entries between an opening and a closing tag of the layer's name. `lines` come from `item_line`."""
    return "\n".join([f"<memory layer={name}>", *lines, "</memory>"])


@reads_outside_text
def verbatim(label: str, text: str) -> str:
    """The text unchanged between two marks that do not occur in it, for a reader who must quote it word for word."""
    longest = max(map(len, _MARKS.findall(text)), default=0)
    mark = "=" * max(5, longest + 1)
    return f"{mark} {label}\n{text}\n{mark}"
