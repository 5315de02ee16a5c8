"""Holds a question against books: every row gets its parts, and the best rows are picked."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from mnemon.memory.entities.aliases import Aliases
from mnemon.memory.hybrid import WEIGHTS, damping, rarity, standardized, total
from mnemon.memory.keys import split_key
from mnemon.memory.ranking import HALF_LIFE_DAYS, Ranked
from mnemon.memory.recall.book import Book
from mnemon.memory.recall.earned import Held, earned
from mnemon.memory.recall.question import Question, named, runs

_DAY = 86_400.0
_CALLED = 3
"""A name said this often on one side, and hardly on the other, is the other side's."""


@dataclass(frozen=True, kw_only=True)
class Opened:
    """A book and which of its rows a query may find."""

    book: Book
    may: np.ndarray
    """True for rows that stand and were asked for."""
    whole: bool
    """Everything that stands was asked for."""


@dataclass(frozen=True, kw_only=True)
class Scored:
    """The best rows, and how many there were to choose from."""

    best: tuple[tuple[Ranked, Opened], ...]
    considered: int


def open_book(book: Book, types: frozenset[str] | None = None) -> Opened:
    """The book for a query; with types, only memories of these. A claim beside what it contradicts is not found."""
    may = book.columns["alive"]
    followers = book.beside().followers
    if followers:
        may = may.copy()
        may[[book.row_of[one] for one in followers]] = False
    if types is not None:
        may = may & np.isin(book.columns["type"], [book.types.get(one, -1) for one in types])
    return Opened(book=book, may=may, whole=types is None and not followers)


def score(
    books: Sequence[Opened],
    question: Question,
    vector: np.ndarray | None,
    *,
    aliases: Aliases,
    now: datetime,
    limit: int,
) -> Scored:
    """The rows that answer best, of all books together: what is rare or usual is so over all of them."""
    may = np.concatenate([one.may for one in books]) if books else np.zeros(0, dtype=bool)
    columns = _Columns(books)
    parts = {
        "lexical": standardized(_lexical(books, question), may),
        "similarity": _similarity(books, vector, may),
        **_voices(books, columns, question),
        "entity": np.concatenate([_entity(one.book, question, aliases) for one in books]),
        "question": columns["asks"],
        "time": columns["tells_time"] & question.asks_when,
        "recency": _recency(columns["updated"], now),
    }
    scores = total(parts)
    scores[~may] = -np.inf
    rows = _best(scores, columns["updated"], limit, int(may.sum()), lambda row: _where(books, row)[0])
    return Scored(best=_explained(books, parts, scores, rows), considered=int(may.sum()))


class _Columns:
    """The columns of several books, one after the other."""

    def __init__(self, books: Sequence[Opened]) -> None:
        self._books = [one.book for one in books]

    def __getitem__(self, name: str) -> np.ndarray:
        if len(self._books) == 1:
            return self._books[0].columns[name]
        return np.concatenate([book.columns[name] for book in self._books])


def _lexical(books: Sequence[Opened], question: Question) -> np.ndarray:
    """BM25 over each row together with its neighbours."""
    lengths = [_lengths(one) for one in books]
    size = sum(int(np.count_nonzero(one.may)) for one in books)
    every = sum(float((length * one.may).sum(dtype=np.float64)) for length, one in zip(lengths, books, strict=True))
    average = np.float32(every / max(1, size) or 1.0)
    found: list[list[Held]] = [[] for _ in books]
    for word in question.terms:
        held = [_holding(one, word) for one in books]
        holding = sum(len(rows) for rows, _ in held)
        weight = np.float32(rarity(size, holding))
        for place, (rows, counts) in enumerate(held):
            if len(rows):
                found[place].append(Held(rows, counts, weight))
    return np.concatenate([
        earned(one.book, held, damping(length / average))
        for one, held, length in zip(books, found, lengths, strict=True)
    ])  # fmt: skip


def _holding(one: Opened, word: str) -> tuple[np.ndarray, np.ndarray]:
    """The rows a query may find that hold the word, and how often."""
    held = one.book.words.get(word)
    if held is None:
        return np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.float32)
    rows, counts = held.seen()
    if one.whole and not one.book.dead:
        return rows, counts
    seen = one.may[rows]
    return rows[seen], counts[seen]


def _lengths(one: Opened) -> np.ndarray:
    return one.book.lengths() if one.whole else one.book.spread(one.book.columns["length"] * one.may)


