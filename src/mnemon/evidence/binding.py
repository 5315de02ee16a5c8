"""What belongs together: a figure, date or name must keep the company it has in its source.

"Owen is 7 and Lily is 4" gives both figures and both names, and does not say that Lily is 7. A text is cut into
segments at commas, semicolons and "and"; what distinguishes one segment from the others must not change places.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from mnemon.evidence.clause import LONGEST_READ, ReadWord, read_words
from mnemon.evidence.contrast import opposites
from mnemon.evidence.figure import find_figures
from mnemon.evidence.said_dates import date_spans, find_dates, find_times
from mnemon.evidence.vocabulary import FREE, is_supported_by, stem_list, word_list
from mnemon.untrusted_text import reads_outside_text_up_to

_CUT = re.compile(r"[,;:\n/]|\.(?=\s|$)|\b(?:and|but|while|whereas|then|plus)\b|—|–(?=\s)", re.IGNORECASE)
_HARD_CUT = frozenset(";\n.")
_FEWEST_WORDS = 3
"""A part with fewer words than this goes with the part before it, unless it has a figure or a date."""
_VERBS = stem_list("verb")
_DETERMINERS = word_list("determiner")
_MONTHS = stem_list("month")
_MOST_SEGMENTS = 40
"""Segments of a text that are compared with each other."""
Item = tuple[str, object]
"""A figure, a date or a name, with its kind."""


@dataclass(frozen=True, kw_only=True)
class Segment:
    """A part of a text with what stands in it."""

    items: frozenset[Item]
    words: tuple[ReadWord, ...]
    """The words that say something, names among them."""
    first_item: int
    """Where its first figure or date begins; the segment's end without one."""

    @property
    def stems(self) -> frozenset[str]:
        """Return the stems of the segment's words."""
        return frozenset(word.stem for word in self.words)

    def kinds(self) -> frozenset[str]:
        """Return the kinds of the segment's items: figure, date, time or name."""
        return frozenset(kind for kind, _ in self.items)


@reads_outside_text_up_to(LONGEST_READ)
def read_segments(text: str) -> tuple[Segment, ...]:
    """Return the segments of a text, in order: its parts between commas and the like, with figures, dates, names."""
    text = text[:LONGEST_READ]
    items = _placed_items(text)
    words = [word for word in read_words(text) if _is_content_word(word)]
    parts = _part_spans(text, items)
    found = []
    for start, end in parts:
        inside = [(at, item) for at, item in items if start <= at < end]
        own = tuple(word for word in words if start <= word.start < end)
        # A place or a product is named along the way; a person or what a list is about is not.
        listed = any(sign in text[start:end] for sign in ":;") or text[
            max(0, start - 1) : start + 1
        ].strip().startswith(";")
        names = {("name", word.stem) for word in own if word.is_name and (word.in_subject or word.apposed or listed)}
        first = min((at for at, _ in inside), default=end)
        found.append(Segment(items=frozenset({*(item for _, item in inside), *names}), words=own, first_item=first))
    return tuple(one for one in found if one.words or one.items)


def _is_content_word(word: ReadWord) -> bool:
    """Say whether a word has content of its own: no function word, no filler and no number."""
    return not word.is_function_word and word.stem not in FREE and not any(sign.isdigit() for sign in word.text)


def _placed_items(text: str) -> list[tuple[int, Item]]:
    """Return the figures, dates and times of the text, each with its position."""
    dated = date_spans(text)
    figures = [
        (one.start, ("figure", (one.low, one.high)))
        for one in find_figures(text)
        if not any(start < one.end and one.start < end for start, end in dated)
    ]
    dates = [(one.start, ("date", (one.year, one.month, one.day, one.weekday))) for one in find_dates(text)]
    return [*figures, *dates, *((one.start, ("time", one.minutes)) for one in find_times(text))]


def _part_spans(text: str, items: Sequence[tuple[int, Item]]) -> list[tuple[int, int]]:
    """Return start and end of each part between separators; a short part without an item joins the one before it."""
    parts: list[tuple[int, int]] = []
    start = 0
    hard = True
    cuts = [*((match.start(), match[0]) for match in _CUT.finditer(text)), (len(text), "\n")]
    for at, sign in cuts:
        piece = text[start:at]
        has_item = any(start <= place < at for place, _ in items)
        bare = not any(sign.isalpha() for sign in piece)
        if parts and not hard and (bare or (not has_item and len(piece.split()) < _FEWEST_WORDS + 1)):
            parts[-1] = (parts[-1][0], at)
        elif piece.strip():
            parts.append((start, at))
        start, hard = at, sign in _HARD_CUT
    return parts


def binding_fault(
    statement: str, source: str, *, is_record: bool = False, known: frozenset[str] = frozenset()
) -> str | None:
    """Return how the statement combines words of different segments of its source; None if it does not."""
    segments = read_segments(source)
    if len(segments) < 2:
        return None
    for claimed in read_segments(statement):
        for item in sorted(claimed.items, key=repr):
            holders = [one for one in segments if item in one.items]
            if not holders:
                continue
            for word in claimed.words:
                if fault := _moved_word_fault(item, word, claimed, holders, segments, is_record=is_record):
                    return fault
    return (
        _swapped_fault(statement, segments)
        or _company_fault(statement, segments[:_MOST_SEGMENTS], known)
        or _outcome_fault(statement, segments[:_MOST_SEGMENTS])
    )


