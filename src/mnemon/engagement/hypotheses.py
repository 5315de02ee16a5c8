"""Form, support, archive, promote and reopen hypotheses, as the gates and the evidence allow. Pure."""

from dataclasses import replace
from datetime import datetime

from mnemon.engagement import gates
from mnemon.engagement.document import (
    EXTRA_CONTRADICTIONS,
    MAX_EVIDENCE,
    MAX_FINDINGS,
    MAX_OPEN,
    Engagement,
    Hypothesis,
    HypothesisStage,
)
from mnemon.engagement.journal import (
    EngagementDelta,
    EngagementEntry,
    EvidenceCollected,
    HypothesisArchived,
    HypothesisFormed,
    HypothesisPromoted,
    HypothesisReopened,
    ResolutionNamed,
)
from mnemon.engagement.lifecycle import confidence_of, is_promotable, is_still_supported, outstanding_contradictions
from mnemon.engagement.proposal import (
    AddedEvidence,
    ArchiveProposal,
    EvidenceProposal,
    HypothesisProposal,
    ResolutionProposal,
)
from mnemon.engagement.proposal_applier import ProposalApplier
from mnemon.evidence.confidence import EvidenceLine, Stance, round_confidence
from mnemon.turn import Turn

SYSTEM_AUTHOR = "mnemon"
"""The author of entries that no person's turn caused."""


def promotion_entries(
    document: Engagement, threshold: float, turn: Turn, seq: int
) -> tuple[list[EngagementEntry], list[str]]:
    """Return journal entries that promote hypotheses to findings, and the statements for which there is no room."""
    ready = [each for each in document.open_hypotheses if is_promotable(each, threshold)]
    room = max(0, MAX_FINDINGS - len(document.findings))
    entries = [
        EngagementEntry(
            seq=seq + place,
            # Turns may be reflected out of order: a promotion is never dated before evidence that it rests on.
            at=max(turn.at, *(line.at for line in each.evidence)),
            turn_id=turn.id,
            user_id=turn.scope.user_id,
            who=turn.user_name,
            reason=_promotion_reason(each, threshold),
            delta=HypothesisPromoted(hypothesis=each.id, threshold=threshold),
        )
        for place, each in enumerate(ready[:room], start=1)
    ]
    return entries, [each.statement for each in ready[room:]]


def reopening_entries(document: Engagement, now: datetime, seq: int) -> list[EngagementEntry]:
    """Return journal entries that reopen the findings which lost their support when something was forgotten."""
    unsupported = [each for each in document.findings if not is_still_supported(each)]
    return [
        _system_entry(seq + place, now, HypothesisReopened(hypothesis=each.id), "evidence it stood on was forgotten")
        for place, each in enumerate(unsupported, start=1)
    ]


def _promotion_reason(hypothesis: Hypothesis, threshold: float) -> str:
    """Return the sentence that the journal keeps as the reason of a promotion, with the confidence reached."""
    value = round_confidence(confidence_of(hypothesis))
    return f"confidence {value:.2f}, above {threshold:g}, and no contradiction outstanding"


def _system_entry(seq: int, now: datetime, delta: EngagementDelta, reason: str) -> EngagementEntry:
    """Return a journal entry of Mnemon itself, which belongs to no turn and no person."""
    return EngagementEntry(seq=seq, at=now, turn_id=None, user_id=None, who=SYSTEM_AUTHOR, reason=reason, delta=delta)


