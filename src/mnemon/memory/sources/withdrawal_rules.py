"""The rule of taking a source back: what its statements changed under one key is as if they had never been made."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from mnemon.memory.importance import CRITICAL
from mnemon.memory.keys import withdrawn_key
from mnemon.memory.lifecycle import SET_ASIDE, WITHDRAWN, ArchiveReason, ArchiveStatus, has_same_words
from mnemon.memory.memory import MemoryVersion, StoredMemory
from mnemon.memory.plan import MemoryChange, MemoryOutcome, version_of
from mnemon.memory.repeats import next_repeat_number
from mnemon.memory.sources.replay import held_without_source
from mnemon.scope import NewId

PastVersions = Mapping[str, Sequence[MemoryVersion]]
WAS_CLAIM = "was a claim until the source it contradicted was withdrawn"


def withdrawal_changes(
    rows: Sequence[StoredMemory], past: PastVersions, origin: str, *, at: datetime, revision: int, new_id: NewId
) -> list[MemoryChange]:
    """What taking the source back does to all rows of one key: what holds it for each persona, and its claims.

    In the order in which they must be written: a key is given up before another row takes it.
    """
    undo = _WithdrawalPlan(rows, past, origin, at=at, revision=revision)
    if any(one.claim_of is None and one.archive_reason and not one.is_withdrawn for one in rows):
        # Somebody archived what is held here. Nothing takes its place; only what the source said goes.
        return [change for one in rows if (change := undo.withdraw_row(one)) is not None]
    left = held_without_source(rows, past, origin)
    facts = {persona: one for (persona, _), one in left.items() if one.claim_of is None}
    claims = {_voice_key(one): one for one in left.values() if one.claim_of is not None}
    key = next((one.claim_of or one.memory_key for one in rows), "")
    if not undo.is_consistent(facts):
        return [change for one in rows if (change := undo.withdraw_row(one)) is not None]
    for persona in dict.fromkeys(one.persona_id for one in rows):
        undo.settle_fact(persona, key, facts.get(persona))
    for row in rows:
        if row.claim_of is not None and row.id not in undo.settled:
            undo.settle_claim(row, claims.pop(_voice_key(row), None))
    for row in undo.settled_rows:
        claims.pop(_voice_key(row), None)
    known = {(one.persona_id, one.memory_key) for one in rows}
    repeated = {one.origin for some in past.values() for one in some if one.is_repeat}
    unmade = [
        one for one in claims.values() if one.origin in repeated and (one.persona_id, one.memory_key) not in known
    ]
    undo.add_claims(unmade, key, new_id)
    return undo.changes


def _voice_key(one: StoredMemory) -> tuple[str | None, str, str]:
    return one.persona_id, one.trust, one.origin.casefold()


class _WithdrawalPlan:
    """The changes of one withdrawal under one key, as they come together."""

    def __init__(
        self, rows: Sequence[StoredMemory], past: PastVersions, origin: str, *, at: datetime, revision: int
    ) -> None:
        self._rows = rows
        self._past = past
        self._origin = origin
        self._at = at
        self._revision = revision
        self.changes: list[MemoryChange] = []
        self.settled: set[str] = set()
        self.settled_rows: list[StoredMemory] = []

    def withdraw_row(self, row: StoredMemory) -> MemoryChange | None:
        """What it does to one row, whatever the others say."""
        return withdrawal_change(row, self._past.get(row.id, ()), self._origin, at=self._at, revision=self._revision)

    def is_consistent(self, left: Mapping[str | None, StoredMemory]) -> bool:
        """Whether what other sources hold is what their statements come to.

        It is not where a less trusted source replaced a more trusted one, before trust was an order.
        """
        kept = [
            one
            for one in self._rows
            if one.claim_of is None and one.status is ArchiveStatus.ACTIVE and one.origin != self._origin
        ]
        return all(
            (said := left.get(one.persona_id)) is not None
            and said.trust is one.trust
            and has_same_words(said.content, one.content)
            for one in kept
        )

    def settle_fact(self, persona: str | None, key: str, left: StoredMemory | None) -> None:
        """Let the persona's place hold what is left: nothing, an earlier version, or what was a claim."""
        row = next((one for one in self._rows if one.claim_of is None and one.persona_id == persona), None)
        if row is not None and (left is None or (row.status is ArchiveStatus.ACTIVE and row.origin != self._origin)):
            self._add_change(self.withdraw_row(row))
            return
        if left is None:
            return
        claim = self._matching_claim(left)
        if claim is not None:
            self._release_key(row, key)
            self._add_change(self._promote_claim(claim, key, row))
            self.settled.add(claim.id)
            self.settled_rows.append(claim)
        elif row is not None:
            self._add_change(self._restore_statement(row, left))

    def settle_claim(self, row: StoredMemory, left: StoredMemory | None) -> None:
        """Let a claim say what is left of its source's claims, or be set aside where it would not be one."""
        if row.origin == self._origin or (row.archive_reason and not row.is_set_aside):
            self._add_change(self.withdraw_row(row))
        elif left is None:
            if row.status is ArchiveStatus.ACTIVE:
                aside = _archive_memory(replace(row, note=SET_ASIDE), ArchiveReason.OUTDATED, self._at)
                self._add_change(self._update_change(aside))
        elif not has_same_words(left.content, row.content):
            self._add_change(self._restore_statement(row, left))
        elif row.is_set_aside:
            self._add_change(self._update_change(_reactivate_memory(row)))
        else:
            self._add_change(self.withdraw_row(row))

    def add_claims(self, claims: Sequence[StoredMemory], key: str, new_id: NewId) -> None:
        """Make claims of statements that only repeated what the source said, and now contradict what is held."""
        for one in claims:
            made = replace(one, id=new_id("mem"), claim_of=key, pinned=False, revision=self._revision)
            self.changes.append(MemoryChange(outcome=MemoryOutcome.CREATED, memory=made))

    def _matching_claim(self, left: StoredMemory) -> StoredMemory | None:
        return next(
            (
                one
                for one in self._rows
                if one.claim_of is not None
                and (one.status is ArchiveStatus.ACTIVE or one.is_set_aside)
                and _voice_key(one) == _voice_key(left)
                and has_same_words(one.content, left.content)
            ),
            None,
        )

    def _release_key(self, row: StoredMemory | None, key: str) -> None:
        """The row, which holds nothing any more, leaves its key to another."""
        if row is None:
            return
        gone = row if row.is_withdrawn else _withdraw_memory(row, self._at)
        withdrawn = _version_numbers(self._past.get(row.id, ()), self._origin)
        change = self._update_change(replace(gone, memory_key=withdrawn_key(key, row.id)))
        self._add_change(replace(change, withdrawn=withdrawn))

    def _promote_claim(self, claim: StoredMemory, key: str, row: StoredMemory | None) -> MemoryChange:
        """The claim is what is held; its history says why, and has on record what others said in that place."""
        number = claim.versions + 1
        others = () if row is None else self._past.get(row.id, ())
        left = [one for one in others if one.origin != self._origin and one.reason != WITHDRAWN]
        held = replace(
            _reactivate_memory(claim), memory_key=key, claim_of=None, note=WAS_CLAIM, version=number, versions=number
        )
        if row is not None and self._keeps_pin(row):
            held = replace(held, pinned=True, importance=CRITICAL)
        before = version_of(claim, number=claim.version, until=claim.valid_from, reason=WAS_CLAIM)
        number = next_repeat_number(self._past.get(claim.id, ()))
        kept = [
            replace(one, number=number - place, valid_to=one.valid_from, reason=None) for place, one in enumerate(left)
        ]
        return replace(self._update_change(held), versions=(before, *kept))

    def _keeps_pin(self, row: StoredMemory) -> bool:
        """Whether what other sources said in this place was pinned as well, and not only what is taken back.

        A pinned row's importance is always critical, so its versions tell.
        """
        said = (one for one in self._past.get(row.id, ()) if one.origin != self._origin and one.reason != WITHDRAWN)
        return row.pinned and any(one.importance == CRITICAL for one in said)

    def _restore_statement(self, row: StoredMemory, left: StoredMemory) -> MemoryChange:
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
            _reactivate_memory(row),
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
            self._update_change(memory),
            versions=(before,),
            moved={**_emptied_spans(past, self._origin), **moved},
            withdrawn=_version_numbers(past, self._origin),
            displaced=row.version,
        )

    def _update_change(self, memory: StoredMemory) -> MemoryChange:
        return MemoryChange(
            outcome=MemoryOutcome.UPDATED, memory=replace(memory, revision=self._revision, updated_at=self._at)
        )

    def _add_change(self, change: MemoryChange | None) -> None:
        if change is not None:
            self.changes.append(change)


