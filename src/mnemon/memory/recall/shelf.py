"""The shelf: books of the people recalled lately, exact by revision, bounded in memory.

A read compares the person's revision in its own transaction with the book's and loads what is newer. Rows that the
reading transaction itself wrote are put in for this one read and taken out again: it may yet be rolled back.
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeVar

from mnemon.db.tx import Tx
from mnemon.memory.entities.aliases import Aliases
from mnemon.memory.entities.store import load_aliases
from mnemon.memory.recall import pages
from mnemon.memory.recall.book import Book, Undo
from mnemon.memory.recall.known import MOST, THING_BYTES, Known
from mnemon.memory.recall.pages import News, Page, Standing
from mnemon.scope import Scope

T = TypeVar("T")
Key = tuple[str, str, str | None, str]
MEGABYTE = 1 << 20


@dataclass(kw_only=True)
class Books:
    """What one persona may recall of one person, as of a revision."""

    memories: Book = field(default_factory=Book)
    messages: Book = field(default_factory=Book)
    aliases: Aliases = field(default_factory=Aliases)
    known: Known = field(default_factory=Known)
    """What was found in them lately."""
    standing: Standing
    """Nothing committed up to here is missing."""

    @property
    def bytes(self) -> int:
        room_for_known = min(MOST, self.memories.size + self.messages.size) * THING_BYTES
        return self.memories.bytes + self.messages.bytes + room_for_known


class Shelf:
    """Holds the books used last, as many as fit."""

    def __init__(self, *, megabytes: int) -> None:
        self.megabytes = megabytes
        self._held: OrderedDict[Key, Books] = OrderedDict()
        self._too_large: set[Key] = set()

    def __len__(self) -> int:
        return len(self._held)

    @property
    def bytes(self) -> int:
        """About how much memory the books take."""
        return sum(books.bytes for books in self._held.values())

    def holds(self, scope: Scope, model: str) -> bool:
        """Whether it has books of the person, however old."""
        return bool(self.megabytes) and _key(scope, model) in self._held

    def current(self, scope: Scope, model: str, standing: Standing) -> Books | None:
        """The person's books, if they hold everything up to here."""
        key = _key(scope, model)
        held = self._current(key, standing)
        if held is None or held.standing.revision < standing.revision:
            return None
        self._held.move_to_end(key)
        return held

    async def read(self, tx: Tx, scope: Scope, model: str, use: Callable[[Books], T]) -> T | None:
        """What `use` makes of the person's books as the transaction sees them; None when they do not fit."""
        key = _key(scope, model)
        if not self.megabytes or key in self._too_large:
            return None
        while True:
            standing = await pages.standing(tx, scope)
            if (books := self.current(scope, model, standing)) is not None:
                return use(books)
            held = self._current(key, standing)
            since = -1 if held is None else held.standing.revision
            news, aliases = await tx.together(pages.newer(tx, scope, model, since), load_aliases(tx, scope))
            if self._current(key, standing) is held and (held is None or held.standing.revision == since):
                books = held or Books(standing=replace(standing, revision=-1))
                return self._renewed(key, books, news, aliases, standing, tx.revisions.get(scope.user), use)
            # Somebody else renewed the books while this one read: look again.

    def _current(self, key: Key, standing: Standing) -> Books | None:
        """The books held, if they are of the same person in the same database, with nothing forgotten since."""
        held = self._held.get(key)
        if held is not None and replace(held.standing, revision=standing.revision) != standing:
            del self._held[key]
            return None
        return held

    def _renewed(
        self,
        key: Key,
        books: Books,
        news: News,
        aliases: Aliases,
        standing: Standing,
        own: int | None,
        use: Callable[[Books], T],
    ) -> T:
        """The books hold the news for `use`, and afterwards what of it is committed."""
        # A row the transaction changed hides the committed one, which a rollback would bring back.
        committed, written = (news, News()) if own is None else news.split(own)
        if written.changes_rows:
            committed, written = News(), news
        _put(books, committed)
        if own is None:
            for heard in committed.messages.heard:
                books.known.keep(heard)
        before = books.aliases
        books.aliases = aliases
        undone = _lend(books, written)
        try:
            return use(books)
        finally:
            for undo in reversed(undone):
                undo()
            if own is None:
                books.standing = standing
            else:
                books.aliases = before
                if not written.changes_rows:
                    books.standing = replace(standing, revision=own - 1)
            self._keep(key, books)

    def _keep(self, key: Key, books: Books) -> None:
        books.memories, books.messages = books.memories.swept(), books.messages.swept()
        self._held[key] = books
        self._held.move_to_end(key)
        room = self.megabytes * MEGABYTE - books.bytes
        if room < 0:
            self._too_large.add(key)
            del self._held[key]
            return
        for other in reversed([one for one in self._held if one != key]):
            room -= self._held[other].bytes
            if room < 0:
                del self._held[other]


def _key(scope: Scope, model: str) -> Key:
    return scope.org_id, scope.user, scope.persona_id, model


def _put(books: Books, news: News) -> None:
    """The books hold the news for good."""
    for book, page in _pairs(books, news):
        if not book.size and not page.gone and not page.vectors:
            book.fill(page.entries)
        else:
            _lend_page(book, page)


def _lend(books: Books, news: News) -> list[Undo]:
    """The books hold the news until what is given back is called, last first."""
    return [undo for book, page in _pairs(books, news) for undo in _lend_page(book, page)]


def _lend_page(book: Book, page: Page) -> list[Undo]:
    return [
        *[book.strike(name) for name, _ in page.gone],
        *[book.put(entry, vector) for entry, vector in page.entries],
        *[book.embed(name, vector) for name, vector, _ in page.vectors],
    ]


def _pairs(books: Books, news: News) -> tuple[tuple[Book, Page], tuple[Book, Page]]:
    return (books.memories, news.memories), (books.messages, news.messages)


SHELF = Shelf(megabytes=512)
"""The process's own; the application sets its size."""
