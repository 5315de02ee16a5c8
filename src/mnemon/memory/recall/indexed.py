"""A search in a person's books: what is best, which cards go with it, and what of both has to be read."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from mnemon.db.tx import Tx
from mnemon.memory import store as memories
from mnemon.memory.cards import Pick, keys_of, picks
from mnemon.memory.claims import ShownClaims, show_claims
from mnemon.memory.memory import Memory
from mnemon.memory.recall import fusion, store
from mnemon.memory.recall.books import Books
from mnemon.memory.recall.entry import Entry
from mnemon.memory.recall.known import FEW, Known
from mnemon.memory.recall.query import Hit, Query, Recalled, Thing
from mnemon.scope import Scope


@dataclass(frozen=True, kw_only=True)
class Sought:
    """What the books say of one query; the texts are not in them."""

    shown: ShownClaims
    considered: int
    picked: Sequence[Pick]
    held: Mapping[str, Thing]
    """What of it was found lately and stands."""
    memory_ids: frozenset[str]
    """What is to be read."""
    message_ids: frozenset[str]
    ahead: Collection[str]
    """Memories that are read with them: all there are, where they are few and none was read yet."""
    known: Known
    """Where to keep what was read."""

    @property
    def complete(self) -> bool:
        """Nothing is to be read."""
        return not self.memory_ids and not self.message_ids


def seek(books: Books, query: Query, now: datetime) -> Sought:
    """The query held against the books."""
    fused = fusion.from_books(books, query, now)
    shown = show_claims(fused.ranked, books.memories.beside(), limit=query.limit, extra=query.extra_claims)
    about = {one.id: _entry(books, one.id) for one in shown.ranked}
    found = [entry for entry in about.values() if entry.type]
    keys = keys_of(found, books.aliases.resolve)
    picked = picks(keys, lambda key: books.memories.weighty_about(books.aliases.members(key)))
    about |= {name: _entry(books, name) for pick in picked for name in pick.memory_ids}
    held = {name: thing for name, one in about.items() if (thing := books.known.at(name, one.revision)) is not None}
    return Sought(
        shown=shown,
        considered=fused.considered,
        picked=picked,
        held=held,
        memory_ids=frozenset(name for name, one in about.items() if one.type and name not in held),
        message_ids=frozenset(name for name, one in about.items() if not one.type and name not in held),
        ahead=() if books.known.read_ahead or books.memories.size > FEW else tuple(books.memories.row_of),
        known=books.known,
    )


async def read(tx: Tx, scope: Scope, sought: Sequence[Sought]) -> list[Recalled]:
    """The answers, with the rows as they stand now; all that is to be read is one round trip."""
    memory_ids = frozenset[str]().union(*(one.memory_ids for one in sought))
    message_ids = frozenset[str]().union(*(one.message_ids for one in sought))
    known, keeps = sought[0].known, scope.user not in tx.revisions  # what this transaction wrote may be rolled back
    if memory_ids and keeps and sought[0].ahead:
        memory_ids = memory_ids.union(sought[0].ahead)
        known.read_ahead = True
    things = await _read(tx, scope, sorted(memory_ids), sorted(message_ids))
    if keeps:
        for thing in things.values():
            known.keep(thing)
    return [_recalled(one, {**one.held, **things}) for one in sought]


async def _read(tx: Tx, scope: Scope, memory_ids: Sequence[str], message_ids: Sequence[str]) -> dict[str, Thing]:
    if not message_ids:
        return {one.id: one for one in await memories.told_by_ids(tx, scope, memory_ids)}
    if not memory_ids:
        return {**await store.messages_by_ids(tx, scope, message_ids)}
    known, heard = await tx.together(
        memories.told_by_ids(tx, scope, memory_ids), store.messages_by_ids(tx, scope, message_ids)
    )
    return {**{one.id: one for one in known}, **heard}


def answered(sought: Sought) -> Recalled:
    """The answer of one that is complete."""
    return _recalled(sought, sought.held)


def _recalled(sought: Sought, things: Mapping[str, Thing]) -> Recalled:
    hits = tuple(hits_of(sought.shown, things))
    contents = {name: one.line for name, one in things.items() if isinstance(one, Memory)}
    cards = tuple(card for pick in sought.picked if (card := pick.card(contents)) is not None)
    return Recalled(hits=hits, cards=cards, considered=sought.considered)


def hits_of(shown: ShownClaims, things: Mapping[str, Thing]) -> Iterator[Hit]:
    """What is shown, as far as it was read; a claim only after what it contradicts."""
    for one in shown.ranked:
        beside = shown.beside.get(one.id)
        if one.id in things and (beside is None or beside in things):
            yield Hit(
                found=things[one.id],
                score=one.score,
                parts=one.parts,
                weights=one.weights,
                beside=beside,
                claims=shown.further.get(one.id, 0),
            )


def _entry(books: Books, name: str) -> Entry:
    return books.memories.entry(name) if name in books.memories.row_of else books.messages.entry(name)
