"""Make text safe to show in a terminal.

A terminal executes control characters (C0, C1, DEL) and reorders text at bidirectional overrides. Stored text may be
written to exploit that: to recolour or retitle the terminal, to overwrite lines above, or to read differently than it
is. Such characters are replaced by visible ones. Line breaks and tabs stay. Only this file knows which they are.
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
    """Return the text with every character that a terminal would execute replaced by a visible one."""
    return _UNSAFE.sub(_control_picture, text) if _UNSAFE.search(text) else text


def safe_markup(text: object) -> str:
    """Return the text safe for a terminal and escaped for Rich's markup, so that brackets are printed literally."""
    # Not marked with `reads_outside_text`: rich's pattern is quadratic in a run of backslashes. Only a command waits.
    return escape(safe_text(str(text)))


@reads_outside_text
def safe_json(text: str) -> str:
    """Return the JSON text with every character escaped that a terminal would execute; it parses to the same value."""
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text) if _UNSAFE.search(text) else text


class SafeConsole(Console):
    """A rich console that makes everything printed safe; rich's own control codes still go out."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Yield the Rich segments of what is printed, with control characters in their text made visible."""
        return _safe_segments(super().render(renderable, options))

    def out(self, *objects: Any, **options: Any) -> None:
        """Write the objects as safe text, without wrapping or markup."""
        super().out(*(safe_text(str(one)) for one in objects), **options)


def _safe_segments(segments: Iterable[Segment]) -> Iterator[Segment]:
    """Yield the Rich segments with control characters in their text made visible."""
    for one in segments:
        safe = one if one.control else Segment(safe_text(one.text), one.style)
        yield one if safe.text == one.text else safe


def _control_picture(found: re.Match[str]) -> str:
    """Return the control picture of a C0 character or DEL, the replacement character for any other."""
    code = ord(found[0])
    return chr(0x2400 + code) if code < 0x20 else "␡" if code == 0x7F else "\ufffd"
