"""The search index of one person for one persona, and how it takes in new rows.

A few rows are applied in place, on the event loop without an await, so that no other task sees half of them. Many
rows are merged into a new index in a thread: a thread reads an existing index and never changes it.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeVar

from mnemon.memory.entities.aliases import Aliases
from mnemon.memory.recall.index import SearchIndex, Undo, build_index
from mnemon.memory.recall.index_loader import (
    ITEM_BYTES,
    MOST_CACHED,
    ChangedRows,
    IndexDelta,
    IndexVersion,
    PersonDelta,
    RowCache,
    delta_of,
)

T = TypeVar("T")


@dataclass(kw_only=True)
class PersonIndex:
    """A person's memories and messages as of a revision."""

    memories: SearchIndex = field(default_factory=SearchIndex)
    messages: SearchIndex = field(default_factory=SearchIndex)
    aliases: Aliases = field(default_factory=Aliases)
    row_cache: RowCache = field(default_factory=RowCache)
    """Rows found recently."""
    version: IndexVersion
    """Nothing committed up to this version is missing."""
    _readers: int = 0
    # Counted and awaited on the event loop only, so no lock is needed.
    _unread: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def row_count(self) -> int:
        """Return the number of rows in the person's index, including removed ones."""
        return len(self.memories.entries) + len(self.messages.entries)

    @property
    def bytes(self) -> int:
        """Return about how much memory the person's index takes, including a full row cache."""
        room_for_cache = min(MOST_CACHED, self.memories.size + self.messages.size) * ITEM_BYTES
        return self.memories.bytes + self.messages.bytes + room_for_cache

    @property
    def needs_rebuild(self) -> bool:
        """Say whether a third of the memories' or of the messages' index was removed."""
        return self.memories.needs_rebuild or self.messages.needs_rebuild

    @property
    def is_being_read(self) -> bool:
        """Say whether a thread is reading the index; until it has finished the index must not be changed."""
        return self._readers > 0

    def begin_reading(self) -> None:
        """Record that a thread begins to read the person's index, which must not change until it ends."""
        self._readers += 1
        self._unread.clear()

    def end_reading(self) -> None:
        """Record that a thread has finished reading the person's index."""
        self._readers -= 1
        if not self._readers:
            self._unread.set()

    async def wait_until_unread(self) -> None:
        """Wait until no thread reads the person's index."""
        if self.is_being_read:
            await self._unread.wait()


def build_person_index(
    held: PersonIndex | None, rows: ChangedRows, aliases: Aliases, version: IndexVersion
) -> PersonIndex:
    """Return a new index of the person from the cached one and the changed rows, without removed rows."""
    delta, old = delta_of(rows), held or PersonIndex(version=version)
    return PersonIndex(
        memories=_merge_index(old.memories, delta.memories),
        messages=_merge_index(old.messages, delta.messages),
        aliases=aliases,
        # The row cache survives a rebuild: its rows are checked by revision.
        row_cache=old.row_cache,
        version=version,
    )


def apply_delta(index: PersonIndex, delta: PersonDelta, aliases: Aliases, version: IndexVersion) -> None:
    """Apply the changes to the person's index in place, permanently."""
    _apply_to_index(index.memories, delta.memories)
    _apply_to_index(index.messages, delta.messages)
    for message in delta.messages.heard:
        index.row_cache.keep_row(message)
    index.aliases = aliases
    index.version = version


def use_with_delta(
    index: PersonIndex,
    delta: PersonDelta,
    aliases: Aliases,
    version: IndexVersion,
    own: int,
    use: Callable[[PersonIndex], T],
) -> T:
    """Apply the delta, call `use`, and undo everything except what other transactions committed.

    `own` is the first revision that the reading transaction wrote itself; it may still be rolled back.
    """
    committed, written = delta.split_at(own)
    if written.may_hide_rows:
        # A row the transaction changed hides the committed one, which a rollback would bring back.
        committed, written = PersonDelta(), delta
    else:
        apply_delta(index, committed, index.aliases, replace(version, revision=own - 1))
    before = index.aliases
    index.aliases = aliases
    undos = _apply_undoably(index, written)
    try:
        return use(index)
    finally:
        for undo in reversed(undos):
            undo()
        index.aliases = before


def _apply_to_index(index: SearchIndex, delta: IndexDelta) -> None:
    """Apply the changes to one index in place, all at once where it is empty."""
    # `fill` is faster than single entries, but cannot remove or replace any.
    if index.is_blank and not delta.gone and not delta.vectors:
        index.fill(delta.entries)
    else:
        _apply_index_delta(index, delta)


def _apply_undoably(index: PersonIndex, delta: PersonDelta) -> list[Undo]:
    """Apply the changes to a person's index; return functions that undo it, to be called in reverse order."""
    return [*_apply_index_delta(index.memories, delta.memories), *_apply_index_delta(index.messages, delta.messages)]


def _apply_index_delta(index: SearchIndex, delta: IndexDelta) -> list[Undo]:
    """Apply the changes to one index; return functions that undo it, to be called in reverse order."""
    return [
        *[index.remove_entry(name) for name, _ in delta.gone],
        *[index.put_entry(entry, vector) for entry, vector in delta.entries],
        *[index.set_entry_vector(name, vector) for name, vector, _ in delta.vectors],
    ]


def _merge_index(index: SearchIndex, delta: IndexDelta) -> SearchIndex:
    """Return a new search index with the content that applying the delta to this one would give."""
    # In the order of `_apply_index_delta`, so that both ways give the same index.
    live = index.live_entries()
    for name, _ in delta.gone:
        live.pop(name, None)
    for entry, vector in delta.entries:
        live[entry.id] = (entry, vector)
    for name, vector, _ in delta.vectors:
        if name in live:
            live[name] = (live[name][0], vector)
    return build_index(list(live.values()))
