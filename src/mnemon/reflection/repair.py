"""Offer entries that a gate refused back to the model, once, with the reason; then join what it mended.

A model that says a fact in words of its own, or copies a quote with a slip, can mend that when it is told. What it
invented stays refused: a second answer passes the same gates.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mnemon.reflection.prompt import DueSection
from mnemon.reflection.question import ParsedAnswer
from mnemon.section import RepairableSection
from mnemon.turn import Turn

MOST_OFFERED_BACK = 10
"""Entries of one section that are offered back: more of them mean that the model did not understand the section."""
_MOST_ENTRIES = 50
"""Entries that a section's answer may have."""


@dataclass(frozen=True, kw_only=True)
class RefusedEntry:
    """An entry of an answer that a gate refuses, as the model gave it, and why."""

    place: int
    entry: Any
    why: str


def find_refused_entries(
    turn: Turn, due: Sequence[DueSection], answer: Mapping[str, Any], parsed: ParsedAnswer
) -> dict[str, list[RefusedEntry]]:
    """Return the refused entries by section, for the sections that can be repaired and have some."""
    found: dict[str, list[RefusedEntry]] = {}
    for one in due:
        section, name = one.section, one.section.name
        if not isinstance(section, RepairableSection) or name not in parsed.valid:
            continue
        entries = answer.get(name) or []
        faults = section.entry_faults(turn, one.brief, parsed.valid[name])
        refused = [
            RefusedEntry(place=place, entry=entries[place], why=why)
            for place, why in enumerate(faults)
            if why is not None
        ]
        if refused:
            found[name] = refused[:MOST_OFFERED_BACK]
    return found


def join_entries(
    first: Sequence[Any], refused: Sequence[RefusedEntry], second: Sequence[Any], mended: Sequence[Any]
) -> list[Any]:
    """Return the first answer's entries, with refused ones replaced by their corrections in the second answer.

    A refused entry is replaced where a mended one quotes the same passage; the others stay, to be reported as refused.
    """
    quoted = [quote for one in mended if (quote := _quote_of(one))]
    replaced = {
        one.place
        for one in refused
        if (quote := _quote_of(one.entry)) and any(quote in other or other in quote for other in quoted)
    }
    kept = [one for place, one in enumerate(first) if place not in replaced]
    return [*kept, *(one for one in second if one not in kept)][:_MOST_ENTRIES]


def _quote_of(entry: Any) -> str:
    """Return the entry's quote, case-folded and with single spaces, for comparison; empty without one."""
    quote = entry.get("quote") if isinstance(entry, dict) else None
    return " ".join(quote.casefold().split()) if isinstance(quote, str) else ""
