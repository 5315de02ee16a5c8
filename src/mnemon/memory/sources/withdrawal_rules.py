"""The rules of a withdrawal: change the memories under one key as if the source had never spoken.

The other sources' statements are replayed without it; each row then gets what is left for its place: nothing, an
earlier version, or the text of a claim.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from mnemon.memory.importance import CRITICAL
from mnemon.memory.keys import withdrawn_key
from mnemon.memory.lifecycle import (
    SET_ASIDE,
    WAS_CLAIM,
    WITHDRAWN,
    WITHDRAWN_ARCHIVED,
    ArchiveReason,
    ArchiveStatus,
    has_same_words,
)
from mnemon.memory.memory import MemoryVersion, StoredMemory
from mnemon.memory.plan import MemoryChange, MemoryOutcome, version_of
from mnemon.memory.repeats import next_repeat_number
from mnemon.memory.sources.replay import held_without_source
from mnemon.scope import NewId

PastVersions = Mapping[str, Sequence[MemoryVersion]]
"""Past versions by memory id."""


def withdrawal_changes(
    rows: Sequence[StoredMemory], past: PastVersions, origin: str, *, at: datetime, revision: int, new_id: NewId
) -> list[MemoryChange]:
    """Return what withdrawing a source changes in all memories under one key and the claims against them.

    They are in the order in which they must be written: a key is released before another row takes it.
    """
    plan = _WithdrawalPlan(rows, past, origin, at=at, revision=revision)
    if any(one.claim_of is None and (one.is_archived_by_choice or one.is_replaced) for one in rows):
        # Someone archived the memory under this key, so nothing takes its place, now or at a later withdrawal. Or it
        # has lost its place to another memory, which also has what others said there. Only the source is withdrawn.
        return [change for one in rows if (change := plan.withdraw_row(one)) is not None]
    remaining = held_without_source(rows, past, origin)
    facts = {persona: one for (persona, _), one in remaining.items() if one.claim_of is None}
    # In the replay too, a claim may have ended because it contradicts nothing.
    standing = [one for one in remaining.values() if one.status is ArchiveStatus.ACTIVE]
    claims = {_claimant_key(one): one for one in standing if one.claim_of is not None}
    key = next((one.claim_of or one.memory_key for one in rows), "")
    if not plan.is_consistent(facts):
        return [change for one in rows if (change := plan.withdraw_row(one)) is not None]
    # Facts before claims: a claim may become the fact and is then settled.
    for persona in dict.fromkeys(one.persona_id for one in rows):
        plan.settle_fact(persona, key, facts.get(persona))
    for row in rows:
        if row.claim_of is not None and row.id not in plan.settled:
            plan.settle_claim(row, claims.pop(_claimant_key(row), None))
    for row in plan.settled_rows:
        claims.pop(_claimant_key(row), None)
    known = {(one.persona_id, one.memory_key) for one in rows}
    repeated = {one.origin for some in past.values() for one in some if one.is_repeat}
    new_claims = [
        one for one in claims.values() if one.origin in repeated and (one.persona_id, one.memory_key) not in known
    ]
    plan.add_claims(new_claims, key, new_id)
    return plan.changes


def _claimant_key(one: StoredMemory) -> tuple[str | None, str, str]:
    """Return the key that groups claims by who makes them: persona, trust and source."""
    return one.persona_id, one.trust, one.origin.casefold()


class _WithdrawalPlan:
    """Collects the changes of one withdrawal under one key."""

    def __init__(
        self, rows: Sequence[StoredMemory], past: PastVersions, origin: str, *, at: datetime, revision: int
    ) -> None:
        """Keep the memories under one key with their versions, and the source to withdraw."""
        self._rows = rows
        self._past = past
        self._origin = origin
        self._at = at
        self._revision = revision
        self.changes: list[MemoryChange] = []
        self.settled: set[str] = set()
        self.settled_rows: list[StoredMemory] = []

    def withdraw_row(self, row: StoredMemory) -> MemoryChange | None:
        """Return the change that withdrawing the source makes to this memory alone; None if it said nothing there."""
        return withdrawal_change(row, self._past.get(row.id, ()), self._origin, at=self._at, revision=self._revision)

    def is_consistent(self, left: Mapping[str | None, StoredMemory]) -> bool:
        """Say whether replaying the other sources' statements gives the memories that are active.

        They are not where a less trusted source replaced a more trusted one, before trust had an order.
        """
        others_memories = [
            one
            for one in self._rows
            if one.claim_of is None and one.status is ArchiveStatus.ACTIVE and one.origin != self._origin
        ]
        return all(
            (remaining := left.get(one.persona_id)) is not None
            and remaining.trust is one.trust
            and has_same_words(remaining.content, one.content)
            for one in others_memories
        )

    def settle_fact(self, persona: str | None, key: str, remaining: StoredMemory | None) -> None:
        """Give the persona's memory what remains without the source: nothing, an earlier text, or a claim's text."""
        row = next((one for one in self._rows if one.claim_of is None and one.persona_id == persona), None)
        if row is not None and (
            remaining is None or (row.status is ArchiveStatus.ACTIVE and row.origin != self._origin)
        ):
            self._add_change(self.withdraw_row(row))
            return
        if remaining is None:
            return
        claim = self._matching_claim(remaining)
        if claim is not None:
            self._release_key(row, key)
            self._add_change(self._promote_claim(claim, key, row))
            self.settled.add(claim.id)
            self.settled_rows.append(claim)
        elif row is not None:
            self._add_change(self._restore_statement(row, remaining))

    def settle_claim(self, row: StoredMemory, remaining: StoredMemory | None) -> None:
        """Give a claim what remains of its source's statements, or archive it if it contradicts nothing any more."""
        # Claims that someone archived stay archived; those set aside by a withdrawal may come back.
        if row.origin == self._origin or (row.archive_reason and not row.is_set_aside):
            self._add_change(self.withdraw_row(row))
        elif remaining is None:
            if row.status is ArchiveStatus.ACTIVE:
                aside = row.as_archived(ArchiveReason.OUTDATED, self._at, note=SET_ASIDE)
                self._add_change(self._update_change(aside))
        elif not has_same_words(remaining.content, row.content):
            self._add_change(self._restore_statement(row, remaining))
        elif row.is_set_aside:
            self._add_change(self._update_change(_reactivate_memory(row)))
        else:
            self._add_change(self.withdraw_row(row))

    def add_claims(self, claims: Sequence[StoredMemory], key: str, new_id: NewId) -> None:
        """Add claims for sources that only repeated the withdrawn one and now contradict the memory."""
        for one in claims:
            claim = replace(one, id=new_id("mem"), claim_of=key, pinned=False, revision=self._revision)
            self.changes.append(MemoryChange(outcome=MemoryOutcome.CREATED, memory=claim))

    def _matching_claim(self, remaining: StoredMemory) -> StoredMemory | None:
        """Return the claim of the same source with the text that remains after the withdrawal; None without one."""
        return next(
            (
                one
                for one in self._rows
                if one.claim_of is not None
                and (one.status is ArchiveStatus.ACTIVE or one.is_set_aside)
                and _claimant_key(one) == _claimant_key(remaining)
                and has_same_words(one.content, remaining.content)
            ),
            None,
        )

    def _release_key(self, row: StoredMemory | None, key: str) -> None:
        """Rename the key of a withdrawn memory, so that its successor can have that key."""
        if row is None:
            return
        withdrawn_row = row if row.is_withdrawn else _withdraw_memory(row, self._at)
        withdrawn = _version_numbers(self._past.get(row.id, ()), self._origin)
        change = self._update_change(replace(withdrawn_row, memory_key=withdrawn_key(key, row.id)))
        self._add_change(replace(change, withdrawn=withdrawn))

    def _promote_claim(self, claim: StoredMemory, key: str, row: StoredMemory | None) -> MemoryChange:
        """Return the change that makes a claim the memory under the key.

        Its history records why, and what others said in that place.
        """
        number = claim.versions + 1
        others = () if row is None else self._past.get(row.id, ())
        other_versions = [one for one in others if one.origin != self._origin and one.reason != WITHDRAWN]
        held = replace(
            _reactivate_memory(claim), memory_key=key, claim_of=None, note=WAS_CLAIM, version=number, versions=number
        )
        if row is not None and self._keeps_pin(row):
            held = replace(held, pinned=True, importance=CRITICAL)
        before = version_of(claim, number=claim.version, until=claim.valid_from, reason=WAS_CLAIM)
        number = next_repeat_number(self._past.get(claim.id, ()))
        repeats = [
            replace(one, number=number - place, valid_to=one.valid_from, reason=None)
            for place, one in enumerate(other_versions)
        ]
        return replace(self._update_change(held), versions=(before, *repeats))

    def _keeps_pin(self, row: StoredMemory) -> bool:
        """Say whether a source other than the withdrawn one pinned the memory too.

        The importance of a pinned row is always critical, so its versions show it.
        """
        others = (one for one in self._past.get(row.id, ()) if one.origin != self._origin and one.reason != WITHDRAWN)
        return row.pinned and any(one.importance == CRITICAL for one in others)

    def _restore_statement(self, row: StoredMemory, remaining: StoredMemory) -> MemoryChange:
        """Return the change that gives the memory what is left; the earlier text is recorded as withdrawn.

        What is left is valid since it was first said. Its versions on record get empty spans, since it covers theirs.
        """
        taken_back = row.origin == self._origin
        since = remaining.valid_from
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
            content=remaining.content,
            pinned=pinned,
            importance=CRITICAL if pinned else remaining.importance,
            confidence=remaining.confidence,
            source=remaining.source,
            origin=remaining.origin,
            trust=remaining.trust,
            mentions=remaining.mentions,
            note=None,
            valid_from=since,
            stated_at=remaining.stated_at,
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
        """Return the change to this memory, with the withdrawal's time and revision."""
        return MemoryChange(
            outcome=MemoryOutcome.UPDATED, memory=replace(memory, revision=self._revision, updated_at=self._at)
        )

    def _add_change(self, change: MemoryChange | None) -> None:
        """Append a change to the plan, if there is one."""
        if change is not None:
            self.changes.append(change)


