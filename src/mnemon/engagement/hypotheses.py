"""Hypotheses on the scales: formed, given evidence, archived, promoted.

What the evidence as it stands demands: promotion of what is ready, reopening of what no longer stands. Pure.
"""

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
"""Who did what no person's turn did."""


def promotion_entries(
    document: Engagement, threshold: float, turn: Turn, seq: int
) -> tuple[list[EngagementEntry], list[str]]:
    """Promotions that this turn brings about, and the statements withheld because there is no room for a finding."""
    ready = [each for each in document.open_hypotheses if is_promotable(each, threshold)]
    room = max(0, MAX_FINDINGS - len(document.findings))
    entries = [
        EngagementEntry(
            seq=seq + place,
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
    """After something was forgotten: findings that lost their ground are reopened."""
    fallen = [each for each in document.findings if not is_still_supported(each)]
    return [
        _system_entry(seq + place, now, HypothesisReopened(hypothesis=each.id), "evidence it stood on was forgotten")
        for place, each in enumerate(fallen, start=1)
    ]


def _promotion_reason(hypothesis: Hypothesis, threshold: float) -> str:
    value = round_confidence(confidence_of(hypothesis))
    return f"confidence {value:.2f}, above {threshold:g}, and no contradiction outstanding"


def _system_entry(seq: int, now: datetime, delta: EngagementDelta, reason: str) -> EngagementEntry:
    return EngagementEntry(seq=seq, at=now, turn_id=None, user_id=None, who=SYSTEM_AUTHOR, reason=reason, delta=delta)


def form_hypothesis(scales: ProposalApplier, form: HypothesisProposal) -> None:
    """A hypothesis is formed with the evidence that passes; one that is on record already takes the evidence."""
    what = f"hypothesis: {form.statement}"
    statement = gates.collapse_spaces(form.statement)
    alike = [
        each
        for each in scales.document.hypotheses
        if gates.normalize_words(each.statement) == gates.normalize_words(statement)
    ]
    held = next((each for each in alike if each.stage is not HypothesisStage.ARCHIVED), None)
    if held is not None:
        scales.skipped += 1
        _add_lines(scales, held.id, form.evidence)
        return
    if any(each.formed_in == scales.turn.id for each in alike):
        scales.skipped += 1
        return
    why = _forming_fault(scales, form)
    if why is not None:
        scales.reject(what, why)
        return
    lines = _accepted_lines(scales, form.evidence)
    if form.evidence and not lines:
        scales.reject(what, "none of its evidence passed the gates")
        return
    hypothesis_id = scales.new_id("hyp")
    falsified_by = gates.collapse_spaces(form.falsified_by)
    scales.append_delta(
        HypothesisFormed(hypothesis=hypothesis_id, statement=statement, falsified_by=falsified_by),
        f"formed; falsified by: {falsified_by}",
    )
    scales.stored += 1
    for line in lines:
        _add_line(scales, hypothesis_id, line)


def add_evidence(scales: ProposalApplier, landing: AddedEvidence) -> None:
    """Evidence lands on a hypothesis or finding."""
    what = f"evidence: {landing.line}"
    held = scales.find_hypothesis(landing.hypothesis)
    if held is None:
        scales.reject(what, f"there is no hypothesis {landing.hypothesis[:60]}: name an id from the state")
        return
    if held.stage is HypothesisStage.ARCHIVED:
        scales.reject(what, f"{held.id} is archived: form the claim anew if it deserves it")
        return
    resolves = _resolved_ids(scales, held, landing)
    line = gates.evidence_line(landing, scales.turn, scales.passages, scales.new_id, resolves)
    if isinstance(line, str):
        scales.reject(what, line)
    else:
        _add_line(scales, held.id, line)


def archive_hypothesis(scales: ProposalApplier, archive: ArchiveProposal) -> None:
    """A hypothesis is given up, with a note."""
    what = f"archive: {archive.hypothesis}"
    held = scales.find_hypothesis(archive.hypothesis)
    note = gates.collapse_spaces(archive.note)
    if held is None:
        scales.reject(what, "there is no such hypothesis: name an id from the state")
    elif held.stage is HypothesisStage.ARCHIVED:
        scales.skipped += 1
    elif held.stage is HypothesisStage.FINDING:
        scales.reject(what, "it is a finding: evidence that contradicts it reopens it first")
    elif any(line.at > scales.turn.at for line in held.evidence):
        scales.reject(what, "evidence newer than this turn has landed on it")
    elif fault := gates.text_fault("note", note, scales.known_texts()):
        scales.reject(what, fault)
    else:
        scales.append_delta(HypothesisArchived(hypothesis=held.id, note=note), note)
        scales.updated += 1


def name_resolution(scales: ProposalApplier, named: ResolutionProposal) -> None:
    """It is named what would settle mixed evidence; an older turn never replaces a newer word."""
    what = f"wouldResolve: {named.text}"
    held = scales.find_hypothesis(named.hypothesis)
    text = gates.collapse_spaces(named.text)
    if held is None or held.stage is HypothesisStage.ARCHIVED:
        scales.reject(what, "there is no such open hypothesis: name an id from the state")
    elif held.would_resolve == text or (held.would_resolve_at or scales.turn.at) > scales.turn.at:
        scales.skipped += 1
    elif fault := gates.text_fault("text", text, scales.known_texts()):
        scales.reject(what, fault)
    else:
        scales.append_delta(ResolutionNamed(hypothesis=held.id, text=text), f"would resolve it: {text}")
        scales.updated += 1


def promote_ready(scales: ProposalApplier) -> None:
    """What the evidence now promotes is promoted."""
    entries, withheld = promotion_entries(scales.document, scales.rules.promotion_threshold, scales.turn, scales.seq)
    for entry in entries:
        scales.append_entry(entry)
        scales.updated += 1
    for statement in withheld:
        scales.reject(f"finding: {statement}", "there are as many findings as the document holds")


def _forming_fault(scales: ProposalApplier, form: HypothesisProposal) -> str | None:
    if scales.heard < scales.rules.first_hypothesis_turns:
        wanted = scales.rules.first_hypothesis_turns
        return f"first-hypothesis gate: {scales.heard} of {wanted} user turns have been heard"
    if len(scales.document.open_hypotheses) >= MAX_OPEN:
        return f"{MAX_OPEN} hypotheses are open, which is the most: archive one first"
    return gates.hypothesis_fault(form, scales.spoken)


def _accepted_lines(scales: ProposalApplier, pieces: list[EvidenceProposal]) -> list[EvidenceLine]:
    lines = []
    for piece in pieces:
        line = gates.evidence_line(piece, scales.turn, scales.passages, scales.new_id)
        if isinstance(line, str):
            scales.reject(f"evidence: {piece.line}", line)
        else:
            lines.append(line)
    return lines


def _add_lines(scales: ProposalApplier, hypothesis_id: str, pieces: list[EvidenceProposal]) -> None:
    for line in _accepted_lines(scales, pieces):
        _add_line(scales, hypothesis_id, line)


def _resolved_ids(scales: ProposalApplier, held: Hypothesis, landing: AddedEvidence) -> tuple[str, ...]:
    """The contradictions that the evidence may settle; what it may not is reported."""
    waiting = {line.id for line in outstanding_contradictions(held.evidence)}
    if landing.resolves and landing.stance is not Stance.SUPPORTS:
        scales.reject(f"resolves of: {landing.line}", "only supporting evidence resolves a contradiction")
        return ()
    for id_ in landing.resolves:
        if id_ not in waiting:
            scales.reject(f"resolves: {id_}", f"{held.id} has no such contradiction outstanding")
    return tuple(dict.fromkeys(id_ for id_ in landing.resolves if id_ in waiting))


def _add_line(scales: ProposalApplier, hypothesis_id: str, line: EvidenceLine) -> None:
    held = scales.document.find_hypothesis(hypothesis_id)
    assert held is not None
    if any(line.is_repeat_of(other) for other in held.evidence):
        scales.skipped += 1
        return
    room = MAX_EVIDENCE + (EXTRA_CONTRADICTIONS if line.stance is Stance.CONTRADICTS else 0)
    if len(held.evidence) >= room:
        scales.reject(f"evidence: {line.line}", f"{held.id} has {room} lines of evidence, which is the most")
        return
    before = round_confidence(confidence_of(held))
    scales.append_delta(EvidenceCollected(hypothesis=held.id, evidence=line), "")
    after = scales.document.find_hypothesis(held.id)
    assert after is not None
    _set_last_reason(
        scales,
        f"{line.stance}, {line.strength}: confidence {before:.2f} → {round_confidence(confidence_of(after)):.2f}",
    )
    scales.stored += 1
    if after.stage is HypothesisStage.FINDING and outstanding_contradictions(after.evidence):
        scales.append_delta(HypothesisReopened(hypothesis=held.id), f"contradicted by {line.id}")
        scales.updated += 1


def _set_last_reason(scales: ProposalApplier, reason: str) -> None:
    """The last entry's reason, which is known only after its effect."""
    scales.entries[-1] = replace(scales.entries[-1], reason=reason)
