"""The life of a memory, and where in its history a statement belongs.

    remember                              forget
       │                                     ▲
       ▼        archive (outdated, wrong,    │
    ┌────────┐  folded, unwanted)      ┌──────────┐
    │ ACTIVE │ ──────────────────────► │ ARCHIVED │
    └────────┘ ◄────────────────────── └──────────┘
       │  ▲         restore, or said again
       └──┘
    same key, newer: the statement becomes current, the earlier text a superseded version
    same key, older: the statement becomes a past version, the current text stays
    same words:      one more mention
    taken back:      archived as outdated, with the words that ended it; pinned, it stays and is shown the words

A pinned memory is never archived.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from mnemon.errors import Conflict
from mnemon.memory.keys import normalize_content


class ArchiveStatus(StrEnum):
    ACTIVE = "ACTIVE"
    ARCHIVED = "ARCHIVED"


class ArchiveReason(StrEnum):
    OUTDATED = "outdated"
    """It was true and no longer is."""
    WRONG = "wrong"
    """It was never true."""
    FOLDED = "folded"
    """It was merged into another memory."""
    UNWANTED = "unwanted"
    """The person does not want it used."""


WITHDRAWN = "withdrawn"
"""The note of a memory, and the reason of a version, whose source was withdrawn: it counts as never said."""
WITHDRAWN_ARCHIVED = "withdrawn after it was archived"
"""The note of a withdrawn memory that had been archived before: no other statement on record takes its place."""
SET_ASIDE = "said before a more trusted source said otherwise"
"""The note of a claim that would not be one if a withdrawn source had never spoken."""
OVERTAKEN = "said before the person said otherwise, and that became the fact"
"""The note of a person's claim that a later statement of theirs replaced, in the place of an archived memory."""
AGREED = "the memory that it contradicted now says the same"
"""The note of a claim whose fact has come to say what the claim says."""
CORRECTED = "its source has since said what the memory says"
"""The note of a claim whose own source no longer contradicts the fact."""
DISSOLVED = "a memory that it was folded from has changed"
"""The note of a fold that was undone because a fragment of it was withdrawn, replaced or edited."""
WAS_CLAIM = "was a claim until the source it contradicted was withdrawn"
"""The note of a memory that was a claim before, until it is stated anew."""


_LONGEST_ENDING = 400
"""Characters of the words that ended a memory that its note keeps."""


def status_after_archive(*, pinned: bool) -> ArchiveStatus:
    """Return a memory's status after archiving; raise Conflict for a pinned one."""
    if pinned:
        raise Conflict("A pinned memory is never archived. Unpin it first (`pinned: false`).", code="pinned")
    return ArchiveStatus.ARCHIVED


def status_after_restore(status: ArchiveStatus) -> ArchiveStatus:
    """Return a memory's status after restoring; raise Conflict for one that is not archived."""
    if status is ArchiveStatus.ACTIVE:
        raise Conflict(
            "This memory is not archived. To bring back an earlier version, name its number (`version`).",
            code="not_archived",
        )
    return ArchiveStatus.ACTIVE


def may_revive(reason: ArchiveReason, *, same_words: bool, extracted: bool) -> bool:
    """Say whether stating an archived fact again makes its memory active, given why it was archived.

    An application that states a fact means it. A fact found again by reflection does not undo a decision: what was
    archived as wrong, unwanted or folded comes back only if something else is said.
    """
    # "Outdated" only says that it was no longer true; said again, it is true again.
    if not extracted or reason is ArchiveReason.OUTDATED:
        return True
    return not same_words


def archive_note(reason: ArchiveReason) -> str:
    """Return in words why an archived memory stays archived, or why its text became a past version."""
    return f"archived as {reason}"


def ended_note(words: str) -> str:
    """Return the note of a memory that was taken back, with the words that ended it."""
    shown = words if len(words) <= _LONGEST_ENDING else f"{words[: _LONGEST_ENDING - 1]}…"
    return f"ended: “{shown}”"


_SET_ASIDE_BY = "set aside by merge "


