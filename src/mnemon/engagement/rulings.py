"""What a person may decide by hand: that a contradiction is settled, or that a claim is archived, each with a note.

Everything else in the engagement comes from evidence. A ruling is journaled under its author, and says why.
"""

from mnemon.db.tx import Tx
from mnemon.engagement import gates, store
from mnemon.engagement.document import MAX_FINDINGS, Hypothesis, HypothesisStage
from mnemon.engagement.journal import (
    ContradictionSettled,
    EngagementDelta,
    EngagementEntry,
    HypothesisArchived,
    HypothesisPromoted,
    HypothesisReopened,
    apply_entry,
)
from mnemon.engagement.lifecycle import is_promotable, outstanding_contradictions
from mnemon.engagement.promotion import promotion_reason
from mnemon.engagement.store import StoredEngagement
from mnemon.errors import Conflict, FieldFault, Invalid, NotFound
from mnemon.scope import Scope


async def settle_contradiction(
    tx: Tx, scope: Scope, hypothesis_id: str, evidence_id: str, *, note: str, author: str, threshold: float
) -> Hypothesis:
    """Settle an outstanding contradiction, and promote the hypothesis if nothing else stands in the way.

    Raises NotFound for an unknown hypothesis, Conflict when it has no such contradiction outstanding.
    """
    ruling = await _Ruling.begin(tx, scope, author)
    hypothesis = ruling.find(hypothesis_id)
    if evidence_id not in {line.id for line in outstanding_contradictions(hypothesis.evidence)}:
        raise Conflict(
            "The hypothesis has no such contradiction outstanding. Read it again with `?expand=evidence`.",
            code="not_outstanding",
        )
    text = _checked_note(note)
    ruling.append(ContradictionSettled(hypothesis=hypothesis.id, evidence=evidence_id, note=text), text)
    settled = ruling.find(hypothesis.id)
    if is_promotable(settled, threshold) and len(ruling.document.findings) < MAX_FINDINGS:
        ruling.append(
            HypothesisPromoted(hypothesis=settled.id, threshold=threshold), promotion_reason(settled, threshold)
        )
    return await ruling.store(hypothesis.id)


async def archive_by_hand(tx: Tx, scope: Scope, hypothesis_id: str, *, note: str, author: str) -> Hypothesis:
    """Archive a hypothesis; a finding is reopened first.

    Raises NotFound for an unknown hypothesis, Conflict for one that is archived.
    """
    ruling = await _Ruling.begin(tx, scope, author)
    hypothesis = ruling.find(hypothesis_id)
    if hypothesis.stage is HypothesisStage.ARCHIVED:
        raise Conflict("The hypothesis is archived already.", code="already_archived")
    text = _checked_note(note)
    if hypothesis.stage is HypothesisStage.FINDING:
        ruling.append(HypothesisReopened(hypothesis=hypothesis.id), text)
    ruling.append(HypothesisArchived(hypothesis=hypothesis.id, note=text), text)
    return await ruling.store(hypothesis.id)


class _Ruling:
    """The engagement under its lock, with the entries that a person's decision adds."""

    def __init__(self, tx: Tx, scope: Scope, author: str, stored: StoredEngagement) -> None:
        if stored.document is None:
            raise NotFound("hypothesis")
        self.tx, self.scope, self.author, self.stored = tx, scope, author, stored
        self.document = stored.document
        self.entries: list[EngagementEntry] = []

    @classmethod
    async def begin(cls, tx: Tx, scope: Scope, author: str) -> "_Ruling":
        """Lock the organization's engagement for a person's decision; raise NotFound if there is none."""
        return cls(tx, scope, author, await store.lock_engagement(tx, scope))

    def find(self, hypothesis_id: str) -> Hypothesis:
        """Return the hypothesis with this id; raise NotFound if there is none."""
        found = self.document.find_hypothesis(hypothesis_id)
        if found is None:
            raise NotFound("hypothesis")
        return found

    def append(self, delta: EngagementDelta, reason: str) -> None:
        """Append a journal entry by the author with the delta, and apply it to the document."""
        entry = EngagementEntry(
            seq=self.stored.seq + len(self.entries) + 1,
            at=self.tx.now,
            turn_id=None,
            user_id=None,
            who=self.author,
            reason=reason,
            delta=delta,
        )
        self.entries.append(entry)
        self.document = apply_entry(self.document, entry)

    async def store(self, hypothesis_id: str) -> Hypothesis:
        """Store the appended entries and the document; return the hypothesis as it is after them."""
        await store.append_entries(self.tx, self.scope, self.entries)
        kept = StoredEngagement(document=self.document, seq=self.entries[-1].seq, heard=self.stored.heard)
        await store.store_engagement(self.tx, self.scope, kept)
        return self.find(hypothesis_id)


def _checked_note(note: str) -> str:
    """Return the note on one line; raise Invalid if it is empty or too long."""
    text = gates.storable_line(note)
    if not gates.normalize_words(text) or len(text) > gates.MAX_TEXT_CHARS:
        detail = f"Say why, in 1 to {gates.MAX_TEXT_CHARS} characters."
        raise Invalid(detail, code="note_missing", faults=(FieldFault(pointer="/note", detail=detail),))
    return text
