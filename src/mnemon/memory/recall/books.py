"""What one persona may recall of one person, and how it takes in what is new: in place, or as books made anew.

A few rows are put in place, on the event loop and without a pause, so that nobody sees half of them. Many rows make
new books beside the old ones, in a thread: a thread reads books and never changes them.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeVar

from mnemon.memory.entities.aliases import Aliases
from mnemon.memory.recall.book import Book, Undo, filled
from mnemon.memory.recall.known import MOST, THING_BYTES, Known
from mnemon.memory.recall.pages import News, Page, Rows, Standing, news_of

T = TypeVar("T")


@dataclass(kw_only=True)
class Books:
    """A person's memories and messages as of a revision."""

    memories: Book = field(default_factory=Book)
    messages: Book = field(default_factory=Book)
    aliases: Aliases = field(default_factory=Aliases)
    known: Known = field(default_factory=Known)
    """What was found in them lately."""
    standing: Standing
    """Nothing committed up to here is missing."""
    _readers: int = 0
    _unread: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def rows(self) -> int:
        return len(self.memories.entries) + len(self.messages.entries)

    @property
    def bytes(self) -> int:
        room_for_known = min(MOST, self.memories.size + self.messages.size) * THING_BYTES
        return self.memories.bytes + self.messages.bytes + room_for_known

    @property
    def to_be_swept(self) -> bool:
        return self.memories.to_be_swept or self.messages.to_be_swept

    @property
    def being_read(self) -> bool:
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

    async def until_unread(self) -> None:
        """Wait for the threads that read them."""
        if self.being_read:
            await self._unread.wait()


def made_anew(held: Books | None, rows: Rows, aliases: Aliases, standing: Standing) -> Books:
    """Make books of what is held and of the rows, without what was struck out."""
    news, old = news_of(rows), held or Books(standing=standing)
    return Books(
        memories=_merged(old.memories, news.memories),
        messages=_merged(old.messages, news.messages),
        aliases=aliases,
        known=old.known,
        standing=standing,
    )


def renew(books: Books, news: News, aliases: Aliases, standing: Standing) -> None:
    """Put the news in place, for good."""
    _put(books.memories, news.memories)
    _put(books.messages, news.messages)
    for heard in news.messages.heard:
        books.known.keep(heard)
    books.aliases = aliases
    books.standing = standing


def lent_for(books: Books, news: News, aliases: Aliases, standing: Standing, own: int, use: Callable[[Books], T]) -> T:
    """Put the news in place for `use`, and leave only what others committed.

    `own` is the first revision that the reading transaction made itself, which it may yet roll back.
    """
    committed, written = news.split(own)
    if written.changes_rows:
        # A row the transaction changed hides the committed one, which a rollback would bring back.
        committed, written = News(), news
    else:
        renew(books, committed, books.aliases, replace(standing, revision=own - 1))
    before = books.aliases
    books.aliases = aliases
    undone = _lend(books, written)
    try:
        return use(books)
    finally:
        for undo in reversed(undone):
            undo()
        books.aliases = before


def _put(book: Book, page: Page) -> None:
    if book.is_blank and not page.gone and not page.vectors:
        book.fill(page.entries)
    else:
        _lend_page(book, page)


def _lend(books: Books, news: News) -> list[Undo]:
    """Put the news into the books; what is given back, called last first, takes it out again."""
    return [*_lend_page(books.memories, news.memories), *_lend_page(books.messages, news.messages)]


def _lend_page(book: Book, page: Page) -> list[Undo]:
    return [
        *[book.strike(name) for name, _ in page.gone],
        *[book.put(entry, vector) for entry, vector in page.entries],
        *[book.embed(name, vector) for name, vector, _ in page.vectors],
    ]


def _merged(book: Book, page: Page) -> Book:
    """Make a book that holds what putting the page into this one would give."""
    standing = book.standing()
    for name, _ in page.gone:
        standing.pop(name, None)
    for entry, vector in page.entries:
        standing[entry.id] = (entry, vector)
    for name, vector, _ in page.vectors:
        if name in standing:
            standing[name] = (standing[name][0], vector)
    return filled(list(standing.values()))
