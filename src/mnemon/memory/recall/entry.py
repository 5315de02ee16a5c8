"""What recall knows of one memory or message: its words, who said it, and where in the conversation it stands."""

import re
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

from mnemon.memory.trust import Trust
from mnemon.memory.words import indexed_terms, stems, terms
from mnemon.outside import reads_outside_text
from mnemon.turn import Role

_SAID = re.compile(
    r"((?:\[[^\]\n]{1,40}\]\s*|\([^)\n]{1,40}\)\s*)?)"
    r"([A-Z][\w.'’-]*(?: [A-Z][\w.'’-]*){0,2}):\s+(?=\S)"
)
"""`Anna: I moved` is something Anna said, wherever it is kept; so is `[8 May] Anna: I moved`."""
SAID = "said"
"""The thread of memories that quote somebody."""
_TIME_WORDS = stems(
    "yesterday today tonight tomorrow last next ago week month year weekend morning evening night day recently "
    "monday tuesday wednesday thursday friday saturday sunday "
    "january february march april may june july august september october november december"
) | frozenset(map(str, range(1900, 2100)))
_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip


class Entry(NamedTuple):
    """One row as the index holds it. Text is not kept: what is found is read again."""

    id: str
    revision: int
    """Of the row."""
    words: tuple[str, ...]
    """Stems, with repetitions: of the text, the speaker's name, and for what was said its date."""
    thread: str | None
    """Within one thread, neighbours count for each other; None stands alone."""
    place: tuple[datetime, int, int, str]
    """Order within the thread: when, which write, which place in it, id."""
    speaker: str | None
    """Who said it, folded; None when nobody says."""
    own: bool
    """The person's own words."""
    side: int
    """1 for the person's message, 2 for the assistant's, 0 for anything else."""
    type: str
    """A memory's type; empty for a message."""
    entity_refs: tuple[str, ...]
    """Entity keys."""
    entity_label: str | None
    pinned: bool
    importance: int
    created_at: datetime
    updated_at: datetime
    asks: bool
    """It ends in a question."""
    tells_time: bool
    memory_key: str = ""
    claim_of: str | None = None
    persona_id: str | None = None
    """The only persona that may see it."""
    trust: Trust = Trust.UNKNOWN


def of_message(
    *,
    entry_id: str,
    revision: int,
    place: int,
    session_id: str,
    role: Role,
    name: str | None,
    content: str,
    at: datetime,
) -> Entry:
    """A message as recall sees it."""
    speaker, text = (name, content) if name else _split(content)
    words = indexed_terms(text)
    return Entry(
        id=entry_id,
        revision=revision,
        words=(*_heading(speaker, at), *words),
        thread=session_id,
        place=(at, revision, place, entry_id),
        speaker=_folded(speaker),
        own=role is Role.USER,
        side={Role.USER: 1, Role.ASSISTANT: 2}.get(role, 0),
        type="",
        entity_refs=(),
        entity_label=None,
        pinned=False,
        importance=0,
        created_at=at,
        updated_at=at,
        asks=text.rstrip().endswith("?"),
        tells_time=not _TIME_WORDS.isdisjoint(words),
    )


def of_memory(
    *,
    entry_id: str,
    revision: int,
    kind: str,
    content: str,
    entity_refs: tuple[str, ...],
    entity_label: str | None,
    pinned: bool,
    importance: int,
    valid_from: datetime,
    created_at: datetime,
    updated_at: datetime,
    memory_key: str = "",
    claim_of: str | None = None,
    persona_id: str | None = None,
    trust: Trust = Trust.PERSON,
) -> Entry:
    """A memory as recall sees it; one that quotes somebody is treated as what was said."""
    speaker, text = _split(content)
    said = speaker is not None
    words = indexed_terms(text)
    heading = _heading(speaker, valid_from) if said else _missing(entity_label, words)
    return Entry(
        id=entry_id,
        revision=revision,
        words=(*heading, *words),
        thread=SAID if said else None,
        place=(valid_from, revision, 0, entry_id),
        speaker=_folded(speaker),
        own=False,
        side=0,
        type=kind,
        entity_refs=entity_refs,
        entity_label=entity_label,
        pinned=pinned,
        importance=importance,
        created_at=created_at,
        updated_at=updated_at,
        asks=said and text.rstrip().endswith("?"),
        tells_time=not _TIME_WORDS.isdisjoint(words),
        memory_key=memory_key,
        claim_of=claim_of,
        persona_id=persona_id,
        trust=trust,
    )


@reads_outside_text
def _split(content: str) -> tuple[str | None, str]:
    found = _SAID.match(content)
    return (found[2], found[1] + content[found.end() :]) if found else (None, content)


def _folded(name: str | None) -> str | None:
    return " ".join(name.casefold().split()) or None if name else None


@lru_cache(maxsize=10_000)
def _heading_of(speaker: str, year: int, month: str, day: int) -> tuple[str, ...]:
    return tuple(terms(f"{day} {month} {year} {speaker}"))


def _heading(speaker: str | None, at: datetime) -> tuple[str, ...]:
    """What stands before the text in a transcript: the date and the name."""
    return _heading_of(speaker or "", at.year, _MONTHS[at.month - 1], at.day)


@lru_cache(maxsize=10_000)
def _words_of(label: str) -> tuple[str, ...]:
    return tuple(terms(label))


@reads_outside_text
def _missing(label: str | None, words: list[str]) -> list[str]:
    """The entity's name belongs to the fact; what of it the sentence does not say."""
    said = frozenset(words)
    return [word for word in _words_of(label) if word not in said] if label else []