def _similarity(books: Sequence[Opened], vector: np.ndarray | None, may: np.ndarray) -> np.ndarray:
    """Cosine, seen from the middle of what is there, with the neighbours' shares."""
    if vector is None:
        return np.zeros(len(may), dtype=np.float32)
    known = [one.may & one.book.columns["embedded"] for one in books]
    cosines = [_cosines(one.book, vector, which) for one, which in zip(books, known, strict=True)]
    plain = standardized(np.concatenate(cosines), np.concatenate(known))
    if not any(one.book.around() for one in books):
        return plain
    starts = np.cumsum([0, *(len(one.may) for one in books)])
    spread = [one.book.spread(plain[start : start + len(one.may)]) for one, start in zip(books, starts, strict=False)]
    return standardized(np.concatenate(spread), may)


def _cosines(book: Book, vector: np.ndarray, known: np.ndarray) -> np.ndarray:
    rows = len(known)
    if book.vectors.shape[1] != len(vector):
        return np.zeros(rows, dtype=np.float32)
    cosines: np.ndarray = book.vectors[:rows] @ vector.astype(np.float32, copy=False)
    return cosines


def _voices(books: Sequence[Opened], columns: _Columns, question: Question) -> dict[str, np.ndarray]:
    """Whether the one asked about said it; where nobody is asked about, whether the person did."""
    names = {name for one in books for name, rows in one.book.heard.items() if rows}
    asked = named(question, names)
    if len(asked) == 1:
        said = [one.book.columns["speaker"] == one.book.speakers.get(asked[0], -1) for one in books]
        return {"speaker": np.concatenate(said)}
    if asked:
        return {}
    side = (0 if names else _called(books, question)) or question.side
    if side:
        # What the other side said stands back; a memory is on neither.
        return {"speaker": columns["side"] != 3 - side}
    return {"own": columns["own"]}


def _called(books: Sequence[Opened], question: Question) -> int:
    """The side that goes by a name in the question: people call each other by name, hardly themselves."""
    for name in question.proper:
        sides = np.concatenate([one.book.columns["side"][_holding(one, name)[0]] for one in books])
        person, assistant = int((sides == 1).sum()), int((sides == 2).sum())
        if max(person, assistant) >= _CALLED * (1 + min(person, assistant)):
            return 1 if assistant > person else 2
    return 0


def _entity(book: Book, question: Question, aliases: Aliases) -> np.ndarray:
    """1 where a row speaks of an entity that the question names, under any of its names."""
    flags = np.zeros(len(book.entries), dtype=bool)
    if not book.entities:
        return flags
    linked = {*aliases.links, *(link.target for link in aliases.links.values())}
    longest = max(book.longest_slug, *(key.count("_") + 1 for key in linked)) if linked else book.longest_slug
    names = set(runs(question.slugs, longest))
    named_keys = [key for name in names for key in book.keys_by_slug.get(name, ())]
    named_keys += [key for key in linked if split_key(key)[1] in names]
    for meant in {member for key in named_keys for member in aliases.members(key)}:
        if meant in book.entities:
            flags[np.frombuffer(book.entities[meant], dtype=np.int32)] = True
    return flags


def _recency(updated: np.ndarray, now: datetime) -> np.ndarray:
    half_lives = ((updated - now.timestamp()) / (_DAY * HALF_LIFE_DAYS)).astype(np.float32)
    return np.exp2(np.minimum(half_lives, np.float32(0)))


def _best(scores: np.ndarray, updated: np.ndarray, limit: int, most: int, name: Callable[[int], str]) -> list[int]:
    """The rows with the best scores; ties by the later update, then by id."""
    count = min(limit, most)
    if count == 0:
        return []
    least = np.partition(scores, len(scores) - count)[len(scores) - count]
    rows: Iterable[int] = np.flatnonzero(scores >= least).tolist()
    return sorted(rows, key=lambda row: (-scores[row], -updated[row], name(row)))[:count]


def _where(books: Sequence[Opened], row: int) -> tuple[str, Opened]:
    for one in books:
        if row < len(one.may):
            return one.book.id_of(row), one
        row -= len(one.may)
    raise IndexError(row)


def _explained(
    books: Sequence[Opened], parts: Mapping[str, np.ndarray], scores: np.ndarray, rows: Sequence[int]
) -> tuple[tuple[Ranked, Opened], ...]:
    """The rows with their scores and what those are made of."""
    weights = {part: WEIGHTS[part] for part in parts}
    chosen = {part: values[rows].astype(float).tolist() for part, values in parts.items()}
    made = []
    for place, (row, reached) in enumerate(zip(rows, scores[rows].tolist(), strict=True)):
        name, found_in = _where(books, row)
        explained = {part: values[place] for part, values in chosen.items()}
        made.append((Ranked(id=name, score=reached, parts=explained, weights=weights), found_in))
    return tuple(made)
