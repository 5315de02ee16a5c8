"""Text that is safe to show in a terminal: the one place that knows which characters are not.

A terminal obeys control characters (C0, C1, DEL) and shows text in the order that bidirectional overrides say. Stored
text may have been written to use that: to recolour, retitle, overwrite what stands above, or to read differently than
it is. Such characters are shown, not obeyed. Line breaks and tabs stay.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.markup import escape
from rich.segment import Segment

from mnemon.untrusted_text import reads_outside_text

_UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


@reads_outside_text
def safe_text(text: str) -> str:
    """The text with every character that a terminal would obey replaced by one that it shows."""
    return _UNSAFE.sub(_control_picture, text) if _UNSAFE.search(text) else text


def safe_markup(text: object) -> str:
    """The same for a text within rich's markup: brackets in it style nothing and link nowhere."""
    # Not marked as linear: rich's own pattern takes the square of a run of backslashes. Only the command waits for it.
    return escape(safe_text(str(text)))


@reads_outside_text
def safe_json(text: str) -> str:
    """JSON in which those characters are written as escapes: it reads as the same value."""
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text) if _UNSAFE.search(text) else text


class SafeConsole(Console):
    """A console that shows control characters instead of sending them, whatever is printed; its own still go out."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """The segments of what is printed, each with safe text."""
        return _safe_segments(super().render(renderable, options))

    def out(self, *objects: Any, **options: Any) -> None:
        """Write the objects without wrapping or markup."""
        super().out(*(safe_text(str(one)) for one in objects), **options)


def _safe_segments(segments: Iterable[Segment]) -> Iterator[Segment]:
    for one in segments:
        safe = one if one.control else Segment(safe_text(one.text), one.style)
        yield one if safe.text == one.text else safe


def _control_picture(found: re.Match[str]) -> str:
    """The control picture of a C0 character or DEL; the replacement character for what has none."""
    code = ord(found[0])
    return chr(0x2400 + code) if code < 0x20 else "␡" if code == 0x7F else "\ufffd"
