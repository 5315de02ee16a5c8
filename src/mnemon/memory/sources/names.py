"""Names of sources as they are shown on one line, and what somebody may have meant by a name."""

from collections.abc import Collection, Sequence
from difflib import get_close_matches

from mnemon.errors import NotFound
from mnemon.outside import reads_outside_text

MOST_SHOWN = 5
MOST_COMPARED = 200
"""Comparing takes the product of two lengths: names beyond this many are not looked at."""
_ALIKE = 0.5


@reads_outside_text
def shown_name(origin: str) -> str:
    r"""The name with every character that a line does not show written as an escape, like `\n` or `\x1b`."""
    if origin.isprintable():
        return origin
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in origin)


def meant_name(given: str, known: Collection[str]) -> str:
    """The known source that is called so or shown so; what was given where none is, or more than one."""
    if given in known:
        return given
    alike = [one for one in known if shown_name(one) == given]
    return alike[0] if len(alike) == 1 else given


def closest_names(wanted: str, known: Sequence[str]) -> list[str]:
    """The names most like the wanted one, else the first of them: what to try next."""
    lowered = {one.casefold(): one for one in known[:MOST_COMPARED]}
    alike = get_close_matches(wanted.casefold(), list(lowered), n=MOST_SHOWN, cutoff=_ALIKE)
    return [lowered[one] for one in alike] or list(known[:MOST_SHOWN])


def no_such_source(wanted: str, known: Sequence[str], whom: str) -> NotFound:
    """The error for a source that never spoke, with the names that come closest."""
    names = ", ".join(f"`{shown_name(one)}`" for one in closest_names(wanted, known))
    step = f"Sources that did: {names}." if names else "No source did."
    return NotFound(
        "source", code="no_such_source", detail=f"`{shown_name(wanted)}` never said anything about {whom}. {step}"
    )