def form_hypothesis(applier: ProposalApplier, form: HypothesisProposal) -> None:
    """Form a hypothesis with the evidence that passes the gates; a known one gets the evidence instead."""
    what = f"hypothesis: {form.statement}"
    statement = gates.collapse_spaces(form.statement)
    alike = [
        each
        for each in applier.document.hypotheses
        if gates.normalize_words(each.statement) == gates.normalize_words(statement)
    ]
    known = next((each for each in alike if each.stage is not HypothesisStage.ARCHIVED), None)
    if known is not None:
        applier.skipped += 1
        _add_lines(applier, known.id, form.evidence)
        return
    # Formed by this turn and archived since: a retried reflection must not form it a second time.
    if any(each.formed_in == applier.turn.id for each in alike):
        applier.skipped += 1
        return
    why = _forming_fault(applier, form)
    if why is not None:
        applier.reject(what, why)
        return
    lines = _accepted_lines(applier, form.evidence)
    if form.evidence and not lines:
        applier.reject(what, "none of its evidence passed the gates")
        return
    hypothesis_id = applier.new_id("hyp")
    falsified_by = gates.collapse_spaces(form.falsified_by)
    applier.append_delta(
        HypothesisFormed(hypothesis=hypothesis_id, statement=statement, falsified_by=falsified_by),
        f"formed; falsified by: {falsified_by}",
    )
    applier.stored += 1
    for line in lines:
        _add_line(applier, hypothesis_id, line)


def add_evidence(applier: ProposalApplier, added: AddedEvidence) -> None:
    """Add proposed evidence to the hypothesis or finding it names; reject it for an unknown or archived one."""
    what = f"evidence: {added.line}"
    hypothesis = applier.find_hypothesis(added.hypothesis)
    if hypothesis is None:
        applier.reject(what, f"there is no hypothesis {added.hypothesis[:60]}: name an id from the state")
        return
    if hypothesis.stage is HypothesisStage.ARCHIVED:
        applier.reject(what, f"{hypothesis.id} is archived: form the claim anew if it deserves it")
        return
    resolves = _accept_resolutions(applier, hypothesis, added)
    line = gates.evidence_line(added, applier.turn, applier.passages, applier.new_id, resolves)
    if isinstance(line, str):
        applier.reject(what, line)
    else:
        _add_line(applier, hypothesis.id, line)


def archive_hypothesis(applier: ProposalApplier, archive: ArchiveProposal) -> None:
    """Archive a hypothesis with a note; reject it for a finding or where evidence is newer than the turn."""
    what = f"archive: {archive.hypothesis}"
    hypothesis = applier.find_hypothesis(archive.hypothesis)
    note = gates.collapse_spaces(archive.note)
    if hypothesis is None:
        applier.reject(what, "there is no such hypothesis: name an id from the state")
    elif hypothesis.stage is HypothesisStage.ARCHIVED:
        applier.skipped += 1
    elif hypothesis.stage is HypothesisStage.FINDING:
        applier.reject(what, "it is a finding: evidence that contradicts it reopens it first")
    # The turn is reflected late, and what spoke for archiving then may be outdated.
    elif any(line.at > applier.turn.at for line in hypothesis.evidence):
        applier.reject(what, "evidence newer than this turn has landed on it")
    elif fault := gates.text_fault("note", note, applier.known_texts()):
        applier.reject(what, fault)
    else:
        applier.append_delta(HypothesisArchived(hypothesis=hypothesis.id, note=note), note)
        applier.updated += 1


def name_resolution(applier: ProposalApplier, named: ResolutionProposal) -> None:
    """Record what would settle a hypothesis' mixed evidence; an older turn never overwrites a newer one."""
    what = f"wouldResolve: {named.text}"
    hypothesis = applier.find_hypothesis(named.hypothesis)
    text = gates.collapse_spaces(named.text)
    if hypothesis is None or hypothesis.stage is HypothesisStage.ARCHIVED:
        applier.reject(what, "there is no such open hypothesis: name an id from the state")
    elif hypothesis.would_resolve == text or (hypothesis.would_resolve_at or applier.turn.at) > applier.turn.at:
        applier.skipped += 1
    elif fault := gates.text_fault("text", text, applier.known_texts()):
        applier.reject(what, fault)
    else:
        applier.append_delta(ResolutionNamed(hypothesis=hypothesis.id, text=text), f"would resolve it: {text}")
        applier.updated += 1


def promote_ready(applier: ProposalApplier) -> None:
    """Promote the hypotheses whose evidence now passes the promotion gate to findings."""
    entries, withheld = promotion_entries(
        applier.document, applier.rules.promotion_threshold, applier.turn, applier.seq
    )
    for entry in entries:
        applier.append_entry(entry)
        applier.updated += 1
    for statement in withheld:
        applier.reject(f"finding: {statement}", "there are as many findings as the document holds")