def withdrawal_change(
    held: StoredMemory, past: Sequence[MemoryVersion], origin: str, *, at: datetime, revision: int
) -> MemoryChange | None:
    """What taking the source back does to one memory that nothing takes the place of; None when nothing is left."""
    numbers = _version_numbers(past, origin)
    moved = _emptied_spans(past, origin)
    if held.origin != origin or held.is_withdrawn:
        if not numbers:
            return None
        repeats = sum(one.is_repeat for one in past if one.number in numbers)
        kept = replace(held, revision=revision, mentions=max(1, held.mentions - repeats))
        return MemoryChange(outcome=MemoryOutcome.UPDATED, memory=kept, moved=moved, withdrawn=numbers)
    gone = replace(_withdraw_memory(held, at), revision=revision, updated_at=at)
    return MemoryChange(outcome=MemoryOutcome.UPDATED, memory=gone, moved=moved, withdrawn=numbers)


def _version_numbers(past: Sequence[MemoryVersion], origin: str) -> tuple[int, ...]:
    return tuple(one.number for one in past if one.origin == origin and one.reason != WITHDRAWN)


def _emptied_spans(past: Sequence[MemoryVersion], origin: str) -> dict[int, tuple[datetime | None, datetime | None]]:
    return {
        one.number: (None, one.valid_from)
        for one in past
        if one.origin == origin and one.valid_to is not None and one.valid_to > one.valid_from
    }


def _withdraw_memory(held: StoredMemory, at: datetime) -> StoredMemory:
    return _archive_memory(replace(held, note=WITHDRAWN, pinned=False), ArchiveReason.WRONG, at)


def _archive_memory(held: StoredMemory, reason: ArchiveReason, at: datetime) -> StoredMemory:
    since = held.archived_at or at
    return replace(
        held, status=ArchiveStatus.ARCHIVED, archive_reason=reason, archived_at=since, valid_to=held.valid_to or since
    )


def _reactivate_memory(held: StoredMemory) -> StoredMemory:
    if held.status is ArchiveStatus.ACTIVE:
        return held
    return replace(held, status=ArchiveStatus.ACTIVE, archive_reason=None, archived_at=None, valid_to=None, note=None)
