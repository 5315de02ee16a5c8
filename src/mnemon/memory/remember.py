"""Remembering: statements become memories, under the person's lock, so that writers at once make one memory."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from mnemon.db.tx import Tx
from mnemon.memory import store
from mnemon.memory.fact import Fact, Ground
from mnemon.memory.keys import content_hash, key_of
from mnemon.memory.memory import Memory, Version
from mnemon.memory.plan import Change, Outcome, Stamp, create, update
from mnemon.memory.vectors import store as vector_store
from mnemon.memory.vectors.embed import Vectors
from mnemon.memory.vectors.job import enqueue_embedding
from mnemon.scope import Scope
from mnemon.sessions.people import bump_revision

Place = tuple[str | None, str]
"""What is unique per person: persona or none, and key."""


@dataclass(frozen=True, kw_only=True)
class Remembered:
    """What became of one statement."""

    outcome: Outcome
    memory: Memory
    why: str | None = None
    """Why it was skipped."""


async def remember(
    tx: Tx,
    scope: Scope,
    facts: Sequence[Fact],
    *,
    vectors: Vectors | None = None,
    at: datetime | None = None,
    extracted: bool = False,
) -> list[Remembered]:
    """Each fact is held, counted as one more mention, or in its place in history; the person's row must exist.

    `at` is when it was said; None means now. `extracted` facts were found by reflection, not stated by a caller.
    """
    stamp = Stamp(at=at or tx.now, now=tx.now, revision=await bump_revision(tx, scope))
    ledger = await _open(tx, scope, facts, stamp)
    told = await _on_record(tx, scope, facts)
    changes: list[Change] = []
    grounds = []
    for fact in facts:
        place = (scope.persona_id if fact.private else None, key_of(fact))
        held = ledger.held.get(place)
        said = None if fact.ground is None else (fact.ground, content_hash(fact.content))
        if held and said and _told(held.id, *said) in told:
            changes.append(Change(outcome=Outcome.SKIPPED, memory=held, why="already on record"))
            continue
        if held is None:
            change = create(fact, stamp, id=tx.new_id("mem"), persona_id=place[0])
        else:
            change = update(held, ledger.past.get(held.id, ()), fact, stamp, extracted=extracted)
        ledger.note(place, change)
        changes.append(change)
        if said and change.outcome is not Outcome.SKIPPED:
            told.add(_told(change.memory.id, *said))
            grounds.append((change.memory.id, *said))
    await store.write(tx, scope, changes)
    await store.write_provenance(tx, scope, grounds)
    await keep_vectors(tx, scope, changes, vectors, revision=stamp.revision)
    return await _remembered(tx, scope, changes)


class _Ledger:
    """What is held while a batch is gone through."""

    def __init__(self, held: dict[Place, Memory], past: dict[str, tuple[Version, ...]]) -> None:
        self.held = held
        self.past = past

    def note(self, place: Place, change: Change) -> None:
        """The next statement of the batch finds what this one left."""
        self.held[place] = change.memory
        known = {one.number: one for one in (*self.past.get(change.memory.id, ()), *change.versions)}
        for number, (since, until) in change.moved.items():
            one = known[number]
            known[number] = replace(one, valid_from=since or one.valid_from, valid_to=until or one.valid_to)
        in_order = sorted(known.values(), key=lambda one: (one.valid_from, one.number))
        self.past[change.memory.id] = tuple(in_order)


async def _open(tx: Tx, scope: Scope, facts: Sequence[Fact], stamp: Stamp) -> _Ledger:
    held = {(one.persona_id, one.memory_key): one for one in await store.by_keys(tx, scope, map(key_of, facts))}
    earliest: dict[str, datetime] = {}
    for fact in facts:
        key, at = key_of(fact), fact.valid_from or stamp.at
        earliest[key] = min(at, earliest.get(key, at))
    late = [one.id for one in held.values() if earliest[one.memory_key] < one.valid_from]
    return _Ledger(held, await store.past_versions(tx, scope, late))


async def _on_record(tx: Tx, scope: Scope, facts: Sequence[Fact]) -> set[store.Told]:
    messages = {fact.ground.message_id for fact in facts if fact.ground}
    return await store.told_before(tx, scope, messages) if messages else set()


def _told(memory_id: str, ground: Ground, digest: str) -> store.Told:
    return (memory_id, ground.message_id, ground.start, ground.end, digest)


async def keep_vectors(
    tx: Tx, scope: Scope, changes: Sequence[Change], vectors: Vectors | None, *, revision: int
) -> None:
    """Changed texts have their vectors, or will get them soon."""
    fresh: dict[tuple[vector_store.Kind, str], str] = {}
    waiting = False
    for change in changes:
        if change.displaced is not None:
            await vector_store.displace(tx, scope, change.memory.id, change.displaced, revision=revision)
        if change.outcome is Outcome.CREATED or change.displaced is not None:
            fresh[(vector_store.Kind.MEMORY, change.memory.id)] = change.memory.content
        waiting = waiting or len(change.versions) > (change.displaced is not None)
    known = vectors.by_text if vectors else {}
    ready = {thing: known[text] for thing, text in fresh.items() if text in known}
    if vectors and ready:
        await vector_store.save(tx, scope, vectors.model, ready, revision=revision)
    if waiting or len(ready) < len(fresh):
        await enqueue_embedding(tx, scope)


async def _remembered(tx: Tx, scope: Scope, changes: Sequence[Change]) -> list[Remembered]:
    """Each statement's outcome with its memory as it stands at the end."""
    last = {change.memory.id: change.memory for change in changes}
    shown = {one.id: one for one in await store.with_provenance(tx, scope, list(last.values()))}
    return [Remembered(outcome=change.outcome, memory=shown[change.memory.id], why=change.why) for change in changes]