def withdrawal_change(
    held: StoredMemory, past: Sequence[MemoryVersion], origin: str, *, at: datetime, revision: int
) -> MemoryChange | None:
    """Return the change to a memory that nothing replaces; None if the withdrawn source said nothing there."""
    numbers = _version_numbers(past, origin)
    moved = _emptied_spans(past, origin)
    if held.origin != origin or held.is_withdrawn:
        if not numbers:
            return None
        repeats = sum(
            one.is_repeat and has_same_words(one.content, held.content) for one in past if one.number in numbers
        )
        kept = replace(held, revision=revision, mentions=max(1, held.mentions - repeats))
        return MemoryChange(outcome=MemoryOutcome.UPDATED, memory=kept, moved=moved, withdrawn=numbers)
    gone = replace(_withdraw_memory(held, at), revision=revision, updated_at=at)
    return MemoryChange(outcome=MemoryOutcome.UPDATED, memory=gone, moved=moved, withdrawn=numbers)


def _version_numbers(past: Sequence[MemoryVersion], origin: str) -> tuple[int, ...]:
    """Return the numbers of a source's past versions that are not withdrawn."""
    return tuple(one.number for one in past if one.origin == origin and one.reason != WITHDRAWN)


def _emptied_spans(past: Sequence[MemoryVersion], origin: str) -> dict[int, tuple[datetime | None, datetime | None]]:
    """Return a source's past versions with empty time spans, so that they count as never said."""
    return {
        one.number: (None, one.valid_from)
        for one in past
        if one.origin == origin and one.valid_to is not None and one.valid_to > one.valid_from
    }


def _withdraw_memory(held: StoredMemory, at: datetime) -> StoredMemory:
    """Return the memory as withdrawn: archived as wrong, and not pinned; the note tells if it was archived before."""
    note = WITHDRAWN_ARCHIVED if held.is_archived_by_choice else WITHDRAWN
    return replace(held, pinned=False).as_archived(ArchiveReason.WRONG, at, note=note)


def _reactivate_memory(held: StoredMemory) -> StoredMemory:
    """Return the memory as active; an active one unchanged."""
    if held.status is ArchiveStatus.ACTIVE:
        return held
    return held.as_active()