def set_aside_note(merge_id: str, before: str | None) -> str:
    """Return the note of a memory that a merge of entities set aside, which keeps the note that it had before."""
    return f"{_SET_ASIDE_BY}{merge_id}" if before is None else f"{_SET_ASIDE_BY}{merge_id}: {before}"


def note_before_merge(note: str | None) -> str | None:
    """Return the note that a memory had before a merge set it aside; None if it had none."""
    return (note or "").partition(": ")[2] or None


def folded_note(fold_id: str) -> str:
    """Return the note of a memory that was merged into this fold."""
    return f"folded into {fold_id}"


ARCHIVE_NOTES = frozenset(map(archive_note, ArchiveReason))
"""The reasons of versions that were archived when another statement took their place."""
RULE_NOTES = ARCHIVE_NOTES | {
    DISSOLVED,
    WITHDRAWN,
    WITHDRAWN_ARCHIVED,
    SET_ASIDE,
    OVERTAKEN,
    AGREED,
    CORRECTED,
    WAS_CLAIM,
}
"""Notes and reasons by which the rules know what they did; a caller's own words must not pass for them."""


@dataclass(frozen=True, kw_only=True)
class VersionSpan:
    """The time span of one version."""

    number: int
    content: str
    valid_from: datetime
    stated_at: datetime
    """The latest time at which it was stated to be true; not before `valid_from`."""


@dataclass(frozen=True, kw_only=True)
class Repeat:
    """The statement is what was known for that time already: one more mention."""

    number: int
    """The version that said so."""


@dataclass(frozen=True, kw_only=True)
class Supersede:
    """The statement is newer: it becomes current, and the old text a version that was true until `valid_from`."""

    valid_from: datetime


@dataclass(frozen=True, kw_only=True)
class InsertPast:
    """The statement is older: it becomes a past version."""

    valid_from: datetime
    valid_to: datetime
    before: int | None
    """The number of the version that was true until `valid_from`, if there is one."""


@dataclass(frozen=True, kw_only=True)
class SplitCurrent:
    """The statement differs from the current text and was made between two statements of that: it interrupted it."""

    valid_from: datetime
    valid_to: datetime
    """The time from which the current text was true again."""


@dataclass(frozen=True, kw_only=True)
class ExtendBack:
    """The statement says that a later version was true earlier than known."""

    number: int
    valid_from: datetime
    before: int | None


Placement = Repeat | Supersede | InsertPast | SplitCurrent | ExtendBack


def has_same_words(one: str, other: str) -> bool:
    """Say whether two memories' contents differ only in case, spacing and closing punctuation."""
    return one == other or normalize_content(one) == normalize_content(other)


def place_statement(timeline: Sequence[VersionSpan], content: str, at: datetime) -> Placement:
    """Return where in a memory's history a statement belongs that is true since `at`: current, past or repeated.

    The timeline is in order of time, the current one last.
    """
    current = timeline[-1]
    if at < current.valid_from:
        return _place_before(timeline, content, at)
    if has_same_words(content, current.content):
        return Repeat(number=current.number)
    # Between `valid_from` and `stated_at` the current text was stated more than once, so it was true at both ends.
    if at >= current.stated_at:
        return Supersede(valid_from=at)
    return SplitCurrent(valid_from=at, valid_to=current.stated_at)


def _place_before(timeline: Sequence[VersionSpan], content: str, at: datetime) -> Placement:
    """Return where a statement belongs that is older than the memory's current version."""
    # There is one: the caller has checked that `at` is before the current version.
    later = next(index for index, span in enumerate(timeline) if span.valid_from > at)
    following = timeline[later]
    earlier = timeline[later - 1] if later else None
    if earlier and has_same_words(content, earlier.content):
        return Repeat(number=earlier.number)
    before = earlier.number if earlier else None
    if has_same_words(content, following.content):
        return ExtendBack(number=following.number, valid_from=at, before=before)
    return InsertPast(valid_from=at, valid_to=following.valid_from, before=before)
