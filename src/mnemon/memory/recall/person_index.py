"""What one persona may recall of one person, and how it takes in what is new: in place, or as books made anew.

A few rows are put in place, on the event loop and without a pause, so that nobody sees half of them. Many rows make
new books beside the old ones, in a thread: a thread reads books and never changes them.
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
    known: RowCache = field(default_factory=RowCache)
    """What was found in them lately."""
    standing: IndexVersion
    """Nothing committed up to here is missing."""
    _readers: int = 0
    _unread: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def row_count(self) -> int:
        return len(self.memories.entries) + len(self.messages.entries)

    @property
    def bytes(self) -> int:
        room_for_known = min(MOST_CACHED, self.memories.size + self.messages.size) * ITEM_BYTES
        return self.memories.bytes + self.messages.bytes + room_for_known

    @property
    def needs_rebuild(self) -> bool:
        return self.memories.needs_rebuild or self.messages.needs_rebuild

    @property
    def is_being_read(self) -> bool:
        """Whether a thread reads them: until it is done nothing in them may change."""
        return self._readers > 0

    def begin_reading(self) -> None:
        """Note that a thread reads them from now on."""
        self._readers += 1
        self._unread.clear()

    def end_reading(self) -> None:
        """Note that a thread is done with them."""
        self._readers -= 1
        if not self._readers:
            self._unread.set()

    async def wait_until_unread(self) -> None:
        """Wait for the threads that read them."""
        if self.is_being_read:
            await self._unread.wait()


def build_person_index(
    held: PersonIndex | None, rows: ChangedRows, aliases: Aliases, standing: IndexVersion
) -> PersonIndex:
    """Make books of what is held and of the rows, without what was struck out."""
    news, old = delta_of(rows), held or PersonIndex(standing=standing)
    return PersonIndex(
        memories=_merge_index(old.memories, news.memories),
        messages=_merge_index(old.messages, news.messages),
        aliases=aliases,
        known=old.known,
        standing=standing,
    )


def apply_delta(books: PersonIndex, news: PersonDelta, aliases: Aliases, standing: IndexVersion) -> None:
    """Put the news in place, for good."""
    _apply_to_index(books.memories, news.memories)
    _apply_to_index(books.messages, news.messages)
    for heard in news.messages.heard:
        books.known.keep_row(heard)
    books.aliases = aliases
    books.standing = standing


def use_with_delta(
    books: PersonIndex,
    news: PersonDelta,
    aliases: Aliases,
    standing: IndexVersion,
    own: int,
    use: Callable[[PersonIndex], T],
) -> T:
    """Put the news in place for `use`, and leave only what others committed.

    `own` is the first revision that the reading transaction made itself, which it may yet roll back.
    """
    committed, written = news.split_at(own)
    if written.may_hide_rows:
        # A row the transaction changed hides the committed one, which a rollback would bring back.
        committed, written = PersonDelta(), news
    else:
        apply_delta(books, committed, books.aliases, replace(standing, revision=own - 1))
    before = books.aliases
    books.aliases = aliases
    undone = _apply_undoably(books, written)
    try:
        return use(books)
    finally:
        for undo in reversed(undone):
            undo()
        books.aliases = before


def _apply_to_index(book: SearchIndex, page: IndexDelta) -> None:
    if book.is_blank and not page.gone and not page.vectors:
        book.fill(page.entries)
    else:
        _apply_index_delta(book, page)


def _apply_undoably(books: PersonIndex, news: PersonDelta) -> list[Undo]:
    """Put the news into the books; what is given back, called last first, takes it out again."""
    return [*_apply_index_delta(books.memories, news.memories), *_apply_index_delta(books.messages, news.messages)]


def _apply_index_delta(book: SearchIndex, page: IndexDelta) -> list[Undo]:
    return [
        *[book.remove_entry(name) for name, _ in page.gone],
        *[book.put_entry(entry, vector) for entry, vector in page.entries],
        *[book.set_entry_vector(name, vector) for name, vector, _ in page.vectors],
    ]


def _merge_index(book: SearchIndex, page: IndexDelta) -> SearchIndex:
    """Make a book that holds what putting the page into this one would give."""
    standing = book.live_entries()
    for name, _ in page.gone:
        standing.pop(name, None)
    for entry, vector in page.entries:
        standing[entry.id] = (entry, vector)
    for name, vector, _ in page.vectors:
        if name in standing:
            standing[name] = (standing[name][0], vector)
    return build_index(list(standing.values()))