def _outcome_fault(statement: str, segments: Sequence[Segment]) -> str | None:
    """Return the fault where a statement says of one thing what the source says of another; None without.

    "The deploy to prod failed, staging passed" does not say that prod passed.
    """
    own = [word for word in read_words(statement) if _is_content_word(word)]
    for word in own:
        homes = [one for one in segments if word.stem in one.stems]
        others = frozenset(other.stem for other in own) - {word.stem}
        if not homes or opposites(word.stem) & others or any(one.stems & others for one in homes):
            continue
        for one in segments:
            if one.stems & others and one.stems & opposites(word.stem):
                return f"the quote says “{word.text}” of something else"
    return None


def _company_fault(statement: str, segments: Sequence[Segment], known: frozenset[str]) -> str | None:
    """Return the fault where a name is combined with the words of another segment of the source; None without.

    "I was born in Cork and raised in Limerick" does not say "born in Limerick".
    """
    words = [word for word in read_words(statement) if _is_content_word(word)]
    own = frozenset(word.stem for word in words)
    for word in words:
        homes = [one for one in segments if word.stem in one.stems]
        if not word.is_name or word.stem in known or not homes or any(one.stems & own - {word.stem} for one in homes):
            continue
        for other in (one for one in segments if one not in homes):
            rivals = [said for said in other.words if said.is_name and not said.in_subject]
            rivals = [said for said in rivals if said.stem not in own and said.stem not in _MONTHS]
            if rivals and other.stems & own:
                return f"the quote says “{rivals[0].text}”, not “{word.text}”"
    return None


def _moved_word_fault(
    item: Item,
    word: ReadWord,
    claimed: Segment,
    holders: Sequence[Segment],
    segments: Sequence[Segment],
    *,
    is_record: bool,
) -> str | None:
    """Return the fault where a word is moved to an item (figure, date, name) of another segment; None without."""
    if ("name", word.stem) == item or word.stem in _VERBS:
        return None
    homes = [one for one in segments if any(is_supported_by(word.stem, other) for other in one.stems)]
    if not homes or any(one in holders for one in homes):
        return None
    for home in homes:
        rivals = {other for other in home.items - claimed.items if other[0] == item[0]}
        if not rivals:
            return None
        at = next(own.start for own in home.words if is_supported_by(word.stem, own.stem))
        # What stands before the first figure goes for all: "I charge 90 for an upright and 130 for a grand".
        shares = any(one.stems & claimed.stems for one in holders) or is_record
        if home is segments[0] and at < home.first_item and not word.is_name and item[0] != "name" and shares:
            return None
    return f"the quote says “{word.text}” of something else"


@reads_outside_text_up_to(LONGEST_READ)
def crossed_fault(folded: str, fragments: Sequence[str]) -> str | None:
    """Return the fault where a folded text puts a figure, date or name with another fragment's words; None without."""
    read = [_joined_segments(fragment) for fragment in fragments]
    for place, fragment in enumerate(read):
        others = [one for at, one in enumerate(read) if at != place]
        elsewhere = frozenset(stem for one in others for stem in one.stems)
        own = fragment.stems - elsewhere
        for segment in read_segments(folded):
            for item in segment.items & fragment.items:
                if any(item in one.items for one in others):
                    continue
                strange = (segment.stems & elsewhere) - fragment.stems
                if strange and own - {item[1]} and not segment.stems & (own - {item[1]}):
                    return f"it puts “{_item_text(item)}” with “{min(strange)}”"
    return _swapped_fault(folded, read)


def _swapped_fault(folded: str, fragments: Sequence[Segment]) -> str | None:
    """Return the fault where a folded text swaps the words of two fragments; None without.

    Then two segments of the folded text each have words that only the one and words that only the other fragment has.
    """
    marks = [one.stems | {str(item) for item in one.items} for one in fragments[:_MOST_SEGMENTS]]
    parts = [one.stems | {str(item) for item in one.items} for one in read_segments(folded)[:_MOST_SEGMENTS]]
    for place, left in enumerate(marks):
        for right in marks[place + 1 :]:
            mixed = [(part & left - right, part & right - left) for part in parts]
            both = [(one, other) for one, other in mixed if one and other]
            if len(both) > 1 and both[0][0] != both[1][0] and both[0][1] != both[1][1]:
                return f"it puts “{min(both[0][0])}” with “{min(both[0][1])}”"
    return None


def _joined_segments(fragment: str) -> Segment:
    """Return a fragment's segments joined into one."""
    segments = read_segments(fragment)
    return Segment(
        items=frozenset(item for one in segments for item in one.items),
        words=tuple(word for one in segments for word in one.words),
        first_item=0,
    )


def _item_text(item: Item) -> str:
    """Return an item as an error message names it: a name itself, anything else by its kind."""
    return str(item[1]) if item[0] == "name" else item[0]
