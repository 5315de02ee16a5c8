"""Hypotheses on the scales: formed, given evidence, archived, promoted."""

from dataclasses import replace

from mnemon.engagement import gates
from mnemon.engagement.answer import Archive, Form, Landing, Piece, WouldResolve
from mnemon.engagement.delta import Archived, Collected, Formed, Reopened, Resolvable
from mnemon.engagement.document import MOST_EVIDENCE, MOST_OPEN, ROOM_TO_CONTRADICT, Hypothesis, Stage
from mnemon.engagement.lifecycle import confidence_of, outstanding
from mnemon.engagement.scales import Scales
from mnemon.engagement.settle import settled
from mnemon.evidence.confidence import Stance, shown
from mnemon.evidence.line import EvidenceLine


def form(scales: Scales, form: Form) -> None:
    """A hypothesis is formed with the evidence that passes; one that is on record already takes the evidence."""
    what = f"hypothesis: {form.statement}"
    statement = gates.tidy(form.statement)
    alike = [each for each in scales.document.hypotheses if gates.normal(each.statement) == gates.normal(statement)]
    held = next((each for each in alike if each.stage is not Stage.ARCHIVED), None)
    if held is not None:
        scales.skipped += 1
        _land_all(scales, held.id, form.evidence)
        return
    if any(each.formed_in == scales.turn.id for each in alike):
        scales.skipped += 1
        return
    why = _form_fault(scales, form)
    if why is not None:
        scales.reject(what, why)
        return
    lines = _lines(scales, form.evidence)
    if form.evidence and not lines:
        scales.reject(what, "none of its evidence passed the gates")
        return
    hypothesis_id = scales.new_id("hyp")
    falsified_by = gates.tidy(form.falsified_by)
    scales.enter(
        Formed(hypothesis=hypothesis_id, statement=statement, falsified_by=falsified_by),
        f"formed; falsified by: {falsified_by}",
    )
    scales.stored += 1
    for line in lines:
        _land(scales, hypothesis_id, line)


def collect(scales: Scales, landing: Landing) -> None:
    """Evidence lands on a hypothesis or finding."""
    what = f"evidence: {landing.line}"
    held = scales.named(landing.hypothesis)
    if held is None:
        scales.reject(what, f"there is no hypothesis {landing.hypothesis[:60]}: name an id from the state")
        return
    if held.stage is Stage.ARCHIVED:
        scales.reject(what, f"{held.id} is archived: form the claim anew if it deserves it")
        return
    resolves = _resolved(scales, held, landing)
    line = gates.evidence_line(landing, scales.turn, scales.passages, scales.new_id, resolves)
    if isinstance(line, str):
        scales.reject(what, line)
    else:
        _land(scales, held.id, line)


def archive(scales: Scales, archive: Archive) -> None:
    """A hypothesis is given up, with a note."""
    what = f"archive: {archive.hypothesis}"
    held = scales.named(archive.hypothesis)
    note = gates.tidy(archive.note)
    if held is None:
        scales.reject(what, "there is no such hypothesis: name an id from the state")
    elif held.stage is Stage.ARCHIVED:
        scales.skipped += 1
    elif held.stage is Stage.FINDING:
        scales.reject(what, "it is a finding: evidence that contradicts it reopens it first")
    elif any(line.at > scales.turn.at for line in held.evidence):
        scales.reject(what, "evidence newer than this turn has landed on it")
    elif fault := gates.text_fault("note", note, scales.known()):
        scales.reject(what, fault)
    else:
        scales.enter(Archived(hypothesis=held.id, note=note), note)
        scales.updated += 1


def would_resolve(scales: Scales, named: WouldResolve) -> None:
    """It is named what would settle mixed evidence; an older turn never replaces a newer word."""
    what = f"wouldResolve: {named.text}"
    held = scales.named(named.hypothesis)
    text = gates.tidy(named.text)
    if held is None or held.stage is Stage.ARCHIVED:
        scales.reject(what, "there is no such open hypothesis: name an id from the state")
    elif held.would_resolve == text or (held.would_resolve_at or scales.turn.at) > scales.turn.at:
        scales.skipped += 1
    elif fault := gates.text_fault("text", text, scales.known()):
        scales.reject(what, fault)
    else:
        scales.enter(Resolvable(hypothesis=held.id, text=text), f"would resolve it: {text}")
        scales.updated += 1


def settle(scales: Scales) -> None:
    """What the evidence now promotes is promoted."""
    entries, withheld = settled(scales.document, scales.rules.promotion_threshold, scales.turn, scales.seq)
    for entry in entries:
        scales.keep(entry)
        scales.updated += 1
    for statement in withheld:
        scales.reject(f"finding: {statement}", "there are as many findings as the document holds")


def _form_fault(scales: Scales, form: Form) -> str | None:
    if scales.heard < scales.rules.first_hypothesis_turns:
        wanted = scales.rules.first_hypothesis_turns
        return f"first-hypothesis gate: {scales.heard} of {wanted} user turns have been heard"
    if len(scales.document.open) >= MOST_OPEN:
        return f"{MOST_OPEN} hypotheses are open, which is the most: archive one first"
    return gates.form_fault(form, scales.spoken)


def _lines(scales: Scales, pieces: list[Piece]) -> list[EvidenceLine]:
    lines = []
    for piece in pieces:
        line = gates.evidence_line(piece, scales.turn, scales.passages, scales.new_id)
        if isinstance(line, str):
            scales.reject(f"evidence: {piece.line}", line)
        else:
            lines.append(line)
    return lines


def _land_all(scales: Scales, hypothesis_id: str, pieces: list[Piece]) -> None:
    for line in _lines(scales, pieces):
        _land(scales, hypothesis_id, line)


def _resolved(scales: Scales, held: Hypothesis, landing: Landing) -> tuple[str, ...]:
    """The contradictions that the evidence may settle; what it may not is reported."""
    waiting = {line.id for line in outstanding(held.evidence)}
    if landing.resolves and landing.stance is not Stance.SUPPORTS:
        scales.reject(f"resolves of: {landing.line}", "only supporting evidence resolves a contradiction")
        return ()
    for id_ in landing.resolves:
        if id_ not in waiting:
            scales.reject(f"resolves: {id_}", f"{held.id} has no such contradiction outstanding")
    return tuple(dict.fromkeys(id_ for id_ in landing.resolves if id_ in waiting))


def _land(scales: Scales, hypothesis_id: str, line: EvidenceLine) -> None:
    held = scales.document.hypothesis(hypothesis_id)
    assert held is not None
    if any(line.repeats(other) for other in held.evidence):
        scales.skipped += 1
        return
    room = MOST_EVIDENCE + (ROOM_TO_CONTRADICT if line.stance is Stance.CONTRADICTS else 0)
    if len(held.evidence) >= room:
        scales.reject(f"evidence: {line.line}", f"{held.id} has {room} lines of evidence, which is the most")
        return
    before = shown(confidence_of(held))
    scales.enter(Collected(hypothesis=held.id, evidence=line), "")
    after = scales.document.hypothesis(held.id)
    assert after is not None
    _reason(scales, f"{line.stance}, {line.strength}: confidence {before:.2f} → {shown(confidence_of(after)):.2f}")
    scales.stored += 1
    if after.stage is Stage.FINDING and outstanding(after.evidence):
        scales.enter(Reopened(hypothesis=held.id), f"contradicted by {line.id}")
        scales.updated += 1


def _reason(scales: Scales, reason: str) -> None:
    """The last entry's reason, which is known only after its effect."""
    scales.entries[-1] = replace(scales.entries[-1], reason=reason)
