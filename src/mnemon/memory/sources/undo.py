"""The rule of taking a source back: what its statements changed under one key is as if they had never been made."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from mnemon.ids import NewId
from mnemon.memory.importance import CRITICAL
from mnemon.memory.keys import withdrawn_key
from mnemon.memory.lifecycle import SET_ASIDE, WITHDRAWN, ArchiveReason, Status, same_words
from mnemon.memory.memory import Memory, Version
from mnemon.memory.plan import Change, Outcome, version_of
from mnemon.memory.repeats import next_repeat_number
from mnemon.memory.sources.replay import held_without

Past = Mapping[str, Sequence[Version]]
WAS_CLAIM = "was a claim until the source it contradicted was withdrawn"


def withdrawn_changes(
    rows: Sequence[Memory], past: Past, origin: str, *, at: datetime, revision: int, new_id: NewId
) -> list[Change]:
    """What taking the source back does to all rows of one key: what holds it for each persona, and its claims.

    In the order in which they must be written: a key is given up before another row takes it.
    """
    undo = _Undo(rows, past, origin, at=at, revision=revision)
    if any(one.claim_of is None and one.archive_reason and not one.is_withdrawn for one in rows):
        # Somebody archived what is held here. Nothing takes its place; only what the source said goes.
        return [change for one in rows if (change := undo.alone(one)) is not None]
    left = held_without(rows, past, origin)
    facts = {persona: one for (persona, _), one in left.items() if one.claim_of is None}
    claims = {_voice(one): one for one in left.values() if one.claim_of is not None}
    key = next((one.claim_of or one.memory_key for one in rows), "")
    if not undo.agrees(facts):
        return [change for one in rows if (change := undo.alone(one)) is not None]
    for persona in dict.fromkeys(one.persona_id for one in rows):
        undo.settle_fact(persona, key, facts.get(persona))
    for row in rows:
        if row.claim_of is not None and row.id not in undo.settled:
            undo.settle_claim(row, claims.pop(_voice(row), None))
    for row in undo.settled_rows:
        claims.pop(_voice(row), None)
    known = {(one.persona_id, one.memory_key) for one in rows}
    repeated = {one.origin for some in past.values() for one in some if one.is_repeat}
    unmade = [
        one for one in claims.values() if one.origin in repeated and (one.persona_id, one.memory_key) not in known
    ]
    undo.add_claims(unmade, key, new_id)
    return undo.changes


def _voice(one: Memory) -> tuple[str | None, str, str]:
    return one.persona_id, one.trust, one.origin.casefold()


class _Undo:
    """The changes of one withdrawal under one key, as they come together."""

    def __init__(self, rows: Sequence[Memory], past: Past, origin: str, *, at: datetime, revision: int) -> None:
        self._rows = rows
        self._past = past
        self._origin = origin
        self._at = at
        self._revision = revision
        self.changes: list[Change] = []
        self.settled: set[str] = set()
        self.settled_rows: list[Memory] = []

    def alone(self, row: Memory) -> Change | None:
        """What it does to one row, whatever the others say."""
        return withdrawn_change(row, self._past.get(row.id, ()), self._origin, at=self._at, revision=self._revision)

    def agrees(self, left: Mapping[str | None, Memory]) -> bool:
        """Whether what other sources hold is what their statements come to.

        It is not where a less trusted source replaced a more trusted one, before trust was an order.
        """
        kept = [
            one
            for one in self._rows
            if one.claim_of is None and one.status is Status.ACTIVE and one.origin != self._origin
        ]
        return all(
            (said := left.get(one.persona_id)) is not None
            and said.trust is one.trust
            and same_words(said.content, one.content)
            for one in kept
        )

    def settle_fact(self, persona: str | None, key: str, left: Memory | None) -> None:
        """Let the persona's place hold what is left: nothing, an earlier version, or what was a claim."""
        row = next((one for one in self._rows if one.claim_of is None and one.persona_id == persona), None)
        if row is not None and (left is None or (row.status is Status.ACTIVE and row.origin != self._origin)):
            self._add(self.alone(row))
            return
        if left is None:
            return
        claim = self._claim_saying(left)
        if claim is not None:
            self._give_way(row, key)
            self._add(self._promoted(claim, key, row))
            self.settled.add(claim.id)
            self.settled_rows.append(claim)
        elif row is not None:
            self._add(self._said_by(row, left))

    def settle_claim(self, row: Memory, left: Memory | None) -> None:
        """Let a claim say what is left of its source's claims, or be set aside where it would not be one."""
        if row.origin == self._origin or (row.archive_reason and not row.is_set_aside):
            self._add(self.alone(row))
        elif left is None:
            if row.status is Status.ACTIVE:
                aside = _archived(replace(row, note=SET_ASIDE), ArchiveReason.OUTDATED, self._at)
                self._add(self._updated(aside))
        elif not same_words(left.content, row.content):
            self._add(self._said_by(row, left))
        elif row.is_set_aside:
            self._add(self._updated(_active(row)))
        else:
            self._add(self.alone(row))

    def add_claims(self, claims: Sequence[Memory], key: str, new_id: NewId) -> None:
        """Make claims of statements that only repeated what the source said, and now contradict what is held."""
        for one in claims:
            made = replace(one, id=new_id("mem"), claim_of=key, pinned=False, revision=self._revision)
            self.changes.append(Change(outcome=Outcome.CREATED, memory=made))

    def _claim_saying(self, left: Memory) -> Memory | None:
        return next(
            (
                one
                for one in self._rows
                if one.claim_of is not None
                and (one.status is Status.ACTIVE or one.is_set_aside)
                and _voice(one) == _voice(left)
                and same_words(one.content, left.content)
            ),
            None,
        )

    def _give_way(self, row: Memory | None, key: str) -> None:
        """The row, which holds nothing any more, leaves its key to another."""
        if row is None:
            return
        gone = row if row.is_withdrawn else _withdrawn(row, self._at)
        withdrawn = _numbers_of(self._past.get(row.id, ()), self._origin)
        change = self._updated(replace(gone, memory_key=withdrawn_key(key, row.id)))
        self._add(replace(change, withdrawn=withdrawn))

    def _promoted(self, claim: Memory, key: str, row: Memory | None) -> Change:
        """The claim is what is held; its history says why, and has on record what others said in that place."""
        number = claim.versions + 1
        others = () if row is None else self._past.get(row.id, ())
        left = [one for one in others if one.origin != self._origin and one.reason != WITHDRAWN]
        held = replace(_active(claim), memory_key=key, claim_of=None, note=WAS_CLAIM, version=number, versions=number)
        if row is not None and self._keeps_pin(row):
            held = replace(held, pinned=True, importance=CRITICAL)
        before = version_of(claim, number=claim.version, until=claim.valid_from, reason=WAS_CLAIM)
        number = next_repeat_number(self._past.get(claim.id, ()))
        kept = [
            replace(one, number=number - place, valid_to=one.valid_from, reason=None) for place, one in enumerate(left)
        ]
        return replace(self._updated(held), versions=(before, *kept))

    def _keeps_pin(self, row: Memory) -> bool:
        """Whether what other sources said in this place was pinned as well, and not only what is taken back.

        A pinned row's importance is always critical, so its versions tell.
        """
        said = (one for one in self._past.get(row.id, ()) if one.origin != self._origin and one.reason != WITHDRAWN)
        return row.pinned and any(one.importance == CRITICAL for one in said)

    def _said_by(self, row: Memory, left: Memory) -> Change:
        """The row says what is left, with its source and trust; what it said stays on record as withdrawn."""
        taken_back = row.origin == self._origin
        # Where the source held the place, what is left holds since then again; what it held before is on record.
        since = min(row.valid_from, self._at) if taken_back else left.valid_from
        number = row.versions + 1
        past = self._past.get(row.id, ())
        moved: dict[int, tuple[datetime | None, datetime | None]] = {
            one.number: (None, max(since, one.valid_from))
            for one in past
            if one.origin != self._origin and one.valid_to is not None and one.valid_to > max(since, one.valid_from)
        }
        pinned = row.pinned if not taken_back else self._keeps_pin(row)
        memory = replace(
            _active(row),
            content=left.content,
            pinned=pinned,
            importance=CRITICAL if pinned else left.importance,
            confidence=left.confidence,
            source=left.source,
            origin=left.origin,
            trust=left.trust,
            mentions=left.mentions,
            note=None,
            valid_from=max(since, left.valid_from),
            stated_at=max(since, left.stated_at),
            version=number,
            versions=number,
        )
        reason = WITHDRAWN if taken_back else None
        before = version_of(row, number=row.version, until=row.valid_from, reason=reason)
        return replace(
            self._updated(memory),
            versions=(before,),
            moved={**_moved_away(past, self._origin), **moved},
            withdrawn=_numbers_of(past, self._origin),
            displaced=row.version,
        )

    def _updated(self, memory: Memory) -> Change:
        return Change(outcome=Outcome.UPDATED, memory=replace(memory, revision=self._revision, updated_at=self._at))

    def _add(self, change: Change | None) -> None:
        if change is not None:
            self.changes.append(change)


