"""Form hypotheses, add evidence, restore and archive them, as the gates and the evidence allow. Pure."""

from dataclasses import replace

from mnemon.engagement import gates
from mnemon.engagement.document import EXTRA_CONTRADICTIONS, MAX_EVIDENCE, MAX_OPEN, Hypothesis, HypothesisStage
from mnemon.engagement.journal import (
    EvidenceCollected,
    HypothesisArchived,
    HypothesisFormed,
    HypothesisReopened,
    HypothesisRestored,
    ResolutionNamed,
)
from mnemon.engagement.lifecycle import confidence_of, may_resolve, outstanding_contradictions
from mnemon.engagement.proposal import (
    AddedEvidence,
    ArchiveProposal,
    EvidenceProposal,
    HypothesisProposal,
    ResolutionProposal,
)
from mnemon.engagement.proposal_applier import ProposalApplier
from mnemon.engagement.relevance import say_the_same, unheard_names
from mnemon.evidence.confidence import EvidenceLine, Stance, round_confidence


def form_hypothesis(applier: ProposalApplier, form: HypothesisProposal) -> None:
    """Form a hypothesis with the evidence that passes the gates; if it is on record, add the evidence to that.

    An archived one comes back with the evidence it had, under its own id.
    """
    what = f"hypothesis: {form.statement}"
    statement = gates.collapse_spaces(form.statement)
    known, archived = _claims_on_record(applier, statement)
    if known is not None:
        applier.skipped += 1
        for line in _accepted_lines(applier, known.statement, form.evidence):
            _add_line(applier, known.id, line)
        return
    why = _forming_fault(applier, form)
    if why is not None:
        applier.reject(what, why)
        return
    lines = _accepted_lines(applier, statement, form.evidence)
    if archived is not None:
        _restore_hypothesis(applier, archived, lines)
    elif lines:
        _append_hypothesis(applier, statement, gates.collapse_spaces(form.falsified_by), lines)
    else:
        applier.reject(
            what, "none of its evidence passed the gates" if form.evidence else "it has no evidence from this turn"
        )


def _claims_on_record(applier: ProposalApplier, statement: str) -> tuple[Hypothesis | None, Hypothesis | None]:
    """Return the stored hypothesis or finding that claims the same in any words, and the archived one that does."""
    words = gates.normalize_words(statement)
    alike = [
        each
        for each in applier.document.hypotheses
        if gates.normalize_words(each.statement) == words or say_the_same(each.statement, statement)
    ]
    live = [each for each in alike if each.stage is not HypothesisStage.ARCHIVED]
    archived = [each for each in alike if each.stage is HypothesisStage.ARCHIVED]
    return live[0] if live else None, archived[-1] if archived else None


def _append_hypothesis(applier: ProposalApplier, statement: str, falsified_by: str, lines: list[EvidenceLine]) -> None:
    """Append a new hypothesis with its evidence lines to the engagement."""
    hypothesis_id = applier.new_id("hyp")
    applier.append_delta(
        HypothesisFormed(hypothesis=hypothesis_id, statement=statement, falsified_by=falsified_by),
        f"formed; falsified by: {falsified_by}",
    )
    applier.stored += 1
    for line in lines:
        _add_line(applier, hypothesis_id, line)


def _restore_hypothesis(applier: ProposalApplier, archived: Hypothesis, lines: list[EvidenceLine]) -> None:
    """Take an archived hypothesis out of the archive with its evidence, if there is new evidence."""
    new = [line for line in lines if not any(line.is_repeat_of(other) for other in archived.evidence)]
    # A retried reflection brings what the hypothesis had when it was archived.
    if not new:
        applier.skipped += 1
        return
    applier.append_delta(
        HypothesisRestored(hypothesis=archived.id),
        f"formed again; it comes back with {len(archived.evidence)} pieces of evidence",
    )
    applier.updated += 1
    for line in new:
        _add_line(applier, archived.id, line)


def add_evidence(applier: ProposalApplier, added: AddedEvidence) -> None:
    """Add proposed evidence to the hypothesis or finding that it names; reject it for an unknown or archived one."""
    what = f"evidence: {added.line}"
    hypothesis = applier.find_hypothesis(added.hypothesis)
    if hypothesis is None:
        applier.reject(what, f"there is no hypothesis {added.hypothesis[:60]}: name an id from the state")
        return
    if hypothesis.stage is HypothesisStage.ARCHIVED:
        applier.reject(what, f"{hypothesis.id} is archived: form the claim anew if it deserves it")
        return
    line = applier.evidence_line(added, hypothesis.statement)
    if isinstance(line, str):
        applier.reject(what, line)
    else:
        _add_line(applier, hypothesis.id, replace(line, resolves=_accept_resolutions(applier, hypothesis, added, line)))


