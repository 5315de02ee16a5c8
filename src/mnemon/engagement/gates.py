"""The gates: what a proposed text must satisfy before it enters the state. Each gate returns the reason it rejects."""

import re
from collections.abc import Collection, Iterable
from datetime import UTC

from mnemon.engagement.proposal import EvidenceProposal, HypothesisProposal
from mnemon.engagement.relevance import bears_on, stance_fault
from mnemon.engagement.sources import resolve_source, sentence_around
from mnemon.evidence.confidence import EvidenceLine
from mnemon.evidence.number_gate import number_fault, restore_figures
from mnemon.evidence.quote_gate import Passage, find_quote
from mnemon.evidence.statement import StatementKind, StatementSubject
from mnemon.evidence.support import support_fault
from mnemon.scope import NewId
from mnemon.turn import Turn
from mnemon.untrusted_text import reads_outside_text

MAX_TEXT_CHARS = 400
"""The most characters of any sentence in the state."""
MAX_QUOTE_CHARS = 1_000
"""The most characters of a quote."""
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_WHITESPACE = re.compile(r"\s+")
_WORD_PATTERN = re.compile(r"\w+")
_NO_FALSIFIER = re.compile(
    r"(?:n/?a|none|nothing(?:\s+(?:would|could|can))?|unknown|not\s+applicable|it\s+can(?:not|['’]t)\s+be|unfalsifiable)\b.*",
    re.IGNORECASE,
)


@reads_outside_text
def collapse_spaces(text: str) -> str:
    """Return the text on one line, each run of white space as one space."""
    return _WHITESPACE.sub(" ", text).strip()


@reads_outside_text
def storable_line(text: str) -> str:
    """Return the text on one line, without characters that PostgreSQL cannot store."""
    return _UNSTORABLE.sub("", collapse_spaces(text))


@reads_outside_text
def normalize_words(text: str) -> str:
    """Return the text's words alone, case folded, so that two texts can be compared for repetition."""
    return " ".join(_WORD_PATTERN.findall(text.casefold()))


@reads_outside_text
def text_fault(field: str, text: str, sources: Iterable[str], longest: int = MAX_TEXT_CHARS) -> str | None:
    """Return why a sentence is rejected: empty, too long, not storable, or with an unsourced figure; else None."""
    if not _WORD_PATTERN.search(text):
        return f"{field} is empty"
    if len(text) > longest:
        return f"{field} has {len(text)} characters; at most {longest} are kept: say it shorter"
    if _UNSTORABLE.search(text):
        return f"{field} has characters that cannot be stored"
    fault = number_fault(text, sources)
    return None if fault is None else f"{field}: {fault}"


def hypothesis_fault(form: HypothesisProposal, sources: Iterable[str]) -> str | None:
    """Return why a proposed hypothesis is rejected; None if it is a claim and says what would falsify it."""
    statement, falsified_by = collapse_spaces(form.statement), collapse_spaces(form.falsified_by)
    shared = tuple(sources)
    if fault := text_fault("statement", statement, shared):
        return fault
    if statement.endswith("?") or len(statement.split()) < 3:
        return "statement is not a claim: a hypothesis says something that can be shown wrong"
    if not _WORD_PATTERN.search(falsified_by) or _NO_FALSIFIER.fullmatch(falsified_by):
        return "first-hypothesis gate: falsifiedBy is missing: say what would show the statement wrong"
    if normalize_words(falsified_by) == normalize_words(statement):
        return "first-hypothesis gate: falsifiedBy repeats the statement: say what would show it wrong"
    return text_fault("falsifiedBy", falsified_by, shared)


def evidence_line(
    piece: EvidenceProposal,
    statement: str,
    turn: Turn,
    passages: tuple[Passage, ...],
    new_id: NewId,
    on_record: Collection[str] = (),
) -> EvidenceLine | str:
    """Return the piece as an evidence line for the statement, or the reason it is rejected.

    `on_record` are the sources of the engagement so far.
    """
    if len(piece.quote) > MAX_QUOTE_CHARS:
        return (
            f"quote has {len(piece.quote)} characters; at most {MAX_QUOTE_CHARS} are kept: quote what carries the point"
        )
    quotation = find_quote(piece.quote, passages)
    if quotation is None:
        return "quote gate: the quote does not occur in the person's message or a tool result of this turn"
    passage = quotation.passage
    source = resolve_source(piece.source, quotation, on_record)
    line = collapse_spaces(piece.line)
    # The line is attributed to whoever is cited, so that a report of their words needs not name them again.
    cited = (source.name,) if source.name else ()
    subject = StatementSubject(speaker=(passage.who, turn.user_name), entity=source.name, known=cited)
    sentence = sentence_around(passage.text, quotation.start, quotation.end)
    # Figures are checked against the whole message, not the quote: people give a number in one clause and the reason
    # in the next (decision 6). The support gate then wants them in the quoted sentence.
    fault = (
        text_fault("line", line, (passage.text,))
        or _with_gate_name("support gate", support_fault(line, [quotation], StatementKind.LINE, subject))
        or _with_gate_name("relevance gate", _relevance_fault(statement, line, quotation.text))
        or _with_gate_name("relevance gate", stance_fault(statement, sentence, piece.stance))
    )
    if fault:
        return fault
    return EvidenceLine(
        id=new_id("evd"),
        line=restore_figures(line, (passage.text,)),
        quote=quotation.text,
        source=source.text,
        stance=piece.stance,
        strength=piece.strength,
        who=passage.who,
        at=turn.at.astimezone(UTC),
        turn_id=turn.id,
        message_id=passage.message_id,
        start=quotation.start,
        end=quotation.end,
        source_key=source.key,
        teller=source.teller,
        event_date=source.event_date,
    )


def _relevance_fault(statement: str, line: str, quote: str) -> str | None:
    """Return a reason for rejection if evidence and quote share no content word with the statement; else None."""
    if bears_on(statement, line, quote):
        return None
    return f"the evidence does not speak of “{statement[:80]}”: they share no word that says anything"


def _with_gate_name(gate: str, fault: str | None) -> str | None:
    """Return the fault with the name of the gate that found it in front; None stays None."""
    return None if fault is None else f"{gate}: {fault}"