def _forming_fault(applier: ProposalApplier, form: HypothesisProposal) -> str | None:
    """Return why the proposed hypothesis may not be formed in this turn; None when it may."""
    if applier.heard < applier.rules.first_hypothesis_turns:
        wanted = applier.rules.first_hypothesis_turns
        return f"first-hypothesis gate: {applier.heard} of {wanted} user turns so far"
    if len(applier.document.open_hypotheses) >= MAX_OPEN:
        return f"{MAX_OPEN} hypotheses are open, which is the limit: archive one first"
    # A new claim takes its figures from this turn alone, not from evidence on record.
    return gates.hypothesis_fault(form, applier.spoken)


def _accepted_lines(applier: ProposalApplier, pieces: list[EvidenceProposal]) -> list[EvidenceLine]:
    """Return the proposed evidence that passes the gates as evidence lines, and report the rest as rejected."""
    lines = []
    for piece in pieces:
        line = gates.evidence_line(piece, applier.turn, applier.passages, applier.new_id)
        if isinstance(line, str):
            applier.reject(f"evidence: {piece.line}", line)
        else:
            lines.append(line)
    return lines


def _add_lines(applier: ProposalApplier, hypothesis_id: str, pieces: list[EvidenceProposal]) -> None:
    """Add the proposed evidence that passes the gates to a hypothesis on record."""
    for line in _accepted_lines(applier, pieces):
        _add_line(applier, hypothesis_id, line)


def _accept_resolutions(applier: ProposalApplier, hypothesis: Hypothesis, added: AddedEvidence) -> tuple[str, ...]:
    """Return ids of contradicting evidence that this evidence resolves; reject other ids that it names."""
    # A resolution that names anything else is reported, but the evidence itself still counts.
    outstanding = {line.id for line in outstanding_contradictions(hypothesis.evidence)}
    if added.resolves and added.stance is not Stance.SUPPORTS:
        applier.reject(f"resolves of: {added.line}", "only supporting evidence resolves a contradiction")
        return ()
    for id_ in added.resolves:
        if id_ not in outstanding:
            applier.reject(f"resolves: {id_}", f"{hypothesis.id} has no such contradiction outstanding")
    return tuple(dict.fromkeys(id_ for id_ in added.resolves if id_ in outstanding))


def _add_line(applier: ProposalApplier, hypothesis_id: str, line: EvidenceLine) -> None:
    """Add the line to the hypothesis unless it repeats one or there is no room; reopen a finding it contradicts."""
    hypothesis = applier.document.find_hypothesis(hypothesis_id)
    assert hypothesis is not None
    if any(line.is_repeat_of(other) for other in hypothesis.evidence):
        applier.skipped += 1
        return
    # A full hypothesis must still be open to contradiction.
    room = MAX_EVIDENCE + (EXTRA_CONTRADICTIONS if line.stance is Stance.CONTRADICTS else 0)
    if len(hypothesis.evidence) >= room:
        applier.reject(f"evidence: {line.line}", f"{hypothesis.id} has {room} lines of evidence, which is the limit")
        return
    before = round_confidence(confidence_of(hypothesis))
    # The reason tells the new confidence, which is known once the line is applied.
    applier.append_delta(EvidenceCollected(hypothesis=hypothesis.id, evidence=line), "")
    after = applier.document.find_hypothesis(hypothesis.id)
    assert after is not None
    _set_last_reason(
        applier,
        f"{line.stance}, {line.strength}: confidence {before:.2f} → {round_confidence(confidence_of(after)):.2f}",
    )
    applier.stored += 1
    if after.stage is HypothesisStage.FINDING and outstanding_contradictions(after.evidence):
        applier.append_delta(HypothesisReopened(hypothesis=hypothesis.id), f"contradicted by {line.id}")
        applier.updated += 1


def _set_last_reason(applier: ProposalApplier, reason: str) -> None:
    """Set the reason of the last journal entry, which is known only after its effect."""
    applier.entries[-1] = replace(applier.entries[-1], reason=reason)