def archive_hypothesis(applier: ProposalApplier, archive: ArchiveProposal) -> None:
    """Archive a hypothesis that is contradicted or superseded, with a note."""
    what = f"archive: {archive.hypothesis}"
    hypothesis = applier.find_hypothesis(archive.hypothesis)
    note = gates.collapse_spaces(archive.note)
    if hypothesis is None:
        applier.reject(what, "there is no such hypothesis: name an id from the state")
    elif hypothesis.stage is HypothesisStage.ARCHIVED:
        applier.skipped += 1
    elif fault := _archiving_fault(applier, hypothesis, archive.superseded_by) or gates.text_fault(
        "note", note, applier.known_texts()
    ):
        applier.reject(what, fault)
    else:
        successor = applier.find_hypothesis(archive.superseded_by) if archive.superseded_by else None
        applier.append_delta(
            HypothesisArchived(hypothesis=hypothesis.id, note=note, superseded_by=successor.id if successor else None),
            note,
        )
        applier.updated += 1


def _archiving_fault(applier: ProposalApplier, hypothesis: Hypothesis, superseded_by: str) -> str | None:
    """Return why a model may not archive the hypothesis; None when it is contradicted or superseded."""
    if hypothesis.stage is HypothesisStage.FINDING:
        return "it is a finding: evidence that contradicts it reopens it first"
    # The turn is reflected late, and what spoke for archiving then may be outdated.
    if any(line.at > applier.turn.at for line in hypothesis.evidence):
        return "evidence newer than this turn has landed on it"
    if superseded_by.strip():
        successor = applier.find_hypothesis(superseded_by)
        if successor is None or successor.id == hypothesis.id or successor.stage is HypothesisStage.ARCHIVED:
            return "supersededBy names no other open hypothesis or finding"
        return None
    if not outstanding_contradictions(hypothesis.evidence):
        return (
            "nothing outstanding contradicts it: give the evidence against it, or name in supersededBy what takes its "
            "place"
        )
    return None


def record_resolution(applier: ProposalApplier, named: ResolutionProposal) -> None:
    """Record what would resolve a hypothesis' mixed evidence; an older turn never overwrites a newer one."""
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


def _forming_fault(applier: ProposalApplier, form: HypothesisProposal) -> str | None:
    """Return why the proposed hypothesis may not be added in this turn; None when it may."""
    if applier.heard < applier.rules.first_hypothesis_turns:
        wanted = applier.rules.first_hypothesis_turns
        return f"first-hypothesis gate: {applier.heard} of {wanted} user turns with content so far"
    if len(applier.document.open_hypotheses) >= MAX_OPEN:
        return f"{MAX_OPEN} hypotheses are open, which is the limit: archive one first"
    # A new claim takes its figures from this turn alone, not from evidence on record.
    if fault := gates.hypothesis_fault(form, applier.spoken):
        return fault
    names = unheard_names(form.statement, applier.spoken, applier.recorded_texts())
    return f"statement names what nobody spoke of: {', '.join(names)}" if names else None


def _accepted_lines(applier: ProposalApplier, statement: str, pieces: list[EvidenceProposal]) -> list[EvidenceLine]:
    """Return the pieces that pass the gates as evidence lines for the statement, and report the others."""
    lines = []
    for piece in pieces:
        line = applier.evidence_line(piece, statement)
        if isinstance(line, str):
            applier.reject(f"evidence: {piece.line}", line)
        else:
            lines.append(line)
    return lines


def _accept_resolutions(
    applier: ProposalApplier, hypothesis: Hypothesis, added: AddedEvidence, line: EvidenceLine
) -> tuple[str, ...]:
    """Return the outstanding contradictions that the evidence names and may resolve; reject other ids it names."""
    # A resolution that names anything else is reported, but the evidence itself still counts.
    outstanding = {one.id: one for one in outstanding_contradictions(hypothesis.evidence)}
    if added.resolves and added.stance is not Stance.SUPPORTS:
        applier.reject(f"resolves of: {added.line}", "only supporting evidence resolves a contradiction")
        return ()
    accepted = []
    for id_ in dict.fromkeys(added.resolves):
        if id_ not in outstanding:
            applier.reject(f"resolves: {id_}", f"{hypothesis.id} has no such contradiction outstanding")
        elif not may_resolve(line, outstanding[id_]):
            applier.reject(
                f"resolves: {id_}",
                f"a {outstanding[id_].strength} contradiction is resolved by its own source, or by later "
                "evidence that is at least as strong",
            )
        else:
            accepted.append(id_)
    return tuple(accepted)


def _add_line(applier: ProposalApplier, hypothesis_id: str, line: EvidenceLine) -> None:
    """Add the evidence line to the hypothesis, unless repeated or full; reopen a finding that it contradicts."""
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
    """Set the reason of the last journal entry, once the entry's effect is known."""
    applier.entries[-1] = replace(applier.entries[-1], reason=reason)