def withdrawn_change(
    held: Memory, past: Sequence[Version], origin: str, *, at: datetime, revision: int
) -> Change | None:
    """What taking the source back does to one memory that nothing takes the place of; None when nothing is left."""
    numbers = _numbers_of(past, origin)
    moved = _moved_away(past, origin)
    if held.origin != origin or held.is_withdrawn:
        if not numbers:
            return None
        repeats = sum(one.is_repeat for one in past if one.number in numbers)
        kept = replace(held, revision=revision, mentions=max(1, held.mentions - repeats))
        return Change(outcome=Outcome.UPDATED, memory=kept, moved=moved, withdrawn=numbers)
    gone = replace(_withdrawn(held, at), revision=revision, updated_at=at)
    return Change(outcome=Outcome.UPDATED, memory=gone, moved=moved, withdrawn=numbers)


def _numbers_of(past: Sequence[Version], origin: str) -> tuple[int, ...]:
    return tuple(one.number for one in past if one.origin == origin and one.reason != WITHDRAWN)


def _moved_away(past: Sequence[Version], origin: str) -> dict[int, tuple[datetime | None, datetime | None]]:
    return {
        one.number: (None, one.valid_from)
        for one in past
        if one.origin == origin and one.valid_to is not None and one.valid_to > one.valid_from
    }


def _withdrawn(held: Memory, at: datetime) -> Memory:
    return _archived(replace(held, note=WITHDRAWN, pinned=False), ArchiveReason.WRONG, at)


def _archived(held: Memory, reason: ArchiveReason, at: datetime) -> Memory:
    since = held.archived_at or at
    return replace(
        held, status=Status.ARCHIVED, archive_reason=reason, archived_at=since, valid_to=held.valid_to or since
    )


def _active(held: Memory) -> Memory:
    if held.status is Status.ACTIVE:
        return held
    return replace(held, status=Status.ACTIVE, archive_reason=None, archived_at=None, valid_to=None, note=None)
